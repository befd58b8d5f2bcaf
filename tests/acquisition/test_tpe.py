import numpy as np

from skbayes import Optimizer
from skbayes.acquisition.base import Known
from skbayes.acquisition.tpe import TPEStrategy
from skbayes.space import Space
from skbayes.space.candidates import Candidates
from skbayes.surrogates import ParzenEstimator

SPACE = Space.from_notation({"x": (0.0, 1.0), "k": ["a", "b"]})


def known(n=20, pending=0, space=SPACE):
    rng = np.random.default_rng(0)
    X = space.from_uniform(rng.random((n + pending, space.n_columns)))
    return Known(X[:n], -np.abs(X[:n, 0] - 0.3), np.zeros(n), X[n:])


def rank(candidates, known, estimator=None):
    strategy = TPEStrategy(estimator or ParzenEstimator(), candidates.space)
    proposer = strategy.proposer(known)
    X = proposer.rank(candidates, known.incumbents, np.random.default_rng(0))
    return proposer, X


def test_candidates_are_drawn_and_ranked():
    proposer, X = rank(Candidates(SPACE), known())
    assert X.shape == (100, 2)
    scores = proposer.scores(X)
    assert np.all(np.diff(scores) <= 0) and scores[0] > 0
    assert rank(Candidates(SPACE), known(), ParzenEstimator(n_candidates=7))[
        1
    ].shape == (
        7,
        2,
    )


def test_in_a_space_that_is_listed_all_that_is_new_is_ranked():
    space = Space.from_notation({"x": list(range(30)), "k": ["a", "b"]})
    candidates = Candidates(space)
    told = known(space=space)
    for row in told.X:
        candidates.add(row)
    proposer, X = rank(candidates, told)
    remaining = candidates.unseen()
    np.testing.assert_array_equal(np.unique(X, axis=0), np.unique(remaining, axis=0))
    assert proposer.scores(X)[0] == proposer.scores(remaining).max()


def test_only_new_and_allowed_candidates_are_proposed():
    space = Space.from_notation({"x": (1, 200), "y": (1, 200)}, lambda p: p["x"] > 190)
    candidates = Candidates(space)
    assert not candidates.is_enumerated
    _, X = rank(candidates, known(space=space))
    assert len(X) and np.all(candidates.filter_new(X))
    nothing = Space.from_notation({"x": (0.0, 1.0), "k": ["a", "b"]}, lambda p: False)
    assert rank(Candidates(nothing), known())[1].shape == (0, 2)


def test_what_is_pending_counts_as_bad():
    one, _ = rank(Candidates(SPACE), known(pending=0))
    told = known(pending=4)
    other, _ = rank(Candidates(SPACE), told)
    assert np.all(other.scores(told.pending) < one.scores(told.pending))


def test_eight_trials_come_before_the_model():
    optimizer = Optimizer({"x": (0.0, 1.0)}, surrogate="tpe", random_state=0)
    design = Optimizer({"x": (0.0, 1.0)}, n_initial_points=8, random_state=0).ask(8)
    asked = []
    for _ in range(9):
        asked += optimizer.ask()
        optimizer.tell(asked[-1], -asked[-1]["x"])
    assert asked[:8] == design


def test_it_beats_random_search_on_average():
    """On a tree of conditional parameters, where its strength lies."""
    from skbayes.space import Choice

    space = {
        "kind": Choice({"a": {"x": (0.0, 1.0)}, "b": {"y": (0.0, 1.0)}, "c": {}}),
        "z": [1, 2, 3, 4, 5],
        "w": (0.0, 1.0),
    }

    def objective(p):
        value = -abs(p["z"] - 4) - 3 * abs(p["w"] - 0.8)
        return value - 3 * abs(p.get("x", 1.5) - 0.2)

    best = {}
    for surrogate in ("tpe", "random"):
        best[surrogate] = []
        for seed in range(6):
            optimizer = Optimizer(space, surrogate=surrogate, random_state=seed)
            for _ in range(40):
                (params,) = optimizer.ask()
                optimizer.tell(params, objective(params))
            best[surrogate].append(objective(optimizer.best_params))
    assert np.mean(best["tpe"]) > 0.7 * np.mean(best["random"])
