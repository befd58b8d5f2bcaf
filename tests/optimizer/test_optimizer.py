import math
import os
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from skbayes.optimizer import Optimizer, SpaceExhausted
from skbayes.space import Choice, Space
from skbayes.surrogates import WarpedGaussianProcess

MIXED = {
    "x": (-5.0, 5.0),
    "C": (1e-3, 1e3, "log-uniform"),
    "n": (1, 50),
    "kernel": Choice({"rbf": {"gamma": (1e-3, 1.0)}, "linear": {}}),
    "flag": [True, False],
}


def score(params):
    value = -abs(params["x"] - 1) - abs(math.log10(params["C"]) - 1)
    return value - abs(params["n"] - 20) / 50 - params.get("gamma", 0.5)


def run(optimizer, n, objective=score):
    proposals = []
    for _ in range(n):
        params = optimizer.ask()
        optimizer.tell(params, objective(params))
        proposals.append(params)
    return proposals


def test_the_optimum_of_a_mixed_space_is_found():
    best = []
    for seed in range(2):
        optimizer = Optimizer(MIXED, random_state=seed)
        run(optimizer, 22)
        best.append(score(optimizer.best_params))
    assert np.mean(best) > -0.6


def test_a_generator_and_a_random_state_are_sources_of_a_seed():
    for make in (np.random.default_rng, np.random.RandomState):
        one, other = (run(Optimizer(MIXED, random_state=make(5)), 4) for _ in range(2))
        assert one == other
    assert run(Optimizer(MIXED), 3) != run(Optimizer(MIXED), 3)
    assert run(Optimizer(MIXED, random_state=4), 9) != run(
        Optimizer(MIXED, random_state=3), 9
    )


SCRIPT = """
from skbayes import Optimizer
optimizer = Optimizer({"a": (0.0, 1.0), "b": ["u", "v", None]}, random_state=1)
for _ in range(7):
    params = optimizer.ask()
    optimizer.tell(params, params["a"])
print(repr(params))
"""


def test_trials_repeat_in_another_process_with_other_hashing(capsys):
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    exec(SCRIPT, {})
    assert capsys.readouterr().out == process.stdout
    assert "'a'" in process.stdout


def test_pending_configurations_keep_others_away():
    """A batch is spread out, even if the surrogate expects a single best position."""
    spreads = []
    for seed in range(3):
        optimizer = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, random_state=seed)
        run(optimizer, 5, lambda p: -((p["x"] - 0.4) ** 2) - (p["y"] - 0.6) ** 2)
        points = np.array([[one["x"], one["y"]] for one in optimizer.ask(5)])
        gaps = np.linalg.norm(points[:, None] - points, axis=2)
        spreads.append(np.median(gaps[np.triu_indices(5, 1)]))
    assert np.median(spreads) > 0.15


def test_an_ask_that_fails_leaves_nothing_pending():
    calls = []

    def constraint(params):
        calls.append(params)
        if len(calls) > 10:
            raise RuntimeError("tired")
        return True

    optimizer = Optimizer({"x": (0.0, 1.0)}, constraint=constraint, random_state=0)
    run(optimizer, 2, lambda params: params["x"])
    calls.clear()
    with pytest.raises(ValueError, match="tired"):
        optimizer.ask(40)
    again = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    run(again, 2, lambda params: params["x"])
    calls.clear()
    assert optimizer.ask() == again.ask()


FINITE = st.dictionaries(
    st.sampled_from("abc"),
    st.sampled_from([[1, 2, 3], ["u", "v"], [None], (1, 4), [0.1, 1.0, 10.0]]),
    max_size=2,
)


@settings(max_examples=20)
@given(FINITE, st.integers(0, 1000), st.integers(1, 3))
def test_a_finite_space_is_exhausted_in_exactly_its_size(notation, seed, n):
    optimizer = Optimizer(notation, random_state=seed)
    size = int(optimizer.space.n_configurations)
    proposals = []
    while len(proposals) < size:
        batch = optimizer.ask(n)
        assert len(batch) == min(n, size - len(proposals))
        for place, params in enumerate(batch):
            optimizer.tell(params, math.nan if place else float(len(proposals)))
        proposals += batch
    assert len({repr(params) for params in proposals}) == size
    with pytest.raises(SpaceExhausted, match=f"All {size} configurations"):
        optimizer.ask()


