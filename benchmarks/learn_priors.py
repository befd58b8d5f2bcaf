"""Knowledge about estimators, learned from tables of their results.

For each estimator with a file in results/priors/, the script learns densities and a
portfolio. The estimators in `FAMILIES` share those of their common base class, which
are learned from the tables of all of them. The entries in `PARTS` are learned from
pipelines, and that of the vectorizer has densities only.

A density over each hyper-parameter describes the position of good values:

- Numbers: on each table, the kernel density of the values of the best tenth of the
  configurations is divided by that of all configurations, on the scale of the
  parameter. The mean over the tables is mixed with a uniform density.
- Options: the share in the best tenth is divided by the share in all configurations.
- Parameters that are not always active: only the configurations in which they are
  active are used.

A portfolio is a list of first configurations with their regrets on the tables. It
begins with the estimator's own values. Each further configuration is the one that most
reduces the best normalized regret so far, averaged over the tables.

The regret of a configuration is (best - score) / (best - median of the random ones), at
most 2. Because scores on small tables are noisy, it is averaged with the out-of-bag
prediction of a random forest from the other configurations.

Example: python benchmarks/learn_priors.py
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import json
import math
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from harness import HERE
from sklearn.ensemble import RandomForestRegressor

RESULTS = HERE / "results" / "priors"
KNOWLEDGE = HERE.parent / "skbayes" / "defaults" / "knowledge.json"
# Number of configurations of a portfolio, also of parts of pipelines.
N_PORTFOLIO, N_OF_PARTS = 16, 8
# Maximum number of tables with stored regrets.
MAX_TABLES = 40
LARGEST_REGRET = 2.0
# A score that varies less than this on a table is ignored.
SMALLEST_SPREAD = 1e-4
SMOOTHING = 0.5
BEST_SHARE = 0.1
UNIFORM_SHARE = 0.2
N_KNOTS = 9
# Standard deviation of the kernels, relative to the range.
BANDWIDTH = 0.1
# Number of configurations added to the counts of the options.
PSEUDO_COUNT = 2.0
# Estimators with the same random configurations, by their common base class.
FAMILIES = {
    "BaseHistGradientBoosting": (
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
    ),
    "ForestClassifier": ("RandomForestClassifier", "ExtraTreesClassifier"),
    "BaseMultilayerPerceptron": ("MLPClassifier", "MLPRegressor"),
    "BaseGradientBoosting": (
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
    ),
    "BaseWeightBoosting": ("AdaBoostClassifier", "AdaBoostRegressor"),
}
CLASSIFIERS = ("LogisticRegression", "LinearSVC", "SGDClassifier", "MultinomialNB")
PIPELINES = tuple(f"TfidfVectorizer+{name}" for name in CLASSIFIERS)
# Pipelines that an entry is learned from, and the prefix of its parameters.
PARTS = {"TfidfVectorizer": ("texts", "tfidfvectorizer__")}
for _name in CLASSIFIERS:
    PARTS[f"{_name} of texts"] = f"TfidfVectorizer+{_name}", f"{_name.lower()}__"
# Estimators whose priors do not help on other tables.
LEFT_OUT = {"RandomForestRegressor", "CatBoostClassifier"}
# Families whose densities do not help on other tables; only the portfolio is stored.
PORTFOLIO_ONLY = {"BaseWeightBoosting"}
# Entries whose portfolio does not help on other tables; only the densities are stored.
DENSITIES_ONLY = {"LinearSVC of texts"}
# Parameters that are proportional to the standard deviation of the target, which is 1
# in all tables.
Y_SCALED = {"SVR": ["C", "epsilon"], "ElasticNet": ["alpha"]}

Params = dict[str, Any]


class Table(NamedTuple):
    """Scores of configurations, NaN for failed fits; the first one is the default."""

    name: str
    params: list[Params]
    scores: np.ndarray  # a column per metric, the estimator's own score first


@cache
def load_tables(name: str) -> list[Table]:
    """Read the tables of an estimator, or of all estimators of a family."""
    if parts := (FAMILIES | {"texts": PIPELINES}).get(name):
        return [table for part in parts for table in load_tables(part)]
    with np.load(RESULTS / f"{name}.npz") as file:
        params = [_restored(json.loads(text)) for text in file["params"].tolist()]
        scores = file["scores"].astype(np.float64)
        names, which = file["tables"].tolist(), file["params_of_table"]
        parts = zip(names, which, scores, strict=True)
        return [Table(table, params[i], losses) for table, i, losses in parts]


def _restored(params: list[Params]) -> list[Params]:
    """Convert the lists of JSON back to tuples."""
    return [
        {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        for values in params
    ]


# -- regrets --------------------------------------------------------------------------


def _normalized(scores: np.ndarray) -> np.ndarray:
    failed = np.isnan(scores)
    scores = np.where(failed, -np.inf, scores)
    best, median = scores.max(axis=0), np.median(scores[1:], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        regret = np.minimum((best - scores) / (best - median), LARGEST_REGRET)
        regret[:, ~(best - median > SMALLEST_SPREAD)] = np.nan
    return regret


@cache
def smoothed(name: str) -> list[np.ndarray]:
    """Return regrets averaged with predictions from other configurations."""
    smooth = []
    for table in load_tables(name):
        regret = _normalized(table.scores)  # columns of ignored scores are NaN
        complete = ~np.isnan(regret).any(axis=0)
        out = regret.copy()
        if complete.any():
            X = features(table.params[1:])
            forest = RandomForestRegressor(
                100,
                min_samples_leaf=2,
                max_features=0.5,
                oob_score=True,
                random_state=0,
            )
            target = regret[1:, complete]
            forest.fit(X, target[:, 0] if target.shape[1] == 1 else target)
            predicted = forest.oob_prediction_.reshape(target.shape)
            out[1:, complete] = (1.0 - SMOOTHING) * target + SMOOTHING * predicted
        smooth.append(out)
    return smooth


def features(params: list[Params]) -> np.ndarray:
    """Encode configurations for a forest."""
    names = sorted({name for point in params for name in point})
    columns = []
    for name in names:
        values = [config.get(name) for config in params]
        columns.append([float(v) if is_number(v) else math.nan for v in values])
        for option in options_of(values):
            columns.append([float(not is_number(v) and v == option) for v in values])
        columns.append([float(name not in config) for config in params])
    X = np.array(columns).T
    return np.where(np.isnan(X), -1.0, X)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def options_of(values: list[Any]) -> list[Any]:
    """Return the values that are not numbers."""
    return list(dict.fromkeys(v for v in values if not is_number(v)))


# -- densities ------------------------------------------------------------------------


def densities(tables: list[Table], losses: list[np.ndarray]) -> dict[str, Any]:
    """Learn a density of each parameter; `losses` are regrets on each table."""
    names = sorted(
        {name for table in tables for config in table.params for name in config}
    )
    return {name: _density(name, tables, losses) for name in names}


def _density(name: str, tables: list[Table], losses: list[np.ndarray]) -> Params:
    points = [point for table in tables for point in table.params]
    every = [point[name] for point in points if name in point]
    numbers = np.array(sorted({v for v in every if is_number(v)}), dtype=float)
    options = options_of(every)
    density: Params = {}
    # A parameter with few numbers is categorical, and so are numbers among options.
    if len(numbers) and len(numbers) <= N_KNOTS // 2:
        options, numbers = [*numbers.tolist(), *options], numbers[:0]
        options = [int(v) if is_number(v) and v == int(v) else v for v in options]
    if len(numbers):
        density |= _numeric(name, tables, losses, numbers)
    if options:
        weights = _weights(name, tables, losses, options)
        density["options"] = [[o, w] for o, w in zip(options, weights, strict=True)]
    return density


def _best(loss: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Return the best tenth of the active configurations, without the first one."""
    places = np.flatnonzero(active[1:]) + 1
    n = max(1, round(BEST_SHARE * len(places)))
    return places[np.argsort(loss[places], kind="stable")[:n]]


