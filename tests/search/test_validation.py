import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse, stats
from scripted_estimators import NeverFitted
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestRegressor, StackingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import (
    BayesSearchCV,
    MultiStageSearchCV,
    Optimizer,
    TradeoffSearchCV,
    compat,
)
from skbayes.search._configurations import check_responses, check_values
from skbayes.search._validation import (
    check_arguments,
    check_data,
    check_target,
    check_weights,
)
from skbayes.space import Categorical, Choice, Integer, Real, Space
from skbayes.trial.fold import configured

# Metrics and data are checked with an empty space.
pytestmark = pytest.mark.filterwarnings("ignore:search_spaces is empty")

X, y = load_iris(return_X_y=True)


def _search(estimator=None, **more):
    return BayesSearchCV(SVC() if estimator is None else estimator, {}, **more)


def _fitted(kind=BayesSearchCV, **more):
    """Fit a search on a small data set."""
    more = {"n_iter": 2, "cv": 2, "random_state": 0, **more}
    return kind(DummyClassifier(), {"strategy": ["prior", "uniform"]}, **more).fit(X, y)


def _unfitted(**more):
    """Return a search whose fits fail the test."""
    return BayesSearchCV(NeverFitted(), {"a": [1, 2]}, cv=2, **more)


def _check_values(estimator, notation):
    space = Space.from_notation(notation)
    sample = space.covering_sample()
    check_values(space, sample, [configured(estimator, params) for params in sample])


def test_more_trials_under_way_than_there_are():
    with pytest.warns(UserWarning, match="pre_dispatch=3 is more than n_iter=2"):
        check_arguments(_search(n_iter=2, pre_dispatch=3)._values())
    check_arguments(_search(n_iter=3, pre_dispatch=3)._values())


@pytest.mark.parametrize(("name", "ours"), [("GP", "gp"), ("dummy", "random")])
def test_names_of_surrogates_elsewhere(name, ours):
    message = f"surrogate: '{name}' is called '{ours}' here"
    for kind in (BayesSearchCV, TradeoffSearchCV):
        with pytest.raises(ValueError, match=message):
            _fitted(kind=kind, surrogate=name)
    with pytest.raises(ValueError, match=message):
        Optimizer({"x": (0.0, 1.0)}, surrogate=name)


def test_numbers_of_rows_that_look_like_percentages():
    kind, few = MultiStageSearchCV, {"n_iter": [1, 1], "cv": 5}
    with pytest.warns(UserWarning, match=r"no trial .* 100 of the 120 .* \(0.3, 1.0\)"):
        _fitted(kind=kind, stages=(30, 100), **few)
    _fitted(kind=kind, stages=(30, 1.0), **few)
    for stages in ((30, 60), (0.25, 0.5)):
        with pytest.warns(UserWarning, match=r"stages ends at .*50% .* the stage 1\.0"):
            _fitted(kind=kind, stages=stages, **few)
    _fitted(kind=kind, stages=(30, 120), **few)


def test_one_dict_of_initial_points():
    with pytest.raises(TypeError, match=r"write initial_points=\[{'a': 1}\]"):
        _unfitted(initial_points={"a": 1}).fit(X, y)
    with pytest.raises(TypeError, match=r"write initial_points=\[{'a': 1}\]"):
        Optimizer({"a": [1, 2]}, initial_points={"a": 1})


def test_weights_of_a_wrong_length():
    for n_rows in (10, 151):
        with pytest.raises(ValueError, match=f"of the 150 rows of X, got {n_rows}"):
            _unfitted().fit(X, y, sample_weight=np.ones(n_rows))


