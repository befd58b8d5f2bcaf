"""
ParetoSearchCV: accuracy and size of a forest
=============================================

A random forest with more and deeper trees is more accurate, but also larger.
:class:`~skbayes.ParetoSearchCV` finds the Pareto front: the forests that no other
forest beats in both accuracy and size.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from skbayes import ParetoSearchCV
from skbayes.inspection import ParetoDisplay

X, y = load_digits(return_X_y=True)

# %%
# Run the search
# --------------
#
# Objectives are metrics of scikit-learn, costs such as the size of the pickled model in
# bytes, or your own functions.
search = ParetoSearchCV(
    RandomForestClassifier(random_state=0),
    {
        "n_estimators": (1, 60, "log-uniform"),
        "max_depth": (1, 15),
        "max_features": (1, 30),
    },
    objectives={"accuracy": "max", "model_size": "min"},
    n_iter=20,
    cv=3,
    random_state=0,
).fit(X, y)
search.pareto_front_.drop(columns="trial").round(4)

# %%
# Choose a point of the front
# ---------------------------
#
# By default, the search refits the knee of the front. ``select`` refits another point.
for choice in ("knee", "accuracy", {"accuracy": 1, "model_size": 3}):
    search.select(choice, X, y)
    print(f"{choice}: accuracy {search.best_score_:.3f}, {search.best_params_}")

# %%
# Draw the front
# --------------
#
# The right plots show the front after some of the trials, and its hypervolume, which no
# longer rises when further trials are of little use.
search.select("knee", X, y)
figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
ParetoDisplay.from_search(search, ax=axes)
ParetoDisplay.from_search(search, kind="evolution")
