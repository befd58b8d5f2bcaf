"""Scorer that writes the parameters, the score and the time of each fold to a file.

The trials are then those that were finished, in any library and in any process. Workers
import this module, so it imports little.
"""

from __future__ import annotations

import base64
import pickle
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

# Parameters and mean score of each trial, and seconds until it was finished.
Trials = list[tuple[dict[str, Any], float, float]]


class LoggedScorer:
    """Scorer that writes parameters, score and time of each fold to a file."""

    def __init__(self, scoring: str, names: Iterable[str], path: Path) -> None:
        self.scoring, self.names, self.path = scoring, list(names), path

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score."""
        score = float(get_scorer(self.scoring)(estimator, X, y))
        values = estimator.get_params()
        fold = {name: values[name] for name in self.names}, score, time.time()
        with self.path.open("ab") as file:
            file.write(base64.b64encode(pickle.dumps(fold)) + b"\n")
        return score

    def trials(self, begin: float, n_folds: int) -> Trials:
        """Return the trials whose folds are all in the file, in the order of ends."""
        folds, trials = defaultdict(list), []
        for line in self.path.read_bytes().splitlines():
            params, score, end = pickle.loads(base64.b64decode(line))
            folds[repr(params)].append(score)
            if len(folds[repr(params)]) == n_folds:
                mean = float(np.mean(folds.pop(repr(params))))
                trials.append((params, mean, end - begin))
        return trials
