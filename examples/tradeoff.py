"""
Accuracy against cost: how much a smaller model gives away
==========================================================

A support vector machine recognizes digits by comparing them with those it has kept from
its training set, so that a smaller training set makes it smaller and faster.
:class:`~skbayes.TradeoffSearchCV` chooses the size of the training set with the
parameters, for the best accuracy less a multiple of the model's size.
"""

import argparse

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import TradeoffSearchCV

parser = argparse.ArgumentParser(description="Accuracy against the size of an SVM.")
parser.add_argument("--n-iter", type=int, default=40)
parser.add_argument("--n-jobs", type=int, default=2)
parser.add_argument("--rows", type=int, default=None, help="use only so many rows")
parser.add_argument("--output", default="tradeoff.png", help="picture to write")
options = parser.parse_args()

# %%
# One search for all tradeoffs
# ----------------------------

SPACE = {"C": (1e-1, 1e3, "log-uniform"), "gamma": (1e-5, 1e-1, "log-uniform")}

X, y = load_digits(return_X_y=True)
X, y = X[: options.rows], y[: options.rows]
search = TradeoffSearchCV(
    SVC(),
    SPACE,
    cost="model_size",
    all_tradeoffs=True,
    n_iter=options.n_iter,
    cv=3,
    n_jobs=options.n_jobs,
    random_state=0,
).fit(X, y)

columns = ["tradeoff_from", "tradeoff_to", "score", "cost", "train_fraction"]
print("what is the best from which tradeoff to which:")
print(search.tradeoff_curve_[columns].round(4).to_string(index=False))
for tradeoff in (0.0, 0.1):
    search.select(tradeoff, X, y)
    print(
        f"tradeoff {tradeoff}: {search.best_train_fraction_:.0%} of the rows, "
        f"accuracy {search.best_score_:.4f}, {search.best_cost_ / 1e3:.0f} kB"
    )

# %%
# The curve
# ---------
#
# All trials, those that are the best for some tradeoff joined by a line.


def draw(search):
    """Draw accuracy against size, and the curve."""
    figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
    results, curve = search.cv_results_, search.tradeoff_curve_
    trials = axis.scatter(
        results["cost"] / 1e3,
        results["mean_test_score"],
        c=results["train_fraction"],
        cmap="viridis",
        s=20,
    )
    figure.colorbar(trials, label="share of the training rows")
    axis.plot(curve["cost"] / 1e3, curve["score"], "k-", lw=1)
    axis.set(xlabel="kilobytes", ylabel="accuracy", ylim=(0.85, 1.0))
    axis.set_xlim(right=1.2 * curve["cost"].max() / 1e3)
    return figure


figure = draw(search)
if options.output:
    figure.savefig(options.output, dpi=150)
