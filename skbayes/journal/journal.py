"""Journal of a search: its trials on disk, from which a killed search is continued."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.evaluation.trial import Trial
from skbayes.journal.json_params import from_record, to_record
from skbayes.journal.json_space import to_outline
from skbayes.journal.rows import pack_split, stored_trials, trial_row, unpack_split
from skbayes.journal.sqlite_file import Durability, JournalFile, guard_against_damage
from skbayes.space import Space
from skbayes.space.configuration import Configuration

__all__ = ["Journal"]

Splits = Sequence[tuple[Any, Any]]

# Descriptions up to this length are shown whole; of longer ones this much is shown
# before and after the place where they begin to differ.
MAX_SHOWN, BEFORE, AFTER = 160, 40, 80

# Names of the rows of the table `search` that hold the first trial of a stage.
_STAGE = "stage "


class Journal:
    """Trials of one search in a file, open for the length of one `fit`.

    Opened by :meth:`open`, as a context manager. A proposal is durable before it is
    evaluated, a result before a proposal is made from it.

    Attributes
    ----------
    seed : int
        Seed of the proposals.
    n_points : int
        Largest number of trials in flight.
    identity : dict of str to str
        Descriptions of the parts of the search, which a later run must equal.
    splits : list of (train, test)
        Splits that all trials share.
    proposals : list of dict
        Parameters of the trials that earlier runs asked for, in order.
    expected_improvements : list of float or None
        What the model expected of each.
    results : dict of int to Trial
        Trials that earlier runs finished, by number.
    stages : dict of int to int
        First trial of each stage that has begun, but for the first stage.
    """

    def __init__(self, file: JournalFile, space: Space) -> None:
        self._file = file
        self._space = space
        with guard_against_damage(file.path):
            search = dict(file.execute("SELECT name, value FROM search"))
            self.seed, self.n_points = int(search["seed"]), int(search["n_points"])
            self.stages = {
                int(name.removeprefix(_STAGE)): int(value)
                for name, value in search.items()
                if name.startswith(_STAGE)
            }
            self.identity = dict(file.execute("SELECT part, text FROM identity"))
            rows = file.execute("SELECT train, test FROM splits ORDER BY number")
            self.splits = [
                (unpack_split(train), unpack_split(test)) for train, test in rows
            ]
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
        reproducible_splits: bool,
        drawn_seed: int = 0,
        default_n_points: int = 1,
        durability: Durability = "auto",
        facts: Mapping[str, Any] | None = None,
    ) -> Journal:
        """Begin a journal, or continue one of the same search.

        Parameters
        ----------
        path : str or os.PathLike
            The file. If it is missing or empty it becomes a journal.
        space : Space
            Search space.
        identity : dict of str to str
            What :func:`skbayes.journal.fingerprint.describe_search` returns.
        seed : int or None
            Seed of the proposals; None for that of the journal.
        n_points : int or None
            Largest number of trials in flight; None for that of the journal.
        splits : sequence of (train, test)
            Splits as drawn now, index arrays or boolean masks.
        reproducible_splits : bool
            Whether `splits` must equal those of the journal. If not, those of the
            journal are used.
        drawn_seed : int, default=0
            Seed of a new journal where `seed` is None.
        default_n_points : int, default=1
            `n_points` of a new journal where it is None.
        durability : {"auto", "full"}, default="auto"
            With "full" not even a power cut loses a trial; each takes tens of
            milliseconds longer. With "auto" a power cut may lose the last ones, the
            death of the process none.
        facts : dict or None, default=None
            What :func:`skbayes.journal.fingerprint.search_facts` returns, for readers
            of a new journal.

        Raises
        ------
        OSError
            If the file cannot be read or written.
        RuntimeError
            If another search is using it.
        TypeError
            If the splits are no index arrays.
        ValueError
            If the file is no journal, of another format, damaged, or of another search;
            it is left as it is.
        """
        packed = [(pack_split(train), pack_split(test)) for train, test in splits]
        file = JournalFile(path, durability)
        try:
            if file.is_new:
                search = {
                    "seed": str(drawn_seed if seed is None else seed),
                    "n_points": int(default_n_points if n_points is None else n_points),
                    "created": time.time(),
                    "runs": 0,
                    "facts": json.dumps({**(facts or {}), "space": to_outline(space)}),
                }
                numbered = [(i, *pair) for i, pair in enumerate(packed)]
                rows = {"search": search.items(), "identity": identity.items()}
                file.create({**rows, "splits": numbered})
            journal = cls(file, space)
            differences = [
                *_numbers_that_differ(journal, seed, n_points),
                *_parts_that_differ(journal.identity, identity),
                *_splits_that_differ(journal.splits, splits, reproducible_splits),
            ]
            if differences:
                raise _mismatch(file.path, differences)
            journal._load_trials()
            file.start_writing()
        except BaseException:
            file.close()
            raise
        return journal

    def _load_trials(self) -> None:
        with guard_against_damage(self._file.path):
            for stored in stored_trials(self._file.execute):
                params = from_record(self._space, stored.record)
                self.proposals.append(params)
                self.expected_improvements.append(stored.expected_improvement)
                if stored.details is None:
                    continue
                trial = stored.trial(params)
                if len(trial.folds) != len(self.splits):
                    raise ValueError(f"trial {stored.number} has other splits")
                self.results[stored.number] = trial

    def record_stage(self, stage: int, first: int) -> None:
        """Write down the number of a stage's first trial, unless it is known."""
        if stage not in self.stages:
            self._file.insert("search", (f"{_STAGE}{stage}", first))
            self.stages[stage] = first

    def record_proposal(
        self,
        number: int,
        params: Mapping[str, Any] | Configuration,
        expected_improvement: float | None,
    ) -> None:
        """Write down what trial `number` is to evaluate; numbers have no gaps.

        OSError if it cannot be written, ValueError if `params` is not of the space or
        the number was recorded before. What was written before is kept.
        """
        record = json.dumps(to_record(self._space, params))
        expected = expected_improvement
        expected = None if expected is None else float(expected)
        self._file.insert("proposals", (number, record, expected, time.time()))

    def record_result(self, trial: Trial) -> None:
        """Write down a finished trial, which is durable on return.

        OSError if it cannot be written, TypeError if it holds something that is neither
        a number nor text, ValueError if it was recorded before.
        """
        self._file.insert("results", trial_row(trial))

    def close(self) -> None:
        """Close the file; no other file is left beside it."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


# -- comparison with the search of a journal --------------------------------------


def _mismatch(path: str, differences: Sequence[str]) -> ValueError:
    listed = "".join(f"\n- {difference}" for difference in differences)
    hint = ""
    parts = {difference.partition(":")[0] for difference in differences}
    if "X" in parts and parts <= {"X", "y", "splits"}:
        hint = "In nested cross-validation, leave journal=None. "
    return ValueError(
        f"journal: {path!r} is the journal of another search. It was left as it is; "
        f"give the journal of this one another name. {hint}What differs:{listed}"
    )


def _numbers_that_differ(
    journal: Journal, seed: int | None, n_points: int | None
) -> list[str]:
    triples = [
        ("n_points", journal.n_points, n_points),
        ("random_state", journal.seed, seed),
    ]
    return [
        f"{name}: {stored} in the journal, {given} now"
        for name, stored, given in triples
        if given is not None and stored != given
    ]


def _parts_that_differ(
    stored: Mapping[str, str], given: Mapping[str, str]
) -> list[str]:
    differences = []
    for part in sorted(stored.keys() | given.keys()):
        one, other = stored.get(part, "nothing"), given.get(part, "nothing")
        if one != other:
            one, other = _excerpts(one, other)
            differences.append(f"{part}: {one} in the journal, {other} now")
    return differences


def _excerpts(one: str, other: str) -> tuple[str, str]:
    """Shorten long descriptions to the place where they begin to differ."""
    if max(len(one), len(other)) <= MAX_SHOWN:
        return one, other
    start = max(len(os.path.commonprefix([one, other])) - BEFORE, 0)
    end = start + BEFORE + AFTER
    begin = "…" if start else ""
    first, second = (
        f"{begin}{text[start:end]}{'…' if len(text) > end else ''}"
        for text in (one, other)
    )
    return first, second


def _splits_that_differ(stored: Splits, given: Splits, all_of_it: bool) -> list[str]:
    if len(stored) != len(given):
        return [f"splits: {len(stored)} in the journal, {len(given)} now"]
    if all_of_it:
        for i, pairs in enumerate(zip(stored, given, strict=True)):
            if not all(map(np.array_equal, *pairs)):
                return [f"splits: the training or test set of split {i} is another one"]
    return []