def test_every_proposal_satisfies_the_constraint():
    optimizer = Optimizer(
        {"a": (0.0, 1.0), "b": (0.0, 1.0), "k": (1, 9)},
        constraint=lambda p: p["a"] + p["b"] < 1,
        random_state=0,
    )
    for params in run(optimizer, 12, lambda p: p["a"] + p["b"]):
        assert params["a"] + params["b"] < 1
    best = optimizer.best_params
    assert best["a"] + best["b"] > 0.95


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 10**400])
def test_scores_that_are_not_finite_are_failures(value):
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0, n_initial_points=0)
    optimizer.tell({"x": 0.9}, value)
    with pytest.raises(ValueError, match="No score"):
        _ = optimizer.best_params
    with pytest.raises(ValueError, match="No score"):
        optimizer.predict([{"x": 0.5}])
    optimizer.tell({"x": 0.2}, 1.0)
    assert optimizer.best_params == {"x": 0.2}
    assert optimizer.ask()
    with pytest.raises(ValueError, match="x"):
        optimizer.predict([{"x": 7.0}])


def test_initial_points_come_first_and_count():
    points = [{"x": 0.25, "k": "b"}, {"x": 0.5, "k": "a"}]
    space = {"x": (0.0, 1.0), "k": ["a", "b"]}
    optimizer = Optimizer(space, initial_points=points, random_state=0)
    assert optimizer.ask(2) == points
    observed = Optimizer(space, initial_points=points, random_state=0)
    observed.tell(points[0], 0.1)
    assert observed.ask() == points[1]
    # Without initial points, the model decides after one score: distant configurations
    # are the least known.
    optimizer = Optimizer({"x": (0.0, 1.0)}, n_initial_points=0, random_state=0)
    optimizer.tell({"x": 0.5}, 1.0)
    assert abs(optimizer.ask()["x"] - 0.5) > 0.3
    # The design begins at the center, and does not depend on scores.
    space = {"x": (-1.0, 3.0), "C": (1e-2, 1e4, "log-uniform"), "k": ["usual", "other"]}
    params = Optimizer(space, random_state=0).ask()
    assert params == {"x": 1.0, "C": pytest.approx(10.0), "k": "usual"}
    one, other = (
        run(
            Optimizer(MIXED, n_initial_points=6, random_state=0),
            6,
            lambda params, sign=sign: sign * params["x"],
        )
        for sign in (1, -1)
    )
    assert one == other


