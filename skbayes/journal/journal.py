"""Journal of a search: file of its trials, from which a killed search is continued."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from skbayes.evaluation.run import NullJournal
from skbayes.evaluation.trial import Trial
from skbayes.journal.json_space import from_record, to_outline, to_record
from skbayes.journal.rows import (
    Content,
    ProposalRow,
    ResultRow,
    SearchRow,
    StageRow,
    StoredTrial,
    pack_split,
    to_text,
    unpack_split,
)
from skbayes.journal.store import Store, guarded
from skbayes.space import Space
from skbayes.space.candidates import Configuration

Splits = list[tuple[Any, Any]]

# Descriptions up to this length are shown in full. Longer ones are shown from this many
# characters before to this many after the first difference.
MAX_SHOWN, BEFORE, AFTER = 160, 40, 80


class Journal(NullJournal):
    """File with the trials of a search, open during one `fit`.

    It starts a journal, or continues that of the same search. If `seed` or `n_points`
    is None, that of the journal is used, or the drawn seed and the default of a new
    one. The splits are those of the journal. A journal that is refused by an error is
    not changed.

    A proposal is in the file before its evaluation, and a result is in the file before
    the next proposal is made from it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        space: Space,
        identity: Mapping[str, str],
        seed: int | None,
        n_points: int | None,
        splits: Splits,
        drawn_seed: int = 0,
        default_n_points: int = 1,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        header = SearchRow(
            seed=int(drawn_seed if seed is None else seed),
            n_points=int(default_n_points if n_points is None else n_points),
            splits=[(pack_split(train), pack_split(test)) for train, test in splits],
            identity=identity,
            facts={**(facts or {}), "space": to_outline(space)},
        )
        self._space = space
        self._store = Store(path)
        try:
            rows, self._store.rows = self._store.rows, []
            if not rows:
                rows = [to_text(header)]
                self._store.append(*rows)
            with guarded(self._store.path):
                content = Content.of(rows)
                found = content.search
                given = {"pre_dispatch": n_points, "random_state": seed}
                _check(self._store.path, found, given, identity)
                self.splits = [
                    (unpack_split(train), unpack_split(test))
                    for train, test in found.splits
                ]
                for stored in content.trials:
                    self._take(stored)
        except BaseException:
            self._store.close()
            raise
        self.seed, self.n_points = found.seed, found.n_points
        self.stages = content.stages

    def _take(self, stored: StoredTrial) -> None:
        proposal = stored.proposal
        params = from_record(self._space, proposal.params, proposal.row)
        self.proposals.append(params)
        self.expected_improvements.append(proposal.expected_improvement)
        if stored.result is not None:
            self.results[proposal.number] = stored.result.trial_of(params)

    def record_stage(self, stage: int, first: int) -> None:
        """Record the number of the first trial of a stage, if it is new."""
        if stage not in self.stages:
            self._store.append(to_text(StageRow(stage, first)))
            self.stages[stage] = first

    def record_proposal(
        self,
        number: int,
        params: Mapping[str, Any] | Configuration,
        expected_improvement: float | None,
    ) -> None:
        """Record the configuration of the next trial."""
        if number != len(self.proposals):
            raise ValueError(f"journal: trial {number} is recorded out of order.")
        configuration = Configuration.of(self._space, params)
        record, place = to_record(configuration)
        row = ProposalRow(number, record, place, expected_improvement, time.time())
        self._store.append(to_text(row))
        self.proposals.append(configuration.params)
        self.expected_improvements.append(expected_improvement)

    def record_result(self, trial: Trial) -> None:
        """Record a finished trial."""
        if trial.number >= len(self.proposals) or trial.number in self.results:
            raise ValueError(
                f"journal: trial {trial.number} is not proposed, or has a result."
            )
        self._store.append(to_text(ResultRow.of(trial, time.time())))
        self.results[trial.number] = trial

    def close(self) -> None:
        """Close the journal."""
        self._store.close()

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _check(
    path: str,
    found: SearchRow,
    given: Mapping[str, int | None],
    identity: Mapping[str, str],
) -> None:
    """Raise a ValueError that names the differences from the search of a journal."""
    stored = {"pre_dispatch": found.n_points, "random_state": found.seed}
    differences = [
        f"{name}: {stored[name]} in the journal, {number} now"
        for name, number in given.items()
        if number is not None and number != stored[name]
    ]
    for part in sorted(found.identity.keys() | identity.keys()):
        old = found.identity.get(part, "nothing")
        new = identity.get(part, "nothing")
        if old != new:
            old, new = _excerpts(old, new)
            differences.append(f"{part}: {old} in the journal, {new} now")
    if not differences:
        return
    hint = ""
    parts = {difference.partition(":")[0] for difference in differences}
    if "X" in parts and parts <= {"X", "y", "splits"}:
        hint = "In nested cross-validation, leave journal=None. "
    listed = "".join(f"\n- {difference}" for difference in differences)
    raise ValueError(
        f"journal: {path!r} is the journal of another search and was not "
        f"changed. Use another file name for this search. {hint}Differences:{listed}"
    )


def _excerpts(*texts: str) -> list[str]:
    """Shorten long descriptions to the region of their first difference."""
    if max(map(len, texts)) <= MAX_SHOWN:
        return list(texts)
    start = max(len(os.path.commonprefix(texts)) - BEFORE, 0)
    end = start + BEFORE + AFTER
    begin = "…" if start else ""
    return [f"{begin}{t[start:end]}{'…' if len(t) > end else ''}" for t in texts]
