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
# bytes, or your own functions. The constraint excludes forests that are small but
# useless. Without it, the front could extend down to a single tree of depth 1.
search = ParetoSearchCV(
    RandomForestClassifier(random_state=0),
    {
        "n_estimators": (1, 30, "log-uniform"),
        "max_depth": (1, 15),
        "max_features": (1, 30),
    },
    objectives={"accuracy": "max", "model_size": "min"},
    constraints={"accuracy": ">= 0.8"},
    n_iter=12,
    cv=3,
    random_state=0,
).fit(X, y)
front = search.pareto_front_
front.round(4)

# %%
# Choose a point of the front
# ---------------------------
#
# By default, the search refits the knee of the front. ``select`` chooses another point
# and refits it on the data that you pass. It accepts the name of an objective, a weight
# for each objective, or the number of a trial, such as that in row 3 of the front.
for choice in ("knee", "accuracy", {"accuracy": 1, "model_size": 3}):
    search.select(choice, X, y)
    print(f"{choice}: accuracy {search.best_score_:.3f}, {search.best_params_}")
search.select(int(front.loc[3, "trial"]), X, y)
print(f"row 3: accuracy {search.best_score_:.3f}, {search.best_params_}")

# %%
# Draw the front
# --------------
#
# The right plots show the front at several points of the search, and its hypervolume.
# When the hypervolume no longer rises, further trials are of little use.
search.select("knee", X, y)
figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
ParetoDisplay.from_search(search, ax=axes)
figure.suptitle("Pareto front of accuracy and model size")
display = ParetoDisplay.from_search(search, kind="evolution")
display.figure_.suptitle("Pareto front and hypervolume during the search")
