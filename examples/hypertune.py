"""What small samples say: an SVM on digits, tuned on tenths first.

HyperTuneSearchCV searches five small samples, and starts the search on all data from
what it found there. BayesSearchCV searches all data from the beginning. The script
prints what the samples found, which signs were assumed and which held, and the best
score of both searches after each tenth of the time that fits and scores took.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import BayesSearchCV, HyperTuneSearchCV

SPACE = {"C": (1e-3, 1e3, "log-uniform"), "gamma": (1e-6, 1e0, "log-uniform")}


def progress(search, seconds):
    """Best score on all data that was known after so many seconds of trials."""
    spent = np.cumsum([trial.duration for trial in search.trials_])
    scores = [t.score if t.train_fraction == 1 else -np.inf for t in search.trials_]
    best = np.maximum.accumulate(scores)
    place = np.searchsorted(spent, seconds, "right") - 1
    return best[place] if place >= 0 else -np.inf


def main():
    """Run both searches and compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n-iter", type=int, default=90, help="trials in all")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--rows", type=int, default=None, help="use only so many rows")
    arguments = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    X, y = X[: arguments.rows], y[: arguments.rows]
    ours = HyperTuneSearchCV(
        SVC(),
        SPACE,
        n_iter=arguments.n_iter,
        n_jobs=arguments.n_jobs,
        cv=3,
        random_state=0,
    ).fit(X, y)
    plain = BayesSearchCV(
        SVC(), SPACE, n_iter=25, n_jobs=arguments.n_jobs, cv=3, random_state=0
    ).fit(X, y)

    for params in ours.small_optima_:
        print("best on a small sample: C {C:.3g}, gamma {gamma:.3g}".format(**params))
    print("centre: C {C:.3g}, gamma {gamma:.3g}".format(**ours.small_optimum_))
    print(f"signs: {ours.signs_}, in force at the end: {ours.signs_in_force_}")
    print("best:   C {C:.3g}, gamma {gamma:.3g}".format(**ours.best_params_))
    end = max(sum(t.duration for t in one.trials_) for one in (ours, plain))
    print("seconds  HyperTuneSearchCV  BayesSearchCV")
    for seconds in np.linspace(0.1, 1.0, 10) * end:
        scores = [progress(one, seconds) for one in (ours, plain)]
        shown = [f"{s:.4f}" if np.isfinite(s) else "-" for s in scores]
        print(f"{seconds:7.1f}  {shown[0]:>17}  {shown[1]:>13}")


if __name__ == "__main__":
    main()
