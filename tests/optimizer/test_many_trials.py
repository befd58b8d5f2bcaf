"""Proposals from a part of the trials, as in searches of thousands of trials."""

import math
import pickle

import numpy as np

from skbayes import Optimizer
from skbayes.space import Choice
from skbayes.surrogates import GaussianProcess

SPACE = {
    "x": (0.0, 1.0),
    "model": Choice({"a": {"y": (1e-3, 1.0, "log-uniform")}, "b": {"n": (1, 50)}}),
}
IN_FLIGHT, N_TRIALS = 8, 40


def told(number, params):
    """Return a score and what else is known of a trial."""
    is_aborted = number % 11 == 0
    score = -((params["x"] - 0.3) ** 2) - 0.1 * params.get("y", 0.5)
    constraints = [score - 0.1, number % 3 - 1.5]
    more = {"cost": 1.0 + number % 7, "censored": is_aborted, "ended": is_aborted}
    more |= {"constraints": constraints, "noise": 0.01 if number % 2 else None}
    return math.nan if number % 13 == 5 else score, more


def proposed(renew):
    """Return all proposals; `renew` makes the next optimizer from the last one."""
    optimizer = Optimizer(SPACE, acquisition="ei-per-second", random_state=3)
    proposals, observed = [], []
    for _ in range(N_TRIALS):
        optimizer = renew(optimizer, observed, proposals[len(observed) :])
        proposals.append(optimizer.ask())
        if len(proposals) - len(observed) == IN_FLIGHT:
            params = proposals[len(observed)]
            score, more = told(len(observed), params)
            optimizer.tell(params, score, **more)
            observed.append((params, score, more))
    return proposals


def the_same(optimizer, observed, pending):
    return optimizer


def from_a_pickle(optimizer, observed, pending):
    is_due = len(observed) % 9 == 0
    return pickle.loads(pickle.dumps(optimizer)) if is_due else optimizer


def from_its_trials(optimizer, observed, pending):
    if len(observed) not in (21, 29):
        return optimizer
    new = Optimizer(SPACE, acquisition="ei-per-second", random_state=3)
    for params, score, more in observed:
        new.tell(params, score, **more)
    for params in pending:
        new.pend(params)
    return new


def test_they_are_a_function_of_the_trials(monkeypatch):
    monkeypatch.setattr("skbayes.acquisition.observations.N_LATEST", 10)
    monkeypatch.setattr("skbayes.optimizer.costs.MAX_TRIALS", 18)
    monkeypatch.setattr("skbayes.surrogates.gp.gp.MANY_PENDING", 5)
    everything = proposed(the_same)
    monkeypatch.setattr(GaussianProcess, "max_observations", 20)
    expected = proposed(the_same)
    # The first trials do not exceed the limits.
    n_equal = np.argmin([a == b for a, b in zip(everything, expected, strict=True)])
    assert 18 <= n_equal < N_TRIALS - 1
    for renew in (from_a_pickle, from_its_trials):
        assert proposed(renew) == expected
