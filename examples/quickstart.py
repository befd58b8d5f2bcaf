"""
Quick start: from GridSearchCV to BayesSearchCV
===============================================

This example tunes a support vector machine on images of handwritten digits: with a grid
search, with :class:`~skbayes.BayesSearchCV` on the ranges of the grid and half of its
trials, and without a search space.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import BayesSearchCV

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(StandardScaler(), SVC())
cv = StratifiedKFold(5, shuffle=True, random_state=0)

# %%
# Define the searches
# -------------------
#
# The grid has 16 configurations. The ranges have the same limits. Without a search
# space, the search uses the default space of the pipeline (:doc:`/default_spaces`).
grid = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": [1e-4, 1e-3, 1e-2, 1e-1]}
ranges = {
    "svc__C": (0.1, 100.0, "log-uniform"),
    "svc__gamma": (1e-4, 1e-1, "log-uniform"),
}
searches = {
    "grid": GridSearchCV(model, grid, cv=cv),
    "ranges of the grid": BayesSearchCV(model, ranges, n_iter=8, cv=cv, random_state=0),
    "without a space": BayesSearchCV(model, n_iter=16, cv=cv, random_state=0),
}

# %%
# Compare the results
# -------------------
#
# The first accuracy is the mean over the folds, which the searches maximize. The second
# is the accuracy of the refitted model on new data.
for name, search in searches.items():
    search.fit(X_train, y_train)
    print(
        f"{name:18}: {len(search.cv_results_['params']):2} trials, accuracy "
        f"{search.best_score_:.4f}, on new data {search.score(X_test, y_test):.4f}"
    )

# %%
# Draw the progress
# -----------------
#
# The order of a grid is arbitrary, so the dotted line only shows its best accuracy.
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, search in searches.items():
    best = np.maximum.accumulate(search.cv_results_["mean_test_score"])
    if name == "grid":
        axes.axhline(best[-1], color="C7", ls=":", label="grid, 16 trials")
    else:
        axes.step(np.arange(1, len(best) + 1), best, where="post", label=name)
axes.set(xlabel="trials", ylabel="accuracy", title="Best accuracy so far")
axes.legend()
figure.savefig("quickstart.png", dpi=150)
