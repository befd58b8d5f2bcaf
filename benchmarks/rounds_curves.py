"""Simulation of rules about learning curves on recorded curves of several learners.

    python benchmarks/rounds_curves.py collect
    python benchmarks/rounds_curves.py replay --save

The command `collect` fits random configurations of seven learners, with boosting,
forests and epochs, up to a cap. Each configuration is fitted on five folds of the
training rows of a task, and on all of them. The scores after each point of `fine_grid`
are saved: those of the folds on their test rows, and those of the fit to all rows on
held-out rows. The command `replay` is deterministic and fits nothing: it applies rules
to the saved curves, at the points of `round_grid`.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from common import HERE, names, save_results
from rounds_rules import CHECKS, CHOICES, PATIENCE, TwoPartRace, fold_ends
from shared import load
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skbayes.evaluation import learning_curves
from skbayes.evaluation.learning_curves import (
    FoldCurveRace,
    check_rounds,
    choose_by_others,
    choose_rounds,
    has_stalled,
    round_grid,
)
from skbayes.evaluation.racing import Race

Array = np.ndarray
Params = dict[str, Any]
Staged = Iterator[tuple[int, Array]]

N_FOLDS = 5
MAX_TRAIN = 2000
MAX_TEST = 4000
REGRESSION = ("abalone", "wine_red", "boston_housing", "strike", "auto_mpg")
CACHE = HERE / "cache" / "rounds_curves"
# Factor of the cap for the fit to all rows, which may need more rounds.
MORE = 1.25
RISK = 0.01
N_ORDERS = 10
SCALES = {"as chosen": 1.0, "times sqrt(5/4)": 1.25**0.5, "times 5/4": 1.25}
# Tasks whose curves were used to choose the rules and their constants.
SEEN = {
    *((learner, "german_credit") for learner in ("lightgbm", "xgboost", "hist")),
    *((learner, "german_credit") for learner in ("forest", "sgd", "mlp")),
    *((learner, "pima") for learner in ("lightgbm", "xgboost", "hist", "gradient")),
    *((learner, "wine_red") for learner in ("lightgbm", "xgboost", "hist", "forest")),
    *((learner, "boston_housing") for learner in ("lightgbm", "hist", "gradient")),
    *(("mlp", "boston_housing"), ("mlp", "segment"), ("gradient", "auto_mpg")),
    ("gradient", "german_credit"),
    *(("sgd", "adult"), ("sgd", "abalone")),
}

CAPS = {
    "lightgbm": 1000,
    "xgboost": 1000,
    "hist": 500,
    "gradient": 500,
    "forest": 300,
    "sgd": 200,
    "mlp": 100,
}
N_CONFIGURATIONS = {"lightgbm": 24, "xgboost": 20}
FOUR = ("german_credit", "wine_red", "pima", "boston_housing")
DATA = {
    "lightgbm": (*FOUR, "adult", "abalone", "strike"),
    "xgboost": FOUR,
    "hist": ("pima", "boston_housing", "german_credit", "wine_red"),
    "gradient": ("pima", "boston_housing", "auto_mpg", "german_credit"),
    "forest": ("german_credit", "wine_red", "adult"),
    "sgd": ("german_credit", "adult", "abalone"),
    "mlp": ("german_credit", "boston_housing", "segment"),
}


def fine_grid(cap: int) -> Array:
    """Return the saved numbers of rounds: all up to 100, then steps of 1 %."""
    rounds = [1]
    while rounds[-1] < cap:
        rounds.append(min(cap, rounds[-1] + max(1, rounds[-1] // 100)))
    return np.array(rounds)


def read(data: str) -> tuple[Array, Array, Array, Array]:
    """Return training and test rows with encoded categories and imputed values."""
    shared = load()
    if data == "adult":
        (X, y), _ = (shared.load_adult()[part] for part in ("train", "test"))
        X = X.toarray()
    else:
        table = shared.load_uci(data)
        y = table["target"]
        columns = []
        for name, values in table["data"].items():
            if name in table["categorical"]:
                for value in sorted({v for v in values if v is not None})[1:]:
                    columns.append((values == value).astype(float))
            else:
                columns.append(np.where(np.isnan(values), np.nanmedian(values), values))
        X = np.column_stack(columns)
    X = np.asarray(X, dtype=np.float64)
    strata = None if data in REGRESSION else y
    if strata is None:
        y = (y - y.mean()) / y.std()
    train = min(MAX_TRAIN, int(0.7 * len(y)))
    test = min(MAX_TEST, len(y) - train)
    X, held_out, y, truth = train_test_split(
        X, y, train_size=train, test_size=test, random_state=0, stratify=strata
    )
    return X, y, held_out, truth


def scores_of(truth: Array, predicted: Array, classes: int) -> list[float]:
    """Return accuracy and negative log loss of probabilities, or R2 of values."""
    if not classes:
        residual = np.mean((truth - predicted) ** 2)
        return [float(1.0 - residual / np.var(truth))]
    if predicted.ndim == 1:
        predicted = np.column_stack([1.0 - predicted, predicted])
    of_truth = predicted[np.arange(len(truth)), truth]
    accuracy = np.mean(np.argmax(predicted, axis=1) == truth)
    # The same clipping as in scikit-learn.
    return [float(accuracy), float(np.mean(np.log(np.clip(of_truth, 2.2e-16, 1.0))))]


def draw(learner: str, rng: np.random.Generator) -> Params:
    """Draw a configuration."""

    def log(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    if learner in ("lightgbm", "xgboost", "hist", "gradient"):
        return {
            "rate": log(0.005, 0.5),
            "leaves": int(log(4, 64)),
            "min_leaf": int(log(2, 60)),
            "subsample": float(rng.uniform(0.5, 1.0)),
            "columns": float(rng.uniform(0.4, 1.0)),
            "l2": log(1e-3, 30),
        }
    if learner == "forest":
        return {
            "max_features": float(rng.uniform(0.1, 1.0)),
            "min_samples_leaf": int(log(1, 30)),
            "max_leaf_nodes": int(log(8, 1000)),
        }
    if learner == "sgd":
        return {
            "alpha": log(1e-6, 1e-2),
            "eta0": log(1e-4, 1e-1),
            "learning_rate": str(rng.choice(["constant", "invscaling"])),
        }
    return {
        "learning_rate_init": log(2e-4, 3e-2),
        "alpha": log(1e-6, 1e-1),
        "hidden_layer_sizes": (int(log(8, 100)),),
        "batch_size": int(log(32, 256)),
    }


def lightgbm_stages(p: Params, X: Array, y: Array, T: Array, grid: Array) -> Staged:
    import lightgbm

    classes = len(np.unique(y)) if y.dtype.kind == "i" else 0
    params = {
        "objective": ["regression", "binary", "multiclass"][
            (classes > 0) + (classes > 2)
        ],
        "metric": "None",
        "learning_rate": p["rate"],
        "num_leaves": p["leaves"],
        "min_data_in_leaf": p["min_leaf"],
        "bagging_fraction": p["subsample"],
        "bagging_freq": 1,
        "feature_fraction": p["columns"],
        "lambda_l2": p["l2"],
        "seed": 0,
        "num_threads": 1,
        "verbose": -1,
        "force_col_wise": True,
    }
    if classes > 2:
        params["num_class"] = classes
    seen: list[tuple[int, Array]] = []
    wanted = set(grid.tolist())
    count = 0

    def keep(predicted: Array, data: Any) -> tuple[str, float, bool]:
        nonlocal count
        count += 1
        if count in wanted:
            seen.append((count, np.array(predicted)))
        return "nothing", 0.0, True

    train = lightgbm.Dataset(X, y, params={"verbose": -1})
    valid = lightgbm.Dataset(T, np.zeros(len(T)), reference=train)
    lightgbm.train(params, train, int(grid[-1]), valid_sets=[valid], feval=keep)
    return iter(seen)


def xgboost_stages(p: Params, X: Array, y: Array, T: Array, grid: Array) -> Staged:
    import xgboost

    classes = len(np.unique(y)) if y.dtype.kind == "i" else 0
    params = {
        "objective": ["reg:squarederror", "binary:logistic", "multi:softprob"][
            (classes > 0) + (classes > 2)
        ],
        "disable_default_eval_metric": 1,
        "eta": p["rate"],
        "max_leaves": p["leaves"],
        "max_depth": 0,
        "grow_policy": "lossguide",
        "min_child_weight": p["min_leaf"] * (0.2 if classes else 1.0),
        "subsample": p["subsample"],
        "colsample_bytree": p["columns"],
        "lambda": p["l2"],
        "tree_method": "hist",
        "max_bin": 64,
        "seed": 0,
        "nthread": 1,
        "verbosity": 0,
    }
    if classes > 2:
        params["num_class"] = classes
    seen: list[tuple[int, Array]] = []
    wanted = set(grid.tolist())
    count = 0

    def keep(predicted: Array, data: Any) -> tuple[str, float]:
        nonlocal count
        count += 1
        if count in wanted:
            seen.append((count, np.array(predicted, dtype=np.float64)))
        return "nothing", 0.0

    train, valid = xgboost.DMatrix(X, y), xgboost.DMatrix(T, np.zeros(len(T)))
    xgboost.train(
        params,
        train,
        int(grid[-1]),
        evals=[(valid, "v")],
        custom_metric=keep,
        verbose_eval=False,
    )
    return iter(seen)


def boosting_stages(
    learner: str, p: Params, X: Array, y: Array, T: Array, grid: Array
) -> Staged:
    """Yield predictions of scikit-learn's boosting after each point of the grid."""
    classify = y.dtype.kind == "i"
    shared = {"learning_rate": p["rate"], "min_samples_leaf": p["min_leaf"]}
    shared |= {"max_leaf_nodes": p["leaves"], "max_depth": None, "random_state": 0}
    model: Any
    if learner == "hist":
        kind = HistGradientBoostingClassifier, HistGradientBoostingRegressor
        model = kind[0 if classify else 1](
            max_iter=int(grid[-1]),
            l2_regularization=p["l2"],
            max_features=p["columns"],
            early_stopping=False,
            **shared,
        )
    else:
        sort = GradientBoostingClassifier, GradientBoostingRegressor
        model = sort[0 if classify else 1](
            n_estimators=int(grid[-1]),
            subsample=p["subsample"],
            max_features=p["columns"],
            **shared,
        )
    model.fit(X, y)
    stages = model.staged_predict_proba(T) if classify else model.staged_predict(T)
    wanted = set(grid.tolist())
    for count, predicted in enumerate(stages, 1):
        if count in wanted:
            yield count, predicted


