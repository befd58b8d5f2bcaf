import pytest
from every_search import SEARCHES, data, fitted
from simple_estimators import n_leaves
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skbayes.inspection import ConvergenceDisplay

skops_io = pytest.importorskip("skops.io", reason="needs skops")


def loaded(stored):
    """Return the object in a file of skops, and the types that it had to trust."""
    types = skops_io.get_untrusted_types(data=stored)
    return skops_io.loads(stored, trusted=types), types


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_fitted_search_survives(kind):
    search, (X, y) = fitted(kind), data(kind)
    ours, types = loaded(skops_io.dumps(search))
    assert (ours.predict(X) == search.predict(X)).all()
    assert ours.best_params_ == search.best_params_
    assert ours.trials_ == search.trials_
    assert ours.optimizer_.ask() == search.optimizer_.ask()
    assert " in trials" in ours._repr_html_()
    ConvergenceDisplay.from_search(ours)
    # The other types are the same for GridSearchCV, or of the user.
    foreign = [name for name in types if not name.startswith("skbayes.")]
    known = {f"{n_leaves.__module__}.n_leaves", "functools.partial"}
    assert all(name.startswith("sklearn.") or name in known for name in foreign)
    assert len(clone(ours).set_params(n_iter=3).fit(X, y).trials_) <= 3


def test_a_pipeline_with_a_search_survives():
    search = fitted(SEARCHES[0])
    X, _ = data(SEARCHES[0])
    ours, _ = loaded(skops_io.dumps(make_pipeline(search)))
    assert (ours.predict(X) == search.predict(X)).all()
