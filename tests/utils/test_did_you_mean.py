import pytest
from sklearn.metrics import get_scorer_names

from skbayes.utils.did_you_mean import did_you_mean, suggest

PIPELINE = ["memory", "steps", "svc", "svc__C", "svc__gamma", "pca__n_components"]


@pytest.mark.parametrize(
    "name, known, meant",
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
def test_the_first_suggestion(name, known, meant):
    assert (suggest(name, known) or [None])[0] == meant


@pytest.mark.parametrize("name", ["precision", "f1", "roc", "neg", "e"])
def test_suggestions_are_few_and_known(name):
    known = get_scorer_names()
    found = suggest(name, known)
    assert len(found) <= 3
    assert set(found) <= set(known)


def test_a_known_name_is_its_own_suggestion():
    assert all(name in suggest(name, PIPELINE) for name in PIPELINE)


def test_the_order_of_what_is_known_does_not_matter():
    known = get_scorer_names()
    assert suggest("rec", known) == suggest("rec", known[::-1])


def test_as_a_sentence():
    assert did_you_mean("c", ["C", "gamma"]) == " Did you mean 'C'?"
    assert did_you_mean("a_b", ["ab", "a__b"]) == " Did you mean 'ab' or 'a__b'?"
    assert did_you_mean("zzz", ["C"]) == ""
