"""Losses on new rows of the configurations that searches choose.

Each run searches the default space of a learner on a part of a table. It records the
scores of all trials on the folds of the search, and the loss of each trial on new rows.
The best trials and the estimator's own values are also scored on two further draws of
the folds. Rules for the choice of a trial are then compared on the records, at equal
numbers of fits: a rule with further fits chooses among fewer trials.

The columns are: the percentage of runs whose loss on new rows is greater than that of
the estimator's own values; the mean logarithm of the ratio of these losses (× 1000);
the same if the models of the folds are averaged, without a refit; and the mean
logarithm of the ratio to the smallest loss of a trial (× 1000). The tables are split
into a half by which a rule is chosen, and a half that judges it. The last row
is the ensemble of the trials of a search with as many fits.

`--recorded` reads the records in results/truth/.

Example: python benchmarks/truth.py run --finished --recorded
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import HERE, Record, Runs, Study, load, main
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn import datasets
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from skbayes import BayesSearchCV
from skbayes.results import corrected_best_score
from skbayes.search.choice import gain_of
from skbayes.space import Choice
from skbayes.spaces import default_space
from skbayes.spaces.parts import renamed

N_TRIALS, N_FOLDS, N_CONTENDERS = 25, 5, 8
N_TEST, LEAST_OF_CLASS, MOST_CLASSES = 2000, 15, 7
LIMIT = {"max_iter": 5000}
FOREST = {"n_estimators": 30, "random_state": 0}
BOOSTING = {"n_estimators": 50, "random_state": 0, "n_jobs": 1, "verbose": -1}
NETWORK = {"max_iter": 25, "learning_rate_init": 0.01, "random_state": 0}
# Learner: its classes for classification and regression, their parameters, and the
# maximum number of training rows.
LEARNERS: dict[str, tuple[type, type, dict, dict, int]] = {
    "linear": (LogisticRegression, Ridge, {}, {}, 600),
    "neighbors": (KNeighborsClassifier, KNeighborsRegressor, {}, {}, 600),
    "boosting": (LGBMClassifier, LGBMRegressor, BOOSTING, BOOSTING, 400),
    "svm": (SVC, SVR, LIMIT, LIMIT, 500),
    "network": (MLPClassifier, MLPRegressor, NETWORK, NETWORK, 400),
    "forest": (RandomForestClassifier, RandomForestRegressor, FOREST, FOREST, 400),
}
CLASSIFICATION = (
    *("adult", "iris", "breast_cancer", "digits", "letter", "wine"),
    *("banknote", "breast_cancer_yugoslavia", "ecoli", "german_credit", "haberman"),
    *("ionosphere", "mammography", "oil_spill", "pima", "segment", "sonar"),
    *("soybean", "vote"),
)
REGRESSION = (
    *("abalone", "auto_mpg", "bodyfat", "boston_housing", "cpu", "diabetes", "quake"),
    *("servo", "strike", "wine_red"),
)
HALVES = ("chosen on", "judged on")
ENSEMBLE = 'refit="ensemble"'  # row of the ensemble of the trials
FROM_SKLEARN = ("breast_cancer", "diabetes", "digits", "iris", "wine")


# -- tasks -------------------------------------------------------------------------


def task_names() -> list[str]:
    """Return "table:learner", ordered so that each learner gets tables early."""
    kinds = (CLASSIFICATION, REGRESSION)
    # The tables of regression are distributed among the others.
    places = {name: (i + 0.5) / len(k) for k in kinds for i, name in enumerate(k)}
    tables = sorted(places, key=lambda name: places[name])
    learners = [*LEARNERS, "choice"]
    return [
        f"{tables[(i + 4 * j) % len(tables)]}:{learner}"
        for i in range(len(tables))
        for j, learner in enumerate(learners)
    ]


def half(task: str) -> str:
    """Return the half of the tables that a task belongs to."""
    table = task.split(":")[0]
    kind = CLASSIFICATION if table in CLASSIFICATION else REGRESSION
    return HALVES[kind.index(table) % 2]


@dataclass
class Task:
    """Rows of one outer split, and an estimator with its search space."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    estimator: Any
    space: Any
    scoring: str
    method: str | None  # predictions that are recorded

    def folds(self, seed: int | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the folds of the search, or other ones with a seed."""
        kind = KFold if self.scoring == "neg_root_mean_squared_error" else None
        splitter = (kind or StratifiedKFold)(
            N_FOLDS, shuffle=seed is not None, random_state=seed
        )
        return list(splitter.split(self.X, self.y))

    def loss(self, predictions: np.ndarray) -> float:
        """Return the loss of predictions for the test rows."""
        if self.scoring == "accuracy":
            wrong = np.sum(predictions != self.y_test)
            return float((wrong + 0.5) / (len(self.y_test) + 1))
        if self.method == "predict":
            return float(np.sqrt(np.mean((predictions - self.y_test) ** 2)))
        chosen = np.asarray(predictions, float)[
            np.arange(len(self.y_test)), self.y_test
        ]
        return float(-np.mean(np.log(np.maximum(chosen, np.finfo(float).eps))))


def rows_of(table: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numeric columns and the targets of a table."""
    if table in FROM_SKLEARN:
        return getattr(datasets, f"load_{table}")(return_X_y=True)
    if table in ("adult", "letter"):
        X, y = getattr(load(), f"load_{table}")()["train"]
        chosen = np.random.default_rng(0).permutation(len(y))[:4000]
        X = X[chosen]
        return np.asarray(X.todense() if table == "adult" else X, float), y[chosen]
    raw = load().load_uci(table)
    names = list(raw["data"])
    columns = np.column_stack([raw["data"][name].astype(object) for name in names])
    nominal = [i for i, name in enumerate(names) if name in raw["categorical"]]
    columns[:, nominal] = columns[:, nominal].astype(str)
    numeric = [i for i in range(len(names)) if i not in nominal]
    encode = OneHotEncoder(sparse_output=False, min_frequency=5, drop="if_binary")
    transformer = ColumnTransformer(
        [("number", SimpleImputer(), numeric), ("nominal", encode, nominal)]
    )
    return np.asarray(transformer.fit_transform(columns), float), raw["target"]


def make_task(name: str, seed: int, most_rows: int | None = None) -> Task:
    """Return a task with one outer split, by default with few rows."""
    table, learner = name.split(":")
    X, y = rows_of(table)
    is_regression = table in REGRESSION
    n_rows = most_rows or (300 if learner == "choice" else LEARNERS[learner][4])
    if not is_regression:
        # Classes that are rare, or many, are left out.
        counts = np.bincount(y)
        frequent = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
        kept = np.isin(y, frequent[counts[frequent] >= LEAST_OF_CLASS])
        X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    n_rows = min(n_rows, len(y) * 6 // 10)
    X, X_test, y, y_test = train_test_split(
        X,
        y,
        train_size=n_rows,
        random_state=seed,
        stratify=None if is_regression else y,
    )
    varies = X.std(axis=0) > 0
    X, X_test = X[:, varies], X_test[:N_TEST, varies]
    if is_regression:
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    estimator, space = model(learner, is_regression, X, y)
    scoring, method = "neg_log_loss", "predict_proba"
    if is_regression:
        scoring, method = "neg_root_mean_squared_error", "predict"
    elif learner == "svm":
        scoring, method = "accuracy", "predict"
    return Task(X, y, X_test, y_test[:N_TEST], estimator, space, scoring, method)


def model(learner: str, is_regression: bool, X: Any, y: Any) -> tuple[Any, Any]:
    """Return an estimator and its search space."""
    if learner != "choice":
        spec = LEARNERS[learner]
        estimator = spec[is_regression](**spec[2 + is_regression])
        if learner == "boosting":
            return estimator, {"auto": True, "n_estimators": (10, 100, "log-uniform")}
        return make_pipeline(StandardScaler(), estimator), "auto"
    names = [n for n in LEARNERS if n not in ("network", "svm")]
    models = [
        LEARNERS[n][is_regression](**LEARNERS[n][2 + is_regression]) for n in names
    ]
    options = []
    for own in models:
        ranges = {**default_space(own, X, y)}
        ranges.pop("n_estimators", None)
        options.append((own, renamed(ranges, "model__{}".format)))
    pipeline = Pipeline([("scale", StandardScaler()), ("model", clone(models[0]))])
    return pipeline, {"model": Choice(options)}


# -- record of a search ------------------------------------------------------------


class RecordingScorer:
    """Scorer that keeps the predictions of each fit for test rows."""

    def __init__(self, task: Task) -> None:
        self.task, self.calls = task, []
        self.scorer = get_scorer(task.scoring)

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score, and keep the predictions."""
        score = self.scorer(estimator, X, y)
        tests = getattr(estimator, self.task.method)(self.task.X_test)
        self.calls.append((score, tests))
        return score

    def take(self, scores: np.ndarray) -> list[Any]:
        """Return the predictions of the next trial, given its scores."""
        found: list[Any] = []
        for score in scores:
            known = np.isfinite(score) and self.calls and self.calls[0][0] == score
            found.append(self.calls.pop(0)[1] if known else None)
        return found


def fold_scores(task: Task, estimator: Any, folds: Any, scorer: Any) -> list[float]:
    return [
        float(scorer(clone(estimator).fit(task.X[a], task.y[a]), task.X[b], task.y[b]))
        for a, b in folds
    ]


def ensemble_search(task: Task, seed: int, n_trials: int) -> BayesSearchCV:
    """Return a fitted search whose model is the ensemble of its trials."""
    return BayesSearchCV(
        task.estimator,
        task.space,
        n_iter=n_trials,
        cv=task.folds(),
        scoring=task.scoring,
        refit="ensemble",
        random_state=seed,
    ).fit(task.X, task.y)


def record(method: str, name: str, seed: int, options: dict[str, Any]) -> Record:
    """Make one search, and score its trials on new rows and on further folds."""
    warnings.simplefilter("ignore")
    task, n_trials = make_task(name, seed), options["trials"]
    if method == "ensemble":
        search = ensemble_search(task, seed, n_trials)
        return {"loss": task.loss(getattr(search, task.method)(task.X_test))}
    scorer, folds = RecordingScorer(task), task.folds()
    search = BayesSearchCV(
        task.estimator,
        task.space,
        n_iter=n_trials,
        cv=folds,
        scoring=scorer,
        refit=False,
        random_state=seed,
    ).fit(task.X, task.y)
    trials = list(search.trials_)
    scores = [t.scores["score"].astype(float) for t in trials]
    belief = search.optimizer_.predict([t.params for t in trials])
    models = [
        clone(task.estimator).set_params(**clone(dict(t.params), safe=False))
        for t in trials
    ]
    names = [str(m.get_params()) for m in models]
    is_tried = str(task.estimator.get_params()) in names
    if not is_tried:
        models.append(clone(task.estimator))
        names.append(str(task.estimator.get_params()))
        scores.append(np.array(fold_scores(task, task.estimator, folds, scorer)))
    own = names.index(str(task.estimator.get_params()))
    means = np.array([s.mean() for s in scores])
    best = np.argsort(-np.where(np.isnan(means), -np.inf, means), kind="stable")
    again = {
        int(i): [
            fold_scores(task, models[i], task.folds(1000 * draw + seed), scorer.scorer)
            for draw in (1, 2)
        ]
        for i in dict.fromkeys([own, *best[:N_CONTENDERS].tolist()])
    }
    kept = [scorer.take(s) for s in scores]
    refits = [clone(m).fit(task.X, task.y) for m in models]
    tests = [getattr(m, task.method)(task.X_test) for m in refits]
    averaged = [np.nan] * len(models)
    for i, parts in enumerate(kept):
        if task.scoring != "accuracy" and all(part is not None for part in parts):
            averaged[i] = task.loss(np.mean(parts, axis=0))
    return {
        "scores": rounded(scores),
        "own": own,
        "own_is_trial": is_tried,
        "again": {str(i): rounded(s) for i, s in again.items()},
        "loss": rounded([task.loss(test) for test in tests]),
        "loss_of_fold_models": rounded(averaged),
        "belief": rounded(belief[0]),
    }


def rounded(values: Any) -> Any:
    """Return numbers with five digits."""
    if np.ndim(values):
        return [rounded(v) for v in values]
    return float(f"{values:.5g}")


# -- rules on the records ----------------------------------------------------------


class Recorded:
    """Recorded search: rows of trials, their scores and losses."""

    def __init__(self, run: Record) -> None:
        self.scores, self.own = np.array(run["scores"], float), int(run["own"])
        self.loss = np.array(run["loss"])
        averaged = np.array(run["loss_of_fold_models"])
        self.averaged = np.where(np.isfinite(averaged), averaged, self.loss)
        missing = [-np.inf] * (len(self.scores) - len(run["belief"]))
        self.belief = np.array([*run["belief"], *missing])
        self.again = {int(i): np.array(s, float) for i, s in run["again"].items()}
        self.own_is_trial = run["own_is_trial"]

    def rows(self, n_spent: int = 0) -> list[int]:
        """Return the own values and the trials that remain if fits were spent."""
        n_trials = len(self.scores) - n_spent - (not self.own_is_trial)
        rows = [self.own, *(i for i in range(n_trials) if i != self.own)]
        return [i for i in rows if np.isfinite(self.scores[i]).all()]

    def best(self, rows: Sequence[int]) -> int:
        """Return the row of the best mean score."""
        return max(rows, key=lambda i: float(self.scores[i].mean()))


def one_standard_error(run: Recorded) -> int:
    """Choose the own values if they are within one standard error of the best."""
    best = run.best(run.rows())
    scores, own = run.scores[best], run.scores[run.own].mean()
    is_better = scores.mean() - np.std(scores, ddof=1) / N_FOLDS**0.5 > own
    return best if is_better else run.own


def lower_bound(run: Recorded, margin: float, rows: Sequence[int]) -> int:
    """Choose the greatest gain minus some standard errors; 0 for the own values."""

    def bound(i: int) -> float:
        gain, error = gain_of(run.scores[i], run.scores[run.own], N_FOLDS)
        return gain - margin * error

    return max([run.own, *rows], key=bound)


def corrected(run: Recorded) -> int:
    """Choose the own values unless the corrected best score is better."""
    rows = run.rows()
    best, scores = run.best(rows), run.scores[rows]
    results = {f"split{k}_test_score": column for k, column in enumerate(scores.T)}
    results["mean_test_score"] = scores.mean(axis=1)
    score = corrected_best_score(results, rows.index(best), N_FOLDS)
    return best if score > run.scores[run.own].mean() else run.own


def repeated(run: Recorded, contenders: int, draws: int, margin: float) -> int:
    """Choose among the best by all draws of the folds."""
    rows = [i for i in run.rows((contenders + 1) * draws) if i in run.again]
    order = sorted(rows, key=lambda i: -run.scores[i].mean())
    chosen = [run.own, *[i for i in order if i != run.own][:contenders]]
    scores = {i: np.concatenate([run.scores[i], *run.again[i][:draws]]) for i in chosen}
    scores = {i: s for i, s in scores.items() if np.isfinite(s).all()}
    best = max(scores, key=lambda i: float(scores[i].mean()), default=run.own)
    if best == run.own or run.own not in scores:
        return best
    gain, error = gain_of(scores[best], scores[run.own], N_FOLDS)
    return best if gain > margin * error else run.own


RULES: dict[str, Callable[[Recorded], int]] = {
    "best mean": lambda run: run.best(run.rows()),
    "posterior mean": lambda run: max(run.rows(), key=lambda i: run.belief[i]),
    "one standard error": one_standard_error,
    "corrected": corrected,
    **{
        f"significant {m}": lambda run, m=m: lower_bound(run, m, [run.best(run.rows())])
        for m in (0.5, 1.0, 1.5)
    },
    **{
        f"lower bound {m}": lambda run, m=m: lower_bound(run, m, run.rows())
        for m in (0.5, 1.0, 1.5)
    },
    **{
        f"repeated {n}, {draws} draws, {margin}": (
            lambda run, n=n, draws=draws, margin=margin: repeated(run, n, draws, margin)
        )
        for n, draws in ((3, 1), (6, 1), (2, 2), (3, 2), (4, 2))
        for margin in (0.5, 0.75, 1.0)
    },
    "own values": lambda run: run.own,
}


def recorded() -> dict[tuple[str, int], Record]:
    """Return the searches in results/truth/ by task and seed."""
    lines = (HERE / "results" / "truth" / "searches.jsonl").read_text().splitlines()
    return {(r["task"], r["seed"]): r for r in map(json.loads, lines)}


def replay(runs: Runs, options: Mapping[str, Any]) -> dict[str, dict]:
    """Return the figures of each rule and of the ensemble; each one is a row."""
    found: dict[str, dict] = {rule: {} for rule in (*RULES, ENSEMBLE)}
    records = recorded() if options["recorded"] else runs["search"]
    for key, run in records.items():
        search = Recorded(run)
        loss, averaged = search.loss, search.averaged
        losses = {name: (loss[i], averaged[i]) for name, i in chosen(search).items()}
        ensemble = runs.get("ensemble", {}).get(key, {"loss": run.get("ensemble")})
        if ensemble["loss"] is not None:
            losses[ENSEMBLE] = (ensemble["loss"], ensemble["loss"])
        for name, (refit, folds) in losses.items():
            is_worse = refit > loss[search.own] * (1.0 + 1e-9)
            others = loss[search.own], loss[search.own], np.nanmin(loss)
            ratios = np.array([refit, folds, refit]) / others
            found[name][key] = np.array([100.0 * is_worse, *(1000.0 * np.log(ratios))])
    return found


def chosen(search: Recorded) -> dict[str, int]:
    """Return the trial that each rule chooses."""
    return {name: rule(search) for name, rule in RULES.items()}


STUDY = Study(
    name="truth",
    tasks=task_names,
    methods=("search", "ensemble"),
    run=record,
    columns=lambda options: ["worse %", "to own", "folds to own", "to best"],
    figures=replay,
    group=half,
    options={"trials": N_TRIALS, "recorded": False},
    seeds=5,
    smallest=("--tasks", "iris:linear", "--trials", "4", "--seeds", "1"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
