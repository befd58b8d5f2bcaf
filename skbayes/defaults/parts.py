"""Parts of a composed estimator, with the full names of their parameters."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sklearn.base import is_classifier

from skbayes.defaults.catalog import DataFacts, KnownClass, Notation, find
from skbayes.defaults.conflicts import (
    effective,
    names_in,
    with_values,
    without_conflicts,
)
from skbayes.defaults.names import name_in_use, names_of, set_parameters
from skbayes.space.notation import Choice, with_sub_spaces
from skbayes.utils.estimators import is_estimator

SCALERS = (
    *("MaxAbsScaler", "MinMaxScaler", "PowerTransformer", "QuantileTransformer"),
    *("RobustScaler", "StandardScaler"),
)

# Searches tune their estimators already, and frozen estimators are not fitted again.
NOT_ENTERED = ("BaseSearchCV", "FrozenEstimator")

# Parameters that hold named estimators.
CONTAINERS = ("steps", "transformers", "transformer_list", "estimators")

# Transformers that keep the number of columns.
KEEP_COLUMNS = ("KNNImputer", "Normalizer", "OrdinalEncoder", "SimpleImputer", *SCALERS)
IMPUTERS = ("IterativeImputer", "KNNImputer", "SimpleImputer")

# Transformers with at least as many columns as before, of about the same scale.
ADD_COLUMNS = (
    *("IterativeImputer", "KBinsDiscretizer", "KNNImputer", "MissingIndicator"),
    *("OneHotEncoder", "PolynomialFeatures", "SimpleImputer", "SplineTransformer"),
)

# Transformers whose output may consist of a single column, of about the same scale.
SELECT_COLUMNS = (
    *("GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFromModel"),
    *("SelectFwe", "SelectPercentile", "SequentialFeatureSelector"),
    "VarianceThreshold",
)

# Parameters that are the number of columns of the output.
COUNTS = ("n_components", "k", "n_features_to_select")

# Transformers with such a parameter that keep the scale of the columns.
KEEP_SCALE = ("IncrementalPCA", "PCA", "RFE", "SelectKBest", "TruncatedSVD")

# Transformers with a sparse output of many columns.
WIDE = (
    *("CountVectorizer", "HashingVectorizer", "NGramVectorizer", "TfidfTransformer"),
    *("KNeighborsTransformer", "RadiusNeighborsTransformer", "DictVectorizer"),
)

TFIDF = ("TfidfVectorizer", "TfidfTransformer")

# Samplers that leave as many rows of each class as the smallest one has.
UNDER_SAMPLERS = ("ClusterCentroids", "NearMiss", "RandomUnderSampler")

# Classes whose own score depends on the scale and the number of the columns.
SCORE_OF_COLUMNS = (
    *("FactorAnalysis", "GaussianMixture", "BayesianGaussianMixture"),
    *("KernelDensity", "LatentDirichletAllocation", "PCA"),
    *("KMeans", "MiniBatchKMeans", "BisectingKMeans"),
)


def _is_a(estimator: Any, names: Sequence[str], module: str = "") -> bool:
    """Return whether a class of an estimator's MRO has one of the names."""
    return any(
        cls.__name__ in names and cls.__module__.startswith(module)
        for cls in type(estimator).__mro__
    )


def _scaler_choice(scaler: Any, facts: DataFacts) -> list[Any]:
    """Return the scalers that can replace a scaler, beginning with the scaler itself.

    The list is empty if the others cannot replace it: for scalers of sparse data, which
    do not center, and for scalers with nonnegative output.
    """
    # Imported here, because the user's code has imported it already.
    from sklearn import preprocessing

    centers = getattr(scaler, "with_mean", True) and getattr(
        scaler, "with_centering", True
    )
    kind = type(scaler).__name__
    if kind in ("MaxAbsScaler", "MinMaxScaler") or not centers:
        return []
    scalers = [
        preprocessing.StandardScaler(),
        preprocessing.MinMaxScaler(),
        preprocessing.RobustScaler(),
        preprocessing.QuantileTransformer(
            n_quantiles=min(1000, facts.n_rows or 100), output_distribution="normal"
        ),
    ]
    return [scaler, *(option for option in scalers if type(option).__name__ != kind)]


@dataclasses.dataclass(frozen=True)
class Part:
    """Estimator within a composition, or the whole composition.

    The prefix of its parameter names is like "pipeline__svc__", or "" for the whole.
    """

    prefix: str
    estimator: Any
    facts: DataFacts
    entry: KnownClass | None
    # Whether the search chooses among scalers for this step instead of tuning it.
    is_scaler: bool = False
    # Whether its parameters are not tuned, because they make scores incomparable.
    fixed: bool = False

    @functools.cached_property
    def space(self) -> Notation:
        """Search space with full names, without the spaces of nested estimators."""
        if self.fixed:
            return {}
        if self.is_scaler:
            matters = self.facts.scale_matters
            scalers = _scaler_choice(self.estimator, self.facts) if matters else []
            return {self.prefix.removesuffix("__"): scalers} if scalers else {}
        return {} if self.entry is None else _space(self, self.entry)


