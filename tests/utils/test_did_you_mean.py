import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer_names
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.utils.did_you_mean import did_you_mean, suggest

PIPELINE = ["memory", "steps", "svc", "svc__C", "svc__gamma", "pca__n_components"]
SPACE = {"C": (0.1, 10.0)}


@pytest.mark.parametrize(
    "name, names, meant",
    [
        ("C", PIPELINE, "svc__C"),
        ("svc_C", PIPELINE, "svc__C"),
        ("SVC__c", PIPELINE, "svc__C"),
        ("svm__C", PIPELINE, "svc__C"),
        ("n_components", PIPELINE, "pca__n_components"),
        ("gama", PIPELINE, None),
        ("gama", ["gamma", "C"], "gamma"),
        ("acc", get_scorer_names(), "accuracy"),
        ("auc", get_scorer_names(), "roc_auc"),
        ("mse", get_scorer_names(), "neg_mean_squared_error"),
        ("rmse", get_scorer_names(), "neg_root_mean_squared_error"),
        ("logloss", get_scorer_names(), "neg_log_loss"),
        ("F1 macro", get_scorer_names(), "f1_macro"),
        ("", ["gamma", "C"], None),
    ],
)
def test_the_first_suggestion(name, names, meant):
    assert (suggest(name, names) or [None])[0] == meant


@pytest.mark.parametrize("name", ["precision", "f1", "roc", "neg", "e"])
def test_suggestions_are_at_most_three_existing_names(name):
    names = get_scorer_names()
    suggestions = suggest(name, names)
    assert len(suggestions) <= 3
    assert set(suggestions) <= set(names)
    assert suggest(name, names[::-1]) == suggestions
    assert all(name in suggest(name, PIPELINE) for name in PIPELINE)


def test_suggestions_are_a_sentence():
    assert did_you_mean("c", ["C", "gamma"]) == " Did you mean 'C'?"
    assert did_you_mean("a_b", ["ab", "a__b"]) == " Did you mean 'ab' or 'a__b'?"
    assert did_you_mean("zzz", ["C"]) == ""


@pytest.fixture(scope="module")
def fitted():
    search = BayesSearchCV(SVC(), SPACE, n_iter=2, cv=2, random_state=0)
    return search.set_params(refit=False).fit(*load_iris(return_X_y=True))


def test_attributes_before_fit_raise_not_fitted_error():
    search, empty = BayesSearchCV(SVC(), SPACE), BayesSearchCV.__new__(BayesSearchCV)
    for name in ("best_params_", "best_score_", "cv_results_", "trials_"):
        assert not hasattr(search, name)
        with pytest.raises(NotFittedError, match=f"not fitted yet.*'{name}'"):
            getattr(search, name)
    for one, name, match in (
        (search, "shape", r"no attribute 'shape'\.$"),
        (search, "_private_", "no attribute '_private_'"),
        (search, "n_features_in_", "object has no n_features_in_"),
        # It is half-built, as while it is unpickled.
        (empty, "estimator", "no attribute 'estimator'"),
    ):
        with pytest.raises(AttributeError, match=match):
            getattr(one, name)
    assert not hasattr(empty, "predict") and "fit" in dir(empty)


def test_missing_attributes_after_fit_have_a_reason(fitted):
    with pytest.raises(AttributeError, match="refit=False") as caught:
        _ = fitted.best_estimator_
    assert caught.value.name == "best_estimator_"
    assert not isinstance(caught.value, NotFittedError)
    with pytest.raises(AttributeError, match="Did you mean 'best_params_'"):
        _ = fitted.best_params
    assert fitted.best_params_
    # Delegated methods keep their own reasons.
    refitted = clone(fitted).set_params(refit=True).fit(*load_iris(return_X_y=True))
    with pytest.raises(AttributeError, match="has no attribute 'transform'") as caught:
        _ = refitted.transform
    assert caught.value.__cause__ is not None