@settings(max_examples=25)
@given(seed=st.integers(0, 1000))
def test_the_design_covers_each_range_and_each_option(seed):
    space = {"x": (0.0, 1.0), "k": ["a", "b", "c", "d"], "i": [1, 2]}
    design = Optimizer(space, n_initial_points=9, random_state=seed).ask(9)
    assert design[0] == {"i": 2, "k": "a", "x": 0.5}
    assert sorted(int(8 * params["x"]) for params in design[1:]) == list(range(8))
    for name in ("k", "i"):
        counts = Counter(params[name] for params in design[1:])
        assert set(counts.values()) == {8 // len(space[name])}


@settings(max_examples=25)
@given(seed=st.integers(0, 1000))
def test_the_design_has_every_option_of_a_list_that_is_not_too_long(seed):
    space = {"x": (0.0, 1.0), "k": list("abcdef"), "l": list("uvw"), "m": list("pqr")}
    design = Optimizer(space, random_state=seed).ask(8)
    for name in "klm":
        assert {params[name] for params in design} == set(space[name])


def test_many_trials_in_flight_are_spread_evenly_before_the_first_score():
    params = Optimizer({"x": (0.0, 1.0)}, n_initial_points=3, random_state=0).ask(67)
    assert sorted(int(64 * one["x"]) for one in params[3:]) == list(range(64))


NESTED = {"a": Choice({"p": {"x": (0.0, 1.0), "k": ["u", "v", "w"]}, "q": {}})}


@pytest.mark.parametrize(
    "space, n",
    [
        ({"x": (0.0, 1.0)}, 3),
        ({"x": (0.0, 1.0), "k": ["a", "b", "c"]}, 4),
        # The largest branch: the choice, and under "p" a range and two options.
        (NESTED, 5),
        ([{"x": (0.0, 1.0)}, {"k": ["a", "b", "c"], "y": (0.0, 1.0)}], 5),
        ({"k": list("abcdefghijklmn"), "x": (0.0, 1.0)}, 8),
        # A list of one value is no dimension.
        ({"x": (0.0, 1.0), "i": [1], "s": ["a"], "y": (0, 9), "z": [1, 2]}, 4),
    ],
)
def test_the_design_grows_with_the_space(space, n):
    optimizer = Optimizer(space, random_state=0)
    expected = []
    for _ in range(n + 1):
        params = optimizer.ask()
        expected.append(optimizer.last_expected_improvement)
        optimizer.tell(params, len(expected) % 3)
    assert expected[:n] == [None] * n and expected[n] is not None


def test_the_space_is_kept_and_overlapping_dicts_have_each_cell_once():
    space = Space.from_notation({"x": (0.0, 1.0)})
    assert Optimizer(space).space is space
    overlapping = Optimizer([{"a": [1, 2]}, {"a": [2, 3]}], random_state=0)
    assert sorted(params["a"] for params in overlapping.ask(9)) == [1, 2, 3]


def test_whole_floats_are_ints_where_ints_are_expected():
    spaces = {"depth": (1, 9), "x": (0.0, 1.0), "size": [1, 2]}
    point = {"x": 0.1 + 0.2, "depth": 3.0, "size": 2.0}
    optimizer = Optimizer(spaces, initial_points=[point], random_state=0)
    proposal = optimizer.ask()
    optimizer.tell(point, 1.0)
    for params in (proposal, optimizer.best_params):
        assert repr(params) == "{'depth': 3, 'size': 2, 'x': 0.30000000000000004}"


def test_a_noisy_score_has_less_influence():
    """A high score by chance attracts proposals, unless its noise is large."""
    near = {}
    for noise in (None, 25.0):
        optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
        for x in np.linspace(0, 0.7, 8):
            optimizer.tell({"x": float(x)}, -((x - 0.3) ** 2))
        optimizer.tell({"x": 1.0}, 0.5, noise=noise)
        near[noise] = sum(params["x"] > 0.8 for params in optimizer.ask(6))
    assert near[25.0] < near[None]


def test_expected_costs_follow_observed_costs():
    optimizer = Optimizer(
        {"x": (0.0, 1.0), "model": ["small", "large"]}, random_state=0
    )
    point = {"x": 0.5, "model": "large"}
    assert optimizer.expected_cost(point) is None
    for params in optimizer.ask(20):
        slow = 100.0 if params["model"] == "large" else 1.0
        optimizer.tell(params, params["x"], cost=slow * 10 ** params["x"])
    assert optimizer.expected_cost(point) == pytest.approx(316, rel=0.2)
    point["model"] = "small"
    assert optimizer.expected_cost(point) == pytest.approx(3.16, rel=0.2)


def test_costs_predictions_and_noise_of_zero_do_not_change_proposals():
    plain, costly = (Optimizer(MIXED, random_state=0) for _ in range(2))
    for n in range(7):
        params, same = plain.ask(), costly.ask()
        assert params == same
        plain.tell(params, score(params))
        costly.tell(params, score(params), cost=n + 1.0, noise=0.0)
        costly.expected_cost(params)
        costly.predict([params])


def test_failures_have_the_same_effect_with_any_details():
    proposals = []
    for details in ({}, {"cost": 5.0, "censored": True}, {"noise": 1.0}):
        optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
        for x in (0.1, 0.4, 0.8):
            optimizer.tell({"x": x}, x, cost=1.0)
        optimizer.tell({"x": 0.9}, math.nan, **details)
        proposals.append(optimizer.ask())
    assert proposals[0] == proposals[1] == proposals[2]


def test_a_censored_trial_teaches_its_cost_and_is_not_the_best():
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    with pytest.raises(ValueError, match="No score"):
        optimizer.tell({"x": 0.5}, 9.0, cost=10.0, censored=True, noise=0.1)
        _ = optimizer.best_params
    for x in (0.0, 0.1, 0.2, 0.3, 0.6):
        optimizer.tell({"x": x}, x, cost=10 ** (2 * x))
    assert optimizer.best_params == {"x": 0.6}
    assert optimizer.n_told == 6
    informed = pickle.loads(pickle.dumps(optimizer))
    optimizer.tell({"x": 0.9}, math.nan, cost=30.0, censored=True)
    informed.tell({"x": 0.9}, math.nan, cost=30.0)
    costs = [one.expected_cost({"x": 0.9}) for one in (informed, optimizer)]
    assert costs[0] == pytest.approx(30.0, rel=0.2)
    assert costs[1] > 1.2 * costs[0]


def test_predict_is_the_mixture_over_samples():
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    for x in (0.1, 0.4, 0.6, 0.9):
        optimizer.tell({"x": x}, -((x - 0.5) ** 2))
    rows = [{"x": x} for x in (0.0, 0.4, 0.45, 1.0)]
    mean, sd = optimizer.predict(rows)
    model = WarpedGaussianProcess(n_options=[0], random_state=0)
    xs = np.array([0.1, 0.4, 0.6, 0.9])
    X = optimizer.space.encode([{"x": x} for x in xs])
    model.fit(X, -((xs - 0.5) ** 2))
    means, sds = model.predict(optimizer.space.encode(rows))
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-5)
    second = np.mean(sds**2 + means**2, axis=0)
    np.testing.assert_allclose(sd**2, second - mean**2, rtol=1e-4, atol=1e-15)
    assert sd[1] < sd[3]