def forest_stages(p: Params, X: Array, y: Array, T: Array, grid: Array) -> Staged:
    classify = y.dtype.kind == "i"
    kind = RandomForestClassifier if classify else RandomForestRegressor
    model = kind(n_estimators=int(grid[-1]), random_state=0, **p).fit(X, y)
    total: Any = 0.0
    wanted = set(grid.tolist())
    rows = T.astype(np.float32)
    for count, tree in enumerate(model.estimators_, 1):
        total = total + (tree.predict_proba(rows) if classify else tree.predict(rows))
        if count in wanted:
            yield count, total / count


def epoch_stages(
    learner: str, p: Params, X: Array, y: Array, T: Array, grid: Array
) -> Staged:
    """Yield predictions after each epoch of `partial_fit`, with shuffled rows."""
    scaler = StandardScaler().fit(X)
    X, T = scaler.transform(X), scaler.transform(T)
    classify = y.dtype.kind == "i"
    model: Any
    if learner == "mlp":
        model = (MLPClassifier if classify else MLPRegressor)(random_state=0, **p)
    elif classify:
        model = SGDClassifier(loss="log_loss", random_state=0, **p)
    else:
        model = SGDRegressor(random_state=0, **p)
    more = {"classes": np.unique(y)} if classify else {}
    wanted = set(grid.tolist())
    rng = np.random.default_rng(0)
    for count in range(1, int(grid[-1]) + 1):
        order = rng.permutation(len(y))
        model.partial_fit(X[order], y[order], **more)
        if count in wanted:
            yield count, model.predict_proba(T) if classify else model.predict(T)