@pytest.mark.parametrize(
    "blank, kind", [(np.nan, np.array), (None, pd.Series), (pd.NA, pd.Series)]
)
def test_missing_labels(blank, kind):
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    labels[[3, 8]] = blank
    with pytest.raises(ValueError, match="y contains missing labels .* rows 3, 8"):
        _unfitted().fit(X, kind(labels))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_journal_in_cross_validation_fails_before_a_fit(tmp_path, n_jobs):
    search = _unfitted(journal=tmp_path / "journal")
    with pytest.raises(ValueError, match=r"outer fold.* Set journal=None"):
        cross_val_predict(search, X, y, cv=2, n_jobs=n_jobs)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0",
    reason="NumPy before 2.1 does not copy from other devices",
)
def test_labels_and_weights_on_another_device():
    strict = pytest.importorskip("array_api_strict")

    def there(array):
        return strict.asarray(array, device=strict.Device("device1"))

    params = {"sample_weight": there(np.ones(150))}
    check_data(_unfitted()._values(), there(X), there(y))
    check_weights(there(X), params)
    with pytest.raises(ValueError, match="each of the 149 rows of X, got 150 weights"):
        check_weights(there(X[1:]), params)


def test_callbacks_that_the_estimator_takes_are_passed_on():
    class Called(DummyClassifier):
        def fit(self, X, y, callback=None):
            callback(len(y))
            return super().fit(X, y)

    called = []
    search = BayesSearchCV(Called(), {"strategy": ["prior"]}, n_iter=1, cv=2)
    search.fit(X, y, callback=called.append)
    assert called == [75, 75, 150]
    with pytest.raises(TypeError, match=r"takes no 'callbacks'.*stopper"):
        search.fit(X, y, callbacks=[called.append])


def test_unknown_metrics():
    with pytest.raises(TypeError, match=r"make_scorer\(accuracy_score\)"):
        check_arguments(_search(scoring={"ours": accuracy_score})._values())
    scorers = {"a": "accuracy", "b": make_scorer(accuracy_score)}
    for scoring in (None, ["accuracy", "f1_macro"], scorers, lambda e, X, y: 1.0):
        check_arguments(_search(scoring=scoring, cv=KFold())._values())
    check_arguments(_search(cv=[(np.arange(100), np.arange(100, 150))])._values())


def test_a_target_that_is_needed():
    with pytest.raises(ValueError, match="requires y to be passed"):
        check_target([make_pipeline(StandardScaler(), SVR())], None, None)


class Plain:
    """Estimator that says nothing of its target."""

    def fit(self, X, y=None):
        return self


def test_a_target_that_is_not_needed():
    for estimator in (KMeans(), StandardScaler(), Plain()):
        assert check_data(_search(estimator)._values(), X, None)[1] is None
        check_target([estimator], None, None)
    # Data are made indexable.
    rows, target = check_data(_search()._values(), sparse.coo_matrix(X), y)
    assert rows[[0, 1]].shape == (2, 4)
    assert target is y


@pytest.mark.parametrize(
    "target, scoring, complaint",
    [
        (y, "roc_auc", "scoring='roc_auc' does not suit the target y"),
        (y, ["accuracy", "precision"], "scoring='precision' does not suit"),
        (np.where(y > 0, "yes", "no"), {"mine": "f1"}, "scoring='f1'.*pos_label"),
    ],
)
def test_metrics_that_do_not_suit_the_target(target, scoring, complaint):
    with pytest.raises(ValueError, match=complaint):
        check_target([SVC()], scoring, target)


def test_metrics_of_probabilities_do_not_suit_a_regressor():
    with pytest.raises(ValueError, match="'roc_auc' does not suit Ridge: the metric"):
        check_target([Ridge()], "roc_auc", y > 0)


@pytest.mark.parametrize(
    "estimator, target, scoring",
    [
        (SVC(), y, ["accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"]),
        (SVC(), y > 0, ["roc_auc", "f1", "average_precision", "neg_brier_score"]),
        (SVC(), list(np.where(y > 0, "yes", "no")), ["roc_auc", "balanced_accuracy"]),
        (Ridge(), load_diabetes().target[:150], ["r2", "neg_mean_gamma_deviance"]),
        (Ridge(), np.c_[y, y], "r2"),
        (KMeans(), y, "adjusted_rand_score"),
        (SVC(), np.eye(3)[y], "f1_macro"),
        (SVC(), y, lambda estimator, X, y: 1 / 0),
    ],
)
def test_metrics_that_suit_the_target(estimator, target, scoring):
    check_target([estimator], scoring, target)