def test_forgotten_configurations_are_proposed_again():
    optimizer = Optimizer(MIXED, random_state=0)
    run(optimizer, 5)
    before = pickle.loads(pickle.dumps(optimizer))
    first, second = optimizer.ask(2)
    optimizer.forget(second)
    assert optimizer.ask() == second
    optimizer.forget(first)
    optimizer.forget(second)
    assert optimizer.ask(2) == before.ask(2) == [first, second]
    # An observed configuration remains known when its repetition is forgotten.
    optimizer = Optimizer({"a": [1, 2]}, random_state=0)
    optimizer.tell({"a": 1}, 0.5)
    optimizer.pend({"a": 1})
    optimizer.forget({"a": 1})
    assert optimizer.ask() == {"a": 2}
    assert optimizer.n_told == 1
    with pytest.raises(ValueError, match="is not pending"):
        optimizer.forget({"a": 1})


def peak(params):
    return -((params["x"] - 0.37) ** 2)


def test_learned_scores_guide_the_first_proposal():
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    for x in np.linspace(0, 1, 9):
        optimizer.learn({"x": float(x)}, peak({"x": x}))
    assert optimizer.n_told == 0
    with pytest.raises(ValueError, match="No score"):
        _ = optimizer.best_params
    params = optimizer.ask()
    assert optimizer.last_expected_improvement is not None
    assert abs(params["x"] - 0.37) < 0.1
    optimizer.tell(params, peak(params))
    assert optimizer.best_params == params and optimizer.n_told == 1


def test_learned_trials_count_as_initial_points():
    cold, warm = (
        Optimizer(MIXED, n_initial_points=4, random_state=0) for _ in range(2)
    )
    design = cold.ask(4)
    for params in run(Optimizer(MIXED, random_state=9), 2):
        warm.learn(params, score(params))
    assert run(warm, 2) == design[:2]
    assert warm.last_expected_improvement is None
    assert warm.ask() != design[2]
    assert warm.last_expected_improvement is not None
    # A learned configuration remains a candidate.
    optimizer = Optimizer({"a": [1, 2, 3]}, n_initial_points=0, random_state=0)
    for a in (1, 2, 3):
        optimizer.learn({"a": a}, a)
    assert sorted(params["a"] for params in optimizer.ask(9)) == [1, 2, 3]


