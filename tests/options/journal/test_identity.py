"""Canonical texts: changes that affect them, and changes that do not."""

import copy
import enum
import functools
import json
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from skbayes import BayesSearchCV, ParetoSearchCV, TradeoffSearchCV
from skbayes.options.journal.identity import Describer, describe_search, search_metadata
from skbayes.space import Categorical, Choice, Ordinal, Space


def describe(value):
    describer = Describer()
    text = describer(value)
    describer.warn()
    return text


rng = np.random.default_rng(0)
X = rng.random((40, 3))
Y = (X[:, 0] > 0.5).astype(int)


def double(x):
    return 2 * x


def halve(x):
    return x / 2


def scaled_by(factor):
    def scale(x):
        return factor * x

    return scale


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Mine(BaseEstimator):
    """Estimator whose default may be changed by its author."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha


class Thing:
    """Object without a repr that stores any value."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


class Unpicklable:
    def __reduce_ex__(self, protocol):
        raise TypeError("no")

    def __call__(self, params):
        return True


# Each group: values that differ from one another.
DIFFERENT = {
    "scalars": [None, True, False, 0, 1, 1.0, 2.5, -0.0, "1", b"1", 1j, np.nan, np.inf],
    "collections": [[1, 2], (1, 2), [2, 1], [[1], 2], {1, 2}, {1: 2}, {2: 1}, [], ()],
    "classes": [SVC, LogisticRegression, Color, Color.RED, Color.BLUE, int],
    "functions": [
        *(double, halve, np.log1p, np.exp, np.mean, len, "a".join, "b".join),
        functools.partial(f1_score, average="micro"),
        functools.partial(f1_score, average="macro"),
        functools.partial(double, 1),
        functools.partial(halve, 1),
    ],
    "estimators": [
        SVC(),
        SVC(C=2),
        LogisticRegression(),
        Mine(),
        Mine(2),
        FunctionTransformer(double),
        FunctionTransformer(halve),
        make_pipeline(StandardScaler(), SVC()),
        make_pipeline(StandardScaler(with_mean=False), SVC()),
        KMeans(init=X[:8]),
        KMeans(init=X[8:16]),
    ],
    "scorers": [
        "f1",
        ["f1", "accuracy"],
        accuracy_score,
        make_scorer(accuracy_score),
        make_scorer(f1_score),
        make_scorer(f1_score, average="macro"),
        make_scorer(f1_score, greater_is_better=False),
    ],
    "distributions": [
        stats.norm(0, 1),
        stats.norm(0, 2),
        stats.norm(loc=0, scale=1),
        stats.loguniform(1e-3, 1),
        stats.uniform(1e-3, 1),
    ],
    "objects": [Thing(), Thing(a=1), Thing(a=2), Slotted(1), Slotted(2), RBF(), RBF(2)],
    "generators": [np.random.RandomState(0), np.random.RandomState(1)],
    "spaces": [
        Space.from_notation(notation)
        for notation in (
            {"k": Choice({"x": {"a": [1, 2]}, "y": {}})},
            {"k": Choice({"x": {}, "y": {"a": [1, 2]}})},
            {"k": ["x", "y"], "a": [1, 2]},
            [{"k": ["x"], "a": [1, 2]}, {"k": ["y"]}],
            [{"k": ["y"]}, {"k": ["x"], "a": [1, 2]}],
            {"k": [SVC(), SVC(C=2)]},
            {"k": [SVC(), SVC(C=3)]},
            {"k": stats.norm(0, 1)},
            {"k": stats.norm(0, 2)},
            {"k": Ordinal([1, 2, 4], scale="linear")},
            {"k": Ordinal([1, 2, 4], scale="rank")},
        )
    ],
}


@pytest.mark.parametrize("group", DIFFERENT)
def test_different_values_differ_in_text_and_copies_do_not(group):
    texts = [describe(value) for value in DIFFERENT[group]]
    assert len(set(texts)) == len(texts)
    for value, text in zip(DIFFERENT[group], texts, strict=True):
        assert describe(copy.deepcopy(value)) == text
        assert describe(pickle.loads(pickle.dumps(value))) == text
        assert "0x" not in text


