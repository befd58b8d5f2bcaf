import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.space import Space
from skbayes.space.candidates import Candidates, SpaceExhausted
from skbayes.surrogates import ParzenEstimator
from skbayes.surrogates.random_search import SobolSampler

SQUARE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


@pytest.mark.parametrize("surrogate", ["random", "sobol"])
def test_scores_do_not_matter(surrogate):
    proposals = []
    for sign in (1.0, -1.0):
        optimizer = Optimizer(SQUARE, surrogate=surrogate, random_state=0)
        for _ in range(10):
            proposals.append(optimizer.ask())
            optimizer.tell(proposals[-1], sign * proposals[-1]["x"])
    assert proposals[:10] == proposals[10:]
    assert optimizer.last_expected_improvement is None


@pytest.mark.parametrize("surrogate", ["tpe", ParzenEstimator(), "random", "sobol"])
def test_samplers_ignore_noise(surrogate):
    proposals = []
    for noise in (None, 0.1):
        optimizer = Optimizer(
            SQUARE, surrogate=surrogate, n_initial_points=0, random_state=0
        )
        optimizer.tell({"x": 0.5, "y": 0.5}, 1.0, noise=noise)
        proposals.append(optimizer.ask(3))
    assert proposals[0] == proposals[1]


def test_quasi_random_points_are_those_of_the_sequence():
    """Each of 16 x 4 boxes of equal size contains one of 64 points."""
    params = Optimizer(SQUARE, surrogate="sobol", random_state=0).ask(64)
    boxes = {(int(16 * p["x"]), int(4 * p["y"])) for p in params}
    assert len(boxes) == 64


def test_random_points_are_drawn_evenly():
    params = Optimizer(SQUARE, surrogate="random", random_state=0).ask(400)
    counts, _ = np.histogram([p["x"] for p in params], bins=4, range=(0, 1))
    assert np.all(np.abs(counts - 100) < 40)
    assert len({(int(16 * p["x"]), int(4 * p["y"])) for p in params[:64]}) < 64


def test_the_sequence_skips_observed_and_forbidden_configurations():
    space = Space.from_notation(SQUARE, lambda p: p["x"] > 0.9)
    free = Candidates(Space.from_notation(SQUARE))
    whole = SobolSampler(3).draw(free, np.random.default_rng())
    candidates = Candidates(space)
    for row in whole[whole[:, 0] > 0.9][:2]:
        drawn = SobolSampler(3).draw(candidates, np.random.default_rng())
        np.testing.assert_array_equal(drawn[0], row)
        candidates.add(row)


def test_a_sequence_that_meets_nothing_new_gives_way_to_chance():
    """No quasi-random point has to be in one cell of many thousands."""
    optimizer = Optimizer(
        {"a": (1, 150), "b": (1, 150)},
        surrogate="sobol",
        constraint=lambda p: (p["a"], p["b"]) == (149, 17),
        random_state=0,
    )
    assert optimizer.ask() == {"a": 149, "b": 17}
    with pytest.raises(SpaceExhausted):
        optimizer.ask()
