"""Rules F1 … F10, S1 and S2: arguments of `fit`, and splits."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from grid_comparison import Sometimes, assert_same_results, assert_same_tables, fit_both
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skbayes import BayesSearchCV
from skbayes.space import Integer

X, y = load_iris(return_X_y=True)
TEXTS = ["good day", "bad night", "good food", "bad food", "so good", "so bad"] * 5
TONES = [1, 0] * 15
TREE = {"max_depth": [1, 2, 3]}


def tree():
    return DecisionTreeClassifier(random_state=0)


def test_f1_returns_itself():
    search = BayesSearchCV(tree(), TREE, n_iter=2, cv=2, random_state=0)
    assert search.fit(X, y) is search


def _frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = ["a", "b", "c", "d"]
    return {
        "list": (X.tolist(), y.tolist()),
        "strings": (X, np.array(["x", "y", "z"])[y]),
        "sparse": (sp.csr_array(X), y),
        "coo": (sp.coo_matrix(X), y),
        "pandas": (pandas.DataFrame(X, columns=names), pandas.Series(y)),
        "polars": (polars.DataFrame(X, schema=names), polars.Series(y)),
    }


@pytest.mark.parametrize("kind", ["list", "strings", "sparse", "coo", "pandas"])
def test_f1_kinds_of_input(kind):
    data, labels = _frames()[kind]
    ours, theirs = fit_both(tree(), TREE, data, labels, cv=3)
    assert_same_results(ours, theirs)
    grid = data.tocsr() if kind == "coo" else data
    np.testing.assert_array_equal(ours.predict(grid), theirs.predict(grid))


def test_f1_polars_input():
    data, labels = _frames()["polars"]
    ours, theirs = fit_both(tree(), TREE, data, labels, cv=3)
    assert_same_results(ours, theirs)
    # Only newer releases read the names of polars columns.
    names = getattr(theirs, "feature_names_in_", None)
    np.testing.assert_array_equal(getattr(ours, "feature_names_in_", None), names)


def test_f1_text():
    pipe = make_pipeline(CountVectorizer(), MultinomialNB())
    grid = {
        "countvectorizer__ngram_range": [(1, 1), (1, 2)],
        "multinomialnb__alpha": [0.1, 1.0],
    }
    ours, theirs = fit_both(pipe, grid, TEXTS, TONES, cv=3)
    assert_same_results(ours, theirs)
    assert ours.predict(["good"]) == [1]


class FromImages(ClassifierMixin, BaseEstimator):
    """Estimator that accepts arrays of three dimensions."""

    def __init__(self, axis=0):
        self.axis = axis

    def fit(self, X, y):
        assert X.ndim == 3
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X.mean(axis=(1, 2)) > self.axis).astype(int)]


def test_f1_input_of_three_dimensions():
    rng = np.random.default_rng(0)
    images, labels = rng.normal(size=(30, 4, 5)), np.arange(30) % 2
    ours, theirs = fit_both(FromImages(), {"axis": [0, 1]}, images, labels, cv=3)
    assert_same_results(ours, theirs)


@pytest.mark.parametrize(
    "estimator, grid",
    [
        (KernelDensity(), {"bandwidth": [0.1, 0.5, 1.0]}),
        (KMeans(n_init=1, random_state=0), {"n_clusters": [2, 3, 4]}),
    ],
)
def test_f1_without_targets(estimator, grid):
    assert_same_results(*fit_both(estimator, grid, X, None, cv=3))


def test_f1_several_outputs():
    data, labels = make_multilabel_classification(n_samples=60, random_state=0)
    assert_same_results(*fit_both(tree(), TREE, data, labels, cv=3))
    regressor = DecisionTreeRegressor(random_state=0)
    targets = labels.astype(float).tolist()
    assert_same_results(*fit_both(regressor, TREE, data, targets, cv=3))


def test_f2_unequal_lengths_raise_before_any_fit():
    estimator = Sometimes(bad="fit")
    search = BayesSearchCV(
        estimator, {"quality": [1, 2]}, error_score="raise", random_state=0
    )
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        search.fit(X[:-1], y)


class Minimal:
    """Estimator that has no base class of scikit-learn."""

    def __init__(self, shift=0):
        self.shift = shift

    def get_params(self, deep=True):
        return {"shift": self.shift}

    def set_params(self, shift):
        self.shift = shift
        return self

    def fit(self, X, y):
        self.mean_ = np.mean(y) + self.shift
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def _minus_distance(estimator, X, y):
    return -float(np.mean((estimator.predict(X) - y) ** 2))


def test_f3_minimal_estimator():
    # Tags are asked of every estimator since 1.7; this one has none to give.
    class Tagged(Minimal):
        def __sklearn_tags__(self):
            return Ridge().__sklearn_tags__()

    ours, theirs = fit_both(
        Tagged(), {"shift": [-1, 0, 1]}, X, y, cv=3, scoring=_minus_distance
    )
    assert_same_results(ours, theirs)
    assert ours.best_params_ == {"shift": 0}


def test_f4_neither_score_nor_scoring():
    search = BayesSearchCV(Minimal(), {"shift": [1, 2]}, random_state=0)
    with pytest.raises(TypeError, match="score"):
        search.fit(X, y)


CVS = {
    "int": lambda: 4,
    "splitter": lambda: ShuffleSplit(3, random_state=0),
    "pairs": lambda: list(StratifiedKFold(3).split(X, y)),
    "generator": lambda: StratifiedKFold(3).split(X, y),
    "masks": lambda: [(np.arange(150) % 2 == 0, np.arange(150) % 2 == 1)],
}


@pytest.mark.parametrize("kind", sorted(CVS))
def test_f5_cv(kind):
    ours = BayesSearchCV(tree(), TREE, n_iter=9, cv=CVS[kind](), random_state=0)
    theirs = GridSearchCV(tree(), TREE, cv=CVS[kind]())
    assert_same_results(ours.fit(X, y), theirs.fit(X, y))


def test_f5_empty_cv():
    with pytest.raises(ValueError, match="No fits were performed"):
        BayesSearchCV(tree(), TREE, cv=iter(())).fit(X, y)


def test_f5_inconsistent_cv():
    class Liar(KFold):
        def get_n_splits(self, X=None, y=None, groups=None):
            return 2

    with pytest.raises(ValueError, match=r"inconsistent results\. Expected 2 splits"):
        BayesSearchCV(tree(), TREE, cv=Liar(3)).fit(X, y)


def test_f6_an_estimator_given_as_value_stays_unfitted():
    pipe = Pipeline([("model", GaussianNB())])
    options = [LogisticRegression(max_iter=500), SVC(), tree()]
    ours, theirs = fit_both(pipe, {"model": options}, X, y, cv=3)
    assert ours.best_params_["model"] is theirs.best_params_["model"]
    for option in options:
        with pytest.raises(Exception, match="not fitted"):
            option.predict(X)
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )
    assert ours.best_estimator_["model"] is not ours.best_params_["model"]


def test_f6_conditional_parameters_of_an_option():
    pipe = Pipeline([("model", GaussianNB())])
    spaces = [
        {"model": [SVC()], "model__C": (0.1, 10.0, "log-uniform")},
        {"model": [tree()], "model__max_depth": (1, 5)},
    ]
    search = BayesSearchCV(pipe, spaces, n_iter=8, cv=2, random_state=0).fit(X, y)
    for params in search.cv_results_["params"]:
        inner = "model__C" if isinstance(params["model"], SVC) else "model__max_depth"
        assert set(params) == {"model", inner}
    assert len(search.cv_results_["params"]) == 8


SMOOTH = {"C": (1e-3, 1e3, "log-uniform"), "gamma": (1e-4, 1.0, "log-uniform")}


def test_f7_a_second_fit_starts_afresh():
    search = BayesSearchCV(SVC(), SMOOTH, n_iter=7, cv=2, random_state=3)
    first = search.fit(X, y).cv_results_
    second = search.fit(X, y).cv_results_
    third = clone(search).fit(X, y).cv_results_
    assert_same_tables(first, second)
    assert_same_tables(first, third)
    assert len(search.trials_) == 7


def test_f7_seeds_differ_and_an_instance_moves_on():
    def tried(seed):
        search = BayesSearchCV(SVC(), SMOOTH, n_iter=6, cv=2, random_state=seed)
        return search.fit(X, y).cv_results_["params"]

    assert tried(0) != tried(1)
    rng = np.random.RandomState(0)
    assert tried(rng) != tried(rng)
    assert tried(np.random.RandomState(0)) == tried(np.random.RandomState(0))
    assert tried(None) != tried(None)


class Recorder(ClassifierMixin, BaseEstimator):
    """Estimator that records the arguments of its `fit`."""

    seen: list = []

    def __init__(self, C=1):
        self.C = C

    def fit(self, X, y, sample_weight=None, note=None, table=None):
        type(self).seen.append((len(X), sample_weight, note, table))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_f8_fit_parameters_of_the_samples_are_cut_and_others_pass_whole():
    Recorder.seen = []
    search = BayesSearchCV(Recorder(), {"C": [1, 2]}, n_iter=2, cv=3, random_state=0)
    weights, table = np.arange(150.0), {"a": 1}
    search.fit(X, y, sample_weight=weights, note="hello", table=table)
    folds = list(StratifiedKFold(3).split(X, y))
    expected = [weights[train] for train, _ in folds] * 2 + [weights]
    assert len(Recorder.seen) == 7
    for (n, weight, note, rest), wanted in zip(Recorder.seen, expected, strict=True):
        assert n == len(wanted)
        np.testing.assert_array_equal(weight, wanted)
        assert note == "hello"
        assert rest == table


@pytest.mark.parametrize("splitter", [GroupKFold(3), LeaveOneGroupOut()])
def test_f8_groups_go_to_the_splitter_only(splitter):
    groups = np.arange(150) % 5
    ours, theirs = fit_both(
        tree(), TREE, X, y, cv=splitter, fit_params={"groups": groups}
    )
    assert_same_results(ours, theirs)
    with pytest.raises(ValueError, match="groups"):
        clone(ours).fit(X, y)


def test_f9_sample_weight_reaches_the_scorer():
    calls = {"ours": [], "theirs": []}

    def scored(which):
        def score(y_true, y_pred, sample_weight=None):
            calls[which].append(sample_weight)
            return accuracy_score(y_true, y_pred, sample_weight=sample_weight)

        return make_scorer(score)

    weights = np.random.default_rng(0).uniform(size=150)
    ours = BayesSearchCV(
        tree(), TREE, n_iter=9, cv=3, scoring=scored("ours"), random_state=0
    )
    theirs = GridSearchCV(tree(), TREE, cv=3, scoring=scored("theirs"))
    for search in (ours, theirs):
        search.fit(X, y, sample_weight=weights)
    assert_same_results(ours, theirs)
    assert len(calls["ours"]) == len(calls["theirs"]) == 9
    for a, b in zip(calls["ours"], calls["theirs"], strict=True):
        np.testing.assert_array_equal(a, b)


def test_f9_a_scorer_that_takes_no_weights_warns_as_in_grid_search():
    def blind(estimator, X, y):
        return accuracy_score(y, estimator.predict(X))

    def messages(search):
        import warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search.fit(X, y, sample_weight=np.ones(150))
        return [str(w.message).partition("when fitting")[0] for w in caught]

    ours = BayesSearchCV(tree(), TREE, n_iter=9, cv=3, scoring=blind, random_state=0)
    theirs = GridSearchCV(tree(), TREE, cv=3, scoring=blind)
    assert messages(ours) == messages(theirs)


def test_f10_weight_two_equals_a_repeated_row():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 3, size=150)
    folds = np.arange(150) % 3
    splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in (0, 1)]
    rows = np.repeat(np.arange(150), weights)
    repeated = [
        (np.flatnonzero(folds[rows] != f), np.flatnonzero(folds[rows] == f))
        for f in (0, 1)
    ]
    # Before 1.7 the score is not weighted: fold means differ there, as they do in
    # GridSearchCV; the fits are compared through an unweighted test set.
    weighs_scores = "_check_scorers_accept_sample_weight" in dir(GridSearchCV)
    if not weighs_scores:
        splits = [(train, test[weights[test] == 1]) for train, test in splits]
        repeated = [(train, test[weights[rows[test]] == 1]) for train, test in repeated]
    data, targets = load_diabetes(return_X_y=True)
    data, targets = data[:150], targets[:150]
    grid = {"alpha": [0.1, 1.0, 10.0]}
    weighted = BayesSearchCV(Ridge(), grid, n_iter=3, cv=splits, random_state=0)
    weighted.fit(data, targets, sample_weight=weights.astype(float))
    plain = BayesSearchCV(Ridge(), grid, n_iter=3, cv=repeated, random_state=0)
    plain.fit(data[rows], targets[rows])
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"]
    )
    np.testing.assert_allclose(weighted.predict(data), plain.predict(data))


class Constant(ClassifierMixin, BaseEstimator):
    """Estimator whose score identifies its test rows."""

    def __init__(self, knob=0.0):
        self.knob = knob

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y):
        return float(np.mean(X[:, 0]))


def test_s1_splits_are_drawn_once_also_under_an_unseeded_shuffle():
    rows = np.arange(150.0)[:, None]
    search = BayesSearchCV(
        Constant(),
        {"knob": (0.0, 1.0)},
        n_iter=5,
        cv=KFold(3, shuffle=True),
        random_state=0,
    )
    table = search.fit(rows, y).cv_results_
    for split in range(3):
        assert len(set(table[f"split{split}_test_score"])) == 1
    again = search.fit(rows, y).cv_results_
    assert again["split0_test_score"][0] != table["split0_test_score"][0]


def test_s1_split_is_called_once():
    class Counting(KFold):
        n_calls = 0

        def split(self, *args, **kwargs):
            type(self).n_calls += 1
            return super().split(*args, **kwargs)

    BayesSearchCV(tree(), TREE, n_iter=3, cv=Counting(3), random_state=0).fit(X, y)
    assert Counting.n_calls == 1


def test_s2_nested_in_cross_val_score_a_classifier_is_stratified():
    # Sorted labels: without stratification each fold would lack a class entirely.
    search = BayesSearchCV(tree(), TREE, n_iter=3, cv=3, random_state=0)
    scores = cross_val_score(search, X, y, cv=3)
    theirs = cross_val_score(GridSearchCV(tree(), TREE, cv=3), X, y, cv=3)
    np.testing.assert_array_equal(scores, theirs)
    assert scores.min() > 0.8


def test_set_output_reaches_the_best_estimator():
    pytest.importorskip("pandas")
    frame, labels = _frames()["pandas"]
    pipe = make_pipeline(StandardScaler(), tree()).set_output(transform="pandas")
    search = BayesSearchCV(
        pipe,
        {"decisiontreeclassifier__max_depth": [1, 2]},
        n_iter=2,
        cv=2,
        random_state=0,
    ).fit(frame, labels)
    scaled = search.best_estimator_[:-1].transform(frame)
    assert list(scaled.columns) == ["a", "b", "c", "d"]


def test_a_search_over_a_transformer_takes_set_output():
    frame, labels = _frames()["pandas"]
    scaler = StandardScaler().set_output(transform="pandas")
    search = BayesSearchCV(
        scaler,
        {"with_mean": [True, False]},
        n_iter=2,
        scoring=lambda e, X, y: 0.0,
        random_state=0,
    ).fit(frame, labels)
    assert list(search.transform(frame).columns) == ["a", "b", "c", "d"]


def test_values_reach_the_estimator_as_plain_python():
    seen = []

    class Typed(Sometimes):
        def set_params(self, **params):
            seen.extend(map(type, params.values()))
            return super().set_params(**params)

    grid = {"quality": np.linspace(0, 1, 3), "bad": np.array([None], dtype=object)}
    BayesSearchCV(Typed(), grid, n_iter=3, cv=2, random_state=0).fit(X, y)
    BayesSearchCV(
        Typed(), {"quality": Integer(1, 9)}, n_iter=2, cv=2, random_state=0
    ).fit(X, y)
    assert set(seen) == {float, int, type(None)}


def test_fit_documents_its_parameters():
    assert inspect.signature(BayesSearchCV.fit).parameters.keys() == {
        "self",
        "X",
        "y",
        "params",
    }


def test_repeated_values_keep_the_order_of_grid_search():
    grid = {"alpha": [10, 1, 1, 5]}
    search = BayesSearchCV(Ridge(), grid, cv=2)
    with pytest.warns(UserWarning, match="Parameter 'alpha': repeated values"):
        search.fit(X, y)
    assert [p["alpha"] for p in search.cv_results_["params"]] == [10, 1, 5]
