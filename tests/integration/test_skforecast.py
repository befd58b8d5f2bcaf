"""Search of skforecast with the sampler for Optuna, where skforecast is installed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from skbayes.integration import OptunaSampler


def test_skforecast():
    selection = pytest.importorskip("skforecast.model_selection")
    recursive = pytest.importorskip("skforecast.recursive")
    steps = np.arange(120)
    dates = pd.date_range("2020-01-01", periods=120, freq="D")
    results, _ = selection.bayesian_search_forecaster(
        recursive.ForecasterRecursive(estimator=Ridge(), lags=3),
        y=pd.Series(np.sin(steps / 6) + 0.01 * steps, index=dates),
        cv=selection.TimeSeriesFold(steps=3, initial_train_size=90),
        search_space=lambda trial: {
            "lags": trial.suggest_int("lags", 2, 12),
            "alpha": trial.suggest_float("alpha", 1e-3, 1e3, log=True),
        },
        metric="mean_absolute_error",
        n_trials=6,
        kwargs_create_study={"sampler": OptunaSampler(seed=0)},
        show_progress=False,
        return_best=False,
    )
    assert len(results) == 6
    assert results["mean_absolute_error"].is_monotonic_increasing
