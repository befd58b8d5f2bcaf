"""Journal of a search: file of its trials, from which a killed search is continued."""

from __future__ import annotations

import functools
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skbayes.evaluation.trial import Trial
from skbayes.journal.code_digest import DECLARED, same_but_for_code
from skbayes.journal.json_params import from_record, to_record
from skbayes.journal.json_space import to_outline
from skbayes.journal.rows import (
    Chain,
    pack_split,
    read_content,
    trial_row,
)
from skbayes.journal.schema import unpack_split
from skbayes.journal.sqlite_file import JournalFile, guard_against_damage
from skbayes.space import Space
from skbayes.space.configuration import Configuration

__all__ = ["Journal"]

Splits = Sequence[tuple[Any, Any]]

# Descriptions up to this length are shown in full. Longer ones are shown from this many
# characters before to this many after the first difference.
MAX_SHOWN, BEFORE, AFTER = 160, 40, 80


class Journal:
    """File with the trials of a search, open during one `fit`.

    Use :meth:`open` as a context manager. A proposal is durable before its evaluation,
    and a result is durable before the next proposal is made from it.

    Attributes
    ----------
    seed : int
        Seed of the proposals.
    n_points : int
        Largest number of trials in flight.
    identity : dict of str to str
        Descriptions of the parts of the search, which must be equal in a later run.
    splits : list of (train, test)
        Splits of all trials.
    proposals : list of dict
        Configurations proposed by earlier runs, in order.
    expected_improvements : list of float or None
        Improvement that the surrogate expected of each proposal.
    results : dict of int to Trial
        Finished trials of earlier runs, by number.
    stages : dict of int to int
        First trial of each stage that has begun, except the first stage.
    """

    def __init__(self, file: JournalFile, space: Space) -> None:
        self._file = file
        self._space = space
        self._mutex = threading.Lock()
        with guard_against_damage(file.path):
            content, self._chain = read_content(file.execute)
        self.seed, self.n_points = content.seed, content.n_points
        self.stages, self.identity = content.stages, content.identity
        self._n_runs = content.n_runs
        self._trials = content.trials
        self._packed = content.splits
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
        reproducible_splits: bool,
        drawn_seed: int = 0,
        default_n_points: int = 1,
        facts: Mapping[str, Any] | None = None,
        n_samples: int | None = None,
    ) -> Journal:
        """Start a journal, or continue a journal of the same search.

        Parameters
        ----------
        path : str or os.PathLike
            Path of the journal. A missing or empty file becomes a journal.
        space : Space
            Search space.
        identity : dict of str to str
            Output of :func:`skbayes.journal.fingerprint.describe_search`.
        seed : int or None
            Seed of the proposals; None for the seed in the journal.
        n_points : int or None
            Largest number of trials in flight; None for the number in the journal.
        splits : sequence of (train, test)
            Splits of this run, as index arrays or boolean masks.
        reproducible_splits : bool
            Whether `splits` must equal those of the journal. If not, those of the
            journal are used.
        drawn_seed : int, default=0
            Seed of a new journal if `seed` is None.
        default_n_points : int, default=1
            `n_points` of a new journal if `n_points` is None.
        facts : dict or None, default=None
            Output of :func:`skbayes.journal.fingerprint.search_facts`, for readers of a
            new journal.
        n_samples : int or None, default=None
            Number of rows that the splits refer to; None to accept any indices.

        Raises
        ------
        OSError
            If the file cannot be read or written.
        RuntimeError
            If another search is using it.
        TypeError
            If the splits are not index arrays or masks.
        ValueError
            If the file is not a journal, has another format, is damaged, or belongs to
            another search. The file is not changed.
        """
        packed = [(pack_split(train), pack_split(test)) for train, test in splits]
        file = JournalFile(path)
        try:
            if file.is_new:
                search = {
                    "seed": str(drawn_seed if seed is None else seed),
                    "n_points": int(default_n_points if n_points is None else n_points),
                    "created": time.time(),
                    "facts": json.dumps({**(facts or {}), "space": to_outline(space)}),
                }
                numbered = [(i, *pair) for i, pair in enumerate(packed)]
                rows = {"search": search.items(), "identity": identity.items()}
                file.create(Chain().tables({**rows, "splits": numbered}))
            journal = cls(file, space)
            differences = [
                *_numbers_that_differ(journal, seed, n_points),
                *_parts_that_differ(journal.identity, identity),
            ]
            # Splits of other data may have other rows, and are not damaged.
            journal._load_splits(splits, None if differences else n_samples)
            differences += _splits_that_differ(
                journal.splits, splits, reproducible_splits
            )
            if differences:
                raise _mismatch(file.path, differences)
            journal._load_trials()
            file.start_writing()
            journal._append("search", (f"run {journal._n_runs}", time.time()))
        except BaseException:
            file.close()
            raise
        return journal

    def _load_splits(self, given: Splits, n_samples: int | None) -> None:
        """Unpack the splits; their sizes are limited by those of `given`."""
        longest = max((len(part) for pair in given for part in pair), default=0)
        unpack = functools.partial(
            unpack_split, max_items=4 * longest + 1000, n_samples=n_samples
        )
        with guard_against_damage(self._file.path):
            self.splits = [(unpack(one), unpack(other)) for one, other in self._packed]

    def _load_trials(self) -> None:
        with guard_against_damage(self._file.path):
            for stored in self._trials:
                params = from_record(self._space, stored.record)
                self.proposals.append(params)
                self.expected_improvements.append(stored.expected_improvement)
                if stored.details is not None:
                    self.results[stored.number] = stored.trial(params)

    def _append(self, table: str, values: tuple) -> None:
        """Write a row with a checksum that includes the row before it."""
        with self._mutex:
            row = self._chain.link(table, values)
            self._file.insert(table, (*row.values, row.place, row.digest))
            self._chain.append(row)

    def record_stage(self, stage: int, first: int) -> None:
        """Record the number of the first trial of a stage, if it is new."""
        if stage not in self.stages:
            self._append("search", (f"stage {stage}", first))
            self.stages[stage] = first

    def record_proposal(
        self,
        number: int,
        params: Mapping[str, Any] | Configuration,
        expected_improvement: float | None,
    ) -> None:
        """Record the configuration of trial `number`; numbers have no gaps.

        OSError if it cannot be written. ValueError if `params` is outside of the space
        or the number was recorded before. Earlier records are kept.
        """
        record = json.dumps(to_record(self._space, params))
        expected = expected_improvement
        expected = None if expected is None else float(expected)
        self._append("proposals", (number, record, expected, time.time()))

    def record_result(self, trial: Trial) -> None:
        """Record a finished trial; it is in the file on return.

        OSError if it cannot be written. TypeError if it contains anything other than
        numbers and texts. ValueError if it was recorded before.
        """
        self._append("results", trial_row(trial))

    def close(self) -> None:
        """Close the file and remove the files next to it."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


# -- comparison with the search of a journal --------------------------------------


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
        if one != other and not same_but_for_code(one, other):
            one, other = _excerpts(one, other)
            differences.append(f"{part}: {one} in the journal, {other} now")
    return differences


def _excerpts(one: str, other: str) -> tuple[str, str]:
    """Shorten long descriptions to the region of their first difference."""
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
                return [f"splits: the training or test set of split {i} differs"]
    return []
