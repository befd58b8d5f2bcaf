"""Proposals from a part of the trials, as in searches of thousands of trials."""

import pickle

import numpy as np

from skbayes import Optimizer
from skbayes.space import Choice
from skbayes.surrogates import GaussianProcess

SPACE = {
    "x": (0.0, 1.0),
    "model": Choice({"a": {"y": (1e-3, 1.0, "log-uniform")}, "b": {"n": (1, 50)}}),
}
IN_FLIGHT, N_TRIALS = 4, 20


def told(number, params):
    """Return a score and what else is known of a trial."""
    is_aborted = number % 11 == 0
    score = -((params["x"] - 0.3) ** 2) - 0.1 * params.get("y", 0.5)
    constraints = [number % 3 - 1.5]
    more = {"cost": 1.0 + number % 7, "censored": is_aborted, "ended": is_aborted}
    return score, {**more, "constraints": constraints}


def new_optimizer():
    model = GaussianProcess(n_samples=0)
    return Optimizer(
        SPACE, surrogate=model, acquisition="ei-per-second", random_state=3
    )


def proposed(renew):
    """Return all proposals; `renew` makes the next optimizer from the last one."""
    optimizer, proposals, observed = new_optimizer(), [], []
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
    is_due = len(observed) % 7 == 0
    return pickle.loads(pickle.dumps(optimizer)) if is_due else optimizer


def from_its_trials(optimizer, observed, pending):
    if len(observed) not in (11, 14):
        return optimizer
    new = new_optimizer()
    for params, score, more in observed:
        new.tell(params, score, **more)
    for params in pending:
        new.pend(params)
    return new


def test_they_are_a_function_of_the_trials(monkeypatch):
    monkeypatch.setattr("skbayes.acquisition.base.N_LATEST", 6)
    monkeypatch.setattr("skbayes.optimizer.costs.MAX_TRIALS", 10)
    monkeypatch.setattr("skbayes.surrogates.gp.gp.MANY_PENDING", 2)
    everything = proposed(the_same)
    monkeypatch.setattr(GaussianProcess, "max_observations", 12)
    expected = proposed(the_same)
    # The first trials do not exceed the limits.
    n_equal = np.argmin([a == b for a, b in zip(everything, expected, strict=True)])
    assert 10 <= n_equal < N_TRIALS - 1
    for renew in (from_a_pickle, from_its_trials):
        assert proposed(renew) == expected
