"""Search methods timed by the processor time of their fits and scores.

- "hypertune": HyperTuneSearchCV of skbayes, including the time of its small samples.
- "ei-bo": BayesSearchCV of skbayes with expected improvement, on all training rows.
- "hyperband": Hyperband (Li et al. 2018) with factor 3. Each of its brackets is a
  HalvingRandomSearchCV of scikit-learn. The resource is the number of rows, or the
  number of iterations if the learner is iterative.
- "fabolas-like": an approximation of Fabolas (Klein et al. 2017), not Fabolas itself.
  It fits a Gaussian process to configurations and training fractions. The next trial
  maximizes the expected improvement on all rows per expected second, with the deviation
  that a trial at that fraction can explain.

Each fit with its score is one event. The time of proposals does not count, because the
data are small; it is reported separately.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import loguniform, qmc, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV, PredefinedSplit

from skbayes import BayesSearchCV, HyperTuneSearchCV
from skbayes.acquisition import ExpectedImprovement
from skbayes.space import Space
from skbayes.surrogates import GaussianProcess
from skbayes.surrogates.gp.kernels import matern52

__all__ = ["METHODS", "Clocked", "TimeIsUp", "run_method"]

FACTOR = 3

# Training fractions of "fabolas-like", and its first trials.
FRACTIONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
N_FIRST = 8
N_CANDIDATES = 512
OVERHEAD = 0.1


class TimeIsUp(BaseException):
    """Exception at the time limit; searches catch only subclasses of Exception."""


class Clock:
    """Clock and events of a run; one instance per process, reset for each run."""

    def __init__(self) -> None:
        self.spent, self.limit = 0.0, math.inf
        self.events: list[dict[str, Any]] = []
        self._begin = 0.0

    def start(self) -> None:
        """Start an event, unless the time limit is reached."""
        if self.spent >= self.limit:
            raise TimeIsUp
        self._begin = time.process_time()

    def stop(self) -> None:
        """End an event."""
        self.spent += time.process_time() - self._begin


CLOCK = Clock()


class Clocked(ClassifierMixin, BaseEstimator):
    """Estimator whose fits and scores are timed by the clock."""

    def __init__(self, model: Any = None, full: int = 0) -> None:
        self.model = model
        self.full = full

    def fit(self, X: Any, y: Any) -> Clocked:
        """Fit a clone of the estimator."""
        CLOCK.start()
        self.classes_ = np.unique(y)
        self.model_ = clone(self.model).fit(X, y)
        self.n_rows_ = len(y)
        CLOCK.stop()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions."""
        return self.model_.predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy and end the event."""
        CLOCK.start()
        score = float(self.model_.score(X, y))
        CLOCK.stop()
        CLOCK.events.append(
            {
                "params": {k: _plain(v) for k, v in self.model.get_params().items()},
                "score": score,
                "amount": self.n_rows_ / self.full,
                "spent": CLOCK.spent,
            }
        )
        return score


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def prefixed(space: dict[str, Any]) -> dict[str, Any]:
    return {f"model__{name}": value for name, value in space.items()}


# -- methods --------------------------------------------------------------------------


def hypertune(task: Any, seed: int, n_full: int, signs: dict[str, int]) -> Any:
    """Run HyperTune: 15 trials on each of 5 samples, `n_full` on all rows."""
    search = HyperTuneSearchCV(
        Clocked(task.model, task.n_train),
        prefixed(task.space),
        complexity=prefixed(signs),
        n_iter=75 + n_full,
        n_small_iter=15,
        cv=PredefinedSplit(task.fold),
        refit=False,
        random_state=seed,
    )
    return search.fit(task.X, task.y)


def ei_bo(
    task: Any, seed: int, n_iter: int = 1000, start: dict[str, Any] | None = None
) -> None:
    """Run BO on all rows until the time limit, or for a number of trials."""
    BayesSearchCV(
        Clocked(task.model, task.n_train),
        prefixed(task.space),
        n_iter=n_iter,
        initial_points=None if start is None else [start],
        cv=PredefinedSplit(task.fold),
        refit=False,
        random_state=seed,
    ).fit(task.X, task.y)


def hyperband(task: Any, seed: int) -> None:
    """Repeat the brackets of Hyperband until the time limit."""
    distributions = {name: _distribution(v) for name, v in prefixed(task.space).items()}
    if task.iterations is None:
        resource, largest = "n_samples", len(task.y)
        # At least one row of each class and of each part of the only split.
        smallest = max(len(task.y) // FACTOR**3, 5 * len(np.unique(task.y)))
    else:
        resource = f"model__{task.iterations}"
        largest, smallest = getattr(task.model, task.iterations), 1
    deepest = int(math.log(largest / smallest, FACTOR) + 1e-9)
    rng = np.random.RandomState(seed)
    while True:
        for s in range(deepest, -1, -1):
            HalvingRandomSearchCV(
                Clocked(task.model, task.n_train),
                distributions,
                n_candidates=math.ceil((deepest + 1) / (s + 1) * FACTOR**s),
                factor=FACTOR,
                resource=resource,
                max_resources=largest,
                min_resources=max(1, int(largest * FACTOR**-s)),
                cv=PredefinedSplit(task.fold),
                refit=False,
                return_train_score=False,
                random_state=rng.randint(2**31 - 1),
            ).fit(task.X, task.y)


def _distribution(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    low, high, *prior = value
    if prior and prior[0] == "log-uniform":
        if isinstance(low, int):
            return _WholeLogUniform(low, high)
        return loguniform(low, high)
    if isinstance(low, int):
        return randint(low, high + 1)
    return uniform(low, high - low)


class _WholeLogUniform:
    """Log-uniform distribution of whole numbers."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def rvs(self, random_state: Any = None) -> int:
        """Draw one number."""
        u = np.random.RandomState(random_state.randint(2**31 - 1)).uniform()
        return int(round(self.low * (self.high / self.low) ** u))


