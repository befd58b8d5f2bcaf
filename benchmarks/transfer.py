"""Warm starts from searches on other data, with one data set left out.

The tasks are the 36 tables of transfer_tables.py (svc, tree, lightgbm on 12 data sets).
The sources are four searches of 30 trials each, by the same optimizer, on four of the
other data sets. These are drawn separately for each run, and never include the data set
of the task.

Variants:

- none: no transfer;
- transfer: the four sources;
- adversary: the four sources and a search for the worst configurations of another data
  set, with negated scores;
- equal: the same five sources, with the same weight as the surrogate of the search
  itself;
- misled: the adversary alone.

The result is the normalized regret × 1000: 0 is the best score of the table, 1000 the
median score, and values above 2000 count as 2000. Standard errors are over tasks and
seeds.

Example: python benchmarks/transfer.py --seeds 3 --jobs 2 --save
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import zlib
from functools import cache
from typing import Any

import numpy as np
import transfer_tables as tables
from common import Cache, mean_se, means_text, names, run_all, save_results

import skbayes.surrogates.transfer
from skbayes import Optimizer
from skbayes.space.space import key_of
from skbayes.surrogates import Source

METHODS = ("none", "transfer", "adversary", "equal", "misled")
SHOWN = (3, 5, 10, 20)
N_TRIALS, N_SOURCES, N_SOURCE_TRIALS = 20, 4, 30
LARGEST = 2000.0


@cache
def _places(learner: str) -> dict[bytes, int]:
    rows = tables.space(learner).encode(tables.grid(learner))
    return {key_of(row): place for place, row in enumerate(rows)}


def search(optimizer: Optimizer, learner: str, scores: np.ndarray, n: int) -> list[int]:
    """Run n trials, and return their positions in the table."""
    found = []
    for _ in range(n):
        configuration = optimizer.propose()
        found.append(_places(learner)[key_of(configuration.row)])
        optimizer.tell(configuration, float(scores[found[-1]]))
    return found


@cache
def source(learner: str, data: str, seed: int, sign: float) -> Source:
    """Run a search on one data set; with sign -1 for its worst configurations."""
    scores = sign * tables.table(learner, data)
    space = tables.space(learner)
    optimizer = Optimizer(space, random_state=seed)
    rows = search(optimizer, learner, scores, N_SOURCE_TRIALS)
    return Source(space.encode([tables.grid(learner)[i] for i in rows]), scores[rows])


def sources_of(method: str, learner: str, data: str, seed: int) -> list[Source]:
    """Draw the sources of a run, the same for all methods."""
    own = zlib.crc32(f"{learner} {data} {seed} sources".encode())
    others = [one for one in tables.DATA if one != data]
    drawn = np.random.default_rng(own).permutation(others)[: N_SOURCES + 1]
    good = [source(learner, str(one), seed, 1.0) for one in drawn[:N_SOURCES]]
    adversary = source(learner, str(drawn[-1]), seed, -1.0)
    chosen = {"transfer": good, "misled": [adversary]}
    return chosen.get(method, [*good, adversary])


def equal_weights(sources: np.ndarray, *_: Any) -> np.ndarray:
    """Return equal weights for all surrogates."""
    return np.full(len(sources) + 1, 1.0 / (len(sources) + 1))


def run(method: str, learner: str, data: str, seed: int) -> dict[str, Any]:
    """Run one search."""
    own = zlib.crc32(f"{learner} {data} {seed}".encode()) % 2**31
    optimizer = Optimizer(tables.space(learner), random_state=own)
    if method != "none":
        optimizer.transfer(sources_of(method, learner, data, seed))
    scores, weights = tables.table(learner, data), skbayes.surrogates.transfer
    original = weights.ranking_weights
    if method == "equal":
        weights.ranking_weights = equal_weights
    try:
        rows = search(optimizer, learner, scores, N_TRIALS)
    finally:
        weights.ranking_weights = original
    return {
        "learner": learner,
        "data": data,
        "seed": seed,
        "scores": scores[rows].tolist(),
    }


def regrets(record: dict[str, Any]) -> np.ndarray:
    """Return the regret × 1000 after each trial."""
    scores = tables.table(record["learner"], record["data"])
    best = float(np.max(scores))
    reached = np.maximum.accumulate(record["scores"])
    return np.minimum(1000.0 * (best - reached) / (best - np.median(scores)), LARGEST)


def summarize(
    store: Cache, methods: list[str], learners: list[str], seeds: int
) -> dict[str, Any]:
    """Print and return the means over the runs that all methods have finished."""
    found: dict[str, dict[tuple, np.ndarray]] = {
        method: {
            (r["learner"], r["data"], r["seed"]): regrets(r)[np.array(SHOWN) - 1]
            for r in store.load(method)
            if r["seed"] < seeds
        }
        for method in methods
    }
    common = sorted(set.intersection(*map(set, found.values())))
    summary: dict[str, Any] = {"trials": SHOWN, "learners": {}}
    for learner in ["all", *learners]:
        keys = [key for key in common if learner in ("all", key[0])]
        if not keys:
            continue
        entry = summary["learners"].setdefault(learner, {"runs": len(keys)})
        for method, runs in found.items():
            values = np.array([runs[key] for key in keys])
            apart = values - np.array([found[methods[0]][key] for key in keys])
            entry[method] = {**mean_se(values), "minus_first": mean_se(apart)}
            print(
                f"{learner:10}{method:12}{len(keys):5} runs "
                f"{means_text(entry[method])}   apart "
                f"{means_text(entry[method]['minus_first'], '+')}"
            )
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", type=names(METHODS), default=list(METHODS))
    parser.add_argument(
        "--learners", type=names(tables.GRIDS), default=list(tables.GRIDS)
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="delete the cached runs")
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    store = Cache("transfer")
    done = store.done(args.methods, ("learner", "data", "seed"), args.fresh)
    wanted = [
        (method, learner, data, seed)
        for seed in range(args.seeds)
        for learner in args.learners
        for data in tables.DATA
        for method in args.methods
    ]
    jobs = [(one[0], one) for one in wanted if one not in done]
    run_all(run, jobs, store, args.jobs)
    summary = summarize(store, args.methods, args.learners, args.seeds)
    if args.save:
        save_results("transfer/transfer", summary)


if __name__ == "__main__":
    main()
