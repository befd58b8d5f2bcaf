"""Rules that prune trials after their first folds, replayed and in new searches.

`replay` uses the searches of ``truth.py``, which fitted all folds of all trials. Each
search is replayed with several random orders of the folds. For each rule, the columns
are: the percentage of the fits that are needed; the percentage of the searches that
still choose the same trial; and mean logarithms of ratios (× 1000) of the loss of the
chosen trial to that of the trial chosen without pruning. The first are losses on the
folds, and have little noise; the second are losses on new rows. The trials are the
recorded ones, although a surrogate would propose other trials after pruned ones.
"Rotated" trials begin with one fold after the other. "Resumed" trials were pruned, and
are continued at the end while their chance is at least 10%. "First" only makes a share
of the trials, without pruning.

`live` makes searches with and without ``racing=True``. The columns are the fits, the
seconds of the processor, and the logarithms of the two losses (× 1000).

    python benchmarks/pruning.py replay
    python benchmarks/pruning.py live --every 3 --methods "all folds,racing,14 trials"
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from harness import Record, Study, main
from sklearn.base import clone
from truth import N_TRIALS, half, make_task, recorded, task_names

from skbayes import BayesSearchCV
from skbayes.evaluation.racing import Race

# Returns, from the scores of the complete trials, whether to prune a trial after the
# scores of its first folds.
Rule = Callable[[np.ndarray], Callable[[np.ndarray], bool]]
N_ORDERS = 4


def race(known: np.ndarray, risk: float) -> Callable[[np.ndarray], bool]:
    """Prune if the chance is below the risk."""
    comparison = Race(known)
    return lambda first: comparison.chance(first) < risk


def forgiving(known: np.ndarray) -> Callable[[np.ndarray], bool]:
    """Prune if the mean is below the worst fold of the best trial (Bergman 2024)."""
    least = known[np.argmax(known.mean(axis=1))].min()
    return lambda first: first.mean() < least


def aggressive(known: np.ndarray) -> Callable[[np.ndarray], bool]:
    """Prune if the mean is below the mean of the best trial (Bergman 2024)."""
    best = known.mean(axis=1).max()
    return lambda first: first.mean() < best


# Rules, whether each trial begins with another fold, and the chance above which the
# most promising trials are resumed at the end, if any; or shares of the trials.
RULES: dict[str, tuple[Rule, bool, float | None] | float] = {
    **{
        f"risk {risk}{' rotated' * rotated}": (partial(race, risk=risk), rotated, None)
        for rotated in (False, True)
        for risk in (0.01, 0.05, 0.2, 0.3)
    },
    "risk 0.5 rotated resumed": (partial(race, risk=0.5), True, 0.1),
    "forgiving": (forgiving, False, None),
    "aggressive": (aggressive, False, None),
    **{f"first {100 * share:.0f}%": share for share in (0.52, 0.64)},
}


def replay(
    scores: np.ndarray, rule: Rule, rotated: bool = False, end: float | None = None
) -> tuple[int, float]:
    """Return the trial that is chosen, and the share of the fits."""
    n, K = scores.shape
    places = [(np.arange(K) + i * rotated) % K for i in range(n)]
    fits, complete = np.full(n, K), []
    for i in np.flatnonzero(np.isfinite(scores).all(axis=1)):
        known, row = scores[complete][:, places[i]], scores[i, places[i]]
        if complete:
            prunes = rule(known)
            pruned = (m for m in range(1, K) if prunes(row[:m]))
            fits[i] = next(pruned, K)
        if fits[i] == K:
            complete.append(i)
    while end is not None and (fits < K).any():
        chances = np.full(n, -1.0)
        for i in np.flatnonzero(fits < K):
            first = scores[i, places[i][: fits[i]]]
            chances[i] = Race(scores[complete][:, places[i]]).chance(first)
        i = int(np.argmax(chances))
        if chances[i] < end:
            break
        fits[i] += 1
        if fits[i] == K:
            complete.append(i)
    best = max(complete, key=lambda i: float(scores[i].mean()))
    return int(best), fits.sum() / scores.size


@cache
def searches() -> dict[str, Record]:
    """Return the recorded searches by "table:learner:seed"."""
    return {f"{task}:{seed}": run for (task, seed), run in recorded().items()}


def fold_loss(task: str, score: float) -> float:
    """Return the loss of a mean score on the folds; an accuracy has the least loss."""
    return max(1.0 - score if score > 0.0 else -score, 1e-3)


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the share of fits, whether the choice is the same, and log ratios."""
    search, rule = searches()[task], RULES[method]
    scores = np.array(search["scores"], dtype=np.float64)
    scores = scores[: len(scores) - (not search["own_is_trial"])]
    means = np.where(np.isfinite(scores).all(axis=1), scores.mean(axis=1), -np.inf)
    chosen, figures = int(np.argmax(means)), []
    for order in range(N_ORDERS):
        if isinstance(rule, tuple):
            columns = np.random.default_rng(order).permutation(scores.shape[1])
            best, fits = replay(scores[:, columns], *rule)
        else:
            n_trials = int(np.ceil(rule * len(scores)))
            best, fits = int(np.argmax(means[:n_trials])), n_trials / len(scores)
        same = means[best] >= means[chosen] - 1e-9
        best = chosen if same else best
        on_folds = [fold_loss(task, means[i]) for i in (best, chosen)]
        on_rows = [search["loss"][i] for i in (best, chosen)]
        ratios = [1000.0 * np.log(a / b) for a, b in (on_folds, on_rows)]
        figures.append([100.0 * fits, 100.0 * same, *ratios])
    return {"figures": np.mean(figures, axis=0).tolist()}


def run_live(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the fits, the seconds and the losses of a search."""
    warnings.simplefilter("ignore")
    task, begin = make_task(name, seed), time.process_time()
    search = BayesSearchCV(
        task.estimator,
        task.space,
        cv=task.folds(),
        scoring=task.scoring,
        refit=False,
        random_state=seed,
        **{"n_iter": N_TRIALS, **LIVE[method]},
    ).fit(task.X, task.y)
    seconds = time.process_time() - begin
    fits = sum(fold.is_fitted for trial in search.trials_ for fold in trial.folds)
    params = clone(search.best_params_, safe=False)
    model = clone(task.estimator).set_params(**params).fit(task.X, task.y)
    loss = task.loss(getattr(model, task.method)(task.X_test))
    losses = [fold_loss(name, search.best_score_), loss]
    return {"figures": [fits, seconds, *(1000.0 * np.log(losses)).tolist()]}


LIVE: dict[str, dict[str, Any]] = {
    "all folds": {},
    "racing": {"racing": True},
    "14 trials": {"n_iter": 14},
    "rounds": {"rounds": "auto"},
    "rounds racing": {"rounds": "auto", "racing": True},
}


def columns(options: Any) -> Sequence[str]:
    return ["fits %", "same %", "on folds", "on new rows"]


STUDIES = {
    "replay": Study(
        name="pruning",
        tasks=lambda: list(searches()),
        methods=tuple(RULES),
        run=run,
        columns=columns,
        group=half,
        seeds=1,
        smallest=("--every", "60"),
    ),
    "live": Study(
        name="pruning_live",
        tasks=task_names,
        methods=tuple(LIVE),
        run=run_live,
        columns=lambda options: ["fits", "seconds", "on folds", "on new rows"],
        group=half,
        seeds=1,
        smallest=("--tasks", "iris:linear", "--methods", "racing"),
    ),
}

if __name__ == "__main__":
    main(STUDIES, __doc__)