def parts_of(estimator: Any, facts: DataFacts, prefix: str = "") -> list[Part]:
    """Return the parts of an estimator that can be tuned, the whole first."""
    return list(_walk(estimator, prefix, facts))


def space_of(parts: list[Part]) -> Notation:
    """Return the joint search space of parts."""
    return {name: value for part in parts for name, value in part.space.items()}


def _walk(estimator: Any, prefix: str, facts: DataFacts) -> Iterator[Part]:
    if not is_estimator(estimator) or _is_a(estimator, NOT_ENTERED):
        return
    yield Part(prefix, estimator, facts, find(estimator))
    params = estimator.get_params(deep=False)
    for container in CONTAINERS:
        if isinstance(params.get(container), list):
            yield from _members(container, params[container], prefix, facts)
    facts = _facts_within(estimator, params, facts)
    for name, value in params.items():
        if is_estimator(value):
            yield from _walk(value, f"{prefix}{name}__", facts)


def renamed(space: Notation, rename: Callable[[str], str]) -> Notation:
    """Return a space with renamed parameters, also under the options of choices."""
    return {
        rename(name): with_sub_spaces(value, lambda _, sub: renamed(sub, rename))
        for name, value in space.items()
    }


def _space(part: Part, entry: KnownClass) -> Notation:
    facts = part.facts
    if not _classifies(part.estimator):
        facts = dataclasses.replace(facts, imbalanced=False)
    params = own_params(part.estimator, entry)
    space = entry.build(params, facts)
    in_use = {name: name_in_use(part.estimator, name) for name in names_in(space)}
    params.update({name: params[key] for name, key in in_use.items() if key != name})
    space = with_values(space, params, entry.stands_for)
    set_by_user = set_parameters(part.estimator)
    for name in [*set_by_user]:
        aliases = set(names_of(part.estimator, name)) - set_by_user
        params.update(dict.fromkeys(aliases, params[name]))
        set_by_user |= aliases
    params = _OwnParams(effective(params, entry.stands_for))
    space = without_conflicts(space, params, set_by_user, entry)
    return renamed(space, lambda name: part.prefix + in_use[name])


class _OwnParams(dict):
    """Parameters of an estimator; None for parameters that it does not have."""

    def __missing__(self, name: str) -> None:
        return None


def _classifies(estimator: Any) -> bool:
    try:
        return is_classifier(estimator)
    except Exception:  # without tags, or with missing parameters
        return False


def own_params(estimator: Any, entry: KnownClass) -> dict[str, Any]:
    """Return the parameters of an estimator without nested parameters."""
    params = estimator.get_params(deep=False)
    if entry.package == "catboost":
        # CatBoost returns only the parameters that the user has set.
        names = [*entry.stands_for, "learning_rate"]
        return _OwnParams({**dict.fromkeys(names), **params})
    return _OwnParams(params)


# -- containers -----------------------------------------------------------------------


def _members(
    container: str, members: list[Any], prefix: str, facts: DataFacts
) -> Iterator[Part]:
    """Yield the parts of the named estimators in a container."""
    own_score, comparable = facts.own_score, True
    if container == "steps" and members:
        matters = facts.scale_matters and not ignores_scale(members[-1][1])
        facts = dataclasses.replace(facts, scale_matters=matters)
        comparable = not (own_score and _is_a(members[-1][1], SCORE_OF_COLUMNS))
    for place, (name, member, *columns) in enumerate(members, start=1):
        if isinstance(member, str) or member is None:
            continue
        last = container == "steps" and place == len(members)
        facts = dataclasses.replace(facts, own_score=own_score and last)
        inner = facts.with_features(_n_columns(columns[0])) if columns else facts
        full = f"{prefix}{name}"
        parts: Iterator[Part]
        if _is_a(member, SCALERS, "sklearn.") and container != "estimators":
            parts = iter([Part(f"{full}__", member, inner, find(member), True)])
        else:
            parts = _walk(member, f"{full}__", inner)
        for part in parts:
            fixed = part.fixed or not (comparable or last)
            yield dataclasses.replace(part, fixed=fixed)
        if container == "steps":
            facts = _facts_after(member, facts)


def ignores_scale(estimator: Any) -> bool:
    """Return whether an estimator is a tree or an ensemble of trees."""
    entry = find(estimator)
    if entry is None or not entry.of_trees:
        return False
    return not any(map(is_estimator, estimator.get_params(deep=False).values()))


