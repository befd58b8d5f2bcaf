"""Choices among models for tables of all kinds, and tables that cannot be used."""

import datetime
import io
import pickle
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Lasso
from sklearn.naive_bayes import GaussianNB

from skbayes import BayesSearchCV
from skbayes.defaults import ColumnConverter, ModelChoice, models
from skbayes.space import Choice, Space
from skbayes.space.lists import same
from skbayes.space.notation import pairs_of

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("error")

N = 60
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(N, 3))
CODES = np.arange(N) % 3
CLASSES = np.array(["a", "b", "c"])[CODES]
VALUES = NUMBERS[:, 0] + 0.1 * RNG.normal(size=N)
WORDS = np.array(["red", "green", "blue", "car", "house", "tree", "river", "stone"])
TEXTS = [" ".join(RNG.choice(WORDS, 6)) for _ in range(N)]
DATES = pd.date_range("2026-01-30 05:00", periods=N, freq="31h")
ZONED = DATES.tz_localize("Asia/Tokyo")


def frame(**columns):
    """Return a table with a column of numbers and others."""
    return pd.DataFrame({"number": NUMBERS[:, 0], **columns})


def named(*names):
    """Return a table of numbers whose columns have names."""
    return pd.DataFrame(NUMBERS, columns=[*names])


def with_value(value):
    """Return numbers with a value in one place."""
    X = NUMBERS.copy()
    X[4, 1] = value
    return X


def polars_table():
    pl = pytest.importorskip("polars")
    columns = {"x": NUMBERS[:, 0], "c": [*CLASSES[1:], None], "t": list(DATES)}
    return pl.DataFrame(columns)


