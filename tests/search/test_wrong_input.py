"""Wrong arguments and data: errors that name the remedy, before the first fit.

`docs/test_troubleshooting` checks the messages of the most frequent ones.
"""

import copy
import inspect
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sklearn
from every_search import SEARCHES, data, make
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skbayes import (
    BayesSearchCV,
    HyperTuneSearchCV,
    MultiStageSearchCV,
    ParetoSearchCV,
    TextRepresentationSearchCV,
    TradeoffSearchCV,
)
from skbayes.defaults import models
from skbayes.search._validation import check_data, check_lengths
from skbayes.space import Categorical, Choice, Integer, Real
from skbayes.surrogates import GaussianProcess

pytestmark = pytest.mark.filterwarnings("ignore:search_spaces is empty")

X, y = load_iris(return_X_y=True)
SPACE = {"C": (0.1, 10.0)}
SCALER, LOGISTIC = StandardScaler(), LogisticRegression()
TREE = DecisionTreeClassifier()
STEPS, SCALED = make_pipeline(SCALER, SVC()), make_pipeline(SVC())
EITHER = {"svc": [SVC(), LOGISTIC]}


def metric(truth, predicted):
    """Return a metric of labels under any names."""
    return 1.0


def labels(y_true, y_pred, beta=1):
    """Return a metric of labels that could be called with three arguments."""
    return 1.0


def two(estimator, X):
    """Return a score without labels."""
    return 1.0


def scored(estimator, X, y):
    """Return a score."""
    return 1.0


def no_argument():
    return 0


class Copying(LogisticRegression):
    """Classifier that returns copies of its parameters, as those of CatBoost."""

    def __init__(self, names=(), C=1.0):
        super().__init__(C=C)
        self.names = names

    def get_params(self, deep=True):
        return copy.deepcopy(super().get_params(deep))


class Foreign(ClassifierMixin, BaseEstimator):
    """Estimator without parameter constraints."""

    def __init__(self, rate=0.1, depth=3):
        self.rate = rate
        self.depth = depth

    def fit(self, X, y):
        return self


LISTED = Copying(names=["a", "b"])
CALIBRATED = r"CalibratedClassifierCV\(OneVsRestClassifier\(...\)"
AS_TUPLE = r"Write a tuple: Copying\(names=\('a', 'b'\)\)"
MISSING = np.array(["a", "b", "c"], dtype=object)[y]
MISSING[[3, 8]] = np.nan
RARE = np.zeros(5000, dtype=int)
RARE[-1], RARE[-2] = 1, 2
MANY = np.zeros((5000, 1))
YES = np.where(y > 0, "yes", "no")


def search_of(estimator=None, space=SPACE, kind=BayesSearchCV, **params):
    estimator = SVC() if estimator is None else estimator
    return kind(estimator, space, **{"n_iter": 3, "cv": 2, "random_state": 0, **params})


def fits(estimator, X=X, y=y, space=None, **params):
    """Return a search and its data; it has no parameters by default."""
    return search_of(estimator, {} if space is None else space, **params), (X, y)