def test_a_rare_class_counts_in_many_rows():
    target = np.zeros(5000, dtype=int)
    target[-1] = 1
    target[-2] = 2
    with pytest.raises(ValueError, match="scoring='f1'"):
        check_target([SVC()], "f1", target)
    check_target([SVC()], "f1", np.minimum(target, 1))


@pytest.mark.parametrize(
    "notation, complaint",
    [
        ({"C": (-2.0, 0.0)}, "'C': no value is valid. The 'C' parameter of SVC"),
        ({"kernel": ["rfb", "lin"]}, "Got 'rfb' instead"),
        ({"tol": stats.norm(-99, 1)}, "'tol'"),
        ([{"C": [1.0]}, {"C": [-1.0], "kernel": ["rbf"]}], "Got -1.0"),
        ({"kernel": Choice({"rbf": {}, "poly": {"degree": ["a", "b"]}})}, "'degree'"),
    ],
)
def test_a_parameter_without_any_right_value(notation, complaint):
    with pytest.raises(ValueError, match=complaint):
        _check_values(SVC(), notation)


class Foreign(ClassifierMixin, BaseEstimator):
    """Estimator without parameter constraints."""

    def __init__(self, rate=0.1, depth=3):
        self.rate = rate
        self.depth = depth


@pytest.mark.parametrize(
    ("estimator", "notation", "remedy"),
    [
        (SVC(), {"C": (1, 9)}, r"SVC accepts .* \(1.0, 9.0\), or Integer\(1, 9\)"),
        (SVC(), {"C": (1, 9, "log-uniform")}, r"Write \(1.0, 9.0, 'log-uniform'\)"),
        (make_pipeline(SVC()), {"svc__C": (1, 9)}, "'svc__C': .* SVC accepts"),
        (SVC(), {"kernel": Choice({"rbf": {"gamma": (1, 9)}})}, "'gamma'"),
        (Foreign(), {"rate": (0, 1)}, "'rate'.*Foreign"),
    ],
)
def test_integers_for_a_real_number(estimator, notation, remedy):
    with pytest.warns(UserWarning, match=remedy) as caught:
        _check_values(estimator, notation)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("estimator", "notation"),
    [
        (SVC(), {"C": (1.0, 100.0), "degree": (1, 3)}),
        (SVC(), {"C": Integer(1, 100)}),
        (SVC(), {"C": [1, 10]}),
        (DecisionTreeClassifier(), {"max_features": (1, 4), "max_depth": (1, 9)}),
        (RandomForestRegressor(), {"max_features": (1, 4)}),
        (TfidfVectorizer(), {"max_df": (10, 20)}),
        (Foreign(), {"depth": (1, 3)}),
        # One valid value is sufficient.
        (SVC(), {"C": (-2.0, 2.0), "degree": Integer(1, 9)}),
        (SVC(), {"tol": stats.norm(0, 1), "gamma": Categorical(["scale", 0.1])}),
        (SVC(), {"C": Real(1e-9, 1e9, "log-uniform"), "class_weight": [None, {0: 2}]}),
        (SVC(), {}),
    ],
)
def test_right_values_are_accepted(estimator, notation):
    _check_values(estimator, notation)


@pytest.mark.parametrize(
    "estimator, notation, message",
    [
        (SVC(), {"kernel": ["rfb", "linear"]}, "'kernel' .*'rfb'.* Did you mean 'rbf'"),
        (SVC(), {"gamma": ["scale", "x"]}, "'gamma' has an invalid option.*'x'"),
        (
            make_pipeline(StandardScaler(), SVC()),
            {
                "svc": [SVC(), LogisticRegression()],
                "svc__class_weight": ["blanced", None],
            },
            "'svc__class_weight' .* Did you mean 'balanced'",
        ),
    ],
)
def test_an_invalid_option_is_named(estimator, notation, message):
    with pytest.warns(UserWarning, match=message):
        _check_values(estimator, notation)


