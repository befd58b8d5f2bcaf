"""Journal of a search: file of its trials, from which a killed search is continued."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from skbayes.evaluation.trial import Trial
from skbayes.journal.code_digest import DECLARED, same_but_for_code
from skbayes.journal.content import (
    Content,
    make_row,
    pack_split,
    result_row,
    unpack_split,
)
from skbayes.journal.file import JournalFile, guarded
from skbayes.journal.json_space import from_record, to_outline, to_record
from skbayes.space import Space
from skbayes.space.candidates import Configuration

__all__ = ["Journal"]

Splits = list[tuple[Any, Any]]

# Descriptions up to this length are shown in full. Longer ones are shown from this many
# characters before to this many after the first difference.
MAX_SHOWN, BEFORE, AFTER = 160, 40, 80


class Journal(AbstractContextManager):
    """File with the trials of a search, open during one `fit`.

    Use :meth:`open` as a context manager. A proposal is durable before its evaluation,
    and a result is durable before the next proposal is made from it.
    """

    def __init__(self, file: JournalFile, space: Space) -> None:
        self._file = file
        self._space = space
        with guarded(file.path):
            content = Content(file.rows)
        file.rows = []
        self.seed, self.n_points = content.seed, content.n_points
        self.stages, self.identity = content.stages, content.identity
        self._content = content
        self._n_proposed = len(content.trials)
        self._finished = {trial.number for trial in content.trials if trial.details}
        self.splits: Splits = []
        self.proposals: list[dict[str, Any]] = []
        self.expected_improvements: list[float | None] = []
        self.results: dict[int, Trial] = {}

    @classmethod
    def open(
        cls,
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
        n_samples: int | None = None,
    ) -> Journal:
        """Start a journal, or continue a journal of the same search.

        If `seed` or `n_points` is None, that of the journal is used, or the drawn seed
        and the default of a new one. The splits are those of the journal, if they fit
        `n_samples` rows. A file that is refused by an error is not changed.
        """
        header = {
            "seed": int(drawn_seed if seed is None else seed),
            "n_points": int(default_n_points if n_points is None else n_points),
            "splits": [(pack_split(train), pack_split(test)) for train, test in splits],
            "identity": identity,
            "facts": {**(facts or {}), "space": to_outline(space)},
        }
        file = JournalFile(path, [make_row("search", header)])
        try:
            journal = cls(file, space)
            journal._check({"pre_dispatch": n_points, "random_state": seed}, identity)
            journal._load(splits, n_samples)
        except BaseException:
            file.close()
            raise
        return journal

    def _check(
        self, given: Mapping[str, int | None], identity: Mapping[str, str]
    ) -> None:
        stored = {"pre_dispatch": self.n_points, "random_state": self.seed}
        differences = [
            f"{name}: {stored[name]} in the journal, {number} now"
            for name, number in given.items()
            if number is not None and number != stored[name]
        ]
        for part in sorted(self.identity.keys() | identity.keys()):
            old, new = self.identity.get(part, "nothing"), identity.get(part, "nothing")
            if old != new and not same_but_for_code(old, new):
                old, new = _excerpts(old, new)
                differences.append(f"{part}: {old} in the journal, {new} now")
        if differences:
            raise _mismatch(self._file.path, differences)

    def _load(self, given: Splits, n_samples: int | None) -> None:
        """Read the splits, whose size is limited by those given, and the trials."""
        limit = 1000 + 4 * max(
            (len(part) for pair in given for part in pair), default=0
        )
        with guarded(self._file.path):
            for pair in self._content.splits:
                train, test = (unpack_split(part, limit, n_samples) for part in pair)
                self.splits.append((train, test))
            for stored in self._content.trials:
                params = from_record(self._space, stored.record, stored.row)
                self.proposals.append(params)
                self.expected_improvements.append(stored.expected_improvement)
                if stored.details is not None:
                    self.results[stored.number] = stored.trial(params)
        del self._content

    def record_stage(self, stage: int, first: int) -> None:
        """Record the number of the first trial of a stage, if it is new."""
        if stage not in self.stages:
            self._file.append(make_row("stage", {"stage": stage, "first": first}))
            self.stages[stage] = first

    def record_proposal(
        self,
        number: int,
        params: Mapping[str, Any] | Configuration,
        expected_improvement: float | None,
    ) -> None:
        """Record the configuration of trial `number`; numbers have no gaps."""
        if number != self._n_proposed:
            raise ValueError(
                f"journal: trial {number} is recorded already, or too soon."
            )
        record, row = to_record(self._space, params)
        fields = {
            "number": number,
            "params": record,
            "row": row,
            "expected_improvement": expected_improvement,
            "asked": time.time(),
        }
        self._file.append(make_row("proposal", fields))
        self._n_proposed += 1

    def record_result(self, trial: Trial) -> None:
        """Record a finished trial; it is in the file on return."""
        if trial.number in self._finished or trial.number >= self._n_proposed:
            raise ValueError(
                f"journal: trial {trial.number} is recorded already, or not proposed."
            )
        self._file.append(result_row(trial, time.time()))
        self._finished.add(trial.number)

    def close(self) -> None:
        """Close the file and remove the files next to it."""
        self._file.close()

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _mismatch(path: str, differences: Sequence[str]) -> ValueError:
    listed = "".join(f"\n- {difference}" for difference in differences)
    if "[code " in listed:
        listed += (
            "\nA function or class with a different [code ...] was edited, or other "
            "code that it refers to. If its results have not changed, set its "
            f"{DECLARED} to the code in the journal."
        )
    hint = ""
    parts = {difference.partition(":")[0] for difference in differences}
    if "X" in parts and parts <= {"X", "y", "splits"}:
        hint = "In nested cross-validation, leave journal=None. "
    return ValueError(
        f"journal: {path!r} is the journal of another search and was not changed. Use "
        f"another file name for this search. {hint}Differences:{listed}"
    )


def _excerpts(*texts: str) -> list[str]:
    """Shorten long descriptions to the region of their first difference."""
    if max(map(len, texts)) <= MAX_SHOWN:
        return list(texts)
    start = max(len(os.path.commonprefix(texts)) - BEFORE, 0)
    end = start + BEFORE + AFTER
    begin = "…" if start else ""
    return [f"{begin}{t[start:end]}{'…' if len(t) > end else ''}" for t in texts]
