"""Search of the choices of a skrub DataOp."""

import pickle

import joblib
import pytest
import skrub
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes.integration import skrub_search
from skbayes.space import Space

X, y = load_iris(return_X_y=True, as_frame=True)


def plan():
    """Return a DataOp with choices of each kind, some of them conditional."""
    C = skrub.choose_float(0.01, 100, log=True, name="C")
    linear = LogisticRegression(C=C, max_iter=2000)
    svc = SVC(
        kernel=skrub.choose_from(["rbf", "poly"], name="kernel"),
        gamma=skrub.choose_float(1e-3, 10, log=True, n_steps=5, name="gamma"),
        degree=skrub.choose_int(1, 4, name="degree"),
    )
    model = skrub.choose_from({"linear": linear, "svc": svc}, name="model")
    scaled = skrub.X(X).skb.apply(skrub.optional(StandardScaler(), name="scale"))
    return scaled.skb.apply(model, y=skrub.y(y))


@pytest.fixture(scope="module")
def fitted():
    search = skrub_search(plan(), n_iter=8, cv=2, random_state=0)
    return search.fit({"X": X, "y": y})


def test_the_search_space_has_the_choices(fitted):
    table = fitted.results_
    assert len(table) == 8
    assert set(table["model"]) == {"linear", "svc"}
    svc = table[table["model"] == "svc"]
    assert svc["C"].isna().all()
    assert set(svc["degree"]) <= {1, 2, 3, 4}
    assert set(svc["kernel"]) <= {"rbf", "poly"}
    assert all(any(abs(g / 10**k - 1) < 1e-9 for k in range(-3, 2)) for g in svc.gamma)
    linear = table[table["model"] == "linear"]
    assert linear[["kernel", "gamma", "degree"]].isna().all(axis=None)
    assert linear["C"].between(0.01, 100).all()


def test_outcomes_have_no_order(fitted):
    search = pickle.loads(pickle.dumps(fitted)).search
    search.param_distributions = [{"a": [0, 1, 2], "n": skrub.choose_int(1, 9)}]
    space = Space.from_notation(search.search_spaces)
    assert space.categorical.tolist() == [True, False]
    assert [column.dimension.n_values for column in space.columns] == [3, 9]


def test_the_best_learner_predicts_also_in_a_copy(fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    assert fitted.best_score_ > 0.95
    assert fitted.best_score_ == fitted.results_["mean_test_score"].max()
    assert (copy.predict({"X": X}) == fitted.predict({"X": X})).all()


def test_the_seed_determines_the_trials_with_any_number_of_jobs(fitted):
    options = {"n_iter": 8, "cv": 2, "random_state": 0, "pre_dispatch": 1}
    with joblib.parallel_config("multiprocessing"):
        again = skrub_search(plan(), n_jobs=2, **options).fit({"X": X, "y": y})
    assert again.cv_results_["params"] == fitted.cv_results_["params"]


def test_unknown_options_are_refused_at_once():
    with pytest.raises(TypeError, match="n_itr"):
        skrub_search(plan(), n_itr=3)