def fabolas_like(task: Any, seed: int) -> None:
    """Run the approximation of Fabolas until the time limit."""
    space = Space.from_notation(task.space)
    rng = np.random.default_rng(seed)
    train, test = np.flatnonzero(task.fold < 0), np.flatnonzero(task.fold == 0)
    order = rng.permutation(train)
    rows: list[np.ndarray] = []
    scores: list[float] = []
    costs: list[float] = []
    sobol = qmc.Sobol(space.n_columns, seed=rng)
    first = space.from_uniform(sobol.random(N_FIRST))
    while True:
        if len(rows) < N_FIRST:
            x, fraction = first[len(rows)], FRACTIONS[len(rows) % 4]
        else:
            x, fraction = _next(space, np.array(rows), scores, costs, sobol, rng)
        (params,) = space.decode(x[None, :])
        chosen = order[: max(int(fraction * len(order)), 1)]
        before = CLOCK.spent
        model = Clocked(clone(task.model).set_params(**params), task.n_train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = model.fit(task.X[chosen], task.y[chosen]).score(
                task.X[test], task.y[test]
            )
        rows.append(np.append(x, _place(fraction)))
        scores.append(score)
        costs.append(CLOCK.spent - before)
        # The incumbent of Fabolas has the best prediction for all rows.
        model_ = GaussianProcess(n_samples=0).fit(np.array(rows), np.array(scores))
        whole = np.array(rows)
        whole[:, -1] = 1.0
        best = int(np.argmax(model_.predict(whole)[0][0]))
        CLOCK.events[-1]["incumbent"] = best


def _place(fraction: float) -> float:
    """Return the position of a training fraction: 0 is the smallest, 1 all rows."""
    return 1.0 - math.log(fraction) / math.log(FRACTIONS[0])


def _next(
    space: Space,
    rows: np.ndarray,
    scores: list[float],
    costs: list[float],
    sobol: qmc.Sobol,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Choose configuration and fraction by expected improvement per second."""
    model = GaussianProcess().fit(rows, np.array(scores))
    cost = GaussianProcess(n_samples=0, winsorize_scores=False).fit(
        rows, np.log(np.maximum(costs, 1e-4))
    )
    whole = rows.copy()
    whole[:, -1] = 1.0
    best_f = np.max(model.predict(whole)[0], axis=1, keepdims=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = space.from_uniform(sobol.random(N_CANDIDATES))
    top = rows[np.argsort(scores)[-3:], :-1].repeat(64, axis=0)
    near = space.snap(np.clip(top + 0.05 * rng.standard_normal(top.shape), 0.0, 1.0))
    X = np.vstack([drawn, near])
    mean, sd = model.predict(np.column_stack([X, np.ones(len(X))]))
    scale = np.exp(model.thetas_[:, rows.shape[1] - 1])
    best, chosen = -math.inf, (X[0], 1.0)
    for fraction in FRACTIONS:
        place = _place(fraction)
        correlation = matern52(np.square((1.0 - place) / scale))[0]
        ei = ExpectedImprovement()
        value, _ = ei.average(ei(mean, sd * correlation[:, None], best_f))
        at = np.column_stack([X, np.full(len(X), place)])
        # Fabolas adds the overhead of a trial to its fit. Here it is a share of the
        # most expensive trial; without it, the method only proposes the cheapest
        # trials.
        seconds = np.exp(cost.predict(at)[0][0]) + OVERHEAD * max(costs)
        value = value - np.log(seconds)
        if np.max(value) > best:
            best = float(np.max(value))
            chosen = (X[int(np.argmax(value))], fraction)
    return chosen


METHODS = ("hypertune", "ei-bo", "hyperband", "fabolas-like")
RIVALS = {"ei-bo": ei_bo, "hyperband": hyperband, "fabolas-like": fabolas_like}


def run_method(
    name: str,
    task: Any,
    seed: int,
    limit: float = math.inf,
    n_full: int = 20,
    signs: dict[str, int] | None = None,
    start: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Run one search until the time limit in seconds.

    With `start`, run BO on all rows from this configuration for `n_full` trials.

    Returns the events, with marked incumbents, and the processor time of proposals.
    """
    global CLOCK
    CLOCK.__init__()  # type: ignore[misc]
    CLOCK.limit = limit
    begin = time.process_time()
    record: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if name == "hypertune":
                search = hypertune(task, seed, n_full, signs or task.signs)
                record = {
                    "small_optimum": search.small_optimum_,
                    "weakened": search.weakened_,
                    "in_force": search.signs_in_force_,
                }
            elif start is not None:
                ei_bo(task, seed, n_full, start)
            else:
                RIVALS[name](task, seed)
        except TimeIsUp:
            pass
    events = CLOCK.events
    record |= {"events": events, "thinking": time.process_time() - begin - CLOCK.spent}
    _mark_incumbents(name, events, task)
    return record


def _mark_incumbents(name: str, events: list[dict], task: Any) -> None:
    """Store in each event the event whose configuration the search would return."""
    best, best_key = -1, (0, 0.0)
    for number, event in enumerate(events):
        amount = event["amount"]
        if task.iterations is not None:
            most = getattr(task.model, task.iterations)
            amount *= event["params"][task.iterations] / most
        event["amount"] = amount
        if name == "fabolas-like":
            event.setdefault("incumbent", best)
            best = event["incumbent"]
            continue
        # Events are compared by the amount of data or iterations first, and then by
        # score. Amounts are rounded to powers of FACTOR, because brackets differ by
        # rounding.
        key = (round(math.log(amount, FACTOR)), event["score"])
        if best < 0 or key > best_key:
            best, best_key = number, key
        event["incumbent"] = best
