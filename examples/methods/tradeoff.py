"""
TradeoffSearchCV: accuracy and the size of the model
====================================================

A support vector machine stores a part of its training rows. With fewer training rows,
it is smaller and faster, but less accurate. :class:`~skbayes.TradeoffSearchCV` tunes
the number of training rows together with the hyper-parameters.
"""

from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import TradeoffSearchCV
from skbayes.inspection import TradeoffDisplay

X, y = load_digits(return_X_y=True)

# %%
# Run the search
# --------------
#
# The cost is the size of the pickled model in bytes. With ``all_tradeoffs``, the trials
# cover all weights of the cost, so you can choose the weight after the search.
search = TradeoffSearchCV(
    SVC(),
    {"C": (1e-1, 1e3, "log-uniform"), "gamma": (1e-5, 1e-1, "log-uniform")},
    cost="model_size",
    tradeoff=0.1,
    all_tradeoffs=True,
    n_iter=20,
    cv=3,
    random_state=0,
).fit(X, y)

# %%
# Each row of the curve is the trial that is best for all tradeoffs between two limits.
columns = ["tradeoff_from", "tradeoff_to", "score", "cost", "train_fraction"]
search.tradeoff_curve_[columns].round(4)

# %%
# Choose a tradeoff
# -----------------
#
# ``select`` refits the best trial for another tradeoff. It does not search again.
for tradeoff in (0.0, 0.1):
    search.select(tradeoff, X, y)
    print(
        f"tradeoff {tradeoff}: accuracy {search.best_score_:.4f}, "
        f"{search.best_train_fraction_:.0%} of the rows, "
        f"{search.best_cost_ / 1000:.0f} kB"
    )

# %%
# Draw the trials and the choices
# -------------------------------
#
# The left plot shows all trials, and the right plot shows the score and the cost of the
# best trial for each tradeoff.
display = TradeoffDisplay.from_search(search)
display.figure_.suptitle("Accuracy and model size of the trials and of the choices")
