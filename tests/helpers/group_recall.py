"""Scorers of fairness, importable in worker processes."""

import numpy as np
from sklearn.metrics import recall_score


def recall_gap(y_true, y_pred, group=None):
    """Return the difference between the recalls of two groups; 0 without groups."""
    if group is None:
        raise ValueError("the groups were not routed")
    group = np.asarray(group)
    recalls = [
        recall_score(np.asarray(y_true)[group == one], y_pred[group == one])
        for one in (0, 1)
    ]
    return abs(recalls[0] - recalls[1])


def n_letters(pipeline):
    """Return the size of the vocabulary of a pipeline, or 1 without one."""
    return len(getattr(pipeline[0], "vocabulary_", [0]))
