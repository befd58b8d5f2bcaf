"""Missing values in each kind of column of a table."""

import io
from decimal import Decimal

import numpy as np
import pytest
from sklearn.base import clone

from skbayes.defaults import models
from skbayes.space.notation import pairs_of

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("error")

N = 60
RNG = np.random.default_rng(0)
CODES, VALUES = np.arange(N) % 3, RNG.normal(size=N)
CLASSES = np.array(["a", "b", "c"])[CODES]
DATES = pd.date_range("2026-01-30 05:00", periods=N, freq="31h")
WORDS = np.array(["red", "green", "blue", "car", "house", "tree", "river", "stone"])
COLUMNS = {
    "strings": list(CLASSES),
    "category": pd.Categorical(CLASSES),
    "ordered": pd.Categorical(CLASSES, ordered=True),
    "string": pd.array(CLASSES, dtype="string"),
    "integers as categories": pd.Categorical(CODES),
    "floats as categories": pd.Categorical(CODES / 2),
    "dates as categories": pd.Categorical(DATES[CODES]),
    "booleans as categories": pd.Categorical(CODES > 1),
    "time differences as categories": pd.Categorical((DATES - DATES[0])[CODES]),
    "periods": pd.period_range("2026-01", periods=3, freq="M")[CODES],
    "intervals": pd.cut(VALUES, 4),
    "mixed": ["a", 1, 2.5, True, "b", 7] * (N // 6),
    "bool": CODES > 1,
    "boolean": pd.array(CODES > 1, dtype="boolean"),
    "booleans as objects": np.array(CODES > 1, dtype=object),
    "dates": DATES,
    "dates with a time zone": DATES.tz_localize("Asia/Tokyo"),
    "dates as strings": DATES.strftime("%Y-%m-%d %H:%M"),
    "dates of Python": [date.date() for date in DATES],
    "time differences": DATES - DATES[0],
    "decimals": [Decimal(i) / 4 for i in range(N)],
    "numbers as strings": [*map(str, VALUES)],
    "Int64": pd.array(np.arange(N) % 7, dtype="Int64"),
    "integers": np.arange(N) % 11,
    "floats": RNG.normal(size=N),
    "float32": RNG.normal(size=N).astype(np.float32),
    "texts": [" ".join(RNG.choice(WORDS, 6)) for _ in range(N)],
}
X = pd.DataFrame({"number": RNG.normal(size=N), **COLUMNS})
ROWS = [{name: X[name].iloc[i] for name in X} for i in range(6)]
NOTHING = [np.nan, None, pd.NA, pd.NaT]
TARGETS = {"Classifier": CODES, "Regressor": VALUES}


def pipelines(kind, train):
    """Return a fitted pipeline of each model, by the name of its class."""
    extra = []
    for package, name in [("lightgbm", "LGBM"), ("xgboost", "XGB")]:
        quiet = {"verbose": -1} if name == "LGBM" else {}
        made = getattr(pytest.importorskip(package), name + kind)
        extra.append(made(n_estimators=3, n_jobs=1, **quiet))
    catboost = getattr(pytest.importorskip("catboost"), "CatBoost" + kind)
    extra.append(catboost(iterations=3, verbose=0, allow_writing_files=False))
    choice = models(X, TARGETS[kind], extra=extra)
    fitted = {}
    for model, space in pairs_of(choice.search_spaces["model"]):
        names = {"n_estimators", "max_iter"} & set(vars(model))
        fast = {name: 3 for name in names if getattr(model, name) == 100}
        pipeline = clone(choice.estimator).set_params(
            columns=space["columns"][0], model=clone(model).set_params(**fast)
        )
        fitted[type(model).__name__] = pipeline.fit(train, TARGETS[kind])
    return fitted


@pytest.fixture(scope="module")
def classifiers():
    return pipelines("Classifier", X)


@pytest.fixture(scope="module")
def columns(classifiers):
    """Return the preprocessing of linear models, trees, and CatBoost."""
    names = ["LogisticRegression", "RandomForestClassifier", "CatBoostClassifier"]
    return [classifiers[name][0] for name in names]


def assert_equal(found, expected):
    found, expected = pd.DataFrame(found), pd.DataFrame(expected)
    pd.testing.assert_frame_equal(found, expected.reset_index(drop=True))


def empty_tables():
    """Yield tables with a row of missing values, as users get them."""
    for nothing in NOTHING:
        yield pd.DataFrame([dict.fromkeys(X, nothing)])
    yield pd.read_csv(io.StringIO(X[:1].assign(**dict.fromkeys(X)).to_csv(index=False)))
    types = {name: X[name].dtype for name in X if X[name].dtype.kind not in "biu"}
    yield pd.DataFrame([dict.fromkeys(X)]).astype(types)


def test_a_missing_value_is_the_same_in_all_types_of_columns(columns):
    for transformer in columns:
        results = [transformer.transform(table) for table in empty_tables()]
        lacking = [
            pd.DataFrame([{**ROWS[0], name: nothing} for name in X])
            for nothing in NOTHING
        ]
        mixed = [transformer.transform(table) for table in lacking]
        for result in results[1:]:
            assert_equal(result, results[0])
        for result in mixed[1:]:
            assert_equal(result, mixed[0])


def test_rows_are_the_same_in_a_table_and_one_by_one(columns):
    for transformer in columns:
        expected = transformer.transform(X[: len(ROWS)])
        assert_equal(transformer.transform(pd.DataFrame(ROWS)), expected)
        last = transformer.transform(pd.DataFrame(ROWS[-1:]))
        assert_equal(last, pd.DataFrame(expected)[-1:])


@pytest.mark.parametrize("kind", TARGETS)
def test_each_model_predicts_rows_without_a_value(kind, classifiers):
    fitted = classifiers if kind == "Classifier" else pipelines(kind, X)
    rows = pd.DataFrame([{**ROWS[0], name: np.nan} for name in X])
    for pipeline in fitted.values():
        method = "predict_proba" if kind == "Classifier" else "predict"
        assert np.isfinite(getattr(pipeline, method)(rows)).all()


@pytest.mark.parametrize("kind", TARGETS)
def test_each_model_can_be_fitted_to_columns_without_a_value(kind):
    """Such as in the first fold of a time series, before a column was recorded."""
    train = X.astype(object).assign(**dict.fromkeys(COLUMNS))
    for pipeline in pipelines(kind, train).values():
        assert len(pipeline.predict(X)) == N


def test_numbers_alone_may_be_missing_in_a_whole_fold():
    numbers = RNG.normal(size=(N, 3))
    numbers[0, 1] = np.nan
    empty = numbers.copy()
    empty[:, 1] = np.nan
    for y in TARGETS.values():
        choice = models(numbers, y)
        for model, space in pairs_of(choice.search_spaces["model"]):
            pipeline = clone(choice.estimator)
            pipeline.set_params(columns=space["columns"][0], model=clone(model))
            assert len(pipeline.fit(empty, y).predict(numbers)) == N


def test_a_column_of_polars_may_be_empty():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"x": VALUES, "c": list(CLASSES), "t": list(DATES)})
    table = table.with_columns(pl.col("c").cast(pl.Categorical).alias("k"))
    pipeline = models(table, CODES).estimator.fit(table, CODES)
    nothing = pl.DataFrame(dict.fromkeys(table.columns, [None]))
    assert np.isfinite(pipeline.predict_proba(nothing)).all()