def test_a_configuration_can_be_learned_and_observed():
    """With two scores of one configuration, the prediction is between them."""
    improvements = []
    for scores in ([0.0], [0.0, 4.0], [4.0]):
        optimizer = Optimizer({"a": [1, 2, 3, 4]}, n_initial_points=0, random_state=0)
        for a in (1, 3):
            optimizer.tell({"a": a}, a)
        for value in scores[:-1]:
            optimizer.learn({"a": 4}, value)
        optimizer.tell({"a": 4}, scores[-1])
        assert optimizer.n_told == 3
        assert optimizer.ask() == {"a": 2}
        improvements.append(optimizer.last_expected_improvement)
    assert len(set(improvements)) == 3


@pytest.mark.parametrize("add", ["tell", "learn"])
def test_proposals_avoid_regions_of_failures(add):
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    for x in np.linspace(0, 1, 11):
        getattr(optimizer, add)({"x": float(x)}, math.nan if x > 0.55 else float(x))
    proposals = run(optimizer, 6, lambda p: math.nan if p["x"] > 0.55 else p["x"])
    assert sum(params["x"] > 0.6 for params in proposals) <= 2
    assert 0.45 < optimizer.best_params["x"] <= 0.55
    only_failures = Optimizer({"x": (0.0, 1.0)}, n_initial_points=0, random_state=0)
    getattr(only_failures, add)({"x": 0.5}, math.nan)
    assert only_failures.ask()


def improvement(model, X, row):
    """Return the expected improvement of a row on the best of some rows."""
    best_f = model.predict(X)[0].max(axis=1)
    mean, sd = (part[:, 0] for part in model.predict(row))
    z = (mean - best_f) / sd
    return np.mean(sd * (stats.norm.pdf(z) + z * stats.norm.cdf(z)))


@pytest.mark.parametrize("n_learned", [0, 3, 6])
def test_noise_belongs_to_the_score_it_came_with(n_learned):
    """Transferred and reported scores with the same noise give the same surrogate."""
    X, y = np.linspace(0, 1, 6)[:, None], np.array([0.0, 3.0, 1.0, 1.5, 2.0, 0.5])
    noise = np.array([0.0, 4.0, 0.0, 0.1, 0.0, 2.0])
    model = WarpedGaussianProcess(n_options=[0], random_state=0).fit(X, y, noise)
    optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    for i in (*range(n_learned, 6), *range(n_learned)):
        add = optimizer.learn if i < n_learned else optimizer.tell
        add({"x": X[i, 0]}, y[i], noise=noise[i])
    expected = improvement(model, X, [[optimizer.ask()["x"]]])
    assert optimizer.last_expected_improvement == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("acquisition", ["ei", "pi", "ucb"])
def test_the_expected_improvement_is_that_of_the_proposal(acquisition):
    """Comparison with the definition, for each sample of the hyper-parameters."""
    optimizer = Optimizer({"x": (0.0, 1.0)}, acquisition=acquisition, random_state=0)
    points = [{"x": float(x)} for x in (0.05, 0.3, 0.55, 0.9)]
    for params in points:
        optimizer.tell(params, peak(params))
    X = optimizer.space.encode(points)
    model = WarpedGaussianProcess(n_options=[0], random_state=0)
    model.fit(X, np.array([peak(params) for params in points]))
    for _ in range(2):  # the second with the first pending
        row = optimizer.space.encode([optimizer.ask()])
        expected = improvement(model, X, row)
        assert optimizer.last_expected_improvement == pytest.approx(expected, rel=1e-6)
        model, X = model.condition(row), np.vstack([X, row])


def test_only_the_model_expects_improvements():
    optimizer = Optimizer(
        {"x": (0.0, 1.0)}, initial_points=[{"x": 0.2}], random_state=0
    )
    assert optimizer.last_expected_improvement is None
    for number in range(6):
        params = optimizer.ask()
        assert (optimizer.last_expected_improvement is None) == (number < 3)
        optimizer.tell(params, peak(params))
    late = Optimizer({"x": (0.0, 1.0)}, initial_points=[{"x": 0.2}], random_state=0)
    for x in (0.1, 0.5, 0.7):
        late.tell({"x": x}, x)
    late.ask(2)
    assert late.last_expected_improvement is not None
    failed = Optimizer({"x": (0.0, 1.0)}, random_state=0)
    run(failed, 5, lambda params: math.nan)
    assert failed.last_expected_improvement is None


