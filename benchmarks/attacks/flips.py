"""Corruption of journals: flipped bits, noise, truncated files, and torn pages.

    python benchmarks/attacks/flips.py before|after [--cases 4137]

An attack passes if the file is refused with an error that names it. It also passes if a
reader and a continued search get exactly the content that was written. A torn file has
to give the content of one moment.

`--cases` is the number of flips, 4,137 by default. To attack an older release, run the
same script with "before" and the folder of that release in PYTHONPATH.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tally

from skbayes.options.journal.journal import Content, Journal, recorded
from skbayes.space import Space
from skbayes.trial.plan import Header
from skbayes.trial.records import FoldResult, Trial

N_TRIALS, PAGE = 12, 4096
SPACE = Space.from_notation({"C": (1e-3, 1e3, "log-uniform"), "k": ["rbf", "linear"]})
SPLITS = [(np.arange(10, 30), np.arange(10)), (np.arange(20), np.arange(20, 30))]


def header(path: Path) -> Header:
    """Return what a search reads of its journal before it opens it."""
    identity = {"estimator": "SVC()", "X": "array"}
    return recorded(path, Header(7, SPLITS, identity=identity), is_seeded=False)


def opened(path: Path) -> Journal:
    return Journal(path, SPACE, header(path))


def write(path: Path) -> list[bytes]:
    """Write a journal; return the file after each proposal and each result."""
    states = []
    rng = np.random.default_rng(0)
    for number in range(N_TRIALS):
        params = {"C": float(rng.uniform(0.1, 10)), "k": "rbf"}
        with opened(path) as journal:
            journal.record_proposal(number, params, float(rng.random()))
        states.append(path.read_bytes())
        folds = [FoldResult({"score": rng.random()}, 0.5, 0.25) for _ in SPLITS]
        score = float(np.mean([fold.test_scores["score"] for fold in folds]))
        with opened(path) as journal:
            journal.record_result(Trial(number, params, folds, score, rng.random()))
        states.append(path.read_bytes())
    return states


def content(path: Path) -> str:
    """Return the content of a journal for a reader and for a continued search."""
    read, first = Content.read(path), header(path)
    with opened(path) as journal:
        told = (journal.n_points, journal.proposals, journal.results)
        return repr((read, told, first, journal.stages))


def flips(data: bytes, n: int, rng: np.random.Generator) -> Iterator[bytes]:
    for bit in rng.choice(8 * len(data), n, replace=False):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << (bit % 8)
        yield bytes(flipped)


def noise(data: bytes, n: int, rng: np.random.Generator) -> Iterator[bytes]:
    for start in rng.choice(len(data) - 64, n, replace=False):
        yield data[:start] + rng.bytes(64) + data[start + 64 :]


def truncations(data: bytes, n: int, rng: np.random.Generator) -> Iterator[bytes]:
    for length in rng.choice(np.arange(1, len(data)), n, replace=False):
        yield data[:length]


def torn(states: list[bytes], n: int, rng: np.random.Generator) -> Iterator[bytes]:
    """Yield files that combine pages of two moments."""
    for _ in range(n):
        old, new = (states[i] for i in sorted(rng.choice(len(states), 2, False)))
        pages = [new[i : i + PAGE] for i in range(0, len(new), PAGE)]
        for i in np.flatnonzero(rng.random(len(pages)) < 0.5):
            pages[i] = old[i * PAGE : (i + 1) * PAGE] or pages[i]
        yield b"".join(pages)


def check(file: bytes, path: Path, allowed: set[str]) -> tally.Figures:
    """Read a damaged file."""
    shutil.rmtree(path.parent)
    path.parent.mkdir()
    path.write_bytes(file)
    try:
        return {"held": int(content(path) in allowed), "refused": 0}
    except (ValueError, OSError) as error:
        return {"held": int(str(path) in str(error)), "refused": 1}


def cases(n_flips: int, seed: int) -> Iterator[tuple]:
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case" / "search.journal"
        path.parent.mkdir()
        states = write(path)
        allowed = set()
        for state in states:
            path.write_bytes(state)
            allowed.add(last := content(path))
        data = states[-1]
        for category, files, right in (
            ("single bit flips", flips(data, n_flips, rng), {last}),
            ("noise of 64 bytes", noise(data, n_flips // 8, rng), {last}),
            ("truncations", truncations(data, n_flips // 4, rng), {last}),
            ("torn pages", torn(states, n_flips // 8, rng), allowed),
        ):
            for file in files:
                yield category, check, file, path, right


if __name__ == "__main__":
    tally.main(cases, n_cases=4137)