def _numeric(
    name: str, tables: list[Table], losses: list[np.ndarray], numbers: np.ndarray
) -> Params:
    positive = numbers[numbers > 0]
    log = len(positive) > 1 and positive[-1] >= 20 * positive[0]
    # On a log scale, zero is placed one step below the smallest number.
    zero = positive[0] ** 2 / positive[1] if numbers[0] == 0 and log else math.nan
    if log and len(positive) > 20:
        zero = positive[0] / 10.0

    def scaled(values: Any) -> np.ndarray:
        values = np.asarray(values, dtype=float)
        return np.log(np.where(values > 0, values, zero)) if log else values

    ends = scaled(numbers[[0, -1]])
    knots = np.linspace(*ends, N_KNOTS)
    width = BANDWIDTH * (ends[1] - ends[0])

    def mass(values: np.ndarray) -> np.ndarray:
        distances = (knots[:, None] - scaled(values)) / width
        return np.mean(np.exp(-0.5 * distances**2), axis=1)

    ratios = []
    for table, loss in zip(tables, losses, strict=True):
        values = [config.get(name) for config in table.params]
        active = np.array([is_number(v) for v in values])
        if active[1:].sum() < 20:
            continue
        best = [values[i] for i in _best(loss, active)]
        every = [values[i] for i in np.flatnonzero(active)]
        ratio = (mass(best) + 1e-3) / (mass(every) + 1e-3)
        ratios.append(ratio / ratio.mean())
    mean = (1.0 - UNIFORM_SHARE) * np.mean(ratios, axis=0) + UNIFORM_SHARE
    at = np.exp(knots) if log else knots
    return {
        "scale": "log" if log else "linear",
        "at": [float(f"{v:.3g}") for v in at],
        "log_density": np.round(np.log(mean), 2).tolist(),
    }


