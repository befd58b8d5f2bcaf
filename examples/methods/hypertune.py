"""
HyperTuneSearchCV: directions learned from small samples
========================================================

:class:`~skbayes.HyperTuneSearchCV` first searches several small samples. The model
that is best for a small sample is too simple for all data. The search on all data
therefore starts at this model, and assumes that the score rises with complexity.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import HyperTuneSearchCV

X, y = load_digits(return_X_y=True)

# %%
# Run the search
# --------------
#
# Larger values of ``C`` and ``gamma`` give more complex models. This is known for
# support vector machines; for other estimators, use the parameter ``complexity``.
space = {"C": (1e-3, 1e3, "log-uniform"), "gamma": (1e-6, 1e0, "log-uniform")}
search = HyperTuneSearchCV(
    SVC(), space, subset_fraction=0.1, n_iter=50, cv=3, random_state=0
).fit(X, y)
print(f"signs: {search.signs_}")
print(f"center of the small optima: {search.small_optimum_}")
print(f"best on all data: {search.best_params_}, accuracy {search.best_score_:.4f}")

# %%
# Draw both stages
# ----------------
#
# Crosses mark the optima of the small samples. Points are the trials on all data, and
# the star is the best of them.
small = [(params["C"], params["gamma"]) for params in search.small_optima_]
trials = [trial for trial in search.trials_ if trial.fidelity.stage == 1]
positions = np.array([(trial.params["C"], trial.params["gamma"]) for trial in trials])
scores = [trial.score for trial in trials]
best = search.best_params_
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(*zip(*small, strict=True), "x", color="C3", ms=9, label="small samples")
points = axes.scatter(*positions.T, c=scores, vmin=0.95, label="all data")
axes.plot(best["C"], best["gamma"], "*", color="C1", ms=15, label="best")
figure.colorbar(points, label="accuracy on all data")
axes.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma")
axes.set_title("Optima of small samples, and trials on all data")
axes.legend()