MIXED = [*["a", 1, 2.5, True, "b", 7] * (N // 6)]


def lacking(X):
    """Return a table without values in some of its rows."""
    return X.astype(object).where(
        np.tile(np.arange(N) % 7, (X.shape[1], 1)).T > 0, None
    )


# Columns of all types.
COLUMNS = {
    "strings": CLASSES,
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
    "mixed": MIXED,
    "bool": CODES > 1,
    "boolean": pd.array(CODES > 1, dtype="boolean"),
    "booleans as objects": np.array(CODES > 1, dtype=object),
    "dates": DATES,
    "dates with a time zone": ZONED,
    "dates as strings": DATES.strftime("%Y-%m-%d %H:%M"),
    "dates of Python": [date.date() for date in DATES],
    "time differences": DATES - DATES[0],
    "decimals": [Decimal(i) / 4 for i in range(N)],
    "numbers as strings": [*map(str, VALUES)],
    "Int64": pd.array(np.arange(N) % 7, dtype="Int64"),
    "integers": np.arange(N) % 11,
    "floats": RNG.normal(size=N),
    "float32": RNG.normal(size=N).astype(np.float32),
    "texts": TEXTS,
}
X = frame(**COLUMNS)
ROWS = [{name: X[name].iloc[i] for name in X} for i in range(6)]
MISSING = [np.nan, None, pd.NA, pd.NaT]
TARGETS = {"Classifier": CODES, "Regressor": VALUES}
SPARSE = sparse.random(N, 40, 0.2, format="csr", random_state=0)
LEFT_OUT = {"row": np.arange(N), "key": [f"k{i}" for i in range(N)]}
LEFT_OUT |= {"nothing": np.nan, "none": [None] * N}
# Tables that can be used, with their targets.
USED = {
    "numbers": (NUMBERS, CLASSES),
    "columns of all types": (X, CODES),
    "columns with missing values": (lacking(X), VALUES),
    "regression": (NUMBERS, VALUES),
    "constant columns": (np.column_stack([NUMBERS, np.ones(N)]), CODES),
    "ten rows": (NUMBERS[:10], [0, 1] * 5),
    "ten rows of a regression": (NUMBERS[:10], VALUES[:10]),
    "6,000 columns": (RNG.normal(size=(20, 6000)), [0, 1] * 10),
    "sparse": (SPARSE, CODES),
    "sparse with few columns": (sparse.csc_array(SPARSE), VALUES),
    "sparse lists": (SPARSE.tolil(), CODES),
    "frame of sparse columns": (pd.DataFrame.sparse.from_spmatrix(SPARSE), CODES),
    "wide sparse": (sparse.random(N, 20_000, 1e-3, "csr", random_state=0), CODES),
    "only text": (pd.DataFrame({"a": TEXTS, "b": TEXTS[::-1]}), CODES),
    "masked": (np.ma.masked_greater(NUMBERS, 1.0), CODES),
    "target of objects": (NUMBERS, CODES.astype(object)),
    "target of few floats": (NUMBERS, CODES / 2),
    "nullable target": (NUMBERS, pd.Series(CODES, dtype="Int64")),
    "truth as a target": (NUMBERS, CODES > 0),
    "target of categories": (NUMBERS, pd.Series(CLASSES, dtype="category")),
    "one column": (NUMBERS[:, :1], VALUES),
    "one column of integers": (np.arange(N)[:, None], VALUES),
    "list of lists": (NUMBERS.tolist(), CODES.tolist()),
    "list of mixed rows": ([*zip(VALUES.tolist(), TEXTS, strict=True)], CODES),
    "a rare class": (NUMBERS, [*CLASSES[2:], "rare", "rare"]),
    "many integers": (NUMBERS, np.arange(N) // 2),
    "missing and huge numbers": (with_value(np.nan) * 1e30, CODES),
    "integers as names": (frame(c=CLASSES).set_axis([0, 1], axis=1), CODES),
    "polars": (polars_table, CODES),
    # Columns that are empty or tell the rows apart, with one index for all rows.
    "columns to leave out": (
        frame(**LEFT_OUT, userId=RNG.permutation(10**6)[:N]).set_axis([0] * N),
        CODES,
    ),
}
# Tables that cannot be used, with a part of the message.
REFUSED = {
    "no rows": (NUMBERS[:0], CODES[:0], "X has 0 rows"),
    "few rows": (NUMBERS[:4], CODES[:4], "X has 4 rows"),
    "no columns": (NUMBERS[:, :0], CODES, "X has 60 rows and 0 columns"),
    "only constants": (np.ones((N, 2)), CODES, "X: no column can be used"),
    "one dimension": (TEXTS, CODES, "X must be a table"),
    "three dimensions": (NUMBERS[None], CODES, "X must be a table"),
    "infinite": (with_value(np.inf), CODES, "X: column 1 has infinite"),
    "too large": (with_value(1e300), CODES, "X: column 1 has infinite"),
    "sparse infinite": (SPARSE * np.inf, CODES, "X has infinite|X: sparse"),
    "complex": (NUMBERS * 1j, CODES, "X: column 0 has complex"),
    "no values": (pd.DataFrame(LEFT_OUT), CODES, "X: no column can be used"),
    "empty frame": (pd.DataFrame(), [], "X has 0 rows"),
    "rows of different length": ([[1, 2], [3]] * 30, CODES, "X must be a table with"),
    "path": ("train.csv", CODES, "X must be a table.*got str"),
    "lists": (frame(v=[[1, 2]] * N), CODES, "X: column 'v' has values of type list"),
    "names twice": (named(*"aba"), CODES, "X: several columns have the name 'a'"),
    "names of types": (named("a", 1, 2), CODES, "X: the names"),
    "no target": (NUMBERS, None, "y is required"),
    "two targets": (NUMBERS, NUMBERS[:, :2], "y must be an array of one dimension"),
    "table as a target": (NUMBERS, frame(), "y must be an array of one dimension"),
    "huge target": (NUMBERS, VALUES * 1e300, "y has infinite values or values above"),
    "truth in objects": (NUMBERS, np.array(CODES > 0, object), "y .* type bool"),
    "zoned dates as a target": (NUMBERS, ZONED.to_series(), "y .* type Timestamp"),
    "shorter target": (NUMBERS, CODES[1:], "y has 59 rows"),
    "constant target": (NUMBERS, np.ones(N), "y must have two distinct"),
    "one class": (NUMBERS, ["a"] * N, "y must have two distinct"),
    "missing target": (NUMBERS, with_value(np.nan)[:, 1], "y has missing values"),
    "missing class": (NUMBERS, [None, *CLASSES[1:]], "y has missing values"),
    "infinite target": (NUMBERS, with_value(np.inf)[:, 1], "y has infinite values"),
    "mixed target": (NUMBERS, np.array(MIXED, object), "y has values of different"),
    "a class per row": (NUMBERS, [f"c{i}" for i in range(N)], "y: the largest of 60"),
    "dates as a target": (NUMBERS, DATES, "y must have numbers"),
}


def taken(X, rows):
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return [X[row] for row in rows] if isinstance(X, list) else X[rows]


def fitted(choice, X, y):
    """Return a fitted pipeline of each model, with few rounds."""
    pipelines = []
    for model, space in pairs_of(choice.search_spaces["model"]):
        names = set(model.get_params()) & {"n_estimators", "max_iter"}
        # Other models have no limit, or need their limit to converge.
        fast = {name: 3 for name in names if getattr(model, name) == 100}
        pipeline = clone(choice.estimator).set_params(
            columns=space["columns"][0], model=clone(model).set_params(**fast)
        )
        pipelines.append(pipeline.fit(X, y))
    return pipelines


@pytest.mark.parametrize("name", USED)
def test_each_model_fits_the_table_and_predicts(name):
    X, y = USED[name]
    X = X() if callable(X) else X
    choice = models(X, y)
    # The first half may lack categories of the second one.
    rest, rows = np.split(np.argsort(np.arange(len(y)) % 5 < 4), [len(y) // 5])
    for pipeline in fitted(choice, taken(X, rows), taken(y, rows)):
        predicted = pipeline.predict(taken(X, rest))
        assert len(predicted) == len(rest)
        if predicted.dtype.kind == "f":
            assert np.isfinite(predicted).all()
    Space.from_notation(choice.search_spaces)


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_cannot_be_used_is_refused(name):
    X, y, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        models(X, y)


def test_a_search_tries_each_model_with_its_values_in_order():
    table = frame(when=DATES, text=TEXTS, c=CLASSES)
    choice = models(table, VALUES)
    for model, _ in pairs_of(choice.search_spaces["model"]):
        if getattr(model, "n_estimators", 0) == 100:
            model.set_params(n_estimators=3)
    options = {"n_iter": 6, "cv": 2, "random_state": 0, "error_score": "raise"}
    search = BayesSearchCV(*choice, **options).fit(table, VALUES)
    kinds = [type(trial.params["model"]).__name__ for trial in search.trials_]
    assert kinds[0] == "Ridge" and len(set(kinds)) == 6
    assert search.trials_[0].params["model__alpha"] == 1.0
    assert len(pickle.loads(pickle.dumps(search)).predict(table)) == N


def plain(notation):
    if isinstance(notation, dict):
        return {name: plain(value) for name, value in notation.items()}
    if isinstance(notation, Choice):
        return [(option, plain(sub)) for option, sub in pairs_of(notation)]
    return getattr(notation, "values", notation)


@pytest.mark.parametrize(
    "name", ["numbers", "sparse", "columns of all types", "columns with missing values"]
)
def test_the_printed_code_gives_an_equal_pipeline_and_space(name):
    choice = models(*USED[name])
    names = {}
    exec(repr(choice), names)
    executed = ModelChoice(names["estimator"], names["search_spaces"])
    assert same(executed.estimator, choice.estimator)
    assert same(plain(executed.search_spaces), plain(dict(choice.search_spaces)))
    assert repr(executed) == repr(choice)


def learners(X, y, **options):
    choice = models(X, y, **options)
    return [type(m).__name__ for m, _ in pairs_of(choice.search_spaces["model"])]


def test_the_target_and_the_size_determine_the_models():
    linear = [learners(NUMBERS, y)[0] for y in (CODES, CODES + 0.0, CODES > 1, VALUES)]
    logistic = "LogisticRegression"
    assert linear == [logistic, "Ridge", logistic, "Ridge"]
    assert learners(NUMBERS, CODES + 0.0, task="classification")[0] == logistic
    assert learners(NUMBERS, CODES, task="regression")[0] == "Ridge"
    X, y = np.tile(NUMBERS, (200, 1)), np.tile(VALUES, 200)
    assert not {"SVR", "KNeighborsRegressor"} & set(learners(X, y))
    with pytest.raises(ValueError, match="y must have numbers"):
        models(NUMBERS, CLASSES, task="regression")
    with pytest.raises(ValueError, match="task must be"):
        models(NUMBERS, CLASSES, task="ranking")


def test_further_models_get_the_columns_for_their_kind():
    X, calibrated = frame(c=CLASSES), CalibratedClassifierCV(GaussianNB())
    choice = models(X, VALUES, extra=[GradientBoostingRegressor(), Lasso()])
    *_, (_, trees), (_, other) = pairs_of(choice.search_spaces["model"])
    assert "OrdinalEncoder" in repr(trees["columns"])
    assert "OneHotEncoder" in repr(other["columns"])
    assert "model__subsample" in trees and "model__alpha" in other
    choice = models(X, CODES, extra=[calibrated])
    spaces = [space for _, space in pairs_of(choice.search_spaces["model"])]
    assert ["model__method" in space for space in spaces] == [False] * 6 + [True]
    with pytest.raises(ValueError, match="extra must be regressors for this y, got G"):
        models(X, VALUES, extra=[GaussianNB()])


def test_boosting_receives_categories():
    """The categories are those of the fit, and may be unknown to a model."""
    lightgbm, catboost = map(pytest.importorskip, ["lightgbm", "catboost"])
    many = [f"k{i % 300}" for i in range(1200)]
    table = pd.DataFrame(
        {"n": np.arange(1200.0) % 7, "many": many, "c": ["a", "b"] * 600}
    )
    y = np.isin(np.arange(1200) % 300, np.random.default_rng(0).permutation(300)[:150])
    extra = [
        lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1),
        catboost.CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False),
        lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1, cat_feature=[1]),
    ]
    kinds = "Hist", "LGBM", "Cat"
    boosting = [
        one
        for one in fitted(models(table, y, extra=extra), table, y)
        if type(one[-1]).__name__.startswith(kinds)
    ]
    new = pd.DataFrame({"n": [1.0, 2.0], "many": ["new", None], "c": ["z", np.nan]})
    for pipeline in boosting:
        again = pickle.loads(pickle.dumps(pipeline))
        assert np.array_equal(again.predict_proba(new), pipeline.predict_proba(new))
        assert np.isfinite(again.predict_proba(new)).all()
    histogram, light, cat, chosen = (pipeline[-1] for pipeline in boosting)
    assert histogram.is_categorical_.tolist() == [True, True, False]
    assert "num_cat=0" not in light.booster_.model_to_string()
    assert cat.get_cat_feature_indices() == [0, 1]
    assert chosen.get_params()["cat_feature"] == [1]
    assert "categorical_features" not in chosen.get_params()
    # Without categories, the models and columns are the plain ones.
    options = pairs_of(models(NUMBERS, CODES).search_spaces["model"])
    ((model, space),) = [one for one in options if isinstance(one[0], type(histogram))]
    assert space["columns"] == ["passthrough"]
    plain = type(model)(early_stopping=False, random_state=0)
    assert model.get_params() == plain.get_params()


# -- missing values -----------------------------------------------------------------


def pipelines(kind, train):
    """Return a fitted pipeline of each model, by the name of its class."""
    extra = []
    for package, name in [("lightgbm", "LGBM"), ("xgboost", "XGB")]:
        quiet = {"verbose": -1} if name == "LGBM" else {}
        cls = getattr(pytest.importorskip(package), name + kind)
        extra.append(cls(n_estimators=3, n_jobs=1, **quiet))
    catboost = getattr(pytest.importorskip("catboost"), "CatBoost" + kind)
    extra.append(catboost(iterations=3, verbose=0, allow_writing_files=False))
    choice = models(X, TARGETS[kind], extra=extra)
    return {type(p[-1]).__name__: p for p in fitted(choice, train, TARGETS[kind])}


@pytest.fixture(scope="module")
def classifiers():
    return pipelines("Classifier", X)


@pytest.fixture(scope="module")
def columns(classifiers):
    """Return the preprocessing of linear models, trees, and CatBoost."""
    names = ["LogisticRegression", "RandomForestClassifier", "CatBoostClassifier"]
    return [classifiers[name][0] for name in names]


def assert_equal(actual, expected):
    actual, expected = pd.DataFrame(actual), pd.DataFrame(expected)
    pd.testing.assert_frame_equal(actual, expected.reset_index(drop=True))


def empty_tables():
    """Yield tables with a row of missing values, as users get them."""
    for missing in MISSING:
        yield pd.DataFrame([dict.fromkeys(X, missing)])
    yield pd.read_csv(io.StringIO(X[:1].assign(**dict.fromkeys(X)).to_csv(index=False)))
    types = {name: X[name].dtype for name in X if X[name].dtype.kind not in "biu"}
    yield pd.DataFrame([dict.fromkeys(X)]).astype(types)


def test_a_missing_value_is_the_same_in_all_types_of_columns(columns):
    rows = [{**ROWS[0], name: missing} for name in X for missing in MISSING]
    mixed = [pd.DataFrame(rows[k :: len(MISSING)]) for k in range(len(MISSING))]
    for transformer in columns:
        for tables in (empty_tables(), mixed):
            first, *others = map(transformer.transform, tables)
            for other in others:
                assert_equal(other, first)


def test_rows_are_the_same_in_a_table_and_one_by_one(columns):
    for transformer in columns:
        expected = transformer.transform(X[: len(ROWS)])
        assert_equal(transformer.transform(pd.DataFrame(ROWS)), expected)
        last = transformer.transform(pd.DataFrame(ROWS[-1:]))
        assert_equal(last, pd.DataFrame(expected)[-1:])


@pytest.mark.parametrize("kind", TARGETS)
def test_each_model_predicts_rows_without_a_value(kind, classifiers):
    each = classifiers if kind == "Classifier" else pipelines(kind, X)
    rows = pd.DataFrame([{**ROWS[0], name: np.nan} for name in X])
    for pipeline in each.values():
        method = "predict_proba" if kind == "Classifier" else "predict"
        assert np.isfinite(getattr(pipeline, method)(rows)).all()


@pytest.mark.parametrize("kind", TARGETS)
def test_each_model_can_be_fitted_to_columns_without_a_value(kind):
    """Such as in the first fold of a time series, before a column was recorded."""
    train = X.astype(object).assign(**dict.fromkeys(COLUMNS))
    for pipeline in pipelines(kind, train).values():
        assert len(pipeline.predict(X)) == N
    numbers, empty = with_value(np.nan), NUMBERS.copy()
    empty[:, 1] = np.nan
    y = TARGETS[kind]
    for pipeline in fitted(models(numbers, y), empty, y):
        assert len(pipeline.predict(numbers)) == N


def test_a_column_of_polars_may_be_empty():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"x": VALUES, "c": list(CLASSES), "t": list(DATES)})
    table = table.with_columns(pl.col("c").cast(pl.Categorical).alias("k"))
    pipeline = models(table, CODES).estimator.fit(table, CODES)
    empty = pl.DataFrame(dict.fromkeys(table.columns, [None]))
    assert np.isfinite(pipeline.predict_proba(empty)).all()


