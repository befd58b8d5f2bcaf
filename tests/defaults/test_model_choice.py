"""Choices among models for tables of all kinds, and tables that cannot be used."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.naive_bayes import GaussianNB

from skbayes import BayesSearchCV
from skbayes.defaults import ColumnConverter, ModelChoice, models
from skbayes.space import Choice, Space
from skbayes.space.lists import same
from skbayes.space.notation import pairs_of

pd = pytest.importorskip("pandas")

N = 60
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(N, 3))
CODES = np.arange(N) % 3
CLASSES = np.array(["a", "b", "c"])[CODES]
VALUES = NUMBERS[:, 0] + 0.1 * RNG.normal(size=N)
WORDS = np.array(["red", "green", "blue", "car", "house", "tree", "river", "stone"])
TEXTS = [" ".join(RNG.choice(WORDS, 6)) for _ in range(N)]
DATES = pd.date_range("2026-01-30 05:00", periods=N, freq="31h")


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


MIXED = [*["a", 1, 2.5, True, None, b"c"] * (N // 6)]
SPARSE = sparse.random(N, 40, 0.2, format="csr", random_state=0)
NULLABLE = {
    "integer": pd.array([1, None, 3] * (N // 3), dtype="Int64"),
    "truth": pd.array([True, None, False] * (N // 3), dtype="boolean"),
    "text": pd.array(["u", None, "v"] * (N // 3), dtype="string"),
}
# Tables that can be used, with their targets.
USED = {
    "numbers": (NUMBERS, CLASSES),
    "regression": (NUMBERS, VALUES),
    "empty columns": (frame(nothing=np.nan, none=[None] * N), CODES),
    "constant columns": (np.column_stack([NUMBERS, np.ones(N)]), CODES),
    "ten rows": (NUMBERS[:10], [0, 1] * 5),
    "ten rows of a regression": (NUMBERS[:10], VALUES[:10]),
    "6,000 columns": (RNG.normal(size=(20, 6000)), [0, 1] * 10),
    "row numbers": (frame(row=np.arange(N)), CODES),
    "identifiers": (frame(userId=RNG.permutation(10**6)[:N]), CODES),
    "identifiers of letters": (frame(key=[f"k{i}" for i in range(N)]), CODES),
    "dates": (frame(when=DATES), VALUES),
    "missing dates": (frame(when=[pd.NaT, *DATES[1:]]), VALUES),
    "dates with a time zone": (frame(when=DATES.tz_localize("Asia/Tokyo")), CODES),
    "dates in strings": (frame(when=DATES.strftime("%Y-%m-%d %H:%M")), CODES),
    "dates of Python": (frame(when=[d.date() for d in DATES]), CODES),
    "time differences": (frame(took=DATES - DATES[0]), VALUES),
    "mixed types": (frame(mixed=MIXED), CODES),
    "booleans": (NUMBERS > 0, CODES),
    "objects that are booleans": (frame(flag=[True, False, None] * 20), CODES),
    "sparse": (SPARSE, CODES),
    "sparse with few columns": (sparse.csc_array(SPARSE), VALUES),
    "sparse lists": (SPARSE.tolil(), CODES),
    "frame of sparse columns": (pd.DataFrame.sparse.from_spmatrix(SPARSE), CODES),
    "wide sparse": (sparse.random(N, 20_000, 1e-3, "csr", random_state=0), CODES),
    "text": (frame(text=TEXTS), CODES),
    "missing text": (frame(text=[None, *TEXTS[1:]]), VALUES),
    "only text": (pd.DataFrame({"a": TEXTS, "b": TEXTS[::-1]}), CODES),
    "pandas categories": (frame(c=pd.Categorical(CODES[::-1])), CODES),
    "nullable": (frame(**NULLABLE), CODES),
    "ordered categories": (frame(c=pd.Categorical(CLASSES, ordered=True)), CODES),
    "intervals and periods": (
        frame(i=pd.cut(VALUES, 4), p=pd.period_range("2026-01", periods=N, freq="M")),
        CODES,
    ),
    "one index for all rows": (frame(c=CLASSES).set_axis([0] * N), CODES),
    "masked": (np.ma.masked_greater(NUMBERS, 1.0), CODES),
    "target of objects": (NUMBERS, CODES.astype(object)),
    "target of few floats": (NUMBERS, CODES / 2),
    "nullable target": (NUMBERS, pd.Series(CODES, dtype="Int64")),
    "truth as a target": (NUMBERS, CODES > 0),
    "target of categories": (NUMBERS, pd.Series(CLASSES, dtype="category")),
    "missing categories": (frame(c=[*CLASSES[1:], None]), CODES),
    "numbers in strings": (frame(n=[*map(str, VALUES)]), CODES),
    "decimals": (frame(n=[*map(Decimal, range(N))]), CODES),
    "huge numbers": (NUMBERS * 1e30, CODES),
    "one column": (NUMBERS[:, :1], VALUES),
    "one column of integers": (np.arange(N)[:, None], VALUES),
    "list of lists": (NUMBERS.tolist(), CODES.tolist()),
    "list of mixed rows": (
        [[float(v), str(c)] for v, c in zip(VALUES, CLASSES, strict=True)],
        CODES,
    ),
    "a rare class": (NUMBERS, [*CLASSES[2:], "rare", "rare"]),
    "many integers": (NUMBERS, np.arange(N) // 2),
    "missing numbers": (with_value(np.nan), CODES),
    "integers as names": (
        pd.DataFrame(NUMBERS).assign(c=CLASSES).T.reset_index(drop=True).T,
        CODES,
    ),
    "polars": (polars_table, CODES),
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
    "only identifiers": (
        pd.DataFrame({"id": range(N), "key": [f"k{i}" for i in range(N)]}),
        CODES,
        "X: no column can be used",
    ),
    "only missing values": (NUMBERS * np.nan, CODES, "X: no column can be used"),
    "one row": (NUMBERS[:1], CODES[:1], "X has 1 rows"),
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
    "dates with a time zone as a target": (
        NUMBERS,
        pd.Series(DATES.tz_localize("UTC")),
        "y .* type Timestamp",
    ),
    "shorter target": (NUMBERS, CODES[1:], "y has 59 rows"),
    "constant target": (NUMBERS, np.ones(N), "y has only one value"),
    "one class": (NUMBERS, ["a"] * N, "y has only one value"),
    "missing target": (NUMBERS, with_value(np.nan)[:, 1], "y has missing values"),
    "missing class": (NUMBERS, [None, *CLASSES[1:]], "y has missing values"),
    "infinite target": (NUMBERS, with_value(np.inf)[:, 1], "y has infinite values"),
    "mixed target": (
        NUMBERS,
        np.array(MIXED[:3] * 20, object),
        "y has values of different types",
    ),
    "a class per row": (NUMBERS, [f"c{i}" for i in range(N)], "y: the largest of 60"),
    "dates as a target": (NUMBERS, DATES, "y must have numbers"),
}


def taken(X, rows):
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return [X[row] for row in rows] if isinstance(X, list) else X[rows]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", USED)
def test_each_model_fits_the_table_and_predicts(name):
    X, y = USED[name]
    X = X() if callable(X) else X
    choice = models(X, y)
    # The first half may lack categories of the second one.
    rows = np.arange(len(y)) % 5 < 4
    for model, space in pairs_of(choice.search_spaces["model"]):
        names = set(model.get_params()) & {"n_estimators", "max_iter"}
        # Other models have no limit, or need their limit to converge.
        fast = {name: 4 for name in names if getattr(model, name) == 100}
        pipeline = clone(choice.estimator).set_params(
            columns=space["columns"][0], model=clone(model).set_params(**fast)
        )
        pipeline.fit(taken(X, np.flatnonzero(rows)), taken(y, np.flatnonzero(rows)))
        predicted = pipeline.predict(taken(X, np.flatnonzero(~rows)))
        assert len(predicted) == (~rows).sum()
        if predicted.dtype.kind == "f":
            assert np.isfinite(predicted).all()
    Space.from_notation(choice.search_spaces)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_cannot_be_used_is_refused(name):
    X, y, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        models(X, y)


def test_a_search_tries_each_model_with_its_values_in_order():
    table = frame(when=DATES, text=TEXTS, c=CLASSES)
    choice = models(table, VALUES)
    for model, _ in pairs_of(choice.search_spaces["model"]):
        for name in {"n_estimators", "max_iter"} & set(vars(model)):
            if getattr(model, name) == 100:
                setattr(model, name, 3)
    search = BayesSearchCV(
        *choice, n_iter=6, cv=2, random_state=0, error_score="raise"
    ).fit(table, VALUES)
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


@pytest.mark.parametrize("name", ["numbers", "sparse", "dates", "text", "nullable"])
def test_the_printed_code_gives_an_equal_pipeline_and_space(name):
    choice = models(*USED[name])
    names = {}
    exec(repr(choice), names)
    found = ModelChoice(names["estimator"], names["search_spaces"])
    assert same(found.estimator, choice.estimator)
    assert same(plain(found.search_spaces), plain(dict(choice.search_spaces)))
    assert repr(found) == repr(choice)


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
    X = frame(c=CLASSES)
    extra = [GradientBoostingRegressor(), GaussianNB()]
    choice = models(X, VALUES, extra=extra)
    *_, (_, trees), (_, other) = pairs_of(choice.search_spaces["model"])
    assert "OrdinalEncoder" in repr(trees["columns"])
    assert "OneHotEncoder" in repr(other["columns"])
    assert "model__subsample" in trees and "model__var_smoothing" in other
    calibrated = CalibratedClassifierCV(GaussianNB())
    choice = models(X, CODES, extra=[calibrated])
    spaces = [space for _, space in pairs_of(choice.search_spaces["model"])]
    assert ["model__method" in space for space in spaces] == [False] * 6 + [True]


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
    choice = models(table, y, extra=extra)
    options = dict(enumerate(pairs_of(choice.search_spaces["model"])))
    fitted = [
        clone(choice.estimator).set_params(columns=space["columns"][0], model=model)
        for model, space in options.values()
        if type(model).__name__.startswith(("Hist", "LGBM", "Cat"))
    ]
    new = pd.DataFrame({"n": [1.0, 2.0], "many": ["new", None], "c": ["z", np.nan]})
    for pipeline in fitted:
        pipeline.fit(table, y)
        again = pickle.loads(pickle.dumps(pipeline))
        assert np.array_equal(again.predict_proba(new), pipeline.predict_proba(new))
        assert np.isfinite(again.predict_proba(new)).all()
    histogram, light, cat, own = (pipeline[-1] for pipeline in fitted)
    assert histogram.is_categorical_.tolist() == [True, True, False]
    assert "num_cat=0" not in light.booster_.model_to_string()
    assert cat.get_cat_feature_indices() == [0, 1]
    assert own.get_params()["cat_feature"] == [1]
    assert "categorical_features" not in own.get_params()
    # Without categories, the models and columns are the plain ones.
    model, space = next(
        (model, space)
        for model, space in pairs_of(models(NUMBERS, CODES).search_spaces["model"])
        if type(model).__name__.startswith("Hist")
    )
    assert space["columns"] == ["passthrough"]
    assert (
        model.get_params()
        == type(model)(early_stopping=False, random_state=0).get_params()
    )


def test_columns_are_converted():
    when = datetime.datetime(2026, 3, 1, 18)
    parts = ColumnConverter(to="dates")
    found = parts.fit_transform([[when], [None], ["2026-03-02"]])
    assert found[0].tolist() == [20513.75, 3, 1, 6, 18]
    assert np.isnan(found[1]).all() and found[2, 3] == 0
    assert parts.get_feature_names_out(["t"])[0] == "t_days"
    rows = [["1", datetime.timedelta(seconds=2)], [Decimal(3), "no number"]]
    assert np.array_equal(
        ColumnConverter().fit_transform(rows), [[1, 2], [3, np.nan]], equal_nan=True
    )
    strings, documents = ColumnConverter(to="strings"), ColumnConverter(to="documents")
    assert strings.fit_transform([[1, None]]).tolist() == [["1", ""]]
    assert strings.fit_transform([[1.0, when]]).tolist() == [
        ["1", str(when).replace(" ", "T")]
    ]
    assert documents.fit_transform([["a", "b"]]).tolist() == ["a b"]
    assert list(parts.fit(frame()).get_feature_names_out())[-1] == "number_hour"
    with pytest.raises(ValueError, match="to must be"):
        ColumnConverter(to="images").fit(NUMBERS)
