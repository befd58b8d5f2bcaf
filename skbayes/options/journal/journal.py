"""Journal of a search: rows of a file, from which a killed search is continued.

The first row describes the search. Each further row records a proposal of a
configuration, the result of a trial, or the beginning of a stage, in the order of these
events. Each row is a dataclass that is stored as JSON.
"""

from __future__ import annotations

import json
import numbers
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from skbayes.options.journal.json_space import (
    from_record,
    pack_split,
    to_record,
    unpack_split,
)
from skbayes.options.journal.store import Store, TextRow, guarded, is_held
from skbayes.space import Space
from skbayes.space.candidates import Configuration
from skbayes.trial.plan import Header, NullJournal, StageStart
from skbayes.trial.records import Fidelity, FoldResult, Trial

# Descriptions up to this length are shown in full. Of longer ones, this number of
# characters is shown before and after the first difference.
MAX_SHOWN, BEFORE, AFTER = 160, 40, 80


@dataclass(frozen=True)
class SearchRow:
    """Search, whose seed, splits and identity are fixed; the splits are packed."""

    seed: int
    n_points: int
    splits: list[tuple[str, str]]
    identity: Mapping[str, str]
    metadata: Mapping[str, Any]

    def __post_init__(self) -> None:
        _check_numbers(self.seed, self.n_points)


@dataclass(frozen=True)
class ProposalRow:
    """Configuration as a record and a row of the space (see `json_space`)."""

    number: int
    params: dict[str, Any]
    row: list[float | None]
    expected_improvement: float | None
    asked: float


@dataclass(frozen=True)
class ResultRow:
    """Finished trial: the attributes of `Trial` other than its configuration."""

    number: int
    finished: float
    trial: dict[str, Any]

    @classmethod
    def of(cls, trial: Trial, finished: float) -> ResultRow:
        """Return the row of a trial."""
        folds = [{**vars(fold)} for fold in trial.folds]
        for fold in folds:
            del fold["transient"]
        fidelity = {**vars(trial.fidelity)}
        attributes = {**vars(trial), "folds": folds, "fidelity": fidelity}
        number = attributes.pop("number")
        del attributes["params"]
        return cls(number, finished, attributes)

    def trial_of(self, params: dict[str, Any]) -> Trial:
        """Return the trial, given its configuration."""
        folds = [FoldResult(**fold) for fold in self.trial["folds"]]
        fidelity = Fidelity(**self.trial["fidelity"])
        scores = [score for fold in folds for score in fold.test_scores.values()]
        _check_numbers(self.trial["score"], self.trial["duration"], *scores)
        attributes = {**self.trial, "folds": folds, "fidelity": fidelity}
        return Trial(number=self.number, params=params, **attributes)


AnyRow = SearchRow | StageStart | ProposalRow | ResultRow

