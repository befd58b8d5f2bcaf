"""
What small samples say: an SVM on digits, tuned on tenths first
===============================================================

:class:`~skbayes.HyperTuneSearchCV` searches five small samples, and starts the search
on all data from what it found there. :class:`~skbayes.BayesSearchCV` searches all data
from the beginning.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import BayesSearchCV, HyperTuneSearchCV

parser = argparse.ArgumentParser(description="HyperTuneSearchCV and BayesSearchCV.")
parser.add_argument("--n-iter", type=int, default=90, help="trials in all")
parser.add_argument("--n-jobs", type=int, default=2)
parser.add_argument("--rows", type=int, default=None, help="use only so many rows")
options = parser.parse_args()

SPACE = {"C": (1e-3, 1e3, "log-uniform"), "gamma": (1e-6, 1e0, "log-uniform")}

X, y = load_digits(return_X_y=True)
X, y = X[: options.rows], y[: options.rows]
common = {"n_jobs": options.n_jobs, "cv": 3, "random_state": 0}
ours = HyperTuneSearchCV(SVC(), SPACE, n_iter=options.n_iter, **common).fit(X, y)
plain = BayesSearchCV(SVC(), SPACE, n_iter=25, **common).fit(X, y)

# %%
# What the samples said
# ---------------------
#
# The best configuration of each small sample, their center, the signs that were assumed
# and those that the scores on all data did not refute.

for params in ours.small_optima_:
    print("best on a small sample: C {C:.3g}, gamma {gamma:.3g}".format(**params))
print("center: C {C:.3g}, gamma {gamma:.3g}".format(**ours.small_optimum_))
print(f"signs: {ours.signs_}, in force at the end: {ours.signs_in_force_}")
print("best:   C {C:.3g}, gamma {gamma:.3g}".format(**ours.best_params_))

# %%
# The best score by time
# ----------------------
#
# Of both searches, after each tenth of the time that fits and scores took. On data as
# small as these the small samples are no gain: they cost about as much as they save.


def progress(search, seconds):
    """Best score on all data that was known after so many seconds of trials."""
    spent = np.cumsum([trial.duration for trial in search.trials_])
    scores = [t.score if t.train_fraction == 1 else -np.inf for t in search.trials_]
    best = np.maximum.accumulate(scores)
    place = np.searchsorted(spent, seconds, "right") - 1
    return best[place] if place >= 0 else -np.inf


end = max(sum(t.duration for t in one.trials_) for one in (ours, plain))
print("seconds  HyperTuneSearchCV  BayesSearchCV")
for seconds in np.linspace(0.1, 1.0, 10) * end:
    scores = [progress(one, seconds) for one in (ours, plain)]
    shown = [f"{s:.4f}" if np.isfinite(s) else "-" for s in scores]
    print(f"{seconds:7.1f}  {shown[0]:>17}  {shown[1]:>13}")
