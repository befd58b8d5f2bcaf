"""
Imbalanced classes with a minimum recall
========================================

If one class is rare, accuracy says little. In this example, about 5% of the samples
belong to the rare class. At least 75% of them must be found, with as few false alarms
as possible. The recall is a constraint, and the precision is the score.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import classification_report
from sklearn.model_selection import FixedThresholdClassifier, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skbayes import BayesSearchCV

options = {"n_informative": 5, "weights": [0.95], "class_sep": 0.8}
X, y = make_classification(4000, 8, **options, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# Search with a constraint
# ------------------------
#
# The decision threshold is a hyper-parameter of ``FixedThresholdClassifier``. A lower
# threshold increases the recall and lowers the precision. ``constraints`` sets bounds
# on metrics and costs. The search refits the best trial that satisfies the bounds
# (:doc:`/constraints`).
classifier = FixedThresholdClassifier(LogisticRegression(max_iter=2000))
model = make_pipeline(PolynomialFeatures(), StandardScaler(), classifier)
space = {
    "polynomialfeatures__degree": (1, 3),
    "fixedthresholdclassifier__estimator__C": (1e-2, 1e2, "log-uniform"),
    "fixedthresholdclassifier__threshold": (0.02, 0.5, "log-uniform"),
}
search = BayesSearchCV(
    model,
    space,
    scoring="precision",
    constraints={"recall": ">= 0.75"},
    n_iter=15,
    cv=4,
    random_state=0,
).fit(X_train, y_train)
print(search.best_params_)
results, best = search.cv_results_, search.best_index_
recall, precision = results["mean_constraint_recall"], results["mean_test_score"]
print(f"cross-validated precision {precision[best]:.3f}, recall {recall[best]:.3f}")

# %%
# Check the result on a test set
# ------------------------------
#
# The bound applies to the mean over the folds, so the recall on new data can be lower.
# If the minimum is strict, pass a larger bound.
print(classification_report(y_test, search.predict(X_test), digits=3))

# %%
# Draw the trials
# ---------------
#
# Trials to the left of the dotted line violate the constraint. The ring marks the
# chosen trial.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.scatter(recall, precision)
axes.scatter(recall[best], precision[best], s=180, fc="none", ec="C3")
axes.axvline(0.75, color="0.5", ls=":")
axes.set(
    xlabel="recall", ylabel="precision", title="Precision and recall of the trials"
)
