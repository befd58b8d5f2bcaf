"""Stages that are chosen by measured times, with a simulated clock and executor."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_search import COSTS, N_FOLDS, Simulation

from skbayes.stages.ladder import Costs

searches = st.builds(
    Simulation,
    n_rows=st.sampled_from([400, 1600, 5000, 40_000, 300_000]),
    kind=st.sampled_from(sorted(COSTS)),
    n_workers=st.sampled_from([1, 2, 3, 8, 64]),
    unit=st.floats(1e-3, 100.0),
    seed=st.integers(0, 99),
    n_iter=st.sampled_from([None, None, 1, 3, 4, 9, 60]),
    fails=st.booleans(),
)


def time_for(search, n_trials):
    """Return the seconds for the first trial, and for more trials as long as it."""
    n_rounds = N_FOLDS * (1 + n_trials / search.n_workers)
    return n_rounds * search.seconds(0, search.plan.settings.sizes[0])


@pytest.mark.parametrize("cheap, expected", [(2.0, 5.0), (0.75, 12.0)])
def test_costs_of_a_fit_follow_a_line_or_a_power_that_grows_faster(cheap, expected):
    costs = Costs({0.1: cheap, 0.2: 3.0}, ratio=2.0, n_workers=1)
    assert costs.of_fit(0.4) == pytest.approx(2.0 * expected)


@settings(max_examples=60, deadline=None)
@given(searches, st.floats(0.0, 500.0))
def test_each_search_ends_in_time_uses_it_and_has_a_best(search, n_trials):
    search.run(time_for(search, n_trials))
    search.check()


def test_cheap_configurations_do_not_use_the_time_that_is_reserved():
    class Cheap(Simulation):
        def seconds(self, x, share):
            return super().seconds(x, share) / (1 if x == 0 else 20)

    search = Cheap(n_rows=400)
    search.run(time_for(search, 30))
    assert search.parts == [0, 0, 1]


def test_a_larger_sample_nearly_always_has_time_to_compare_the_best_ones():
    """The costs of the larger sample are extrapolated, and may be a little higher."""
    rng, n_missed = np.random.default_rng(0), 0
    for _ in range(75):
        search = Simulation(
            n_rows=int(rng.choice([400, 1600, 5000, 40_000, 300_000])),
            kind=str(rng.choice(["linear", "constant", "offset"])),
            n_workers=int(rng.choice([1, 2, 3, 8, 64])),
            seed=int(rng.integers(100)),
        )
        history = search.run(time_for(search, 500 * rng.uniform() ** 3))
        n_missed += search.check()[0].fidelity != history[-1].fidelity
    assert n_missed <= 1


def test_a_trial_that_waits_for_a_worker_leaves_the_time_to_compare_the_best_ones():
    n_missed = 0
    for seconds in np.linspace(16.0, 60.0, 50):
        history = Simulation(n_rows=400, n_workers=2, seed=int(seconds)).run(seconds)
        n_missed += history[-1].fidelity.n_folds is not None
    assert n_missed <= 3


@settings(max_examples=60, deadline=None)
@given(searches, st.floats(0, 200), st.floats(0, 200), st.floats(0, 1))
def test_a_killed_search_continues_where_it_ended(search, n_trials, n_more, share):
    first = search.run(time_for(search, n_trials))
    n_finished = max(1, round(share * len(first)))
    again = search.killed(n_finished)
    history = again.run(time_for(search, n_more))
    assert list(history[:n_finished]) == list(first[:n_finished])
    if time_for(search, n_more) > 2 * max(t.duration for t in first):
        again.check()
    # The same trials are there without any time.
    assert list(again.killed(len(history)).run(0.0)) == list(history)


@pytest.mark.parametrize("n_iter", [2, 5, 30])
def test_with_fewer_trials_the_first_ones_remain(n_iter):
    search = Simulation(n_iter=40)
    history = search.run(1e4)
    fewer = search.killed(len(history))
    fewer.n_iter = n_iter
    fewer.__post_init__()
    assert list(fewer.run(1e4)) == list(history[:n_iter])
