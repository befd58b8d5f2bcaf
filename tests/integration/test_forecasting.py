"""Search of the parameters of a forecaster of sktime."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge

pytest.importorskip("sktime", reason="needs sktime, of the extra forecasting")

from sktime.datasets import load_airline
from sktime.forecasting.compose import make_reduction
from sktime.forecasting.naive import NaiveForecaster
from sktime.performance_metrics.forecasting import MeanAbsolutePercentageError
from sktime.split import ExpandingWindowSplitter

from skbayes.integration import ForecastingSkbayesSearchCV
from skbayes.space import Choice

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

y = load_airline()
SPACE = {"window_length": (2, 24), "estimator__alpha": (1e-3, 1e5, "log-uniform")}


def search(**options):
    cv = ExpandingWindowSplitter(fh=[1, 2, 3], initial_window=108, step_length=12)
    options = {"n_iter": 8, "backend": None, "random_state": 0} | options
    forecaster = make_reduction(Ridge())
    return ForecastingSkbayesSearchCV(
        options.pop("forecaster", forecaster),
        cv,
        options.pop("space", SPACE),
        **options,
    )


@pytest.fixture(scope="module")
def fitted():
    return search(scoring=MeanAbsolutePercentageError()).fit(y)


def test_the_best_forecaster_is_refitted_and_forecasts_also_in_a_copy(fitted):
    table = fitted.cv_results_
    assert len(table) == 8
    scores = table["mean_test_MeanAbsolutePercentageError"]
    assert fitted.best_score_ == scores.min()
    assert fitted.best_params_ == table["params"][scores.idxmin()]
    # Later configurations are better, because they are chosen from the scores.
    assert scores[4:].median() < scores[:4].median()
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.predict([1, 2, 3]), fitted.predict([1, 2, 3]))


def test_the_seed_determines_the_configurations(fitted):
    first, again, other = (
        one.cv_results_["params"].tolist()
        for one in (fitted, search().fit(y), search(n_iter=2, random_state=1).fit(y))
    )
    assert first == again and first[:2] != other


def test_a_finite_space_ends_the_search():
    space = {"strategy": Choice({"last": {"sp": [1, 12]}, "mean": {}})}
    fitted = search(forecaster=NaiveForecaster(), space=space).fit(y)
    tried = fitted.cv_results_["params"].tolist()
    assert sorted(p.get("sp", 0) for p in tried) == [0, 1, 12]


def test_several_configurations_are_evaluated_at_a_time():
    options = {"backend": "loky", "backend_params": {"n_jobs": 2}, "n_iter": 3}
    assert len(search(**options).fit(y).cv_results_) == 3
