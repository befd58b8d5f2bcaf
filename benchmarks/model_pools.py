"""Choices among models whose scores are known, and searches of several libraries.

A task is a table of results/priors/ and a score. Its search space is a choice among
five to eight models, which are drawn at random for each table, with their default
spaces. The function to maximize is known at the random configurations of
results/priors/. The nearest configuration of the model that was not tried replaces a
proposal of any method, and the method observes this configuration with its score. The
scores of different models are means over two or three folds of the same split.

A search begins with the own values of each model, in the order of the choice, with all
libraries. With ``--start none``, it begins as the library does by default. The methods
are:

- skbayes: no prior;
- prior: skbayes with priors that were learned without the table;
- single: skbayes, with the model that has the best score only;
- random: random search, with the same probability for each model;
- optuna-tpe, optuna-grouped: TPE of Optuna with its defaults, and with
  ``multivariate=True, group=True``;
- hyperopt, smac: TPE of hyperopt, and SMAC with its random forest.

The figures are the regrets × 1000 after 10, 25, and 50 trials, and three percentages:
the trials with the model that has the best score ("best"), the trials with the model
that was tried most often ("most"), and the models with one trial ("once"). The median
is that of a random configuration of a random model. One half of the tables is for
choices between variants of skbayes.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import tempfile
import warnings
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from unittest import mock

import collect_priors
import learn_priors
import numpy as np
from harness import Figures, Record, Runs, Study, single
from judge_priors import FAMILY_OF, knowledge
from methods import smac_facade
from sklearn.pipeline import Pipeline
from sklearn.utils import all_estimators

from skbayes import Optimizer
from skbayes.space import Choice, Space
from skbayes.space.dimensions import key_of
from skbayes.space.optimum_prior import OptimumPrior
from skbayes.spaces import default_space, learned_prior
from skbayes.spaces.catalog import DataFacts
from skbayes.spaces.parts import own_values, parts_of, renamed

MODELS = {
    False: (
        *("LogisticRegression", "KNeighborsClassifier", "SVC"),
        *("DecisionTreeClassifier", "RandomForestClassifier", "ExtraTreesClassifier"),
        *("MLPClassifier", "HistGradientBoostingClassifier"),
        "GradientBoostingClassifier",
    ),
    True: (
        *("Ridge", "KNeighborsRegressor", "SVR", "KernelRidge", "ElasticNet"),
        *("RandomForestRegressor", "ExtraTreesRegressor", "MLPRegressor"),
        *("HistGradientBoostingRegressor", "XGBRegressor"),
    ),
}
METRICS = {False: ("accuracy", "roc_auc"), True: ("r2", "neg_mean_absolute_error")}
TABLES = (*collect_priors.CLASSIFICATION, *collect_priors.REGRESSION)
FEWEST, MOST = 5, 8
SHOWN = (10, 25, 50)
LARGEST = 2000.0

Row = np.ndarray


def tasks() -> list[str]:
    return [
        f"{table}:{metric}"
        for table in TABLES
        for metric in METRICS[table in collect_priors.REGRESSION]
    ]


def half(task: str) -> str:
    """Return the half of the tables that a task belongs to."""
    return ("choosing", "judging")[TABLES.index(task.partition(":")[0]) % 2]


def _estimator(name: str) -> Any:
    if name in collect_priors.ESTIMATORS:
        return collect_priors.make(name)
    return dict(all_estimators())[name]()


class Pool:
    """Configurations of several models with scores; `models` are their indices."""

    def __init__(self, task: str, only: str | None = None) -> None:
        self.table, metric = task.split(":")
        regression = self.table in collect_priors.REGRESSION
        X, y, *_ = collect_priors.folds(self.table)[0]
        known = {
            name: table
            for name in MODELS[regression]
            for table in learn_priors.load_tables(name)
            if table.name == self.table
        }
        rng = np.random.default_rng(zlib.crc32(self.table.encode()))
        n = int(rng.integers(FEWEST, MOST + 1))
        self.names: list[str] = rng.permutation(list(known))[:n].tolist()
        if only is not None:
            self.names = [only]
        self.options = []
        for name in self.names:
            model = _estimator(name)
            space = renamed(default_space(model, X, y), "model__{}".format)
            self.options.append((model, space))
        self.space = Space.from_notation({"model": Choice(self.options)})
        first = Pipeline([("model", self.options[0][0])])
        self.parts = parts_of(first, DataFacts.of(X, y, 0.8))
        self.values = own_values(first)
        column = collect_priors.METRICS[regression].index(metric)
        rows: dict[str, tuple[Row, float, int]] = {}
        for k, name in enumerate(self.names):
            scores = known[name].scores[:, column]
            for params, score in zip(known[name].params, scores, strict=True):
                row = self._row(k, params)
                if row is not None and not np.isnan(score):
                    rows.setdefault(key_of(row), (row, float(score), k))
        self.rows, self.scores, self.models = map(
            np.array, zip(*rows.values(), strict=True)
        )
        order = np.argsort(self.scores, kind="stable")
        weights = np.cumsum((1.0 / np.bincount(self.models))[self.models[order]])
        middle = np.searchsorted(weights, 0.5 * weights[-1])
        self.median, self.best = self.scores[order][middle], self.scores.max()
        self.best_model = int(self.models[np.argmax(self.scores)])

    def regrets(self, scores: np.ndarray) -> np.ndarray:
        """Return the normalized regrets × 1000 of the best scores so far."""
        apart = self.best - np.maximum.accumulate(scores)
        return np.minimum(1000.0 * apart / (self.best - self.median), LARGEST)

    def _row(self, k: int, params: dict[str, Any]) -> Row | None:
        """Return the row of a configuration, own values if empty, or None."""
        model = self.options[k][0]
        values = {f"model__{n}": v for n, v in (params or own_values(model)).items()}
        selected = self.space.selection({"model": model, **values})
        return None if selected is None else self.space.encode([selected])[0]

    def starts(self) -> list[Row]:
        """Return the rows of the own values, or of the middles of the ranges."""
        rows = [self._row(k, {}) for k in range(len(self.names))]
        prior = self.prior(False)
        if prior is not None and prior.portfolio is not None:
            return list(prior.portfolio.rows)
        return [row for row in rows if row is not None]

    def prior(self, learned: bool) -> OptimumPrior | None:
        """Return the prior of a search, with or without knowledge of other tables."""
        library = {}
        if learned:
            for name in self.names:
                entry = FAMILY_OF.get(name, name)
                library[name] = knowledge(entry, self.table.partition(".")[0])
        with mock.patch.object(learned_prior, "library", lambda: library):
            return learned_prior.learned_prior(self.parts, self.space, self.values)

    def nearest(self, row: Row, left: np.ndarray) -> int:
        """Return the index of the nearest of some rows; options differ by 1."""
        column = self.space.tree[0][0]
        left = left & (self.rows[:, column] == row[column])
        places = np.flatnonzero(left)
        apart = np.abs(
            np.nan_to_num(self.rows[places], nan=2.0) - np.nan_to_num(row, nan=2.0)
        )
        apart = np.where(self.space.categorical, apart > 0, apart)
        distances = np.sum(np.minimum(apart, 1.0) ** 2, axis=1)
        return int(places[np.argmin(distances)])


@cache
def pool_of(task: str, only: str | None = None) -> Pool:
    return Pool(task, only)


# -- methods -----------------------------------------------------------------------


class _Skbayes:
    """Optimizer of skbayes."""

    def __init__(self, space: Space, seed: int, **options: Any) -> None:
        self._space = space
        self._optimizer = Optimizer(space, random_state=seed, **options)

    def ask(self) -> Row:
        proposed = self._optimizer.propose()
        self._optimizer.forget(proposed)
        return proposed.row

    def tell(self, row: Row, score: float) -> None:
        self._optimizer.tell(self._space.decode(row[None])[0], score)


class _Columns:
    """Tree of the columns for other libraries, with a label for each column.

    A value of a column is the index of an option, or a position. A column that several
    options open has several labels.
    """

    def __init__(self, space: Space) -> None:
        self._space = space

    def n_options(self, place: int) -> int:
        """Return the number of options of a column, 0 for an ordered one."""
        if not self._space.categorical[place]:
            return 0
        return len(self._space.columns[place].dimension.grid)

    def _position(self, place: int, value: Any) -> float:
        if self.n_options(place):
            return float(self._space.columns[place].dimension.grid[int(value)])
        return float(value)

    def row(self, choose: Callable[[str, int], Any]) -> Row:
        """Return a row; `choose` returns the values of its active columns."""
        row = np.full(self._space.n_columns, np.nan)

        def fill(branch: Any, path: str) -> None:
            for place, options in branch:
                value = choose(f"{path}{place}", place)
                row[place] = self._position(place, value)
                if options:
                    fill(options[int(value)], f"{path}{place}.{value}.")

        fill(self._space.tree, "")
        return self._space.snap(row[None])[0]

    def values(self, row: Row) -> dict[str, tuple[int, Any]]:
        """Return the column and the value of each label that is active in a row."""
        found = {}

        def choose(label: str, place: int) -> Any:
            value: Any = float(row[place])
            if self.n_options(place):
                grid = self._space.columns[place].dimension.grid
                value = int(np.argmin(np.abs(grid - value)))
            found[label] = place, value
            return value

        self.row(choose)
        return found


class _Optuna(_Columns):
    """TPE of Optuna."""

    def __init__(self, space: Space, seed: int, **options: Any) -> None:
        import optuna

        super().__init__(space)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, **options)
        self._optuna = optuna
        self._study = optuna.create_study(direction="maximize", sampler=sampler)

    def ask(self) -> Row:
        trial = self._study.ask()

        def choose(label: str, place: int) -> Any:
            if n := self.n_options(place):
                return trial.suggest_categorical(label, list(range(n)))
            return trial.suggest_float(label, 0.0, 1.0)

        row = self.row(choose)
        # The configuration that is evaluated is another trial.
        self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return row

    def tell(self, row: Row, score: float) -> None:
        of, values = self._optuna.distributions, self.values(row)
        distributions = {
            label: of.CategoricalDistribution(list(range(n)))
            if (n := self.n_options(place))
            else of.FloatDistribution(0.0, 1.0)
            for label, (place, _) in values.items()
        }
        params = {label: value for label, (_, value) in values.items()}
        trial = self._optuna.trial.create_trial(
            params=params, distributions=distributions, value=score
        )
        self._study.add_trial(trial)


class _Hyperopt(_Columns):
    """TPE of hyperopt."""

    def __init__(self, space: Space, seed: int) -> None:
        import hyperopt

        super().__init__(space)
        self._hyperopt = hyperopt
        tree = self._branch(space.tree)
        self._domain = hyperopt.base.Domain(lambda params: 0.0, tree)
        self._trials = hyperopt.Trials()
        self._rng = np.random.default_rng(seed)
        self._doc: Any = None

    def _branch(self, branch: Any, path: str = "") -> dict[str, Any]:
        hp, found = self._hyperopt.hp, {}
        for place, options in branch:
            label = f"{path}{place}"
            if n := self.n_options(place):
                subs: list[Any] = [{}] * n
                for k, option in enumerate(options):
                    subs[k] = self._branch(option, f"{label}.{k}.")
                found[label] = hp.choice(label, list(enumerate(subs)))
            else:
                found[label] = hp.uniform(label, 0.0, 1.0)
        return found

    def _document(self) -> Any:
        seed = int(self._rng.integers(2**31))
        numbers = self._trials.new_trial_ids(1)
        suggest = self._hyperopt.tpe.suggest
        (self._doc,) = suggest(numbers, self._domain, self._trials, seed)
        return self._doc

    def ask(self) -> Row:
        values = self._document()["misc"]["vals"]
        return self.row(lambda label, _: values[label][0])

    def tell(self, row: Row, score: float) -> None:
        doc = self._document() if self._doc is None else self._doc
        values, number, misc = self.values(row), doc["tid"], doc["misc"]
        for label in misc["vals"]:
            active = label in values
            misc["vals"][label] = [values[label][1]] if active else []
            misc["idxs"][label] = [number] if active else []
        doc["result"] = {"status": self._hyperopt.STATUS_OK, "loss": -score}
        doc["state"] = self._hyperopt.JOB_STATE_DONE
        self._trials.insert_trial_docs([doc])
        self._trials.refresh()
        self._doc = None


class _Smac(_Columns):
    """SMAC's facade for hyper-parameters: a random forest with its own design."""

    def __init__(self, space: Space, seed: int, n_initial: int = 10) -> None:
        import ConfigSpace

        super().__init__(space)
        self._of = ConfigSpace
        self._configurations = ConfigSpace.ConfigurationSpace(seed=seed)
        self._add(space.tree)
        self._folder = tempfile.TemporaryDirectory()
        self._smac = smac_facade(
            self._configurations, seed, self._folder.name, n_initial
        )

    def _add(
        self, branch: Any, path: str = "", parent: Any = None, option: int = 0
    ) -> None:
        of = self._of
        for place, options in branch:
            label = f"{path}{place}"
            if n := self.n_options(place):
                dim = of.Categorical(label, list(map(str, range(n))))
            else:
                dim = of.Float(label, (0.0, 1.0))
            self._configurations.add(dim)
            if parent is not None:
                self._configurations.add(of.EqualsCondition(dim, parent, str(option)))
            for k, sub in enumerate(options):
                self._add(sub, f"{label}.{k}.", dim, k)

    def ask(self) -> Row:
        values = dict(self._smac.ask().config)

        def choose(label: str, place: int) -> Any:
            value = values[label]
            return int(value) if self.n_options(place) else float(value)

        return self.row(choose)

    def tell(self, row: Row, score: float) -> None:
        from smac.runhistory.dataclasses import TrialInfo, TrialValue

        values = {
            label: str(value) if self.n_options(place) else value
            for label, (place, value) in self.values(row).items()
        }
        config = self._of.Configuration(self._configurations, values=values)
        info = TrialInfo(config=config, seed=0)
        self._smac.tell(info, TrialValue(cost=-score), save=False)


