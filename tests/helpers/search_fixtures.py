"""Fixtures of tests that fit searches, which a conftest.py imports."""

import importlib.util

import pytest
from fake_clock import CLOCK
from sklearn.svm import SVC

from skbayes.loop import scheduler as scheduling
from skbayes.search import base, running
from skbayes.trial import backend, fold
from skbayes.trial import evaluator as evaluation


@pytest.fixture
def no_trials(monkeypatch):
    """Let a search fail that begins with its trials."""
    monkeypatch.delattr(running, "Scheduler")


@pytest.fixture
def svc_fits(monkeypatch):
    """Return a list of the support vector machines that are fitted from now on."""
    fitted, fit = [], SVC.fit

    def counted(self, *args, **kwargs):
        fitted.append(self)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(SVC, "fit", counted)
    return fitted


@pytest.fixture
def fits_here(monkeypatch):
    """Run the fits of a search with a timeout in this process, which is faster."""
    monkeypatch.setattr(running, "can_end_fits", lambda *args: False)


@pytest.fixture
def fake_clock(monkeypatch, fits_here):
    """Set the durations of trials by their estimators, which run in this process."""
    modules = [backend, base, evaluation, fold, running, scheduling]
    if importlib.util.find_spec("skbayes.options.limits"):
        modules.append(importlib.import_module("skbayes.options.limits.aspect"))
    for module in modules:
        monkeypatch.setattr(module, "time", CLOCK)
    monkeypatch.setattr("sklearn.model_selection._validation.time", CLOCK)
    return CLOCK