def _n_columns(columns: Any) -> int | None:
    listed = hasattr(columns, "__len__") and not isinstance(columns, str)
    if listed and all(isinstance(column, bool) for column in columns):
        return sum(columns)
    return len(columns) if listed else None


def _facts_after(transformer: Any, facts: DataFacts) -> DataFacts:
    """Return the facts about the output of a transformer."""
    name = type(transformer).__name__
    if hasattr(transformer, "fit_resample"):
        n_rows = facts.n_rows
        if name in UNDER_SAMPLERS and n_rows is not None:
            n_rows = min(n_rows, (facts.n_classes or 1) * (facts.smallest_class or 1))
        return dataclasses.replace(facts, n_rows=n_rows)
    if name in IMPUTERS:
        facts = dataclasses.replace(facts, has_missing=False)
    if name not in IMPUTERS + ADD_COLUMNS + SELECT_COLUMNS + KEEP_SCALE:
        facts = dataclasses.replace(facts, x_variance=1.0)
    if name in KEEP_COLUMNS and not getattr(transformer, "add_indicator", False):
        return facts
    facts = facts.with_features(None, fewest_after(transformer, facts))
    wide, texts = _is_a(transformer, WIDE), _is_a(transformer, TFIDF)
    return dataclasses.replace(facts, wide=wide, texts=texts)


def fewest_after(transformer: Any, facts: DataFacts) -> int | None:
    """Return the smallest number of columns of an output, or None if unknown."""
    before, name = facts.fewest_features, type(transformer).__name__
    if transformer in ("passthrough", None) or name in KEEP_COLUMNS + ADD_COLUMNS:
        return before
    if transformer == "drop":
        return 0
    if name in SELECT_COLUMNS:
        return 1
    if hasattr(transformer, "steps"):
        for _, step in transformer.steps:
            facts = _facts_after(step, facts)
        return facts.fewest_features
    members = getattr(transformer, "transformers", None)
    members = members or getattr(transformer, "transformer_list", None)
    if members:
        return _sum_of_columns(members, facts)
    entry = find(transformer)
    if entry is None:
        return None
    params = own_params(transformer, entry)
    space = _space(Part("", transformer, facts, entry), entry)
    counts = [
        _fewest(space.get(name, [params[name]])) for name in COUNTS if name in params
    ]
    if not counts:
        return None
    fewest = before if counts[0] is None else counts[0]
    return fewest if before is None or fewest is None else max(1, fewest)


def _sum_of_columns(members: list[Any], facts: DataFacts) -> int | None:
    """Return the smallest number of columns of a union or column transformer."""
    numbers = []
    for _, member, *columns in members:
        n = _n_columns(columns[0]) if columns else facts.n_features
        fewest = None if columns else facts.fewest_features
        numbers.append(fewest_after(member, facts.with_features(n, fewest)))
    return None if None in numbers else max(1, sum(n or 0 for n in numbers))


def _fewest(notation: Any) -> int | None:
    """Return the smallest count; 1 for fractions, None for all columns."""
    if isinstance(notation, Choice):
        notation = notation.dimension
    if isinstance(notation, tuple):
        notation = notation[:1]
    values = list(getattr(notation, "values", notation))
    if any(isinstance(value, float) or value == "mle" for value in values):
        return 1
    return min((value for value in values if isinstance(value, int)), default=None)


def _facts_within(
    estimator: Any, params: dict[str, Any], facts: DataFacts
) -> DataFacts:
    """Return the facts about the data on which nested estimators are fitted."""
    name = type(estimator).__name__
    changed: dict[str, Any] = {"own_score": False}
    if params.get("func") is not None or params.get("transformer") is not None:
        changed["y_scale"] = 1.0
    if name.startswith("Stacking"):
        changed["n_features"] = changed["fewest_features"] = None
    share = 1.0
    if "cv" in params and isinstance(params["cv"], int | None):
        share = 1.0 - 1.0 / max(2, params["cv"] or 5)
    if name.startswith("Bagging"):
        share = 0.3
    if name == "OneVsOneClassifier":
        share = 1.0 / max(2, facts.n_classes or 2)
    if facts.n_rows is not None:
        changed["n_rows"] = max(1, int(facts.n_rows * share))
    return dataclasses.replace(facts, **changed)


def current_values(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator and its parts, by full name.

    If None stands for another value, as in XGBoost, the other value is returned.
    """
    values = dict(estimator.get_params())
    for part in parts_of(estimator, DataFacts()):
        if part.entry is not None:
            params = own_params(part.estimator, part.entry)
            for name, value in effective(params, part.entry.stands_for).items():
                if values.get(part.prefix + name) is None:
                    values[part.prefix + name] = value
    return values
