"""Rules that prune trials after their first folds, replayed on recorded searches.

The searches are those of ``truth.py``, which fitted all folds of all trials. For each
rule, the columns are: the percentage of the fits that are needed; the percentage of the
searches that still choose the same trial; and the mean logarithm of the ratio (× 1000)
of the loss of the chosen trial on new rows to that of the trial chosen without pruning.
The trials are the recorded ones, although a surrogate would propose other trials after
pruned ones. "First" only makes a share of the trials, without pruning.

    python benchmarks/pruning.py
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any
from unittest import mock

import numpy as np
from harness import Record, Study, main
from truth import half, recorded

from skbayes.evaluation import racing

# Decides from the scores of the complete trials and of the first folds of a trial.
Rule = Callable[[np.ndarray, np.ndarray], bool]


def race(known: np.ndarray, first: np.ndarray, risk: float, share: float) -> bool:
    """Prune if the chance is below the risk; the variance is that of a share."""
    with mock.patch.object(racing, "BEST_SHARE", share):
        return racing.Race(known).chance(first) < risk


def forgiving(known: np.ndarray, first: np.ndarray) -> bool:
    """Prune if the mean is below the worst fold of the best trial (Bergman 2024)."""
    return first.mean() < known[np.argmax(known.mean(axis=1))].min()


def aggressive(known: np.ndarray, first: np.ndarray) -> bool:
    """Prune if the mean is below the mean of the best trial (Bergman 2024)."""
    return first.mean() < known.mean(axis=1).max()


# Rules, and shares of the trials.
RULES: dict[str, Rule | float] = {
    **{
        f"risk {risk} (variance of {name})": partial(race, risk=risk, share=share)
        for name, share in (("all", 1.0), ("best half", 0.5), ("best quarter", 0.25))
        for risk in (0.01, 0.05, 0.1, 0.2)
    },
    "forgiving": forgiving,
    "aggressive": aggressive,
    **{f"first {100 * share:.0f}%": share for share in (0.52, 0.64, 0.72)},
}


def replay(scores: np.ndarray, rule: Rule) -> tuple[int, float]:
    """Return the trial that is chosen, and the share of the fits."""
    n_folds, fits, complete = scores.shape[1], 0, []
    for i, row in enumerate(scores):
        n_fitted = n_folds
        if np.isfinite(row).all():
            if complete:
                known = scores[complete]
                pruned = (m for m in range(1, n_folds) if rule(known, row[:m]))
                n_fitted = next(pruned, n_folds)
            if n_fitted == n_folds:
                complete.append(i)
        fits += n_fitted
    best = max(complete, key=lambda i: float(scores[i].mean()))
    return best, fits / scores.size


@cache
def searches() -> dict[str, Record]:
    """Return the recorded searches by "table:learner:seed"."""
    return {f"{task}:{seed}": run for (task, seed), run in recorded().items()}


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the share of fits, whether the choice is the same, and the log ratio."""
    search, rule = searches()[task], RULES[method]
    scores = np.array(search["scores"], dtype=np.float64)
    scores = scores[: len(scores) - (not search["own_is_trial"])]
    means = np.where(np.isfinite(scores).all(axis=1), scores.mean(axis=1), -np.inf)
    chosen = int(np.argmax(means))
    if callable(rule):
        best, fits = replay(scores, rule)
    else:
        n_trials = int(np.ceil(rule * len(scores)))
        best, fits = int(np.argmax(means[:n_trials])), n_trials / len(scores)
    change = 1000.0 * np.log(search["loss"][best] / search["loss"][chosen])
    return {"figures": [100.0 * fits, 100.0 * (best == chosen), change]}


STUDY = Study(
    name="pruning",
    tasks=lambda: list(searches()),
    methods=tuple(RULES),
    run=run,
    columns=lambda options: ["fits %", "same %", "change"],
    group=half,
    seeds=1,
    smallest=("--every", "60"),
)

if __name__ == "__main__":
    main(STUDY, __doc__, sys.argv[1:] or ["run"])
