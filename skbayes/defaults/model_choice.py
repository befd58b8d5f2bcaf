"""Choice among models with the preprocessing that a table needs: `models`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.multiclass import type_of_target

from skbayes.defaults.catalog import DataFacts, find
from skbayes.defaults.default import TRAIN_SHARE, EditableSpace, code_of
from skbayes.defaults.names import is_set, names_of
from skbayes.defaults.parts import ignores_scale, parts_of
from skbayes.defaults.table import LARGEST, ColumnConverter, Table, is_missing, table_of
from skbayes.space.notation import Choice, with_sub_spaces
from skbayes.utils.estimators import is_estimator

# Number of rows of the largest class that five-fold cross-validation needs.
MIN_OF_CLASS = 5

# A target of whole numbers with more distinct values is a quantity.
MAX_CODES = 20

# Maximum numbers of rows of slow models, and of entries (rows × columns) of trees.
ROWS_NEIGHBORS, ROWS_SVM = 10_000, 3_000
ENTRIES_CLASSIFIER, ENTRIES_REGRESSOR, ENTRIES_BOOSTING = 2e7, 4e6, 5e7

# Boosting fits a tree per class, and the leaves of forests have a count per class.
CLASSES_BOOSTING, ROWS_TIMES_CLASSES = 30, 1e6

# Number of words that trees use.
WORDS_TREES = 100


# -- target ---------------------------------------------------------------------------


def _checked_target(y: Any, n_rows: int) -> tuple[np.ndarray, bool]:
    """Return the values of a target, and whether they are numbers."""
    if y is None:
        raise ValueError("y is required. Pass the targets of the rows of X.")
    values = np.asarray(y)
    if values.ndim != 1:
        raise ValueError(
            f"y must be an array of one dimension, got shape {values.shape}."
        )
    if len(values) != n_rows:
        raise ValueError(f"y has {len(values)} rows, and X has {n_rows}.")
    if any(map(is_missing, values.tolist() if values.dtype.kind == "f" else values)):
        raise ValueError("y has missing values. Remove these rows from X and y.")
    numeric = values.dtype.kind in "iuf" or all(
        isinstance(v, Real) and not isinstance(v, bool) for v in values
    )
    if values.dtype.kind not in "biufUO":
        raise ValueError(f"y must have numbers or classes, got {values.dtype}.")
    if numeric and not (np.abs(values.astype(np.float64)) <= LARGEST).all():
        raise ValueError(
            f"y has infinite values or values above {LARGEST:.2g}. Remove these rows "
            "from X and y, or scale y."
        )
    return values, numeric


def _class_counts(y: Any, n_rows: int, task: str) -> np.ndarray | None:
    """Return the numbers of rows of the classes; None for regression."""
    values, numeric = _checked_target(y, n_rows)
    try:
        classes, counts = np.unique(values, return_counts=True)
        kind = type_of_target(y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y has values of different types: {error}") from error
    if len(classes) < 2:
        value = values.tolist()[0]
        raise ValueError(
            f"y must have two distinct values or more, got only {value!r}."
        )
    if task == "auto":
        whole = len(classes) == 2 or values.dtype.kind != "f"
        codes = kind in ("binary", "multiclass") and whole and len(classes) <= MAX_CODES
        task = "classification" if codes or not numeric else "regression"
    if task == "regression":
        if not numeric:
            raise ValueError("y must have numbers for a regression.")
        return None
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"y has values of type {type(values[0]).__name__} in an array of dtype "
            f"{values.dtype}, which scikit-learn does not accept as classes. Convert "
            "them, such as with astype(str)."
        )
    if counts.max() < MIN_OF_CLASS:
        raise ValueError(
            f"y: the largest of {len(classes)} classes has {counts.max()} rows, but "
            f"five-fold cross-validation needs {MIN_OF_CLASS}."
        )
    return counts


# -- pipelines ------------------------------------------------------------------------

# Encodings of categories: columns of zeros and ones, with scaled numbers in the other
# columns; ordinal numbers; or strings in a data frame.
Encoding = Literal["scaled", "for_trees", "for_catboost"]

# Beginnings of the names of classes that accept categories, with the parameter that
# lists these columns.
LISTS_CATEGORIES = {
    "HistGradientBoosting": "categorical_features",
    "LGBM": "categorical_features",
    "CatBoost": "cat_features",
}

# Largest number of categories of a column in histogram-based gradient boosting.
MAX_CATEGORIES = 255

# Minimum number of rows of a group of categories in LightGBM, as in a leaf. With the
# default, 100, the categories of small tables are never split.
MIN_ROWS_OF_CATEGORIES = 20


def _is_of(model: Any, beginning: str) -> bool:
    entry = find(model)
    return entry is not None and entry.name.startswith(beginning)


def _with_categories(model: Any, n_categories: int) -> Any:
    """Return a model that knows that its first columns are categories.

    The model itself is returned if its class does not accept them, or if the user has
    listed them.
    """
    for beginning, name in LISTS_CATEGORIES.items():
        names = names_of(model, name)
        if _is_of(model, beginning) and not any(
            is_set(model, alias) for alias in names
        ):
            columns: Sequence[int] = [*range(n_categories)]
            if name == "cat_features":  # scikit-learn cannot clone CatBoost with a list
                columns = tuple(columns)
            params: dict[str, Any] = {name: columns}
            if beginning == "LGBM" and not is_set(model, "min_data_per_group"):
                params["min_data_per_group"] = MIN_ROWS_OF_CATEGORIES
            return clone(model).set_params(**params) if columns else model
    return model


def _encoding(model: Any) -> Encoding:
    if _is_of(model, "CatBoost"):
        return "for_catboost"
    return "for_trees" if ignores_scale(model) else "scaled"


def _chain(*steps: Any) -> Any:
    """Return a pipeline of several steps, a single step, or "passthrough"."""
    if len(steps) > 1:
        return make_pipeline(*steps)
    return steps[0] if steps else "passthrough"


def _category_encoders(encoding: Encoding, max_categories: int) -> list[Any]:
    """Return the encoder of a column of categories, if the models need one."""
    from sklearn import preprocessing

    if encoding == "scaled":
        options: dict[str, Any] = {"handle_unknown": "infrequent_if_exist"}
        return [preprocessing.OneHotEncoder(max_categories=100, **options)]
    options = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    encoder = preprocessing.OrdinalEncoder(max_categories=max_categories, **options)
    return [encoder] if encoding == "for_trees" else []


def _preprocessing(table: Table, encoding: Encoding, max_categories: int) -> Any:
    """Return the transformer of a table for the models that need an encoding.

    `max_categories` is the maximum number of categories in a column of codes.
    """
    # Imported here, because the imports take long.
    from sklearn import preprocessing
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer

    scaled, kinds = encoding == "scaled", table.kinds
    if table.is_sparse:
        return preprocessing.MaxAbsScaler() if scaled else "passthrough"
    fill = [SimpleImputer(strategy="median", add_indicator=True)] if scaled else []
    scale = [preprocessing.StandardScaler()] if scaled else []
    if table.is_numeric and not table.has_missing:
        return _chain(*scale)
    # Rows to predict may have other types and missing values.
    median = fill if table.has_missing else [SimpleImputer(strategy="median")]
    numbers = _chain(ColumnConverter(), *(median if scaled else []), *scale)
    if set(kinds) == {"numbers"}:
        return numbers
    encoders = _category_encoders(encoding, max_categories)
    chains = {
        "categories": _chain(ColumnConverter("strings"), *encoders),
        "dates": _chain(ColumnConverter("dates"), *fill, *scale),
    }
    transformers = [(n, chain, kinds[n]) for n, chain in chains.items() if n in kinds]
    for place, key in enumerate(kinds.get("documents", [])):
        words = TfidfVectorizer(max_features=None if scaled else WORDS_TREES)
        chain = _chain(ColumnConverter("documents"), words)
        transformers.append((f"documents{place or ''}", chain, [key]))
    if "ignored" in kinds:
        transformers.append(("ignored", "drop", kinds["ignored"]))
    threshold = {} if scaled else {"sparse_threshold": 0}
    remainder = numbers if "numbers" in kinds else "drop"
    columns = ColumnTransformer(transformers, remainder=remainder, **threshold)
    return _chain(columns, *[ColumnConverter("frame")] * (encoding == "for_catboost"))


def _learners(table: Table, counts: np.ndarray | None) -> Iterator[Any]:
    """Yield the models that the size of a table allows, cheap ones first."""
    from sklearn import ensemble, linear_model, neighbors, svm
    from sklearn.calibration import CalibratedClassifierCV

    suffix = "Regressor" if counts is None else "Classifier"
    n_rows, n_classes = table.n_rows, 1 if counts is None else len(counts)
    entries, seed = n_rows * table.n_columns, {"random_state": 0}
    if counts is None:
        yield linear_model.Ridge()
    else:
        yield linear_model.LogisticRegression(max_iter=1000)
    if n_rows <= ROWS_NEIGHBORS:
        yield getattr(neighbors, f"KNeighbors{suffix}")()
    if n_rows <= ROWS_SVM:
        if counts is None:
            yield svm.SVR()
        elif counts.min() >= 2 * MIN_OF_CLASS:
            yield CalibratedClassifierCV(svm.SVC(), ensemble=False)
    dense = entries <= ENTRIES_BOOSTING and not table.is_sparse
    if dense and n_classes <= CLASSES_BOOSTING:
        # Early stopping needs several rows of each class.
        boosting = getattr(ensemble, f"HistGradientBoosting{suffix}")
        yield boosting(early_stopping=False, **seed)
    most = ENTRIES_REGRESSOR if counts is None else ENTRIES_CLASSIFIER
    if entries <= most and n_rows * n_classes <= ROWS_TIMES_CLASSES:
        yield getattr(ensemble, f"RandomForest{suffix}")(**seed)
        yield getattr(ensemble, f"ExtraTrees{suffix}")(**seed)


class ModelChoice(NamedTuple):
    """Pipeline and search space of a choice among models, printed as code.

    Its representation is a program that builds the same pipeline and space. Paste it
    into a script to change them.

    Parameters
    ----------
    estimator : Pipeline
        Pipeline with the steps "columns" and "model", with the first model.
    search_spaces : EditableSpace
        Search space: a choice of "model", with the preprocessing and the
        hyper-parameters of each model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skbayes.defaults import models
    >>> estimator, search_spaces = models(*load_diabetes(return_X_y=True))
    >>> estimator
    Pipeline(steps=[('columns', StandardScaler()), ('model', Ridge())])
    """

    estimator: Pipeline
    search_spaces: EditableSpace

    def __repr__(self) -> str:
        variables: dict[str, Any] = {}

        def named(model: Any, space: Any) -> Any:
            name = _encoding(model)
            variables[name] = space["columns"][0]
            return {"columns": [_Name(name)], **_without_columns(space)}

        choice = with_sub_spaces(self.search_spaces["model"], named)
        first = self.estimator[-1]
        steps = [("columns", _Name(_encoding(first))), ("model", first)]
        parts = {
            **variables,
            "estimator": Pipeline(steps),
            "search_spaces": {**self.search_spaces, "model": choice},
        }
        lines = [f"{name} = {code_of(value)}" for name, value in parts.items()]
        classes: dict[str, set[str]] = {}
        for module, name in _classes([*self, *variables.values()]):
            classes.setdefault(module, set()).add(name)
        imports = [
            f"from {module} import {', '.join(sorted(classes[module]))}"
            for module in sorted(classes)
        ]
        return "\n".join([*imports, "", *lines])


class _Name(str):
    """Name of a variable, printed without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _without_columns(space: Any) -> dict[str, Any]:
    return {name: value for name, value in space.items() if name != "columns"}


