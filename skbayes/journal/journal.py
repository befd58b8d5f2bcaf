"""A search's history on disk, so that a search that was killed goes on where it was."""

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

__all__ = ["Journal"]

Splits = Sequence[tuple[Any, Any]]

# Descriptions up to this length are shown whole; of longer ones this much is shown
# before and after the place where they begin to differ.
MAX_SHOWN, BEFORE, AFTER = 160, 40, 80

# Before the number of a stage, among the facts about the search.
_STAGE = "stage "


class Journal:
    """The history of one search in a file, open for the length of one `fit`.

    Open it with :meth:`open`, as a context manager. Every proposal is durable before it
    is evaluated, every result before a proposal is made from it.

    Parameters
    ----------
    file : JournalFile
        The file, locked, with the tables of a journal.
    space : Space
        What the parameters are chosen from.

    Attributes
    ----------
    seed : int
        The seed of the proposals.
    n_points : int
        How many trials are in flight at most.
    identity : dict of str to str
        What makes the search this one, part by part.
    splits : list of (train, test)
        The splits that all trials share.
    proposals : list of dict
        The parameters of the trials that earlier runs asked for, in order.
    expected_improvements : list of float or None
        What was expected of each.
    results : dict of int to Trial
        The trials that earlier runs finished, by number. Their parameters are what
        was proposed.
    stages : dict of int to int
        Of a search in stages, the first trial of each stage that has begun, but for
        the first stage.

    Raises
    ------
    ValueError
        If the file is damaged.
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
        drawn_seed: int | None = None,
        default_n_points: int = 1,
        durability: Durability = "auto",
    ) -> Journal:
        """Begin a journal, or go on with one of the same search.

        Parameters
        ----------
        path : str or os.PathLike
            The file. If it is missing or empty it becomes a journal.
        space : Space
            The space of the search.
        identity : dict of str to str
            What makes the search this one, part by part, as
            :func:`skbayes.journal.fingerprint.describe_search` says it.
        seed : int or None
            The seed of the proposals; None for whichever the journal has.
        n_points : int or None
            How many trials are in flight at most; None for what the journal has.
        splits : sequence of (train, test)
            The splits as drawn now, index arrays or boolean masks.
        reproducible_splits : bool
            Whether `splits` must be those of the journal. If not (they were shuffled
            without a seed, or come from an iterator), those of the journal are used.
        drawn_seed : int or None, default=None
            What a new journal takes for a `seed` that is None; None for any.
        default_n_points : int, default=1
            What a new journal takes for an `n_points` that is None.
        durability : {"auto", "full"}, default="auto"
            "full": not even a power cut loses a trial; each takes tens of
            milliseconds longer. "auto": a power cut may lose the last ones, the death
            of the process none.

        Returns
        -------
        journal : Journal
            With what earlier runs found.

        Raises
        ------
        OSError
            If the file cannot be read or written.
        RuntimeError
            If another search is using it.
        TypeError
            If the splits are no index arrays.
        ValueError
            If the file is no journal, of a newer format, damaged, or of another search;
            it is left as it is.
        """
        packed = [(pack_split(train), pack_split(test)) for train, test in splits]
        file = JournalFile(path, durability)
        try:
            if file.is_new:
                if seed is None:
                    seed = _any_seed() if drawn_seed is None else drawn_seed
                in_flight = default_n_points if n_points is None else n_points
                search = {"seed": str(seed), "n_points": int(in_flight)}
                search |= {"created": time.time(), "runs": 0}
                # For whoever looks at it from outside; what counts is the identity.
                search["space"] = json.dumps(to_outline(space))
                rows = {"search": search.items(), "identity": identity.items()}
                numbered = [(i, *pair) for i, pair in enumerate(packed)]
                file.create({**rows, "splits": numbered})
            journal = cls(file, space)
            differences = [
                *_facts_that_differ(journal, seed, n_points),
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
        """Write down where a stage begins, unless it is known.

        Parameters
        ----------
        stage : int
            Its number, at least 1.
        first : int
            The number of its first trial.

        Raises
        ------
        OSError
            If it cannot be written; what was written before is kept.
        """
        if stage not in self.stages:
            self._file.insert("search", (f"{_STAGE}{stage}", first))
            self.stages[stage] = first

    def record_proposal(
        self, number: int, params: Mapping[str, Any], expected_improvement: float | None
    ) -> None:
        """Write down what was asked for.

        Parameters
        ----------
        number : int
            The trial's number, from 0, without gaps.
        params : dict
            The configuration.
        expected_improvement : float or None
            What the model expected of it.

        Raises
        ------
        OSError
            If it cannot be written; what was written before is kept.
        ValueError
            If `params` is not of the space, or the number was recorded before.
        """
        record = json.dumps(to_record(self._space, params))
        expected = expected_improvement
        expected = None if expected is None else float(expected)
        self._file.insert("proposals", (number, record, expected, time.time()))

    def record_result(self, trial: Trial) -> None:
        """Write down a finished trial.

        Parameters
        ----------
        trial : Trial
            The trial; it is durable when this returns.

        Raises
        ------
        OSError
            If it cannot be written; what was written before is kept.
        TypeError
            If it holds something that is neither a number nor text.
        ValueError
            If it was recorded before.
        """
        self._file.insert("results", trial_row(trial))

    def close(self) -> None:
        """End the use of the file; no other is left beside it."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _any_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])


# -- whether it is the same search ------------------------------------------------


def _mismatch(path: str, differences: Sequence[str]) -> ValueError:
    listed = "".join(f"\n- {difference}" for difference in differences)
    return ValueError(
        f"journal: {path!r} is the journal of another search. It was left as it is; "
        f"give the journal of this one another name. What differs:{listed}"
    )


def _facts_that_differ(
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
    nothing = "nothing"
    differences = []
    for part in sorted(stored.keys() | given.keys()):
        one, other = stored.get(part, nothing), given.get(part, nothing)
        if one != other:
            one, other = _excerpts(one, other)
            differences.append(f"{part}: {one} in the journal, {other} now")
    return differences


def _excerpts(one: str, other: str) -> tuple[str, str]:
    """Cut long descriptions down to where they begin to differ."""
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
