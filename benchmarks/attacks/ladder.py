"""Random searches in stages, compared with an independent computation of their choice.

    python benchmarks/attacks/ladder.py before|after [--cases 200]

Each case is a MultiStageSearchCV with random stages, `timeout`, `n_iter`, `refit`,
constraints, metrics and journal. Its fits take simulated seconds, and the score of a
fit is a formula of its configuration, its number of training rows and its test rows. A
case passes if all means are those of the formula, the chosen row is the best one of the
fidelity that the documentation names, `best_score_` and `best_fidelity_` belong to it,
a warning says whether these are not all rows and folds, and the search ends within the
time. With a journal, a second run has other limits; all trials of the first one must be
there again.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tally
from fake_clock import CLOCK
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from skbayes import MultiStageSearchCV
from skbayes.loop import scheduler
from skbayes.search import running
from skbayes.trial import evaluator, fold

N_SPLITS, BOUND = 3, 0.6


class Formula(ClassifierMixin, BaseEstimator):
    """Classifier whose score is a formula, with simulated times of fits."""

    def __init__(self, quality: float = 0.3, unit: float = 1e-3, power: float = 1.0):
        self.quality, self.unit, self.power = quality, unit, power

    def fit(self, X: Any, y: Any) -> Formula:
        """Let the time pass."""
        CLOCK.now += cost(self, len(X))
        self.n_rows_, self.classes_ = len(X), np.unique(y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the first class."""
        return np.full(len(X), self.classes_[0])


def cost(model: Formula, n_rows: int) -> float:
    """Return the simulated seconds of a fit."""
    share = float(n_rows / 9000) ** model.power
    return 9000 * model.unit * share * (1.0 + model.quality)


def value(quality: float, n_rows: int, X_test: Any, metric: str) -> float:
    """Return the score of a fit."""
    best = 0.7 if metric == "a" else 0.2
    noise = 0.05 * quality * float(np.mean(X_test[:, 0]))
    return 1.0 - (quality - best) ** 2 - 0.3 / (1.0 + n_rows / 500) + noise


def scorer_a(model: Any, X: Any, y: Any) -> float:
    """Return the first metric."""
    return value(model.quality, model.n_rows_, X, "a")


def scorer_b(model: Any, X: Any, y: Any) -> float:
    """Return the second metric."""
    return value(model.quality, model.n_rows_, X, "b")


def quality_of(model: Any) -> float:
    """Return the outcome that is bounded."""
    return float(model.quality)


def greatest(results: Any) -> int:
    """Return the row with the greatest mean of the first metric."""
    names = ("mean_test_score", "mean_test_a")
    means = next(results[name] for name in names if name in results)
    return int(np.nanargmax(means))


