"""Best feasible score under bounds on outcomes, by the number of trials.

The tasks are defined in `limit_tasks.py`. Each run has a method, a task and a seed.
Finished runs are cached in `cache/limits-runs/`, and single evaluations in
`cache/limits-trials/`.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
from common import HERE, Cache, names, run_all
from limit_tasks import TASKS
from methods import Params, Space, _Optuna, _Skbayes

# Numbers of trials after which methods are compared.
CHECKPOINTS = (15, 30)

# Penalty of a score per unit of violation.
PENALTY = 1.0


class Constrained(_Skbayes):
    """Optimizer of skbayes that observes the values of the constraints."""

    def tell_limited(self, params: Params, score: float, slacks: list[float]) -> None:
        """Report score and slacks of a trial."""
        self._optimizer.tell(params, score, constraints=slacks)


class Filtered(_Skbayes):
    """Optimizer of skbayes without constraints."""

    def tell_limited(self, params: Params, score: float, slacks: list[float]) -> None:
        """Report score and slacks of a trial."""
        self._optimizer.tell(params, score)


class Penalized(_Skbayes):
    """Optimizer of skbayes whose scores are reduced in proportion to the violation."""

    def tell_limited(self, params: Params, score: float, slacks: list[float]) -> None:
        """Report score and slacks of a trial."""
        violation = sum(max(0.0, slack) for slack in slacks)
        self._optimizer.tell(params, score - PENALTY * violation)


class Failed(_Skbayes):
    """Optimizer of skbayes in which trials that violate a constraint are failures."""

    def tell_limited(self, params: Params, score: float, slacks: list[float]) -> None:
        """Report score and slacks of a trial."""
        self._optimizer.tell(params, np.nan if max(slacks) > 0 else score)


class OptunaLimited(_Optuna):
    """Sampler of Optuna that observes the values of the constraints."""

    def tell_limited(self, params: Params, score: float, slacks: list[float]) -> None:
        """Report score and slacks of a trial."""
        for trial in self._running:
            for place, slack in enumerate(slacks):
                trial.set_constraint(str(place), slack)
        self.tell(params, score)


METHODS: dict[str, Any] = {
    "skbayes": Constrained,
    "skbayes tpe": lambda space, seed: Constrained(space, seed, surrogate="tpe"),
    "optuna gp": lambda space, seed: OptunaLimited(space, seed, "GPSampler"),
    "optuna tpe": lambda space, seed: OptunaLimited(space, seed, "TPESampler"),
    "penalized": Penalized,
    "failed": Failed,
    "filtered": Filtered,
}


def evaluate(task: str, params: Params, cache: Cache, known: dict) -> Any:
    """Evaluate a configuration once, and cache the result."""
    key = json.dumps(params, sort_keys=True)
    if key not in known:
        score, slacks = TASKS[task].evaluate(params)
        known[key] = [score, slacks]
        cache.append(task, {"key": key, "value": known[key]})
    return known[key]


def run(method: str, task: str, seed: int) -> dict[str, Any]:
    """Return scores and violations of the trials of one run."""
    warnings.simplefilter("ignore")
    cache = Cache("limits-trials")
    known = {one["key"]: one["value"] for one in cache.load(task)}
    space: Space = TASKS[task].space
    optimizer = METHODS[method](space, seed)
    scores, violations, seconds = [], [], 0.0
    for _ in range(max(CHECKPOINTS)):
        begin = time.perf_counter()
        params = optimizer.ask()
        seconds += time.perf_counter() - begin
        score, slacks = evaluate(task, params, cache, known)
        optimizer.tell_limited(params, score, slacks)
        scores.append(score)
        violations.append(sum(max(0.0, slack) for slack in slacks))
    return {
        "method": method,
        "task": task,
        "seed": seed,
        "scores": scores,
        "violations": violations,
        "seconds": seconds,
    }


def best_allowed(record: dict[str, Any], n: int) -> float:
    """Return the best score of the first trials that meet all bounds, or NaN."""
    pairs = zip(record["scores"][:n], record["violations"][:n], strict=True)
    return max((s for s, v in pairs if v <= 0.0), default=np.nan)


def summarize(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means and standard errors in percent, and mean ranks within seeds.

    A run without a feasible trial gets the lowest feasible score of the task.
    """
    summary: dict[str, Any] = {}
    ranks: dict[tuple[str, int], list[float]] = {}
    for task in TASKS:
        own = [one for one in records if one["task"] == task]
        allowed = [
            score
            for one in own
            for score, v in zip(one["scores"], one["violations"], strict=True)
            if v <= 0.0
        ]
        least = min(allowed, default=0.0)
        table: dict[str, Any] = {}
        for n in CHECKPOINTS:
            by_seed: dict[int, dict[str, float]] = {}
            for one in own:
                best = best_allowed(one, n)
                value = least if np.isnan(best) else best
                by_seed.setdefault(one["seed"], {})[one["method"]] = value
            for method in METHODS:
                values = [one[method] for one in by_seed.values() if method in one]
                if values:
                    se = np.std(values, ddof=min(1, len(values) - 1))
                    table.setdefault(method, {"runs": len(values)})[str(n)] = [
                        round(100 * float(np.mean(values)), 2),
                        round(100 * float(se) / len(values) ** 0.5, 2),
                    ]
            whole = [one for one in by_seed.values() if len(one) == len(METHODS)]
            for one in whole:
                for method in METHODS:
                    better = sum(value > one[method] for value in one.values())
                    equal = sum(value == one[method] for value in one.values())
                    ranks.setdefault((method, n), []).append(better + (equal + 1) / 2)
        if table:
            summary[task] = table
    summary["mean rank"] = {
        method: {
            str(n): [
                round(float(np.mean(ranks[method, n])), 2),
                round(
                    float(np.std(ranks[method, n]) / len(ranks[method, n]) ** 0.5), 2
                ),
            ]
            for n in CHECKPOINTS
            if ranks.get((method, n))
        }
        for method in METHODS
    }
    return summary


def show(summary: dict[str, Any]) -> None:
    """Print the tables."""
    for title, table in summary.items():
        print(f"\n{title}")
        for method, row in table.items():
            cells = "  ".join(
                f"{n}: {row[str(n)][0]:6.2f} ± {row[str(n)][1]:.2f}"
                for n in CHECKPOINTS
                if str(n) in row
            )
            print(f"  {method:14s} {cells}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", type=names(METHODS), default=list(METHODS))
    parser.add_argument("--tasks", type=names(TASKS), default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument(
        "--fresh",
        type=names(METHODS),
        default=[],
        help="methods to run again",
    )
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--show", action="store_true", help="print finished runs only")
    args = parser.parse_args()
    cache = Cache("limits-runs")
    for method in args.fresh:
        cache.clear(method)
    if not args.show:
        done = {
            (one["method"], one["task"], one["seed"])
            for method in METHODS
            for one in cache.load(method)
        }
        jobs = [
            (method, (method, task, seed))
            for seed in range(args.seeds)
            for task in args.tasks
            for method in args.methods
            if (method, task, seed) not in done
        ]
        run_all(run, jobs, cache, args.jobs)
    summary = summarize([one for method in METHODS for one in cache.load(method)])
    show(summary)
    if args.save:
        folder = HERE / "results" / "limits"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(summary, indent=1)
        (folder / "constraints.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