def _weights(
    name: str, tables: list[Table], losses: list[np.ndarray], options: list[Any]
) -> list[float]:
    """Return log ratios of the shares of options, among the best and among all."""
    ratios = []
    for table, loss in zip(tables, losses, strict=True):
        active = np.array([name in config for config in table.params])
        if active[1:].sum() < 20:
            continue
        best = Counter(table.params[i][name] for i in _best(loss, active))
        every = Counter(config[name] for config in table.params[1:] if name in config)
        n_best, n_every = sum(best.values()), sum(every.values())
        shares = np.array([every[o] / n_every for o in options])
        masses = np.array([best[o] for o in options]) + PSEUDO_COUNT * shares
        with np.errstate(invalid="ignore"):
            ratios.append(masses / (n_best + PSEUDO_COUNT) / shares)
    mean = np.nan_to_num(np.nanmean(ratios, axis=0), nan=1.0)
    mean = (1.0 - UNIFORM_SHARE) * mean + UNIFORM_SHARE
    return np.round(np.log(mean), 2).tolist()


# -- portfolio ------------------------------------------------------------------------


def portfolio(losses: np.ndarray, n: int) -> list[int]:
    """Choose configurations; `losses` has shape (n_tables, n_configurations).

    The first chosen configuration is number 0.
    """
    chosen = [0]
    while len(chosen) < n:
        so_far = losses[:, chosen].min(axis=1, keepdims=True)
        gains = np.maximum(so_far - losses, 0.0).sum(axis=0)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
    return chosen


def common_values(tables: list[Table], place: int) -> Params:
    """Return a configuration with its values on most tables."""
    texts = Counter(json.dumps(table.params[place]) for table in tables)
    text = texts.most_common(1)[0][0]
    return next(t.params[place] for t in tables if json.dumps(t.params[place]) == text)


# -- knowledge ------------------------------------------------------------------------


def learn(name: str) -> Params:
    """Learn densities and portfolio of an estimator, a family or a part of texts."""
    source, prefix = PARTS.get(name, (name, ""))
    kept = [
        (table, loss)
        for table, loss in zip(load_tables(source), smoothed(source), strict=True)
        if not np.isnan(loss).all()
    ]
    tables = [table for table, _ in kept]
    # Mean of the scores; the estimator's own score and the others have half of the
    # weight each.
    losses = [_mixed(loss) for _, loss in kept]
    places = []
    if source != "texts" and name not in DENSITIES_ONLY:
        places = portfolio(np.array(losses), N_OF_PARTS if prefix else N_PORTFOLIO)
    if prefix:
        parts = [_part(table, prefix) for table in tables]
        losses = [loss for loss, table in zip(losses, parts, strict=True) if table]
        tables = [table for table in parts if table]
    knowledge: Params = {"tables": len(tables)}
    if name in Y_SCALED:
        knowledge["y_scaled"] = Y_SCALED[name]
    knowledge["portfolio"] = [common_values(tables, place) for place in places]
    shown = np.unique(np.linspace(0, len(losses) - 1, MAX_TABLES).astype(int))
    regret = np.array([losses[i] for i in shown])[:, places].T
    knowledge["regrets"] = np.rint(100.0 * np.minimum(regret, 1.0)).astype(int).tolist()
    used = [] if name in PORTFOLIO_ONLY else tables
    knowledge["densities"] = densities(used, losses)
    return knowledge


def _part(table: Table, prefix: str) -> Table | None:
    """Return a table with the parameters of a part; None without the part."""
    params = [
        {k.removeprefix(prefix): v for k, v in point.items() if k.startswith(prefix)}
        for point in table.params
    ]
    return Table(table.name, params, table.scores) if any(params) else None


def _mixed(loss: np.ndarray) -> np.ndarray:
    own_loss, others = loss[:, 0], loss[:, 1:]
    others = others[:, ~np.isnan(others).any(axis=0)]
    if not others.size:
        return own_loss
    if np.isnan(own_loss).any():
        return others.mean(axis=1)
    return 0.5 * own_loss + 0.5 * others.mean(axis=1)


def text_of(value: Any, indent: str = "") -> str:
    """Write JSON with one line for each density, configuration and list of regrets."""
    items = list(value.values() if isinstance(value, dict) else value)
    if len(indent) == 3 or not any(isinstance(v, dict | list) for v in items):
        return json.dumps(value, separators=(",", ":"))
    pad, (first, last) = indent + " ", "{}" if isinstance(value, dict) else "[]"
    lines = [text_of(v, pad) if isinstance(v, dict | list) else f"{v}" for v in items]
    if isinstance(value, dict):
        keys = map(json.dumps, value)
        lines = [f"{key}: {line}" for key, line in zip(keys, lines, strict=True)]
    body = ",\n".join(pad + line for line in lines)
    return f"{first}\n{body}\n{indent}{last}"


def main() -> None:
    shared = {part for parts in FAMILIES.values() for part in parts}
    alone = {path.stem for path in RESULTS.glob("*.npz") if "+" not in path.stem}
    every = sorted(((alone - shared) | {*FAMILIES, *PARTS}) - LEFT_OUT)
    knowledge = {name: learn(name) for name in every}
    KNOWLEDGE.write_text(text_of(knowledge) + "\n")
    print(f"written: {KNOWLEDGE} ({KNOWLEDGE.stat().st_size} bytes)")


if __name__ == "__main__":
    main()