def test_dates_numbers_and_strings_are_converted():
    when = datetime.datetime(2026, 3, 1, 18)
    parts = ColumnConverter(to="dates")
    converted = parts.fit_transform([[when], [None], ["2026-03-02"]])
    assert converted[0].tolist() == [20513.75, 3, 1, 6, 18]
    assert np.isnan(converted[1]).all() and converted[2, 3] == 0
    assert parts.get_feature_names_out(["t"])[0] == "t_days"
    rows = [["1", datetime.timedelta(seconds=2)], [Decimal(3), "no number"]]
    assert np.array_equal(
        ColumnConverter().fit_transform(rows), [[1, 2], [3, np.nan]], equal_nan=True
    )
    strings, documents = ColumnConverter(to="strings"), ColumnConverter(to="documents")
    texts = strings.fit_transform([[1, None], [1.0, when]]).tolist()
    assert texts == [["1", ""], ["1", str(when).replace(" ", "T")]]
    assert documents.fit_transform([["a", "b"]]).tolist() == ["a b"]
    assert list(parts.fit(frame()).get_feature_names_out())[-1] == "number_hour"
    with pytest.raises(ValueError, match="to must be"):
        ColumnConverter(to="images").fit(NUMBERS)
    with pytest.raises(ValueError, match="X has 3 features, but ColumnConverter is"):
        strings.transform([["a", "b", "c"]])
