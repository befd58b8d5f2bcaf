"""Errors of several corrections of the best score, in simulations and in searches.

Simulations: the score of a candidate on a fold is its true score, plus an error that is
the same on all folds, plus independent noise. The variances of both add up to 1, so
that the unit of the errors is the standard deviation of one fold. The share of the
first one is the correlation between two folds. The corrections were compared on the
settings "chosen on"; the settings "left out" have other numbers of candidates,
correlations, distributions of true scores, and distributions of noise.

Searches: random searches over support vector machines on 100 rows of five features. The
true score of the winner is measured on 2,000 new rows.

There are four corrections. The score itself is "none". The correction "folds" subtracts
the mean difference of the winner from the best candidate of each fold. The correction
"divided" divides it by max(1, sqrt(K) - 1) for K folds, and "skbayes" is
`corrected_best_score`.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import itertools

import numpy as np
from common import save_results
from scipy.stats import loguniform
from sklearn.model_selection import RandomizedSearchCV
from sklearn.svm import SVC

from skbayes.results import corrected_best_score

FOLDS = (3, 5, 10, 20)
CHOSEN_ON = {
    "n_candidates": (10, 25, 60),
    "spread": (0.0, 0.25, 0.5, 1.0),
    "correlation": (0.0, 0.1, 0.25, 0.5),
    "kind": ("normal",),
}
LEFT_OUT = {
    "n_candidates": (15, 40),
    "spread": (0.0, 0.35, 0.7, 2.0),
    "correlation": (0.05, 0.35),
    "kind": ("skewed", "failing", "neighbors", "heavy tails", "unequal noise"),
}
SPACE = {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-3, 1e1)}


def corrections(s: np.ndarray) -> dict[str, float]:
    """Return corrected scores of the best of s, of shape (n_candidates, n_folds)."""
    n_folds = s.shape[1]
    best = int(np.argmax(s.mean(axis=1)))
    score = s[best].mean()
    gap = np.mean(s.max(axis=0) - s[best])
    table = {f"split{k}_test_score": column for k, column in enumerate(s.T)}
    table["mean_test_score"] = s.mean(axis=1)
    return {
        "none": score,
        "folds": score - gap,
        "divided": score - gap / max(1.0, np.sqrt(n_folds) - 1.0),
        "skbayes": corrected_best_score(table, best, n_folds),
    }


# -- simulations ----------------------------------------------------------------------


def simulate(rng, n_folds, n_candidates, spread, correlation, kind):
    """Return true scores, and scores on the folds."""
    shape = (n_candidates, n_folds)
    truth = spread * rng.normal(size=n_candidates)
    if kind in ("skewed", "failing", "unequal noise"):
        truth = -spread * rng.exponential(size=n_candidates)
    if kind == "failing":  # two in five candidates are far worse
        truth -= 20.0 * rng.random(n_candidates) * (rng.random(n_candidates) < 0.4)
    shared, noise = rng.normal(size=(n_candidates, 1)), rng.normal(size=shape)
    if kind == "heavy tails":
        noise = rng.standard_t(3, size=shape) / np.sqrt(3.0)
    elif kind == "unequal noise":
        noise *= np.exp(0.7 * rng.normal(size=(n_candidates, 1)) - 0.49)
    elif kind == "neighbors":  # groups of five candidates score alike
        group = np.arange(n_candidates) // 5
        noise = np.sqrt(0.2) * noise + np.sqrt(0.8) * noise[group]
        shared = np.sqrt(0.2) * shared + np.sqrt(0.8) * shared[group]
    scores = (
        truth[:, None]
        + np.sqrt(correlation) * shared
        + np.sqrt(1.0 - correlation) * noise
    )
    return truth, scores


def simulated(settings, n_repeats):
    """Return bias and root mean square error by number of folds and correlation."""
    found = {}
    others = [settings[key] for key in ("n_candidates", "spread", "kind")]
    for n_folds, correlation in itertools.product(FOLDS, settings["correlation"]):
        errors = []
        for n_candidates, spread, kind in itertools.product(*others):
            seed = [
                n_folds,
                round(100 * correlation),
                n_candidates,
                round(100 * spread),
            ]
            rng = np.random.default_rng([*seed, *kind.encode()])
            for _ in range(n_repeats):
                truth, s = simulate(
                    rng, n_folds, n_candidates, spread, correlation, kind
                )
                target = truth[np.argmax(s.mean(axis=1))]
                errors.append([x - target for x in corrections(s).values()])
        found[f"{n_folds} folds, correlation {correlation:g}"] = summary(
            np.array(errors)
        )
    return found


def summary(errors):
    """Return bias, its standard error and the root mean square error by correction."""
    names = ("none", "folds", "divided", "skbayes")
    return {
        name: {
            "bias": round(float(e.mean()), 4),
            "se": round(float(e.std() / np.sqrt(len(e))), 4),
            "rmse": round(float(np.sqrt(np.mean(e**2))), 4),
        }
        for name, e in zip(names, errors.T, strict=True)
    }


# -- searches -------------------------------------------------------------------------


def draw(rng, n_rows, signal):
    X = rng.normal(size=(n_rows, 5))
    y = (signal * X[:, 0] + rng.normal(size=n_rows) > 0).astype(int)
    return X, y


def errors_of_search(seed, n_folds, signal):
    """Return the errors of all corrections in one search."""
    rng = np.random.default_rng(seed)
    X, y = draw(rng, 100, signal)
    search = RandomizedSearchCV(
        SVC(), SPACE, n_iter=25, cv=n_folds, random_state=seed
    ).fit(X, y)
    truth = search.score(*draw(rng, 2000, signal))
    columns = [search.cv_results_[f"split{k}_test_score"] for k in range(n_folds)]
    return [x - truth for x in corrections(np.column_stack(columns)).values()]


def searched(n_searches):
    """Return bias and root mean square error by task and number of folds."""
    found = {}
    for name, signal in (("random labels", 0.0), ("learnable labels", 1.0)):
        for n_folds in FOLDS:
            errors = [errors_of_search(i, n_folds, signal) for i in range(n_searches)]
            found[f"{name}, {n_folds} folds"] = summary(np.array(errors))
    return found


def show(title, found):
    """Print a table of biases and root mean square errors."""
    names = list(next(iter(found.values())))
    print(f"\n{title}\n{'bias / rmse':28}" + "".join(f"{name:>16}" for name in names))
    for setting, by_name in found.items():
        cells = (f"{c['bias']:+8.3f} /{c['rmse']:6.3f}" for c in by_name.values())
        print(f"{setting:28}" + "".join(cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=30, help="per simulation")
    parser.add_argument("--searches", type=int, default=8, help="0 for none")
    options = parser.parse_args()
    results = {
        "repeats": options.repeats,
        "searches": options.searches,
        "simulated, chosen on": simulated(CHOSEN_ON, options.repeats),
        "simulated, left out": simulated(LEFT_OUT, options.repeats),
    }
    if options.searches:
        results["support vector machines"] = searched(options.searches)
    for title, found in results.items():
        if isinstance(found, dict):
            show(title, found)
    save_results("corrected_score/figures", results)


if __name__ == "__main__":
    main()