class Case:
    """Search with random options."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        draw = lambda *options: options[rng.integers(len(options))]  # noqa: E731
        n_rows = int(draw(900, 4500, 13500, 40000))
        self.X = rng.normal(size=(n_rows, 2))
        self.y = np.arange(n_rows) % 2
        power = draw(0.0, 0.5, 1.0, 2.0)
        self.model = Formula(0.3, float(10 ** rng.uniform(-4, -2)), power)
        self.unit = N_SPLITS * cost(self.model, n_rows * 2 // 3)
        self.stages = draw("auto", "auto", "auto", (0.3, 1.0), (0.1, 0.3, 1.0), (1.0,))
        self.timeout = draw(None, *(float(self.unit * 10 ** rng.uniform(-1, 2)),) * 3)
        n_iter = draw(5, 12, 30)
        if self.timeout is not None and (self.stages in ("auto", (1.0,))):
            n_iter = draw(None, None, 1, n_iter)
            if n_iter is None:
                self.timeout = min(self.timeout, 20 * self.unit)
        self.n_iter = n_iter
        self.metrics = draw(False, False, True)
        self.refit = draw(True, "corrected", "ensemble", greatest)
        self.bounded = draw(False, False, True)
        self.journal = draw(False, True)
        self.extension = draw("time", "no time", "trials")
        self.seed = seed

    def search(self, **changes: Any) -> MultiStageSearchCV:
        """Return the search."""
        refit: Any = self.refit
        scoring: Any = scorer_a
        if self.metrics:
            scoring = {"a": scorer_a, "b": scorer_b}
            if isinstance(refit, str):
                refit = {"rule": refit, "metric": "a"}
            refit = "a" if refit is True else refit
        constraints = None
        if self.bounded and self.refit != "ensemble":
            constraints = {"q": (quality_of, f"<= {BOUND}")}
        options = {
            "stages": self.stages,
            "timeout": self.timeout,
            "n_iter": self.n_iter,
            "scoring": scoring,
            "refit": refit,
            "constraints": constraints,
            "cv": N_SPLITS,
            "surrogate": "random",
            "random_state": 0,
        }
        space = {"quality": (0.0, 1.0)}
        return MultiStageSearchCV(self.model, space, **options | changes)

    def check(self) -> None:
        """Run the search, and again with its journal."""
        if not self.journal:
            self.run({})
            return
        with tempfile.TemporaryDirectory() as folder:
            params: dict[str, Any] = {"journal": Path(folder) / "journal"}
            first = self.run(params)
            if self.extension == "trials" and self.n_iter is not None:
                params["n_iter"] = 2 * self.n_iter
            elif self.timeout is not None:
                factor = 3.0 if self.extension == "time" else 1e-6
                params["timeout"] = factor * self.timeout
            again = self.run(params)
            finished = [t for t in first.trials_ if t.fitted.any()]
            for one, other in zip(finished, again.trials_, strict=False):
                assert (one.params, one.fidelity) == (other.params, other.fidelity)
            assert len(again.trials_) >= len(finished), "trials of the journal"

    def run(self, params: dict[str, Any]) -> MultiStageSearchCV:
        """Run and check one search."""
        begin = CLOCK.now
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search = self.search(**params).fit(self.X, self.y)
        seconds = CLOCK.now - begin - cost(search.best_estimator_, len(self.X))
        timeout = params.get("timeout", self.timeout)
        longest = max(trial.duration for trial in search.trials_)
        if timeout is not None:
            # Fits in threads are not aborted.
            assert seconds <= timeout + longest + 1.0, (seconds, timeout)
        warned = any("best_score_ is the score on" in str(w.message) for w in caught)
        if search.trials_[0].fitted.any():
            self.check_table(search)
            self.check_choice(search, warned)
        return search

    def scores(self, trial: Any, metric: str) -> np.ndarray:
        """Return the scores of a trial by the formula."""
        splits = list(StratifiedKFold(N_SPLITS).split(self.X, self.y))
        fidelity = trial.fidelity
        return np.array(
            [
                value(
                    trial.params["quality"],
                    int(np.floor(fidelity.train_fraction * len(train) + 0.5)),
                    self.X[test],
                    metric,
                )
                for train, test in splits[: fidelity.n_folds]
            ]
        )

    def check_table(self, search: MultiStageSearchCV) -> None:
        """Check the means of all trials."""
        table, names = search.all_cv_results_, ["a", "b"] if self.metrics else ["score"]
        for name in names:
            expected = [
                self.scores(trial, "b" if name == "b" else "a").mean()
                for trial in search.trials_
            ]
            np.testing.assert_allclose(table[f"mean_test_{name}"], expected)
        states = {str(trial.state) for trial in search.trials_}
        assert states == {"complete"}, states
        stages = [trial.fidelity.stage for trial in search.trials_]
        assert set(stages) == set(range(max(stages) + 1)), stages

    def check_choice(self, search: MultiStageSearchCV, warned: bool) -> None:
        """Check which trials are compared, and which one is the best."""
        of_stage: dict[int, list[Any]] = {}
        for trial in search.trials_:
            of_stage.setdefault(trial.fidelity.stage, []).append(trial)
        compared = of_stage[0]
        for stage in sorted(of_stage)[1:]:
            expected = [self.best(compared).params]
            if compared[0].fidelity.n_folds is not None:
                expected.append(search.trials_[0].params)
            configurations = [trial.params for trial in of_stage[stage]]
            if all(params in configurations for params in expected):
                compared = of_stage[stage]
        rows = search.cv_results_["params"]
        assert list(rows) == [trial.params for trial in compared], "rows"
        best = self.best(compared)
        if self.refit is greatest:
            best = max(compared, key=lambda trial: self.scores(trial, "a").mean())
        chosen = compared[search.best_index_]
        first = search.trials_[0].params
        if self.refit == "corrected" and chosen.params == first:
            best = chosen
        assert search.best_params_ == best.params, (search.best_params_, best.params)
        assert search.best_fidelity_ == chosen.fidelity
        if self.refit is not greatest:
            np.testing.assert_allclose(
                search.best_score_, self.scores(chosen, "a").mean()
            )
        assert search.best_estimator_.get_params()["quality"] == best.params["quality"]
        data = (chosen.fidelity.train_fraction, chosen.n_folds)
        assert warned == (data < (1.0, N_SPLITS)), (warned, data)

    def best(self, trials: list[Any]) -> Any:
        """Return the first of the best trials, in view of the bound."""
        bounded = self.bounded and self.refit != "ensemble"

        def key(trial: Any) -> tuple[float, float]:
            above = max(0.0, trial.params["quality"] - BOUND) if bounded else 0.0
            return -above, float(self.scores(trial, "a").mean())

        return max(trials, key=key)


def holds(seed: int) -> tally.Figures:
    """Check one case."""
    Case(seed).check()
    return {"held": 1}


def cases(n_cases: int, seed: int) -> Iterator[tuple]:
    """Yield the cases by whether the stages are chosen."""
    for module in (evaluator, fold, scheduler):
        module.time = CLOCK  # type: ignore[attr-defined]
    running.can_end_fits = lambda *args: False
    for number in range(seed, seed + n_cases):
        case = Case(number)
        kind = "chosen" if case.stages == "auto" else "given"
        limit = "without" if case.timeout is None else "with"
        yield f"{kind} stages {limit} a timeout", holds, number


if __name__ == "__main__":
    tally.main(cases, 200)
