"""Parameters that only the search space sets: results as if the estimator had them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR

from skbayes import BayesSearchCV, MultiStageSearchCV, ParetoSearchCV, TradeoffSearchCV
from skbayes.space import Choice

RNG = np.random.default_rng(0)
ROWS = RNG.permutation(150)
IRIS = load_iris()
X = IRIS.data[ROWS] + 0.7 * RNG.normal(size=(150, 4))
CLASSES, TARGET = IRIS.target[ROWS], load_diabetes().target[:150]
KERNEL, DISTANCES = X @ X.T, pairwise_distances(X)
C, N = [0.01, 0.1, 1.0, 10.0], [1, 3, 5, 9]
MATRIX = {"kernel": ["precomputed"]}
OF_KERNELS = SVC(kernel="precomputed")


def steps(model):
    return Pipeline([("model", model)])


# The parameter that is searched, an estimator, a placeholder, what its space has beside
# the parameter, and the data.
CASES = {
    "kernel": ("C", C, OF_KERNELS, SVC(), MATRIX, KERNEL, CLASSES),
    "regression": ("C", C, SVR(kernel="precomputed"), SVR(), MATRIX, KERNEL, TARGET),
    "distances": (
        *("n_neighbors", N, KNeighborsClassifier(metric="precomputed")),
        *(KNeighborsClassifier(), {"metric": ["precomputed"]}, DISTANCES, CLASSES),
    ),
    "step": (
        *("model__C", C, steps(OF_KERNELS)),
        *(steps(Ridge()), {"model": [OF_KERNELS]}, KERNEL, CLASSES),
    ),
    "choice": (
        *("model__C", C, steps(OF_KERNELS)),
        *(steps(SVC()), {"model": Choice([(OF_KERNELS, {})])}, KERNEL, CLASSES),
    ),
    "classifier": (
        *("model__C", C, steps(LogisticRegression())),
        *(steps("passthrough"), {"model": [LogisticRegression()]}, X, CLASSES),
    ),
    "regressor": (
        *("model__alpha", C, steps(Ridge())),
        *(steps(SVC()), {"model": [Ridge()]}, X, TARGET),
    ),
}


def options(metric, other):
    """Return searches with options that depend on the kind or the data of a trial."""
    bounds = {other: ">= -1e3", "predict_time": "<= 99"}
    return {
        "constraints": (BayesSearchCV, {"constraints": bounds}),
        "ensemble": (BayesSearchCV, {"refit": "ensemble", "constraints": bounds}),
        "folds": (BayesSearchCV, {"return_folds": ["estimators", "predict"]}),
        "stages": (MultiStageSearchCV, {"stages": (0.5, 1.0), "refit": "ensemble"}),
        "pareto": (
            ParetoSearchCV,
            {"objectives": {metric: "max", other: "max", "predict_time": "min"}},
        ),
        "tradeoff": (
            TradeoffSearchCV,
            {"cost": "predict_time", "train_sizes": (0.5, 1.0), "score_range": (-9, 1)},
        ),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case, option",
    [
        (case, option)
        for i, case in enumerate(CASES)
        for j, option in enumerate(options("", ""))
        if (i + j) % 2 == 0
    ],
)
def test_trials_and_model_are_those_of_an_estimator_with_the_parameters(case, option):
    name, values, estimator, placeholder, values_of_model, rows, y = CASES[case]
    names = "r2", "neg_max_error"
    if y is CLASSES:
        names = "accuracy", "balanced_accuracy"
    kind, params = options(*names)[option]
    params = {"cv": KFold(3), "n_iter": 4, "random_state": 0, **params}
    if params.get("refit") and rows is not X:
        params["refit"] = True  # there are no ensembles of kernel matrices
    if kind is not ParetoSearchCV:
        params["scoring"] = names[0]
    searches = [
        kind(estimator, {name: values}, **params).fit(rows, y),
        kind(placeholder, {name: values, **values_of_model}, **params).fit(rows, y),
    ]
    scores = [
        {
            (trial.params[name], str(trial.fidelity)): (trial.score, trial.feasible)
            for trial in search.trials_
        }
        for search in searches
    ]
    both = scores[0].keys() & scores[1].keys()
    assert both
    for key in both:
        assert scores[0][key] == pytest.approx(scores[1][key], nan_ok=True)
    assert all(map(np.isfinite, [score for score, _ in scores[1].values()]))
    if kind is BayesSearchCV:
        assert scores[0] == scores[1]
        assert searches[0].best_score_ == searches[1].best_score_
        predicted = [search.predict(rows) for search in searches]
        np.testing.assert_allclose(*predicted)


def test_methods_that_only_the_space_provides():
    space = {"loss": ["log_loss"], "alpha": [1e-4, 1e-3]}
    params = {"n_iter": 2, "cv": 3, "scoring": "neg_log_loss", "refit": "ensemble"}
    search = BayesSearchCV(
        SGDClassifier(random_state=0), space, return_folds="predict_proba", **params
    )
    assert search.fit(X, CLASSES).oof_predictions_.shape == (150, 3)
    assert search.predict_proba(X).shape == (150, 3)
    space["loss"].append("hinge")
    with pytest.raises(ValueError, match="'predict_proba' is not 'estimators' or a"):
        clone(search).set_params(search_spaces=space).fit(X, CLASSES)


def test_an_ensemble_of_classifiers_and_regressors_is_refused():
    space = {"model": [LogisticRegression(), Ridge()]}
    search = BayesSearchCV(steps(Ridge()), space, n_iter=2, cv=3, refit="ensemble")
    with pytest.raises(ValueError, match="contains classifiers and regressors"):
        search.fit(X, CLASSES)


def test_rounds_of_a_step_that_the_space_sets_are_scored_by_its_kind():
    model = HistGradientBoostingClassifier(max_iter=8, random_state=0)
    params = {"n_iter": 2, "cv": KFold(3), "early_stopping": 8, "random_state": 0}
    space = {"model__max_leaf_nodes": [4, 8]}
    ours = BayesSearchCV(steps(Ridge()), {**space, "model": [model]}, **params)
    expected = BayesSearchCV(steps(model), space, **params).fit(X, CLASSES)
    curves = ours.fit(X, CLASSES).learning_curves_
    assert curves["test_score"].equals(expected.learning_curves_["test_score"])


def test_settings_of_the_space_without_scores_after_rounds_are_refused():
    xgboost = pytest.importorskip("xgboost")
    space = {"booster": ["dart"], "n_estimators": [5, 9]}
    search = BayesSearchCV(xgboost.XGBClassifier(), space, early_stopping=5)
    with pytest.raises(ValueError, match="XGBClassifier has booster='dart'"):
        search.fit(X, CLASSES)