SPARSE = scipy.sparse.csr_matrix(X * (X > 0.5))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
MIXED = FRAME.assign(
    text=["x", "y"] * 20,
    kind=pd.Categorical(["u", "v"] * 20),
    missing=pd.array([1, None] * 20, dtype="Int64"),
    when=pd.date_range("2020", periods=40),
    zone=pd.date_range("2020", periods=40, tz="UTC"),
)
POLARS = pl.DataFrame({"a": X[:, 0], "t": ["x", None] * 20, "i": Y})
DATA = {
    "array": X,
    "float32": X.astype(np.float32),
    "integers": Y,
    "booleans": Y == 1,
    "dates": np.arange(5).astype("datetime64[D]"),
    "strings": np.array(["a", "bc"]),
    "bytes": np.array([b"a", b"bc"]),
    "objects": np.array(["a", None, 1.5, (1,)], dtype=object),
    "structured": np.array([(1.0, "a"), (2.0, "b")], dtype=[("a", "f8"), ("b", "U3")]),
    "masked": np.ma.masked_greater(X, 0.5),
    "sparse": SPARSE,
    "frame": FRAME,
    "mixed frame": MIXED,
    "series": MIXED["text"],
    "categorical": MIXED["kind"],
    "more categories": MIXED["kind"].cat.add_categories(["w"]),
    "polars": POLARS,
    "polars series": pl.Series("a", Y),
    "list": X.tolist(),
    "documents": ["one two", "three", "\ud800"] * 5000,
    "ragged": [[1], [1, 2]],
    "empty": np.zeros((0, 3)),
    "empty list": [],
    "scalar": np.array(3.0),
}


def altered(data):
    """Yield data that differ slightly."""
    if isinstance(data, pl.DataFrame):
        yield from (data.reverse(), data.rename({"a": "A"}))
        yield data.with_columns(pl.col("i").cast(pl.Int32))
        yield data.with_columns(pl.col("t").fill_null(""))
    elif isinstance(data, pd.DataFrame):
        yield from (data.iloc[::-1], data.rename(columns={"a": "A"}))
        yield from (data[list(data)[::-1]], data.astype({"a": np.float32}))
        for column in data:
            yield data.assign(**{column: data[column].to_numpy()[::-1]})
    elif scipy.sparse.issparse(data) or (data is not DATA["scalar"] and len(data)):
        yield from (data[:-1], data[::-1])


def test_the_least_difference_of_data_is_seen():
    data = [*DATA.values(), *(other for one in DATA.values() for other in altered(one))]
    texts = [describe(value) for value in data]
    assert len(set(texts)) == len(texts) > 2 * len(DATA)
    assert sum(len(text) > 1000 for text in texts) == 3  # those of short lists


def layouts(array):
    """Return the same array in other layouts."""
    read_only = array.copy()
    read_only.flags.writeable = False
    twice = np.repeat(array, 2, axis=0)
    return [array, np.asfortranarray(array), twice[::2], array.astype(">f8"), read_only]


def unsorted(matrix):
    """Return a sparse matrix with another order of its elements."""
    matrix = matrix.copy()
    for start, end in zip(matrix.indptr, matrix.indptr[1:], strict=False):
        matrix.indices[start:end] = matrix.indices[start:end][::-1].copy()
        matrix.data[start:end] = matrix.data[start:end][::-1].copy()
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    return matrix


WIDE, PAIR = rng.random((5000, 60)), (1, [2])
FORMS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")

# Each group: values with the same text.
EQUAL = {
    "arrays": layouts(WIDE),
    "cubes": layouts(WIDE.reshape(5000, 6, 10)),
    "columns": layouts(WIDE[:, 0]),
    "no rows": layouts(WIDE[:0]),
    "frames": [
        FRAME,
        pd.DataFrame({name: FRAME[name].copy() for name in FRAME}),
        pd.DataFrame(np.asfortranarray(X), columns=list("abc")),
        FRAME.set_index(FRAME.index + 7),
    ],
    "sparse": [
        *(SPARSE.asformat(form) for form in FORMS),
        *(scipy.sparse.csr_array(SPARSE), unsorted(SPARSE)),
    ],
    "sharing": [[PAIR, PAIR], [(1, [2]), (1, [2])]],
    "order": [{"a": 1, "b": {3, "x"}}, {"b": {"x", 3}, "a": 1}],
    "numbers": [SVC(C=np.float64(2), degree=np.int64(3)), SVC(C=2.0)],
    "fitted": [SVC(), SVC().fit(X, Y)],
    "ways to fit": [
        make_pipeline(RandomForestClassifier(n_jobs=1), memory=None),
        make_pipeline(
            RandomForestClassifier(n_jobs=4, verbose=1), memory="cache", verbose=True
        ),
    ],
    "spaces": [
        Space.from_notation({"a": [1, 2, 3], "k": ["x", "y"]}),
        Space.from_notation({"k": Categorical(["x", "y"]), "a": np.array([3, 1, 2])}),
        Space.from_notation({"k": ("x", "y"), "a": Ordinal([1, 2, 3])}),
    ],
}