@pytest.mark.parametrize(
    "search, message",
    [
        # Classes without brackets.
        (search_of(make_pipeline(ColumnTransformer([("a", StandardScaler, [0])]))),
         r"transformers\['a'\] .* write StandardScaler\(\)"),
        (search_of(make_pipeline(StandardScaler, SVC()), "auto"), r"Scaler\(\)"),
        (search_of(make_pipeline(StandardScaler(), SVC)), r"estimator.steps.* SVC\(\)"),
        (search_of(OneVsRestClassifier(SVC)), r"estimator.estimator .* SVC\(\)"),
        (search_of(StackingClassifier([("a", SVC)])), r"estimators\['a'\] .* SVC\(\)"),
        (search_of(STEPS, {"svc": Choice({SVC: {}})}), r"'svc' .* SVC\(\)"),
        (search_of(STEPS, {"standardscaler": ["passthrough", StandardScaler]}),
         r"'standardscaler' .* StandardScaler\(\)"),
        (search_of(STEPS, {"svc": [SVC(), LISTED]}), AS_TUPLE),
        (search_of(refit=SVC), r"refit must be an object.* SVC\(\)"),
        # Metrics of labels.
        (search_of(scoring=metric), r"scoring: metric .* make_scorer\(metric\)"),
        (search_of(scoring=labels), r"scoring: labels .* make_scorer\(labels\)"),
        (search_of(scoring=two), r"scoring: two must accept an estimator, X and y"),
        # Metrics of a method that the estimator lacks.
        (search_of(OneVsOneClassifier(SVC()), "auto", scoring="roc_auc_ovr"),
         "scoring.*predict_proba.*OneVsOneClassifier"),
        *(
            (
                search_of(model, {}, scoring=scoring, refit=False),
                f"^scoring.* does not have. Use {remedy}",
            )
            for model, scoring, remedy in [
                (LinearSVC(), "neg_log_loss", r"CalibratedClassifierCV\(LinearSVC\(\)"),
                (OneVsRestClassifier(SVC()), "neg_log_loss", CALIBRATED),
                (make_pipeline(SGDClassifier()), ["accuracy", "neg_brier_score"],
                 r"SGDClassifier\(loss='log_loss'\)"),
                (DBSCAN(), "adjusted_rand_score", "another metric"),
            ]
        ),
        # Values described without classes of Python.
        (search_of(trial_limits=10), r"'trial_limits' .*{'time': '5 min'"),
        (search_of(constraints="recall>=.7"), r"'constraints' .*{'recall': '>= 0.7'}"),
        (search_of(kind=MultiStageSearchCV, stages=0.3), r"'stages' .*\(0.3, 1.0\)"),
        (search_of(kind=MultiStageSearchCV, n_iter="9"), r"'n_iter' .*\(30, 10\)"),
        (search_of(surrogate="GP"), "'surrogate' .* The names are 'gp', 'gp-additive'"),
        (search_of(kind=HyperTuneSearchCV, surrogate="trees"),
         "'surrogate' .* The names are 'gp', 'gp-matern52', 'gp-rbf'"),
        (search_of(n_jobs=0), "n_jobs must be .* -1 for all"),
        (search_of(n_jobs=1.5), "'n_jobs' .* -1 for all"),
        (search_of(n_iter=10**400), "'n_iter' is not possible: int too large"),
        (search_of(timeout=Fraction(1, 2)), "'timeout' .*'5 min', or None"),
        *(
            (search_of(pre_dispatch=text), "pre_dispatch must be .*'2\\*n_jobs'")
            for text in ("2*njobs", "-1", "n_jobs/0")
        ),
        # Callables with other arguments.
        (search_of(refit=no_argument), "refit: no_argument must accept cv_results_"),
        (search_of(stopper=[no_argument]), "stopper: no_argument must accept the tri"),
        (make(TradeoffSearchCV, cost=no_argument),
         "cost: no_argument must accept a fitted estimator"),
        # Values of a wrong type in lists and dicts.
        *(
            (make(ParetoSearchCV, refit={"accuracy": weight}), "refit must be .* weigh")
            for weight in ("a", True)
        ),
        (search_of(scoring=["accuracy", None]), "scoring: The list"),
        (search_of(scoring=[]), "scoring: The list"),
        (search_of(constraints=[None]), "constraints must be"),
        (search_of(return_folds=[3]), "return_folds must contain"),
        (search_of(warm_start_from=""), "warm_start_from: "),
        (search_of(kind=MultiStageSearchCV, n_iter=(5, "5")), "n_iter"),
        (search_of(initial_points={"C": 1}), r"write initial_points=\[{'C': 1}\]"),
        *((make(kind, initial_points=[None]), "initial_points: ") for kind in SEARCHES),
        *((make(kind, cv=cv), "cv: ") for kind in SEARCHES for cv in ([5], {1})),
        *((search_of(cv=[split]), "cv: .* numbers of rows below 150")
          for split in [([0, 1], [2, 300]), ([], [1]), (y > 0, y[1:] > 0)]),
        (search_of(initial_points=[{"C": 1.0}, -1]), "initial_points: the number"),
        (search_of(initial_points=[False]), "initial_points: the number"),
        (search_of(constraints=[callable, len]), "2 functions and 0 dicts"),
        (search_of(constraints=["recall >= 0.9"]), "or a list of both"),
        (search_of(return_folds=["predict", "predict_proba"]), "names 2 methods"),
        (search_of(return_folds=True), "return_folds='estimators'"),
        (search_of(surrogate=("oracle", "ei")), "a tuple such as"),
        (search_of(surrogate=GaussianProcess), "surrogate .*the class GaussianProce"),
        (search_of(surrogate="graph"), "infinitely many"),
        (search_of(surrogate=("gp", "eif")), "needs surrogate='graph'"),
        (search_of(space={"C": [1, 2]}, surrogate="graph", pruning=True),
         "pruning must be False and trial_limits None with the surrogate 'graph'"),
        (search_of(n_iter=None), "n_iter=None requires timeout or stopper"),
        # Search spaces.
        (search_of(space="atuo"), "must be 'auto', a dict or a list of dicts"),
        (search_of(space={"auto": "yes"}), "'auto' must be True"),
        (search_of(space={"auto": True, "kernal": None}), "'kernal'.* mean 'kernel'"),
        (search_of(space={"C": (np.nan, 1.0)}), "'C'.* low must be finite"),
        (search_of(space=[SPACE, {"nonsense__C": (1, 9)}]), "nonsense"),
        (search_of(STEPS, {"svc": [SVC(), GaussianNB()], "svc__C": [1]}), "svc__C"),
        (search_of(KFold()), "estimator|Cannot clone object"),
        # Arguments in the wrong order.
        (BayesSearchCV(models(X, y)), r"^Unpack .*BayesSearchCV\(\*models\(X, y\)"),
        # Rules of the refit.
        (search_of(refit={"rul": "ensemble"}), "refit: a dict must have a 'rule'"),
        (search_of(refit={"rule": "ensemble", "metric": "acuracy"}),
         "refit: 'acuracy' is not a metric of the search. Did you mean 'accuracy'"),
        *(
            (search_of(refit=refit), f"refit.*{text}")
            for refit, text in [
                ({"max_members": 3}, "must be one of .*'ensemble'"),
                ({"rule": True}, "got True"),
                ({"rule": "ensembel"}, "Did you mean 'ensemble'"),
                ({"rule": "ensemble", "max_member": 3}, "Did you mean 'max_members'"),
                ({"rule": "corrected", "margin": 1}, "no option 'margin'"),
                ({"rule": "correct"}, "must be one of 'corrected', 'ensemble'"),
            ]
        ),
        (search_of(refit="Ensemble"), "Did you mean 'ensemble'"),
        (search_of(scoring=scored, refit="Corrected"), "Did you mean 'corrected'"),
        (search_of(scoring=["accuracy", "f1_macro"], refit="ensembel"),
         "Did you mean 'ensemble'"),
        # Values that no estimator of the space accepts.
        (search_of(space={"C": (-2.0, 0.0)}), "'C': no value is valid. The 'C' para"),
        (search_of(space={"tol": stats.norm(-99, 1)}), "'tol'"),
        (search_of(space=[{"C": [1.0]}, {"C": [-1.0], "kernel": ["rbf"]}]), "Got -1.0"),
        (search_of(space={"kernel": Choice({"poly": {"degree": ["a", "b"]}})}),
         "'degree'"),
        (search_of(STEPS, {"svc__C": ["a"]}), "'svc__C'.*parameter of SVC"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(search, message, no_trials):
    with pytest.raises(
        (TypeError, ValueError, AttributeError), match=message
    ) as caught:
        search.fit(*data(type(search)))
    assert not re.search("instance of|numpy|collections", str(caught.value))


@pytest.mark.parametrize(
    "search, data, params, message",
    [
        *(
            (search_of(), data, {}, message)
            for data, message in [
                ((None, y), "X is None; call fit"),
                (([], []), "X has no rows"),
                ((pd.DataFrame(X)[:0], y[:0]), "X has no rows"),
                ((3, y), "^X and y: "),
                (("data.csv", y), "^X and y: "),
                ((y, X), r"swap them, as in fit\(X, y\)"),
                ((X, np.where(y < 2, y, np.nan)), "y contains .* rows 100, 101"),
                ((X, MISSING), "y contains missing labels .* rows 3, 8"),
                ((X, pd.Series(MISSING).replace(np.nan, pd.NA)), "y contains .* 3, 8"),
            ]
        ),
        *(
            (search_of(model, {}, scoring=scoring), (X, target), {}, message)
            for model, target, scoring, message in [
                (make_pipeline(StandardScaler(), SVR()), None, None, "requires y"),
                (SVC(), y, "roc_auc", "scoring='roc_auc' is not defined for this y"),
                (SVC(), YES, "f1", "scoring='f1'.*pos_label"),
                (Ridge(), y > 0, "roc_auc", "roc_auc.*Ridge does not have"),
            ]
        ),
        (search_of(scoring="f1"), (MANY, RARE), {}, "scoring='f1'"),
        # Arguments of fit.
        *(
            (search_of(), (X, y), {name: np.ones(n)}, f"{name} .* 150 rows of X.*{n}")
            for name, n in [("sample_weight", 10), ("groups", 151)]
        ),
        *(
            (search_of(model, {}), (X, y), {name: y}, f"fit: .* takes no .*{message}")
            for model, name, message in [
                (SVC(), "group", "Did you mean 'groups'"),
                (SVC(), "sample_weights", "Did you mean 'sample_weight'"),
                (SCALED, "sample_weight", "'svc__sample_weight'"),
                (SCALED, "svm__sample_weight", "'svc__sample_weight'"),
                (SVC(), "callbacks", "'callbacks'.*stopper"),
            ]
        ),
    ],
)
def test_wrong_data_are_refused(search, data, params, message, no_trials):
    with pytest.raises((TypeError, ValueError), match=message):
        search.fit(*data, **params)


GAMMAS, WIDE = Categorical(["scale", 0.1]), Real(1e-9, 1e9, "log-uniform")


@pytest.mark.parametrize(
    "search, data",
    [
        # Metrics that suit the estimator, or a candidate, and the target.
        *(
            fits(model, scoring=scoring)
            for model, scoring in [
                (BaggingClassifier(SVC()), "neg_log_loss"),
                (OneVsOneClassifier(SVC()), "accuracy"),
                (OneVsRestClassifier(LogisticRegression()), "neg_log_loss"),
                (CalibratedClassifierCV(SVC()), "neg_log_loss"),
                # It gets the method of its default final estimator in `fit`.
                (StackingClassifier([("nb", GaussianNB())]), "neg_log_loss"),
                (SVC(), scored),
            ]
        ),
        fits(LinearSVC(), y=y > 0, scoring="roc_auc"),
        fits(make_pipeline(SVC()), space=EITHER, scoring="neg_log_loss"),
        *(
            fits(model, y=target, scoring=scoring, refit=False)
            for model, target, scoring in [
                (SVC(probability=True), y, ["f1_macro", "roc_auc_ovr", "neg_log_loss"]),
                (SVC(), y > 0, ["roc_auc", "f1", "average_precision"]),
                (SVC(), list(YES), ["roc_auc", "balanced_accuracy"]),
                (Ridge(), X[:, 0], ["r2", "neg_mean_absolute_error"]),
                (Ridge(), np.c_[y, y], "r2"),
                (KMeans(), y, "adjusted_rand_score"),
                (TREE, np.eye(3)[y], "f1_macro"),
                (SVC(), y, {"a": "accuracy", "b": make_scorer(accuracy_score)}),
            ]
        ),
        fits(SVC(), MANY, np.minimum(RARE, 1), scoring="f1"),
        # A target that is not needed, and data that are made indexable.
        fits(KMeans(), y=None),
        fits(SVC(), sparse.coo_matrix(X)),
        fits(SVC(), cv=KFold()),
        fits(SVC(), cv=[(np.arange(100), np.arange(100, 150))]),
        # Values that are accepted without a warning, one of which is sufficient.
        *(
            fits(model, y=target, space=space)
            for model, target, space in [
                (SVC(), y, {"C": (1.0, 100.0), "degree": (1, 3)}),
                (SVC(), y, {"C": Integer(1, 100)}),
                (SVC(), y, {"C": [1, 10]}),
                (TREE, y, {"max_features": (1, 4), "max_depth": (1, 9)}),
                (RandomForestRegressor(), y, {"max_features": (1, 4)}),
                (Foreign(), y, {"depth": (1, 3)}),
                (SVC(), y, {"C": (-2.0, 2.0), "degree": Integer(1, 9)}),
                (SVC(), y, {"tol": stats.norm(0, 1), "gamma": GAMMAS}),
                (SVC(), y, {"C": WIDE, "class_weight": [None, {0: 2}]}),
                # "lbfgs" is no C, but may be a solver where another model stands.
                (STEPS, y, {**EITHER, "svc__C": [1.0, 2.0]}),
                (STEPS, y, {"svc__C": (0.1, 1.0), "standardscaler": ["passthrough"]}),
            ]
        ),
        fits(
            make_pipeline(TfidfVectorizer(), SVC()),
            ["a b", "b c"] * 75,
            space={"tfidfvectorizer__max_df": (10, 20)},
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_right_arguments_and_data_are_accepted(search, data, no_trials, recwarn):
    with pytest.raises(NameError, match="Scheduler"):
        search.fit(*data)
    messages = [str(w.message) for w in recwarn if w.category is UserWarning]
    assert not [text for text in messages if "search_spaces is empty" not in text]


# Parameters for which True has a meaning.
SWITCHES = {"refit", "pruning", "verbose", "return_train_score"}
SWITCHES |= {"multi_fidelity", "all_tradeoffs"}


@pytest.mark.parametrize("kind", SEARCHES)
def test_no_error_names_a_class_of_python(kind, no_trials):
    for name, parameter in inspect.signature(kind).parameters.items():
        wrong_values = object(), b"x", np.timedelta64(2, "s"), True
        for wrong in wrong_values[: 3 if name in SWITCHES else 4]:
            with pytest.raises(Exception, match=name) as caught:
                make(kind, **{name: wrong}).fit(*data(kind))
            text = str(caught.value)
            assert not re.search("instance of|implementing|numpy.bool", text)
            if "parameter of" in text and parameter.default in (None, False):
                assert str(parameter.default) in text


@pytest.mark.parametrize("kind", SEARCHES)
def test_lists_that_cannot_be_cloned(kind, no_trials):
    for estimator in (
        LISTED,
        make_pipeline(StandardScaler(), LISTED),
        OneVsRestClassifier(LISTED),
        Copying(names=np.array(["a", "b"])),
    ):
        with pytest.raises(RuntimeError, match=f"Cannot clone .* {AS_TUPLE}"):
            make(kind, estimator=estimator).fit(*data(kind))


@pytest.mark.parametrize(
    "search, message",
    [
        (search_of(pre_dispatch=4), "pre_dispatch=4 is more than n_iter=3"),
        (search_of(pruning=True, cv=[(y < 2, y > 0)]), "pruning=True has no effect"),
        *(
            (search_of(space=space), "search_spaces is empty.*'auto'")
            for space in ({}, [{}], [{}, {}])
        ),
        (
            search_of(Copying(), {"names": [["a", "b"], ("a",)]}),
            f"search_spaces: Cannot .* {AS_TUPLE}",
        ),
        # Integers for a real number.
        *(
            (search_of(model, space), message)
            for model, space, message in [
                (SVC(), {"C": (1, 9)}, r"SVC accepts .* \(1.0, 9.0\), or Integer\("),
                (SVC(), {"C": (1, 9, "log-uniform")}, r"Write \(1.0, 9.0, 'log-unif"),
                (SCALED, {"svc__C": (1, 9)}, "'svc__C': .* SVC accepts"),
                (SVC(), {"kernel": Choice({"rbf": {"gamma": (1, 9)}})}, "'gamma'"),
                (Foreign(), {"rate": (0, 1)}, "'rate'.*Foreign"),
                # Options of which some are invalid.
                (SVC(), {"kernel": ["rfb", "linear"]}, "'rfb'.* Did you mean 'rbf'"),
                (SVC(), {"gamma": ["scale", "x"]}, "'gamma' has an invalid opt.*'x'"),
                (STEPS, {**EITHER, "svc__class_weight": ["blanced", None]},
                 "'svc__class_weight' .* Did you mean 'balanced'"),
            ]
        ),
    ],
)  # fmt: skip
def test_doubtful_arguments_get_a_warning(search, message, no_trials):
    with pytest.warns(UserWarning, match=message) as caught:
        with pytest.raises(NameError):
            search.fit(X, y)
    assert len([w for w in caught if "is empty" not in str(w.message)]) <= 1


@pytest.mark.parametrize("kind", SEARCHES)
def test_every_search_warns_of_a_long_uniform_range(kind, no_trials):
    params = {"search_spaces": {"ccp_alpha": (1e-5, 0.1)}}
    if kind is TextRepresentationSearchCV:
        params = {"search_spaces": {"classifier__C": (0.01, 1e3)}}
    if kind is HyperTuneSearchCV:
        params["complexity"] = {"ccp_alpha": -1}
    (name,) = params["search_spaces"]
    with pytest.warns(UserWarning, match=f"'{name}': .* 'uniform'\\) to keep it"):
        with pytest.raises(NameError):
            make(kind, n_iter=3, **params).fit(*data(kind))


def test_sizes_of_stages_that_look_like_percentages():
    def fitted(**params):
        params = {"kind": MultiStageSearchCV, "cv": 5, "n_iter": [1, 1], **params}
        search_of(DummyClassifier(), {"strategy": ["prior"]}, **params).fit(X, y)

    with pytest.warns(UserWarning, match=r"no trial .* 100 of the 120 .* \(0.3, 1.0\)"):
        fitted(stages=(30, 100))
    for stages in ((30, 60), (0.25, 0.5)):
        with pytest.warns(UserWarning, match=r"stages ends at .*50% .* the stage 1\.0"):
            fitted(stages=stages)
    for stages in ((30, 1.0), (30, 120)):
        fitted(stages=stages)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_journal_in_cross_validation_fails_before_a_fit(tmp_path, n_jobs):
    search = search_of(journal=tmp_path / "journal")
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
    check_data(None, there(X), there(y))
    check_lengths(there(X), params)
    with pytest.raises(ValueError, match="each of the 149 rows of X, got 150 values"):
        check_lengths(there(X[1:]), params)


def test_callbacks_that_the_estimator_takes_are_passed_on():
    class Called(DummyClassifier):
        def fit(self, X, y, callback=None):
            callback(len(y))
            return super().fit(X, y)

    called = []
    search = search_of(Called(), {"strategy": ["prior"]}, n_iter=1)
    search.fit(X, y, callback=called.append)
    assert called == [75, 75, 150]


def test_checks_that_the_user_turns_off_are_omitted(no_trials):
    with sklearn.config_context(skip_parameter_validation=True):
        with pytest.raises(NameError):
            search_of(space={"C": ["a"]}).fit(X, y)


@pytest.mark.parametrize("error_score, n_iter", [("raise", 1), (np.nan, 2), (0.0, 5)])
def test_the_column_of_a_string_is_named(error_score, n_iter):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(color="red")
    search = search_of(error_score=error_score, n_iter=n_iter)
    for table, name in ((frame, "'color'"), (frame.to_numpy(object), "4")):
        with pytest.raises(ValueError, match="could not convert string") as caught:
            search.fit(table, y)
        notes = "".join(caught.value.__notes__)
        assert f"strings in column {name}. Encode" in notes


def test_a_callable_that_returns_one_number_has_no_metric_to_name():
    search = search_of(TREE, {"max_depth": [1, 2]}, scoring=scored)
    with pytest.raises(ValueError, match="refit must be .* returns a single number"):
        search.set_params(refit="a").fit(X, y)


@pytest.mark.parametrize(
    ("scoring", "refit"),
    [
        *((None, "accuracy"), (None, "score"), ("f1_macro", "score")),
        *((make_scorer(accuracy_score), "f1"), (scored, "accuracy")),
    ],
)
def test_the_only_metric_can_be_named_as_for_grid_search(scoring, refit):
    space, tree = {"max_depth": [1, 2]}, DecisionTreeClassifier(random_state=0)
    params = [
        kind(tree, space, scoring=scoring, refit=refit, cv=2).fit(X, y).best_params_
        for kind in (BayesSearchCV, GridSearchCV)
    ]
    assert params[0] == params[1]


@pytest.mark.parametrize("scoring, refit", [(None, "f1"), ("f1_macro", "accuracy")])
def test_another_metric_as_refit_has_no_effect_as_in_grid_search(scoring, refit):
    search = search_of(scoring=scoring, refit=refit)
    with pytest.warns(match=f"no effect. .* write scoring='{refit}'"):
        search.fit(X, y)
    plain = search_of(scoring=scoring).fit(X, y)
    assert search.best_params_ == plain.best_params_


def test_the_score_of_a_callable_refit_is_that_of_the_guiding_metric():
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    params = {"scoring": ["f1_macro", "accuracy"], "refit": lambda results: 0}
    search = search_of(tree, {"max_depth": [1, 2]}, **params).fit(X, y)
    expected = search.scorer_["f1_macro"](search.best_estimator_, X, y)
    assert search.score(X, y) == expected != search.best_estimator_.score(X, y)


def test_a_scorer_need_not_be_hashable():
    class Scorer:
        __hash__ = None

        def __call__(self, estimator, X, y):
            return estimator.score(X, y)

    search = search_of(GaussianNB(), {}, scoring=Scorer(), n_iter=1).fit(X, y)
    assert search.best_score_ > 0.5
