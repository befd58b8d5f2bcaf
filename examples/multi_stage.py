"""
Most trials on a fifth of the rows
==================================

A gradient boosting of decision trees is tuned on digits twice, with as many trials:
:class:`~skbayes.BayesSearchCV` fits all of them on all training rows,
:class:`~skbayes.MultiStageSearchCV` three quarters of them on a fifth, and the best of
these again on all.
"""

import argparse
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skbayes import BayesSearchCV, MultiStageSearchCV

parser = argparse.ArgumentParser(description="A search in stages, and one on all rows.")
parser.add_argument("--n-iter", type=int, default=32)
parser.add_argument("--rows", type=int, default=None, help="use only so many rows")
parser.add_argument("--max-iter", type=int, default=20, help="trees per class")
parser.add_argument("--output", default="multi_stage.png", help="picture to write")
options = parser.parse_args()

# %%
# Both searches
# -------------

SPACE = {
    "learning_rate": (0.01, 1.0, "log-uniform"),
    "max_leaf_nodes": (3, 31, "log-uniform"),
    "min_samples_leaf": (1, 50, "log-uniform"),
    "max_features": (0.05, 1.0, "log-uniform"),
}

X, y = load_digits(return_X_y=True)
X, y = X[: options.rows], y[: options.rows]
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = HistGradientBoostingClassifier(
    max_iter=options.max_iter, early_stopping=False, random_state=0
)
common = {"n_iter": options.n_iter, "cv": 3, "random_state": 0}
plain = BayesSearchCV(model, SPACE, n_initial_points=3, **common)
staged = MultiStageSearchCV(model, SPACE, stages=(0.2, 1.0), **common)
for name, search in (("all rows", plain), ("in stages", staged)):
    begin = time.perf_counter()
    search.fit(X, y)
    print(
        f"{name}: {len(search.trials_)} trials in {time.perf_counter() - begin:.1f} s, "
        f"test accuracy {search.score(X_test, y_test):.4f}"
    )

# %%
# How much a part says of all
# ---------------------------
#
# On the left, the trials over time: in stages, many come first that score lower, for
# want of rows, and the last ones begin where these ended. On the right, what the model
# of the first stage expected of the configurations of the second, and their scores.

table = staged.stage_correlation_
print(f"rank correlation of the stages: {table['rank_correlation'][0]:.2f}")
print(f"of the model with the last one: {table['model_correlation'][0]:.2f}")


def seconds_of_trials(search):
    """Return when each trial was finished, counted from the first."""
    return np.cumsum([trial.duration for trial in search.trials_])


def draw(plain, staged):
    """Draw the trials over time, and the scores of the stages against each other."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    scores = [trial.score for trial in plain.trials_]
    left.plot(seconds_of_trials(plain), scores, ".", color="0.6", label="all rows")
    stages = np.array([trial.stage for trial in staged.trials_])
    scores = np.array([trial.score for trial in staged.trials_])
    times = seconds_of_trials(staged)
    for stage, name in enumerate(("a fifth of the rows", "then all")):
        chosen = stages == stage
        left.plot(times[chosen], scores[chosen], ".", color=f"C{stage}", label=name)
    left.set(xlabel="seconds of fits", ylabel="cross-validated accuracy")
    left.legend(frameon=False, loc="lower right")
    second = [trial for trial in staged.trials_ if trial.stage == 1]
    expected, _ = staged.optimizers_[0].predict([trial.params for trial in second])
    right.plot(expected, [trial.score for trial in second], ".", color="C1")
    right.set(xlabel="expected on a fifth", ylabel="score on all rows")
    return figure


figure = draw(plain, staged)
if options.output:
    figure.savefig(options.output, dpi=150)