@pytest.mark.parametrize("group", EQUAL)
def test_equivalent_values_have_the_same_text(group, tmp_path):
    values = EQUAL[group]
    if group == "arrays":
        np.save(tmp_path / "x.npy", WIDE)
        values = [*values, np.load(tmp_path / "x.npy", mmap_mode="r")]
    assert len({describe(value) for value in values}) == 1


@pytest.mark.parametrize(
    "value, text",
    [
        (
            make_pipeline(StandardScaler(), SVC(C=2.0, kernel="linear")),
            "sklearn.pipeline.Pipeline(steps=[('standardscaler', "
            "sklearn.preprocessing.StandardScaler()), "
            "('svc', sklearn.svm.SVC(C=2.0, kernel='linear'))])",
        ),
        (
            np.arange(3.0),
            "array of float64 with shape (3,), "
            "blake2b 96516fc0e930ddc5db9c2cbeb96fc904",
        ),
        (accuracy_score, "sklearn.metrics.accuracy_score"),
        (stats.norm(1, 2), "norm(1, 2)"),
    ],
)
def test_texts_are_the_same_in_all_releases(value, text):
    assert describe(value) == text


def test_a_default_of_the_users_own_class_counts(monkeypatch):
    before = describe(Mine())
    monkeypatch.setattr(Mine.__init__, "__defaults__", (2.0,))
    assert describe(Mine()) != before


@pytest.mark.parametrize(
    "value",
    [
        Unpicklable(),
        FunctionTransformer(Unpicklable()),
        [functools.partial(Unpicklable(), 1)],
        (i for i in range(3)),
        functools.partial(lambda x: x),
        scaled_by(2),
        FrozenEstimator(SVC().fit(X, Y)),
        stats.rv_histogram(np.histogram(X[:, 0])),
    ],
    ids="callable estimator partial generator lambda closure fitted histogram".split(),
)
def test_values_that_are_not_comparable_warn_once(value):
    with pytest.warns(UserWarning, match="not comparable.*in value") as caught:
        describe([value, value])
    assert len(caught) == 1


def texts_of_everything():
    values = [value for group in DIFFERENT.values() for value in group]
    texts = [describe(value) for value in [*values, *DATA.values()]]
    return texts, identity(sample_weight=Y)


def test_texts_are_the_same_in_another_process():
    # By its path, since an installed package may have the name of the folder.
    program = f"""
import runpy, sys
sys.path[:] = {sys.path!r}
print(runpy.run_path({__file__!r}, run_name={__name__!r})["texts_of_everything"]())
"""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    outcome = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert outcome.stdout == f"{texts_of_everything()}\n"


SPACES = {"C": (0.1, 10.0, "log-uniform"), "kernel": ["rbf", "linear"]}


def space(**spaces):
    return Space.from_notation({**SPACES, **spaces})


def search(**params):
    return BayesSearchCV(SVC(), SPACES, **params)


SPLITS = list(KFold(3).split(X))


def identity(a_search=None, a_space=None, X=X, y=Y, splits=SPLITS, **fit_params):
    one = a_search or search()
    about = type(one), one._values(), one._without_effect, a_space or space()
    return describe_search(*about, X, y, fit_params, splits)


def differences(one, other):
    parts = one.keys() | other.keys()
    return {part for part in parts if one.get(part) != other.get(part)}


def allowed(params):
    return True


@pytest.mark.parametrize(
    "part, arguments",
    [
        ("estimator", {"a_search": search().set_params(estimator__C=3)}),
        ("search_spaces", {"a_space": space(gamma=[1, 2])}),
        ("search_spaces", {"a_space": space(kernel=["linear", "rbf"])}),
        ("constraint", {"a_space": Space.from_notation(SPACES, allowed)}),
        ("X", {"X": X + 1}),
        ("y", {"y": None}),
        ("fit_params: sample_weight", {"sample_weight": Y}),
        ("scoring", {"a_search": search(scoring="f1")}),
        ("splits", {"a_search": search(cv=ShuffleSplit(3))}),
        ("splits", {"splits": [SPLITS[0], SPLITS[2], SPLITS[1]]}),
        ("splits", {"splits": [*SPLITS[:2], (SPLITS[2][0], SPLITS[2][1][1:])]}),
        ("settings: initial_points", {"a_search": search(initial_points=[{"C": 1}])}),
        ("settings: surrogate", {"a_search": search(surrogate=("gp", "ucb"))}),
        ("settings: error_score", {"a_search": search(error_score=0)}),
    ],
)
def test_each_part_of_a_search_has_its_own_text(part, arguments):
    assert differences(identity(), identity(**arguments)) == {part}


