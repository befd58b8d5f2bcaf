import math

import numpy as np

from skbayes.optimizer.observations import ObservationList, join


def test_what_was_learned_comes_before_what_was_told():
    learned, told = ObservationList(), ObservationList()
    told.add(np.array([0.5, np.nan]), [1.0], [0.2])
    told.add(np.array([0.6, 0.1]), [math.nan], [0.2])
    learned.add(np.array([0.1, 0.3]), [2.0], [0.4])
    known = join(learned, told, [np.array([0.9, 0.9])], 2, 1)
    np.testing.assert_array_equal(known.X, [[0.1, 0.3], [0.5, np.nan], [0.6, 0.1]])
    np.testing.assert_array_equal(known.scores, [2.0, 1.0, np.nan])
    # Of a failure nothing is uncertain.
    np.testing.assert_array_equal(known.noise, [0.4, 0.2, 0.0])
    np.testing.assert_array_equal(known.pending, [[0.9, 0.9]])


def test_a_failure_told_before_the_number_of_objectives_was_known():
    told = ObservationList()
    told.add(np.array([0.5]), [math.nan], [0.0])
    told.add(np.array([0.6]), [1.0, 2.0], [0.0, 0.1])
    known = join(ObservationList(), told, [], 1, 2)
    np.testing.assert_array_equal(known.scores, [[np.nan, np.nan], [1.0, 2.0]])
    assert known.pending.shape == (0, 1)
    known = join(ObservationList(), ObservationList(), [], 3, 1)
    assert known.X.shape == known.pending.shape == (0, 3)
    assert known.scores.shape == (0,)
