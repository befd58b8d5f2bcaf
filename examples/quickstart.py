"""
A grid search, and the same search by BayesSearchCV
===================================================

A support vector regression predicts how diabetes progresses within a year. It has three
parameters, and a grid of four values each is what one would try first: 64 candidates.
:class:`~skbayes.BayesSearchCV` gets the ranges that the grid spans, and chooses each
candidate from the scores of those before.

The script prints what both found and what it cost, and draws how they got there.
"""

import argparse
from math import comb
from time import perf_counter

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skbayes import BayesSearchCV

parser = argparse.ArgumentParser(
    description="GridSearchCV and BayesSearchCV side by side on diabetes."
)
parser.add_argument("--output", default="quickstart.png", help="picture to write")
parser.add_argument("--n-iter", type=int, default=25, help="Bayesian candidates")
parser.add_argument("--n-jobs", type=int, default=-1, help="fits at a time")
parser.add_argument("--rows", type=int, default=None, help="patients to use")
options = parser.parse_args()

# %%
# The two searches
# ----------------
#
# The second argument is all that differs, and might have stayed the same: lists are
# understood too.

PARAM_GRID = {
    "svr__C": [1, 10, 100, 1000],
    "svr__epsilon": [1, 3, 10, 30],
    "svr__gamma": [1e-4, 1e-3, 1e-2, 1e-1],
}

SEARCH_SPACES = {
    "svr__C": (1.0, 1000.0, "log-uniform"),
    "svr__epsilon": (1.0, 30.0, "log-uniform"),
    "svr__gamma": (1e-4, 1e-1, "log-uniform"),
}

SCORING = "neg_root_mean_squared_error"

model = Pipeline([("scale", StandardScaler()), ("svr", SVR())])
grid = GridSearchCV(model, PARAM_GRID, scoring=SCORING, n_jobs=options.n_jobs)
bayes = BayesSearchCV(
    model,
    SEARCH_SPACES,
    n_iter=options.n_iter,
    scoring=SCORING,
    n_jobs=options.n_jobs,
    random_state=0,
)


def timed_fit(search, X, y):
    """Fit a search; return the seconds it took."""
    start = perf_counter()
    search.fit(X, y)
    return perf_counter() - start


X, y = load_diabetes(return_X_y=True)
X, y = X[: options.rows], y[: options.rows]
seconds = [timed_fit(search, X, y) for search in (grid, bayes)]

# %%
# What they found
# ---------------
#
# A smaller error, with less than half of the fits.


def scores_in_order(search):
    """Mean cross-validation score of each candidate, as they were tried."""
    return search.cv_results_["mean_test_score"]


def print_table(rows):
    """Print rows of cells side by side, the first cell being the row's name."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for name, *cells in rows:
        line = [name.ljust(widths[0])]
        line += [cell.rjust(w) for cell, w in zip(cells, widths[1:], strict=True)]
        print("  ".join(line))


def report(searches, seconds):
    """Print best parameters, score, fits and time side by side."""
    n_candidates = [len(scores_in_order(search)) for search in searches]
    rows = [("", "GridSearchCV", "BayesSearchCV")]
    for name in PARAM_GRID:
        rows.append((name, *(f"{s.best_params_[name]:.4g}" for s in searches)))
    rows.append(("error (RMSE)", *(f"{-s.best_score_:.3f}" for s in searches)))
    rows.append(("candidates", *map(str, n_candidates)))
    n_fits = [n * s.n_splits_ for n, s in zip(n_candidates, searches, strict=True)]
    rows.append(("fits", *map(str, n_fits)))
    rows.append(("time", *(f"{one:.1f} s" for one in seconds)))
    print_table(rows)


report((grid, bayes), seconds)

# %%
# The way there
# -------------
#
# A grid has no order of its own: how soon it meets its best candidate is chance. Its
# line is the mean over all orders.


def expected_best(scores):
    """Mean over all orders of the best of the first k scores, for each k."""
    ascending = np.sort(scores)
    n = len(ascending)
    return np.array(
        [
            # The i-th smallest is the best of k if the k - 1 others are below it.
            sum(ascending[i] * comb(i, k - 1) for i in range(n)) / comb(n, k)
            for k in range(1, n + 1)
        ]
    )


def draw_line(ax, search, best, name, *, above, **style):
    """Draw the best error so far of one search, its end marked and named."""
    fits = search.n_splits_ * np.arange(1, len(best) + 1)
    error = -best
    ax.step(fits, error, where="post", lw=2, marker="o", markevery=[-1], **style)
    ax.annotate(
        f"{name}: {error[-1]:.2f} after {fits[-1]} fits",
        (fits[-1], error[-1]),
        xytext=(0, 9 if above else -9),
        textcoords="offset points",
        ha="right" if fits[-1] > ax.get_xlim()[1] / 2 else "left",
        va="bottom" if above else "top",
        color=style["color"],
    )


def draw(grid, bayes):
    """Draw the best error so far against the number of fits; return the figure."""
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    grid_best = expected_best(scores_in_order(grid))
    bayes_best = np.maximum.accumulate(scores_in_order(bayes))
    draw_line(ax, grid, grid_best, "GridSearchCV", above=True, color="0.4", ls="--")
    draw_line(ax, bayes, bayes_best, "BayesSearchCV", above=False, color="#0072B2")

    error = -scores_in_order(bayes)
    fits = bayes.n_splits_ * np.arange(1, len(error) + 1)
    ax.plot(fits, error, "o", ms=3.5, color="#0072B2", mfc="white", zorder=1)
    handles = ax.get_lines()
    labels = [
        "best so far, mean over all orders of the grid",
        "best so far of BayesSearchCV",
        "its candidates",
    ]
    ax.legend(handles, labels, loc="upper right", frameon=False)

    ax.set(
        xlabel="fits",
        ylabel="cross-validated error (RMSE)",
        title="Tuning a support vector regression on diabetes",
        # The worst candidates lie far above; the race is decided near the bottom.
        ylim=(0.985 * error.min(), 1.1 * error.min()),
    )
    ax.spines[["top", "right"]].set_visible(False)
    return fig


figure = draw(grid, bayes)
if options.output:
    figure.savefig(options.output, dpi=150)
    print(f"\nThe way there: {options.output}")