def curve(
    learner: str, p: Params, parts: tuple[Array, Array, Array, Array], cap: int
) -> Array:
    """Return the scores after each point of the grid: (metrics, points)."""
    X, y, T, truth = parts
    grid = fine_grid(cap)
    stages: Callable[..., Staged] = {
        "lightgbm": lightgbm_stages,
        "xgboost": xgboost_stages,
        "forest": forest_stages,
    }.get(learner) or (
        lambda *args: (epoch_stages if learner in ("sgd", "mlp") else boosting_stages)(
            learner, *args
        )
    )
    classes = len(np.unique(y)) if y.dtype.kind == "i" else 0
    scores = [scores_of(truth, out, classes) for _, out in stages(p, X, y, T, grid)]
    scores += [scores[-1]] * (len(grid) - len(scores))
    return np.array(scores).T


def path_of(learner: str, data: str) -> Path:
    return CACHE / f"{learner}-{data}.npz"


def collect_task(learner: str, data: str) -> None:
    """Fit the configurations of a task and save their curves."""
    X, y, T, truth = read(data)
    splitter = KFold if data in REGRESSION else StratifiedKFold
    splits = list(splitter(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    rng = np.random.default_rng(len(data))
    cap = CAPS[learner]
    params, folds, tests, times = [], [], [], []
    for _ in range(N_CONFIGURATIONS.get(learner, 16)):
        p = draw(learner, rng)
        start = time.process_time()
        of_folds = [curve(learner, p, (X[i], y[i], X[j], y[j]), cap) for i, j in splits]
        times.append(time.process_time() - start)
        whole = curve(learner, p, (X, y, T, truth), int(MORE * cap))
        params.append(p)
        folds.append(of_folds)
        tests.append(whole)
    CACHE.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path_of(learner, data),
        folds=np.array(folds, dtype=np.float32),
        test=np.array(tests, dtype=np.float32),
        rates=np.array([p.get("rate", np.nan) for p in params]),
        times=np.array(times),
    )


def collect(learners: list[str]) -> None:
    """Collect the missing curves, alternating between the learners."""
    warnings.simplefilter("ignore")
    for i in range(max(map(len, DATA.values()))):
        for learner in learners:
            if i >= len(DATA[learner]) or path_of(learner, DATA[learner][i]).exists():
                continue
            start = time.process_time()
            collect_task(learner, DATA[learner][i])
            spent = time.process_time() - start
            print(f"{learner:9} {DATA[learner][i]:16} {spent:6.0f} s", flush=True)


class Task:
    """Curves of one learner on one data set with one metric."""

    def __init__(self, learner: str, data: str, metric: int, kept: Any) -> None:
        self.learner, self.data = learner, data
        self.grid = round_grid(CAPS[learner])
        self.later = fine_grid(int(MORE * CAPS[learner]))
        fine = fine_grid(CAPS[learner])
        nearest = np.abs(fine - self.grid[:, np.newaxis]).argmin(axis=1)
        self.folds = kept["folds"][:, :, metric][..., nearest].astype(float)
        self.test = kept["test"][:, metric].astype(float)
        self.mean = self.folds.mean(axis=1)
        self.scores = self.mean.max(axis=1)
        self.accuracy = kept["folds"].shape[2] == 2 and metric == 0
        # Unit of regrets: the difference between the median configuration and the best.
        self.unit = max(float(self.scores.max() - np.median(self.scores)), 1e-9)

    @property
    def group(self) -> str:
        """Kind of learner and of metric."""
        if self.learner in ("sgd", "mlp"):
            return "epochs"
        kind = "forests" if self.learner == "forest" else "boosting"
        return f"{kind}, accuracy" if self.accuracy else f"{kind}, log loss and R2"

    def test_at(self, i: int, rounds: float) -> float:
        """Return the held-out score of a configuration fitted to all rows."""
        place = np.searchsorted(self.later, rounds)
        return float(self.test[i][min(place, len(self.later) - 1)])


def read_tasks() -> list[Task]:
    tasks = []
    for learner, sets in DATA.items():
        for data in sets:
            if path_of(learner, data).exists():
                kept = np.load(path_of(learner, data))
                for metric in range(kept["folds"].shape[2]):
                    tasks.append(Task(learner, data, metric, kept))
    return tasks


class Table:
    """Means over tasks of the results of rules, by group."""

    def __init__(self, columns: list[str]) -> None:
        self._columns = columns
        self._rows: dict[str, dict[str, list[Array]]] = {}

    def add(self, group: str, rule: str, values: Any) -> None:
        """Add the results of a task, or rows with the results of its configurations."""
        row = np.atleast_2d(np.array(values, dtype=float)).mean(axis=0)
        self._rows.setdefault(group, {}).setdefault(rule, []).append(row)

    def show(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Print and return the means.

        The first column is also compared with that of the first rule, paired by task.
        """
        shown: dict[str, dict[str, dict[str, Any]]] = {}
        for group, rules in self._rows.items():
            print(f"\n{group}, {len(next(iter(rules.values())))} tasks")
            first = np.array(next(iter(rules.values())))[:, 0]
            for rule, rows in rules.items():
                table = np.array(rows)
                difference = table[:, 0] - first
                se = difference.std(ddof=min(1, len(first) - 1)) / len(first) ** 0.5
                means = dict(zip(self._columns, table.mean(axis=0), strict=True))
                means |= {"difference": difference.mean(), "se": se}
                entry = {key: round(float(value), 5) for key, value in means.items()}
                shown.setdefault(group, {})[rule] = {"tasks": len(rows), **entry}
                texts = [f"{key} {value:.4f}" for key, value in entry.items()]
                print(f"  {rule:36}", "  ".join(texts))
        return shown


def orders(scores: Array) -> Iterator[Array]:
    """Yield random orders of the configurations, and orders of increasing quality."""
    rng = np.random.default_rng(0)
    ranks = np.argsort(np.argsort(scores)) / len(scores)
    for _ in range(N_ORDERS // 2):
        yield rng.permutation(len(scores))
        yield np.argsort(ranks + rng.normal(scale=0.5, size=len(scores)))


class Pruning:
    """Trials of a task that are pruned within the first fold, and after folds.

    Parameters
    ----------
    task : Task
        Task with the curves.
    ends : ndarray of shape (n, K)
        Lengths of the curves that early stopping would fit.
    checks : ndarray of int
        Rounds of the first fold after which a trial may be pruned.
    after_folds : bool
        Whether `Race` may prune a trial after each complete fold.
    """

    def __init__(
        self, task: Task, ends: Array, checks: Array, after_folds: bool
    ) -> None:
        self.task, self.ends, self.after_folds = task, ends, after_folds
        self.rounds = task.grid[ends - 1]
        self.checks = np.searchsorted(task.grid, checks, "right")
        # Scores of the first m folds, each with the rounds that the others choose.
        self.scores = [
            [self._scores(i, m + 1) for m in range(N_FOLDS)] for i in range(len(ends))
        ]
        self.means = np.array([rows[-1].mean() for rows in self.scores])

    def _scores(self, i: int, m: int) -> Array:
        curves = self.task.folds[i][:m, : self.ends[i][:m].min()]
        return curves[np.arange(m), choose_by_others(list(curves))]

    def count(self) -> Array:
        """Return sums over all orders.

        The elements are the numbers of trials, of pruned trials, and of pruned trials
        that would have become the best. These are followed by rounds, rounds without
        pruning, and regret. The last elements are the number of estimates within the
        first fold, their errors, and the number of them within two deviations.
        """
        total = np.zeros(9)
        for order in orders(self.means):
            complete: list[int] = []
            for i in order:
                spent, is_pruned, estimates = self._run(i, complete)
                total[[0, 3, 4]] += [1, spent, self.rounds[i].sum()]
                total[6:] += estimates
                if is_pruned:
                    total[1:3] += [1, self.means[i] > self.means[complete].max()]
                else:
                    complete.append(i)
            lost = self.means.max() - self.means[complete].max()
            total[5] += lost / self.task.unit / N_ORDERS
        return total

    def _run(self, i: int, complete: list[int]) -> tuple[float, bool, Array]:
        """Return rounds of a trial, whether it is pruned, and data of its estimate."""
        table = [self.scores[j][-1] for j in complete]
        races = [
            Race(table, [self.scores[j][m] for j in complete]) for m in range(N_FOLDS)
        ]
        known = FoldCurveRace(
            [self.task.folds[j][0, : self.ends[j].min()] for j in complete],
            [self.scores[j][0][0] for j in complete],
            races[0],
        )
        for points in self.checks[self.checks < self.ends[i][0]]:
            first = self.task.folds[i][0, :points]
            if known.chance(first) < RISK:
                score, variance = known.estimate(first)
                error = abs(score - self.means[i])
                inside = error <= 2.0 * float(variance or 0.0) ** 0.5
                figures = np.array([1, error / self.task.unit, inside])
                return float(self.task.grid[points - 1]), True, figures
        for m in range(1, N_FOLDS):
            chance = races[m - 1].chance(self.scores[i][m - 1])
            if self.after_folds and chance < RISK:
                return float(self.rounds[i][:m].sum()), True, np.zeros(3)
        return float(self.rounds[i].sum()), False, np.zeros(3)


def two_parts(task: Task, ends: Array) -> Array:
    """Return the sums of a rule with a first part of all folds.

    Trials that are continued after this part are fitted again from the beginning.
    """
    whole = [mean[: end.min()] for mean, end in zip(task.mean, ends, strict=True)]
    scores = np.array([curve.max() for curve in whole])
    rounds = task.grid[ends - 1].sum(axis=1)
    points = int(np.searchsorted(task.grid, max(16, task.grid[-1] // 16), "right"))
    total = np.zeros(9)
    for order in orders(scores):
        complete: list[int] = []
        for i in order:
            known = TwoPartRace([whole[j] for j in complete], scores[complete])
            begins = known.ready and points <= len(whole[i])
            is_pruned = begins and known.chance(task.mean[i][:points]) < RISK
            spent = begins * N_FOLDS * task.grid[points - 1]
            total[[0, 3, 4]] += [1, spent + (not is_pruned) * rounds[i], rounds[i]]
            if is_pruned:
                total[1:3] += [1, scores[i] > scores[complete].max()]
            else:
                complete.append(i)
        lost = scores.max() - scores[complete].max()
        total[5] += lost / task.unit / N_ORDERS
    return total


def count_rules(task: Task, ends: Array) -> dict[str, Array]:
    """Return the losses and savings of each rule that prunes trials."""
    cap = int(task.grid[-1])
    none = np.array([], dtype=int)
    counts = {
        "all folds to 1/16, then anew": two_parts(task, ends),
        "after folds": Pruning(task, ends, none, True).count(),
        "first fold": Pruning(task, ends, check_rounds(cap), False).count(),
        "both": Pruning(task, ends, check_rounds(cap), True).count(),
    }
    for name, (checks, error) in CHECKS.items():
        with mock.patch.object(learning_curves, "PRIOR_ERROR", error):
            rule = Pruning(task, ends, checks(cap), True)
            counts[f"checks: {name}"] = rule.count()
    return counts


def left_out(tasks: list[Task], counts: list[dict[str, Array]]) -> list[Array]:
    """Return the sums of each task with the checks that are best for other data sets.

    The best checks need the fewest rounds among those whose losses are within the
    allowed risk. If there are none, the checks with the smallest loss are used.
    """
    chosen = []
    for task, own in zip(tasks, counts, strict=True):
        others = [
            row for t, row in zip(tasks, counts, strict=True) if t.data != task.data
        ]
        worth = {}
        for name in (name for name in own if name.startswith("checks")):
            sums = np.sum([row[name] for row in others], axis=0)
            lost = sums[2] / max(1.0, sums[1])
            worth[name] = (max(lost, RISK), sums[3] / sums[4])
        chosen.append(own[min(worth, key=lambda name: worth[name])])
    return chosen


def figures(rows: list[Array]) -> dict[str, float]:
    """Return shares of the sums over tasks, and the mean of the regrets."""
    n, pruned, lost, spent, full, _, estimates, error, inside = np.sum(rows, axis=0)
    # All tasks have the same weight, regardless of the number of rounds.
    shares = [row[3] / row[4] for row in rows]
    entry = {
        "tasks": len(rows),
        "pruned": pruned / n,
        "n_pruned": pruned,
        "lost_of_pruned": lost / max(1.0, pruned),
        "rounds": spent / full,
        "rounds_mean_of_tasks": float(np.mean(shares)),
        "regret": float(np.mean([row[5] for row in rows])),
    }
    if estimates:
        entry["error_of_estimate"] = error / estimates
        entry["within_two_deviations"] = inside / estimates
    return {key: round(float(value), 4) for key, value in entry.items()}


def replay_pruning(tasks: list[Task], ends: list[Array]) -> dict[str, Any]:
    """Compare rules that prune trials, for all tasks and by kind and learner."""
    counts = [count_rules(*pair) for pair in zip(tasks, ends, strict=True)]
    for own, chosen in zip(counts, left_out(tasks, counts), strict=True):
        own["both, chosen on other data"] = chosen
    groups: dict[str, list[dict[str, Array]]] = {}
    for task, own in zip(tasks, counts, strict=True):
        new = (task.learner, task.data) not in SEEN
        metric = "accuracy" if task.accuracy else "log loss and R2"
        names = ["all", task.group, task.learner, metric]
        for group in dict.fromkeys([*names, *(["not seen before"] if new else [])]):
            groups.setdefault(group, []).append(own)
    shown: dict[str, Any] = {}
    for group, rows in groups.items():
        print(f"\n{group}")
        for name in rows[0]:
            entry = shown.setdefault(group, {})[name] = figures([r[name] for r in rows])
            print(f"  {name:32}", "  ".join(f"{k} {v}" for k, v in entry.items()))
    return shown


def replay_choices(tasks: list[Task]) -> dict[str, Any]:
    """Compare rules that choose the rounds, and factors of the rounds for refits."""
    choices = Table(["test_regret", "mean_minus_test", "share_of_cap"])
    scales = Table(["test_regret"])
    optimism = Table(["of_the_mean_curve", "of_each_fold_alone"])
    for task in tasks:
        # Bad configurations are not refitted.
        good = np.argsort(-task.scores)[: len(task.scores) // 2]
        best = task.test[good].max(axis=1)
        for name, choose in CHOICES.items():
            chosen = [choose(task.folds[i], task.grid) for i in good]
            rounds = task.grid[chosen]
            test = [task.test_at(i, r) for i, r in zip(good, rounds, strict=True)]
            overstated = task.mean[good, chosen] - test
            rows = [best - test, overstated, rounds / task.grid[-1]]
            choices.add(task.group, name, np.transpose(rows))
        chosen = [choose_rounds(task.folds[i]) for i in good]
        rounds = task.grid[chosen]
        for name, factor in SCALES.items():
            test = [
                task.test_at(i, factor * r) for i, r in zip(good, rounds, strict=True)
            ]
            scales.add(task.group, name, np.mean(best - test))
        rows = [optimism_of(task.folds[i]) for i in good]
        optimism.add(task.group, "overstated", rows)
    return {
        "choices": choices.show(),
        "scales": scales.show(),
        "optimism": optimism.show(),
    }


def optimism_of(folds: Array) -> tuple[float, float]:
    """Return the optimism of the mean curve, and of each fold alone.

    The reference is the score with the rounds chosen on the other folds.
    """
    honest = [
        fold[k] for fold, k in zip(folds, choose_by_others(list(folds)), strict=True)
    ]
    of_mean = folds.mean(axis=0).max() - np.mean(honest)
    return float(of_mean), float(folds.max(axis=1).mean() - np.mean(honest))


def replay_patience(tasks: list[Task]) -> dict[str, Any]:
    """Compare rules that stop the fits of folds with fits to the cap."""
    table = Table(
        [
            "test_loss",
            "share_of_cap",
            "loss",
            "relative_loss_of_the_best",
            "test_loss_of_the_best",
        ]
    )
    for task in tasks:
        full = [
            task.test_at(i, task.grid[np.argmax(c)]) for i, c in enumerate(task.mean)
        ]
        good = np.argsort(-task.scores)[: len(task.scores) // 2]
        best = int(np.argmax(task.scores))
        for name, stalled in PATIENCE.items():
            scores, tests, rounds = [], [], []
            for i, folds in enumerate(task.folds):
                ends = fold_ends(folds, task.grid, stalled)
                k = choose_rounds([c[:e] for c, e in zip(folds, ends, strict=True)])
                tests.append(task.test_at(i, task.grid[k]))
                scores.append(float(task.mean[i][k]))
                rounds.append(task.grid[ends - 1].mean() / task.grid[-1])
            kept = int(np.argmax(scores))
            loss = task.scores[best] - scores[kept]
            values = [
                np.mean(np.subtract(full, tests)[good]),
                np.mean(rounds),
                np.mean((task.scores - scores)[good]),
                loss / abs(task.scores[best]),
                full[best] - tests[kept],
            ]
            table.add(task.group, name, values)
    return table.show()


def replay(save: bool) -> None:
    tasks = read_tasks()
    print(f"{len(tasks)} tasks")
    ends = [
        np.array([fold_ends(folds, task.grid, has_stalled) for folds in task.folds])
        for task in tasks
    ]
    summary = {
        "tasks": [f"{task.learner} {task.data} {task.group}" for task in tasks],
        "pruning": replay_pruning(tasks, ends),
        **replay_choices(tasks),
        "patience": replay_patience(tasks),
    }
    if save:
        save_results("rounds/curves", summary)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("step", choices=["collect", "replay"])
    parser.add_argument("--learners", type=names(CAPS), default=list(CAPS))
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    if options.step == "collect":
        collect(options.learners)
    else:
        replay(options.save)


if __name__ == "__main__":
    main()