_KINDS: dict[str, type[AnyRow]] = {
    "search": SearchRow,
    "stage": StageStart,
    "proposal": ProposalRow,
    "result": ResultRow,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def _check_numbers(*values: Any) -> None:
    for value in values:
        if not isinstance(value, numbers.Real):
            raise ValueError(f"{value!r} is not a number")


def _plain(value: Any) -> Any:
    """Return the Python number for a NumPy number or an array of one element."""
    if not hasattr(value, "item"):
        raise TypeError(f"journal: {value!r} in the results of a trial is not numeric.")
    return value.item()


# A shared encoder for all trials: json.dumps creates one for each call.
_encode = json.JSONEncoder(default=_plain).encode


def to_text(row: AnyRow) -> TextRow:
    """Return the kind and the content of a row."""
    return _NAMES[type(row)], _encode(vars(row))


def from_text(row: TextRow) -> AnyRow:
    """Return the row of a kind and a content; an exception if they do not fit."""
    kind, content = row
    return _KINDS[kind](**json.loads(content))


@dataclass
class Content:
    """Content of a journal, with the results by trial number."""

    search: SearchRow
    stages: list[StageStart] = field(default_factory=list)
    proposals: list[ProposalRow] = field(default_factory=list)
    results: dict[int, ResultRow] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[TextRow]) -> Content:
        """Return the content of the rows; ValueError if a row is out of place."""
        first, *following = map(from_text, rows)
        if not isinstance(first, SearchRow):
            raise ValueError("the first row does not describe the search")
        content = cls(first)
        for row in following:
            fits = True
            if isinstance(row, StageStart):
                places = len(content.stages), len(content.proposals)
                fits = (row.stage, row.first) == places
                content.stages.append(row)
            elif isinstance(row, ProposalRow):
                fits = row.number == len(content.proposals)
                content.proposals.append(row)
            elif isinstance(row, ResultRow):
                proposed = range(len(content.proposals))
                fits = row.number in proposed and row.number not in content.results
                fits &= len(row.trial["folds"]) == len(first.splits)
                content.results[row.number] = row
            if not fits or isinstance(row, SearchRow):
                name = _NAMES[type(row)]
                raise ValueError(f"a row ({name}) does not fit those before it")
        content.results = dict(sorted(content.results.items()))
        return content

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Content:
        """Read a journal, also during its search; ValueError if it is damaged."""
        rows = Store.read(path)
        with guarded(path):
            return cls.of(rows)

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of the search, for readers of the journal."""
        search = self.search
        return {
            "seed": search.seed,
            "n_points": search.n_points,
            "n_splits": len(search.splits),
            "identity": search.identity,
            **search.metadata,
        }


class Journal(NullJournal):
    """File with the trials of a search, open during one `fit`.

    It starts a journal, or continues that of the same search, which has the same
    `header`. A new journal has a default number of trials in flight if none is given.
    A journal that is refused by an error is not changed.

    A proposal is in the file before its evaluation, and a result is in the file before
    the next proposal is made from it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        space: Space,
        header: Header,
        default_n_points: int = 1,
    ) -> None:
        super().__init__()
        first = SearchRow(
            seed=header.seed,
            n_points=header.n_points or default_n_points,
            splits=[(pack_split(a), pack_split(b)) for a, b in header.splits],
            identity=header.identity,
            metadata=header.metadata,
        )
        self._space = space
        self._store = Store(path)
        try:
            rows, self._store.rows = self._store.rows, []
            if not rows:
                rows = [to_text(first)]
                self._store.append(*rows)
            with guarded(self._store.path):
                content = Content.of(rows)
                first = content.search
                _check(path, first, header, is_seeded=True)
                for row in content.proposals:
                    params = from_record(space, row.params, row.row)
                    self.proposals.append(params)
                    self.expected_improvements.append(row.expected_improvement)
                for number, result in content.results.items():
                    self.results[number] = result.trial_of(self.proposals[number])
        except BaseException:
            self._store.close()
            raise
        self.n_points = first.n_points
        self.stages = content.stages

    def record_stage(self, start: StageStart) -> None:
        """Record a stage before its first proposal, if it is new."""
        if start.stage == len(self.stages):
            self._store.append(to_text(start))
        super().record_stage(start)

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


def recorded(path: str | os.PathLike[str], header: Header, is_seeded: bool) -> Header:
    """Return the header of a journal; ValueError if it is that of another search.

    A new journal gets `header`. Its seed may differ unless the search `is_seeded`.
    """
    # The writer of a journal that another search holds raises an error.
    rows = [] if is_held(path) else Store.read(path, is_new=True)
    if not rows:
        return header
    with guarded(path):
        content = Content.of(rows)
        first = content.search
        _check(path, first, header, is_seeded)
        splits: list[Any] = [tuple(map(unpack_split, split)) for split in first.splits]
    return replace(header, seed=first.seed, splits=splits, stages=content.stages)


def _check(
    path: str | os.PathLike[str], first: SearchRow, header: Header, is_seeded: bool
) -> None:
    """Raise a ValueError that names the differences from the search of a journal."""
    identity, seed = header.identity, header.seed if is_seeded else None
    passed = {"pre_dispatch": header.n_points, "random_state": seed}
    stored = {"pre_dispatch": first.n_points, "random_state": first.seed}
    differences = [
        f"{name}: {stored[name]} in the journal, {number} now"
        for name, number in passed.items()
        if number is not None and number != stored[name]
    ]
    for part in sorted(first.identity.keys() | identity.keys()):
        old = first.identity.get(part, "nothing")
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
        f"journal: {os.fspath(path)!r} is the journal of another search and was not "
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