def _classes(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the public modules and names of the classes in a value."""
    if isinstance(value, dict):
        value = [*value.items()]
    if isinstance(value, list | tuple):
        for item in value:
            yield from _classes(item)
        return
    if not isinstance(value, BaseEstimator | Choice) and not hasattr(value, "scale"):
        return
    module = type(value).__module__.split(".")
    private = [place for place, part in enumerate(module) if part.startswith("_")]
    end = 2 if module[0] == "skbayes" else [*private, len(module)][0]
    yield ".".join(module[:end]), type(value).__name__
    if isinstance(value, Choice):
        yield from _classes(value.options)
    elif hasattr(value, "get_params"):
        yield from _classes(list(value.get_params(deep=False).values()))


def models(
    X: Any, y: Any, *, task: str = "auto", extra: Sequence[Any] = ()
) -> ModelChoice:
    """Return a pipeline and a search space that choose among models for a table.

    Use it as ``BayesSearchCV(*models(X, y), n_iter=None, timeout=60).fit(X, y)``. With
    ``refit="ensemble"``, the final model is an average of the best models.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Table. Columns can have numbers, categories, dates, or texts.
    y : array-like of shape (n_samples,)
        Target.
    task : {"auto", "classification", "regression"}, default="auto"
        Task. By default, strings and booleans, integers with at most 20 distinct
        values, and floats with two whole values are classes. Other numbers are
        quantities.
    extra : sequence of estimators, default=()
        Further classifiers or regressors, such as of LightGBM, with their default
        spaces. Trees and their ensembles get the columns for trees, and other models
        get scaled columns.

    Returns
    -------
    choice : ModelChoice
        Named tuple of the pipeline and the search space. It is printed as code.

    Raises
    ------
    ValueError
        If `X` or `y` cannot be used, or if `extra` has models for another task. The
        message contains the reason.

    Notes
    -----
    The models are a linear model, nearest neighbors (at most 10,000 rows), a support
    vector machine (3,000), histogram-based gradient boosting, a random forest and extra
    trees. Trees are left out if the table has too many entries or classes.

    Histogram-based gradient boosting, LightGBM and CatBoost receive categories as
    categories, unless the estimator lists them already, as in ``categorical_features``.
    In a table with categories, rows to predict may have missing values in any column.

    Columns without two distinct values, strings that hardly repeat and are not texts,
    integers that count the rows, and distinct integers of a column whose name ends with
    "id" are ignored.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skbayes import BayesSearchCV
    >>> from skbayes.defaults import models
    >>> X, y = load_iris(return_X_y=True)
    >>> search = BayesSearchCV(*models(X, y), n_iter=6, cv=2, random_state=0).fit(X, y)
    >>> [type(trial.params["model"]).__name__[:10] for trial in search.trials_]
    ['LogisticRe', 'KNeighbors', 'Calibrated', 'HistGradie', 'RandomFore', 'ExtraTrees']
    """
    if task not in ("auto", "classification", "regression"):
        raise ValueError(
            f"task must be 'auto', 'classification' or 'regression', got {task!r}."
        )
    table = table_of(X)
    counts = _class_counts(y, table.n_rows, task)
    for model in extra:
        if not is_estimator(model) or is_classifier(model) == (counts is None):
            kind = "regressors" if counts is None else "classifiers"
            raise ValueError(f"extra must be {kind} for this y, got {model!r}.")
    facts = DataFacts.of(
        X if table.is_numeric else None, y, TRAIN_SHARE, own_score=True
    )
    n_categories = len(table.kinds.get("categories", ()))
    listed = [(model, False) for model in _learners(table, counts)]
    listed += [(model, True) for model in extra]
    max_bins = [getattr(model, "max_bins", MAX_CATEGORIES) for model, _ in listed]
    max_categories = min([MAX_CATEGORIES, *max_bins])
    columns: dict[Encoding, Any] = {}
    options = []
    for original, is_extra in listed:
        model = _with_categories(original, n_categories)
        encoding = _encoding(model)
        if encoding not in columns:
            columns[encoding] = _preprocessing(table, encoding, max_categories)
        space: dict[str, Any] = {"columns": [columns[encoding]]}
        pipeline = Pipeline([("columns", columns[encoding]), ("model", model)])
        for part in parts_of(pipeline, facts):
            if part.prefix.startswith("model__"):
                space |= part.space
        if not is_extra:
            # Isotonic calibration needs many rows.
            space.pop("model__method", None)
        options.append((model, space))
    model, space = options[0]
    pipeline = Pipeline([("columns", space["columns"][0]), ("model", model)])
    search_spaces = EditableSpace({"model": Choice(options)})
    search_spaces.facts = facts
    return ModelChoice(pipeline, search_spaces)
