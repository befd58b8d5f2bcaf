"""Trials of one fidelity among which the best one is chosen."""

import drawn_searches as drawn
import numpy as np
import pytest

from skbayes.results.read import read_record
from skbayes.results.scores import compared
from skbayes.trial.records import Fidelity, History


def trials(*rows):
    """Return trials of (stage, configuration, score), in stages with these folds."""
    return [
        drawn.trial(k, score, {"x": x}, fidelity=Fidelity(stage, n_folds=n_folds))
        for k, (stage, n_folds, x, score) in enumerate(rows)
    ]


# First stages, on all folds and on one of them.
GIVEN, SHORT = (
    [(0, n_folds, "own", 0.5), (0, n_folds, "a", 0.6)] for n_folds in (None, 1)
)


@pytest.mark.parametrize(
    "rows, best",
    [
        ([], None),
        (GIVEN, 1),
        # Given stages: the best one of the first stage is completed in the second one.
        ([*GIVEN, (1, None, "a", 0.4)], 2),
        # It failed there, so that the next one counts.
        ([*GIVEN, (1, None, "a", None), (1, None, "own", 0.4), (1, None, "b", 0.3)], 3),
        # The own configuration alone is not a comparison.
        ([*SHORT, (1, None, "own", 0.4)], 1),
        ([*SHORT, (1, None, "own", 0.4), (1, None, "a", 0.3)], 2),
        # The own configuration must be completed, too.
        ([*SHORT, (1, None, "a", 0.3)], 1),
        # Except if it fails.
        ([*SHORT, (1, None, "own", None), (1, None, "a", 0.3)], 3),
    ],
)
def test_candidates_are_compared_at_one_fidelity(rows, best):
    candidates = compared(trials(*rows))
    assert [trial.number for trial in candidates[:1]] == [best] * (best is not None)
    assert len({trial.fidelity for trial in candidates}) <= 1


def test_displays_see_the_trials_of_each_fidelity():
    rows = [(0, None, "own", 0.2), *((1, 1, str(k), k / 100) for k in range(20))]
    rows += [(1, 1, "own", 0.5), (2, None, "own", 0.3), (2, None, "19", 0.4)]
    record = read_record(History(trials(*rows)))
    assert record.complete.all()
    assert record.best == 23
    np.testing.assert_array_equal(np.flatnonzero(record.scored), range(1, 22))
    assert set(record.n_folds) == {1, 2}
