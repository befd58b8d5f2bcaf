"""Priors over the best configuration: benefit of good ones, loss by misleading ones.

The tasks are the 36 tables of transfer_tables.py (svc, tree, lightgbm on 12 data sets)
and YAHPO Gym's surrogates of perceptrons (lcbench, seven dimensions, accuracy) on 34
data sets. The density of each dimension is learned from the other data sets of a
learner, from the positions of the best twentieth of their configurations. It is a
kernel density with a Gaussian kernel of width 0.1, mixed with a tenth of the uniform
density.

Methods -------
- none: no prior.
- good: the learned density.
- inverted: the inverse, 1 / density, which is large where the best configurations never
  were.
- good-always, inverted-always: the same, but the weight does not depend on the scores.

The result is the normalized regret × 1000: 0 is the best known score, 1000 the median
score, and values above 2000 count as 2000. Standard errors are over tasks and seeds.

Example: python benchmarks/prior_fading.py --seeds 3 --jobs 2 --save
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
from quick_tasks import make_task, yahpo

import skbayes.acquisition.prior
from skbayes import Optimizer
from skbayes.space import OptimumPrior, Space
from skbayes.space.space import key_of

METHODS = ("none", "good", "inverted", "good-always", "inverted-always")
LEARNERS = (*tables.GRIDS, "lcbench")
SHOWN = (5, 10, 20, 40)
N_TRIALS = 40
TOP_SHARE, WIDTH, UNIFORM_SHARE = 0.05, 0.1, 0.1
KNOTS = np.linspace(0.0, 1.0, 13)
N_REFERENCE = 300
LARGEST = 2000.0


def data_of(learner: str) -> list[str]:
    """Return the names of the data sets of a learner."""
    if learner == "lcbench":
        return list(map(str, yahpo("lcbench").instances))
    return list(tables.DATA)


@cache
def space_of(learner: str) -> Space:
    """Return the search space of a learner."""
    if learner in tables.GRIDS:
        return tables.space(learner)
    notation = make_task(f"lcbench:{data_of(learner)[0]}/val_accuracy")[1]
    return Space.from_notation(notation)


@cache
def _places(learner: str) -> dict[bytes, int]:
    rows = space_of(learner).encode(tables.grid(learner))
    return {key_of(row): place for place, row in enumerate(rows)}


def score_of(learner: str, data: str, configuration: Any) -> float:
    """Return the score of one configuration."""
    if learner in tables.GRIDS:
        place = _places(learner)[key_of(configuration.row)]
        return float(tables.table(learner, data)[place])
    return make_task(f"lcbench:{data}/val_accuracy")[2](configuration.params)


@cache
def reference(learner: str, data: str) -> tuple[np.ndarray, np.ndarray]:
    """Return encoded configurations and scores: a whole table, or a random sample."""
    space = space_of(learner)
    if learner in tables.GRIDS:
        return space.encode(tables.grid(learner)), tables.table(learner, data)
    rng = np.random.default_rng(0)
    X = space.from_uniform(rng.random((N_REFERENCE, space.n_columns)))
    score = make_task(f"lcbench:{data}/val_accuracy")[2]
    return X, np.array([score(params) for params in space.decode(X)])


def prior_of(learner: str, data: str, sign: float) -> OptimumPrior:
    """Return a density learned from the other data sets; with sign -1 its inverse."""
    space, best = space_of(learner), []
    for other in data_of(learner):
        if other != data:
            X, scores = reference(learner, other)
            order = np.argsort(-scores, kind="stable")
            best.append(X[order[: int(np.ceil(TOP_SHARE * len(X)))]])
    positions = np.vstack(best)
    densities: dict[Any, Any] = {}
    for place, column in enumerate(space.columns):
        x = positions[:, place]
        if column.dimension.is_categorical:
            grid = column.dimension.grid
            counts = np.array([np.sum(x == position) for position in grid])
            weights = (1 - UNIFORM_SHARE) * counts / np.sum(counts)
            densities[place] = sign * np.log(weights + UNIFORM_SHARE / len(grid))
            continue
        kernel = np.exp(-0.5 * ((KNOTS[:, None] - x) / WIDTH) ** 2).sum(axis=1)
        # Divide by the density of uniformly drawn configurations.
        even = column.dimension.from_uniform((np.arange(200) + 0.5) / 200)
        flat = np.exp(-0.5 * ((KNOTS[:, None] - even) / WIDTH) ** 2).sum(axis=1)
        ratio = (kernel / len(x)) / (flat / len(even))
        mixed = (1 - UNIFORM_SHARE) * ratio + UNIFORM_SHARE
        densities[place] = (KNOTS, sign * np.log(mixed))
    return OptimumPrior(space, densities)


def run(method: str, learner: str, data: str, seed: int) -> dict[str, Any]:
    """Run one search."""
    kind, _, always = method.partition("-")
    prior = None
    if kind != "none":
        prior = prior_of(learner, data, 1.0 if kind == "good" else -1.0)
    agreement = skbayes.acquisition.prior.agreement
    if always:
        skbayes.acquisition.prior.agreement = lambda *_: 1.0
    try:
        own = zlib.crc32(f"{learner} {data} {seed}".encode()) % 2**31
        optimizer = Optimizer(space_of(learner), prior=prior, random_state=own)
        scores = []
        for _ in range(N_TRIALS):
            configuration = optimizer.propose()
            scores.append(score_of(learner, data, configuration))
            optimizer.tell(configuration, scores[-1])
    finally:
        skbayes.acquisition.prior.agreement = agreement
    return {"learner": learner, "data": data, "seed": seed, "scores": scores}


def regrets(
    store: Cache, learners: list[str], seeds: int
) -> dict[str, dict[tuple, np.ndarray]]:
    """Return regrets × 1000 after each trial, by method and (learner, data, seed)."""
    records = [
        (m, (r["learner"], r["data"], r["seed"]), np.array(r["scores"]))
        for m in METHODS
        for r in store.load(m)
        if r["learner"] in learners and r["seed"] < seeds
    ]
    best: dict[tuple, float] = {}
    for _, key, scores in records:
        known = max(np.max(scores), np.max(reference(*key[:2])[1]))
        best[key[:2]] = max(best.get(key[:2], -np.inf), float(known))
    found: dict[str, dict[tuple, np.ndarray]] = {method: {} for method in METHODS}
    for method, key, scores in records:
        spread = best[key[:2]] - np.median(reference(*key[:2])[1])
        regret = 1000.0 * (best[key[:2]] - np.maximum.accumulate(scores)) / spread
        found[method][key] = np.minimum(regret, LARGEST)
    return found


def summarize(found: dict[str, dict], learners: list[str]) -> dict[str, Any]:
    """Print and return the means over the runs that all methods have finished."""
    summary: dict[str, Any] = {"trials": SHOWN, "learners": {}}
    common = set.intersection(*(set(runs) for runs in found.values() if runs))
    for learner in ["all", *learners]:
        keys = [key for key in sorted(common) if learner in ("all", key[0])]
        if not keys:
            continue
        summary["learners"][learner] = {"runs": len(keys)}
        for method, runs in found.items():
            if runs:
                values = np.array([runs[key] for key in keys])[:, np.array(SHOWN) - 1]
                entry = mean_se(values)
                summary["learners"][learner][method] = entry
                print(f"{learner:10}{method:18}{len(keys):5} runs {means_text(entry)}")
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--learners", type=names(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--methods", type=names(METHODS), default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="delete the cached runs")
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    store = Cache("prior_fading")
    done = store.done(args.methods, ("learner", "data", "seed"), args.fresh)
    wanted = [
        (method, learner, data, seed)
        for seed in range(args.seeds)
        for learner in args.learners
        for data in data_of(learner)
        for method in args.methods
    ]
    jobs = [(one[0], one) for one in wanted if one not in done]
    run_all(run, jobs, store, args.jobs)
    summary = summarize(regrets(store, args.learners, args.seeds), args.learners)
    if args.save:
        save_results("prior_fading/prior_fading", summary)


if __name__ == "__main__":
    main()
