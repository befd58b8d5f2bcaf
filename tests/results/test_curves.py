"""Learning curves of a trial."""

import drawn_searches as drawn
import numpy as np

from skbayes.evaluation.learning_curves import round_grid
from skbayes.results.record import curves_of


def trial(*curves, **more):
    """Return a trial whose splits have these curves, of at most 200 rounds."""
    extras = [{"curves": {"score": c}, "max_rounds": 200} if c else {} for c in curves]
    folds = [drawn.fold(0.5, extras=one) for one in extras]
    return drawn.trial(0, 0.5, **{"extras": {"rounds": 2}} | more, folds=folds)


def test_curves_end_with_the_shortest():
    found = curves_of(trial([0.1, 0.2, 0.3], [0.3, 0.4]), "score")
    assert found.rounds.tolist() == [1, 2]
    np.testing.assert_array_equal(found.scores, [[0.1, 0.2], [0.3, 0.4]])
    assert found.chosen == 2
    found = curves_of(trial([3.0, 2.0]), "error", direction=-1)
    np.testing.assert_array_equal(found.scores, [[-3.0, -2.0]])
    # Splits that were not fitted have none, and failed trials have none.
    found = curves_of(trial([0.1, 0.2], None, state="timed_out"), "score")
    assert found.scores.shape == (1, 2)
    for one in (trial(None, None), trial([0.5], state="failed")):
        assert curves_of(one, "score") is None


def test_rounds_are_those_of_the_grid():
    grid = round_grid(200)
    whole = curves_of(trial([0.5] * len(grid)), "score")
    assert whole.rounds.tolist() == grid.tolist()
    part = curves_of(trial([0.5] * 30), "score")
    assert part.rounds.tolist() == grid[:30].tolist()


def test_one_of_several_metrics():
    folds = [
        drawn.fold(0.5, extras={"curves": {"a": [0.1], "b": [0.2]}, "max_rounds": 1})
    ] * 2
    found = curves_of(drawn.trial(0, 0.5, folds=folds, extras={"rounds": 1}), "b")
    np.testing.assert_array_equal(found.scores, [[0.2], [0.2]])