@pytest.mark.parametrize(
    "estimator, params, message",
    [
        (SVC(), {"group": y}, "Did you mean 'groups'"),
        (SVC(), {"sample_weights": y}, "Did you mean 'sample_weight'"),
        (make_pipeline(SVC()), {"group": y}, "Did you mean 'groups'"),
        (make_pipeline(SVC()), {"sample_weight": y}, "'svc__sample_weight'"),
        (make_pipeline(SVC()), {"svc__sample_weihgt": y}, "'svc__sample_weight'"),
        (make_pipeline(SVC()), {"svm__sample_weight": y}, "'svc__sample_weight'"),
    ],
)
def test_unknown_arguments_of_fit(estimator, params, message, no_trials):
    with pytest.raises(TypeError, match=f"fit: .* takes no .*{message}"):
        _search(estimator).fit(X, y, **params)


def test_values_of_a_step_are_those_of_what_stands_there():
    model = make_pipeline(StandardScaler(), SVC(C=7.0))
    _check_values(model, {"svc__C": (0.1, 1.0), "standardscaler": ["passthrough"]})
    assert model[-1].C == 7.0
    with pytest.raises(ValueError, match="'svc__C'.*parameter of SVC"):
        _check_values(model, {"svc__C": ["a"]})
    # "lbfgs" is no C, but may be a solver where another model stands.
    other = {"svc": [SVC(), LogisticRegression()], "svc__C": [1.0, 2.0]}
    _check_values(model, other)


def test_nothing_is_checked_where_the_user_wants_no_checks():
    with sklearn.config_context(skip_parameter_validation=True):
        _check_values(SVC(), {"C": ["a"]})


@pytest.mark.parametrize(
    "model, scoring, remedy",
    [
        (LinearSVC(), "neg_log_loss",
         r"CalibratedClassifierCV\(LinearSVC\(\), ensemble=False\)"),
        (SVC(), "neg_log_loss", r"CalibratedClassifierCV\(SVC\(\), ensemble=False\)"),
        (make_pipeline(StandardScaler(), SGDClassifier()),
         ["accuracy", "neg_brier_score"], r"SGDClassifier\(loss='log_loss'\)"),
        (DBSCAN(), "adjusted_rand_score", "another metric"),
    ],
)  # fmt: skip
def test_a_metric_of_a_method_that_the_estimator_lacks_is_refused(
    model, scoring, remedy
):
    search = BayesSearchCV(model, {}, scoring=scoring, refit=False, n_iter=1)
    target = (y == 0).astype(int)
    with pytest.raises(ValueError, match=f"^scoring.* does not have. Use {remedy}"):
        search.fit(X, target)


@pytest.mark.parametrize(
    "model, space, scoring",
    [
        (LinearSVC(), {}, "roc_auc"),
        (Pipeline([("model", LinearSVC())]),
         {"model": [LinearSVC(), LogisticRegression()]}, "neg_log_loss"),
        # It gets the method of its default final estimator in `fit`.
        (StackingClassifier([("nb", GaussianNB())]), {"cv": [2]}, "neg_log_loss"),
    ],
)  # fmt: skip
def test_a_metric_of_a_method_that_a_candidate_may_have_is_not_refused(
    model, space, scoring
):
    scorers, _ = compat.resolve_scorers(BayesSearchCV(model, {}, scoring=scoring))
    sample = Space.from_notation(space).covering_sample()
    check_responses([configured(model, params) for params in sample], scorers)


def test_a_scorer_need_not_be_hashable():
    class Scorer:
        __hash__ = None

        def __call__(self, estimator, X, y):
            return estimator.score(X, y)

    search = BayesSearchCV(GaussianNB(), {}, scoring=Scorer(), n_iter=1).fit(X, y)
    assert search.best_score_ > 0.5