def make(method: str, pool: Pool, seed: int, n_starts: int) -> Any:
    """Return a method, which will first observe `n_starts` configurations."""
    if method == "optuna-tpe":
        return _Optuna(pool.space, seed)
    if method == "optuna-grouped":
        return _Optuna(pool.space, seed, multivariate=True, group=True)
    if method == "hyperopt":
        return _Hyperopt(pool.space, seed)
    if method == "smac":
        return _Smac(pool.space, seed, max(10 - n_starts, 1))
    if method == "random":
        return _Skbayes(pool.space, seed, surrogate="random")
    prior = pool.prior(method == "prior") if n_starts or method == "prior" else None
    return _Skbayes(pool.space, seed, prior=prior)


# -- study -------------------------------------------------------------------------


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one search, and return the scores and the models of its trials."""
    warnings.simplefilter("ignore")
    whole = pool = pool_of(task)
    if method == "single":
        pool = pool_of(task, whole.names[whole.best_model])
    seed = zlib.crc32(f"{task} {seed}".encode()) % 2**31
    first = pool.starts() if options["start"] == "own" and method != "prior" else []
    search = make(method, pool, seed, len(first))
    left = np.ones(len(pool.rows), dtype=bool)
    trials: list[int] = []
    for _ in range(options["trials"]):
        row = first.pop(0) if first else search.ask()
        trials.append(pool.nearest(row, left))
        left[trials[-1]] = False
        search.tell(pool.rows[trials[-1]], float(pool.scores[trials[-1]]))
    scores, models = pool.scores[trials], pool.models[trials]
    share = 1.0 if pool is not whole else float(np.mean(models == pool.best_model))
    share *= 100.0
    at = np.array(shown(options)) - 1
    return {
        "figures": [*whole.regrets(scores)[at].round(1).tolist(), round(share, 1)],
        "models": models.tolist(),
        "scores": scores.round(6).tolist(),
    }


def figures(runs: Runs, options: Mapping[str, Any]) -> Figures:
    """Return the figures of each run, with the trials of the single models."""
    found = single(runs, options)
    for method, own in runs.items():
        for key, record in own.items():
            counts = np.bincount(record["models"])
            most = 100.0 * counts.max() / counts.sum()
            once = 100.0 * np.mean(counts == 1)
            found[method][key] = np.append(found[method][key], [most, once])
    return found


def shown(options: Mapping[str, Any]) -> list[int]:
    n = options["trials"]
    return [shown for shown in SHOWN if shown <= n] or [n]


STUDY = Study(
    name="model_choices_pools",
    tasks=tasks,
    methods=(
        *("skbayes", "prior", "single", "random", "optuna-tpe", "optuna-grouped"),
        *("hyperopt", "smac"),
    ),
    run=run,
    columns=lambda options: [*shown(options), "best", "most", "once"],
    figures=figures,
    group=half,
    options={"trials": 50, "start": "own"},
    seeds=3,
    smallest=(
        *("--tasks", "diabetes:r2", "--methods", "skbayes,single,random"),
        *("--trials", "7", "--seeds", "1"),
    ),
)