def test_the_expected_improvement_is_that_of_the_last_proposal_made():
    one, other = (Optimizer({"a": (1, 8)}, random_state=0) for _ in range(2))
    for optimizer in (one, other):
        run(optimizer, 4, lambda params: params["a"])
    assert len(one.ask(9)) == 4  # all that are left
    for _ in range(4):
        other.ask()
    assert one.last_expected_improvement == other.last_expected_improvement > 0
    value = other.last_expected_improvement
    with pytest.raises(SpaceExhausted):
        other.ask()
    assert other.last_expected_improvement == value


def two(params):
    """Return two objectives with a tradeoff: distances from 0.2 and from 0.8."""
    x, z = params["x"], params["z"]
    return [-((x - 0.2) ** 2) - z, -((x - 0.8) ** 2) - z]


SQUARE = {"x": (0.0, 1.0), "z": (0.0, 1.0)}


def test_several_objectives_find_the_whole_front():
    optimizer = Optimizer(SQUARE, surrogate="gp-rbf", random_state=0)
    for _ in range(18):
        params = optimizer.ask()
        optimizer.tell(params, two(params))
    front = optimizer.pareto_front
    places = sorted(params["x"] for params, _ in front if params["z"] < 0.02)
    # Between the two optima, all configurations are equally good.
    assert len(places) >= 6
    assert places[0] < 0.3 and places[-1] > 0.7
    # Only the two ends would leave a gap of about 0.6.
    assert np.max(np.diff(places)) < 0.4
    assert all(scores == two(params) for params, scores in front)
    with pytest.raises(ValueError, match="best_params is not defined for 2 objectives"):
        _ = optimizer.best_params


def test_failed_trials_are_on_no_front():
    optimizer = Optimizer(SQUARE, n_initial_points=0, random_state=0)
    points = [{"x": x, "z": 0.1} for x in (0.1, 0.3, 0.5, 0.7)]
    optimizer.tell(points[0], np.nan)
    optimizer.tell(points[1], [0.5, np.nan])
    optimizer.ask()
    optimizer.tell(points[2], [0.1, 0.2])
    assert optimizer.ask() and optimizer.last_expected_improvement > 0
    optimizer.tell(points[3], float("nan"))
    assert optimizer.pareto_front == [(points[2], [0.1, 0.2])]
    optimizer.tell({"x": 0.9, "z": 0.1}, [1.0, 1.0], cost=1.0, censored=True)
    assert len(optimizer.pareto_front) == 1
    assert optimizer.ask()


def test_noise_of_one_objective_changes_proposals():
    def proposal(noise):
        optimizer = Optimizer(SQUARE, random_state=0)
        for x in np.linspace(0, 1, 6):
            params = {"x": float(x), "z": 0.5}
            optimizer.tell(params, two(params), noise=noise)
        return optimizer.ask()

    assert proposal(None) == proposal([0.0, 0.0])
    assert proposal([0.5, 0.0]) != proposal([0.0, 0.0])


def test_learned_scores_count_for_several_objectives():
    told, learned = (Optimizer(SQUARE, random_state=0) for _ in range(2))
    for x in (0.1, 0.5, 0.9):
        params = {"x": x, "z": 0.5}
        told.tell(params, two(params))
        learned.learn(params, two(params))
    assert learned.pareto_front == []
    assert learned.ask() and learned.last_expected_improvement is not None


@pytest.mark.parametrize("surrogate", ["random", "sobol", "graph", "gp-matern32"])
def test_each_surrogate_exhausts_a_space_with_two_objectives(surrogate):
    space = {"x": list(range(8)), "z": [0.0, 0.5, 1.0]}
    optimizer = Optimizer(space, surrogate=surrogate, n_objectives=2, random_state=0)
    proposals = []
    for _ in range(8):
        proposals.append(params := optimizer.ask())
        optimizer.tell(params, two({**params, "x": params["x"] / 7}))
    assert len({str(params) for params in proposals}) == 8
    sampled = surrogate in ("random", "sobol")
    assert (optimizer.last_expected_improvement is None) == sampled
    for params in optimizer.ask(99):
        optimizer.tell(params, [params["x"], -params["z"]])
    with pytest.raises(SpaceExhausted):
        optimizer.ask()