def test_parameters_without_effect_on_trials_are_omitted():
    for parameter in (
        {"n_iter": 7, "timeout": 3.0, "n_jobs": 2, "pre_dispatch": "all", "verbose": 1},
        {"refit": False, "random_state": 3, "cv": 3},
        {"refit": "f1", "cv": KFold(3, shuffle=True, random_state=0)},
        {"cv": [([0, 1], [2])]},
    ):
        assert identity(search(**parameter)) == identity()
    for part, text in identity(sample_weight=Y).items():
        assert type(part) is type(text) is str


def test_the_metric_that_guides_counts():
    both = ["f1", "accuracy"]
    by_refit = identity(search(scoring=both, refit="accuracy"))
    by_name = identity(search(scoring=both[::-1], refit=False))
    first = identity(search(scoring=both, refit=False))
    assert differences(by_refit, by_name) == {"scoring"}
    assert differences(by_refit, first) == {"target_metric"}
    assert first == identity(search(scoring=both, refit="f1"))


def test_the_knowledge_at_the_start_counts_but_not_its_times():
    def warm(source):
        return identity(search(warm_start_from=source))

    def grid(Cs):
        return GridSearchCV(SVC(), {"C": Cs}).fit(X, Y)

    texts = [warm(source) for source in (grid([1, 2]), grid([1, 2]).cv_results_)]
    assert texts[0] == texts[1]
    for other in (None, "a.journal", "b.journal", grid([1, 3]), grid([1])):
        texts.append(warm(other))
        assert differences(texts[0], texts[-1]) == {"settings: warm_start_from"}
        assert texts.count(texts[-1]) == 1


def test_the_warning_names_the_part():
    a_space = Space.from_notation(SPACES, Unpicklable())
    with pytest.warns(UserWarning, match="Unpicklable in constraint"):
        identity(a_space=a_space)
    thing = Thing()
    thing.me = [thing]
    with pytest.warns(UserWarning, match="contains itself in settings: error_score"):
        identity(search(error_score=thing))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        identity(a_space=Space.from_notation(SPACES, allowed))


@pytest.mark.parametrize(
    "is_drawn, cv",
    [
        *((False, cv) for cv in (None, np.int64(5), KFold(5), [([0], [1])])),
        (False, KFold(5, shuffle=True, random_state=3)),
        (False, ShuffleSplit(random_state=0)),
        (True, KFold(5, shuffle=True)),
        (True, KFold(5, shuffle=True, random_state=np.random.RandomState(0))),
        *((True, cv) for cv in (ShuffleSplit(), RepeatedKFold(), KFold().split(X))),
    ],
)
def test_splits_that_cannot_be_drawn_again_are_not_compared(is_drawn, cv):
    one, same, other, fewer = (
        identity(search(cv=cv), splits=splits)
        for splits in (SPLITS, SPLITS[:], SPLITS[::-1], SPLITS[:2])
    )
    assert one == same != fewer
    assert (one == other) is is_drawn
    # The options of a splitter are compared in any case.
    halves = identity(search(cv=ShuffleSplit(test_size=0.5)))
    assert halves != identity(search(cv=ShuffleSplit()))


def test_a_mask_is_the_same_split_as_its_indices():
    masks = [[np.isin(np.arange(40), part) for part in pair] for pair in SPLITS]
    assert identity(splits=masks) == identity()


@pytest.mark.parametrize(
    "a_search, expected",
    [
        (
            search(scoring="f1"),
            {
                **{"search": "BayesSearchCV", "chooses_train_size": False},
                **{"scoring": "f1", "objectives": {}, "settings": {}},
            },
        ),
        (
            search(scoring={"a": make_scorer(accuracy_score), "b": "f1"}, refit="b"),
            {"scoring": None, "target_metric": "b"},
        ),
        (
            TradeoffSearchCV(
                SVC(), SPACES, score_range=(np.float64(0.5), np.int64(1)), cost=len
            ),
            {
                "settings": {"tradeoff": 0.5, "score_range": [0.5, 1]},
                "chooses_train_size": True,
            },
        ),
        (
            ParetoSearchCV(SVC(), SPACES, {"f1": "max", "n": ("min", len)}),
            {"objectives": {"f1": "max", "n": "min"}},
        ),
    ],
)
def test_metadata_are_plain_json(a_search, expected):
    metadata = search_metadata(type(a_search), a_search._values())
    assert {name: metadata[name] for name in expected} == expected
    assert json.loads(json.dumps(metadata)) == metadata
