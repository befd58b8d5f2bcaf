"""
Imbalanced classes with a bound on the recall
=============================================

If one class is rare, accuracy says little. This example detects 5 % of the samples: at
least 75 % of them must be found, with as few false alarms as possible. The recall is a
constraint, and the precision is the score.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skbayes import BayesSearchCV

X, y = make_classification(
    3000, 8, n_informative=5, weights=[0.95], class_sep=0.8, random_state=0
)
print(f"{y.sum()} of {len(y)} samples belong to the rare class")

# %%
# Search with a constraint
# ------------------------
#
# The weight of the rare class trades precision for recall. ``constraints`` holds bounds
# on metrics and costs. The search refits the best trial that satisfies the bounds.
model = make_pipeline(
    PolynomialFeatures(), StandardScaler(), LogisticRegression(max_iter=2000)
)
space = {
    "polynomialfeatures__degree": (1, 3),
    "logisticregression__C": (1e-2, 1e2, "log-uniform"),
    "logisticregression__class_weight": [{1: w} for w in (1, 2, 4, 8, 16, 32)],
}
search = BayesSearchCV(
    model,
    space,
    scoring="precision",
    constraints={"recall": ">= 0.75"},
    n_iter=25,
    cv=4,
    random_state=0,
).fit(X, y)
best, results = search.best_index_, search.cv_results_
recall, precision = results["mean_constraint_recall"], results["mean_test_score"]
print(f"precision {precision[best]:.3f}, recall {recall[best]:.3f}")
print(search.best_params_)

# %%
# Draw the trials
# ---------------
#
# Trials to the left of the dotted line violate the constraint. The ring marks the
# chosen trial.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.scatter(recall, precision, c=np.where(results["feasible"], "C0", "0.7"))
axes.scatter(recall[best], precision[best], s=180, fc="none", ec="C3")
axes.axvline(0.75, color="0.5", ls=":")
axes.set(xlabel="recall", ylabel="precision")
