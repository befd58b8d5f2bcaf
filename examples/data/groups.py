"""
Grouped data with several metrics
=================================

If a data set has several rows per patient, the rows of a patient must not be split
between training and test data. This example uses ``GroupKFold``, reports three metrics,
and refits the best configuration of one of them.
"""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GroupKFold, KFold

from skbayes import BayesSearchCV
from skbayes.inspection import ConvergenceDisplay

# %%
# Generate the data
# -----------------
#
# Each of 60 patients has 8 measurements, which resemble each other. The diagnosis
# depends weakly on two of the five features.
rng = np.random.default_rng(0)
groups = np.repeat(np.arange(60), 8)
patients = rng.normal(size=(60, 5))
X = patients[groups] + 0.3 * rng.normal(size=(480, 5))
y = (patients[:, 0] + patients[:, 1] + rng.normal(size=60) > 0).astype(int)[groups]

# %%
# Search with groups
# ------------------
#
# ``fit`` passes the groups to the splitter. ``refit`` names the metric that guides the
# search. The other metrics are reported.
space = {
    "max_depth": (1, 12),
    "max_features": (1, 5),
    "min_samples_leaf": (1, 40, "log-uniform"),
}
forest = RandomForestClassifier(n_estimators=30, random_state=0)
common = {
    "scoring": ["roc_auc", "accuracy", "neg_log_loss"],
    "refit": "roc_auc",
    "n_iter": 12,
    "random_state": 0,
}
grouped = BayesSearchCV(forest, space, cv=GroupKFold(4), **common)
grouped.fit(X, y, groups=groups)
columns = [f"mean_test_{metric}" for metric in common["scoring"]]
grouped.results_frame().nlargest(5, "mean_test_roc_auc")[columns]

# %%
# Compare with random splits
# --------------------------
#
# Random splits put rows of the same patient into the training and the test data. Their
# scores are far too high for a model that is used for new patients.
shuffled = KFold(4, shuffle=True, random_state=0)
random = BayesSearchCV(forest, space, cv=shuffled, **common).fit(X, y)
print(f"AUC with groups: {grouped.best_score_:.3f}, {grouped.best_params_}")
print(f"AUC with random splits: {random.best_score_:.3f}, {random.best_params_}")

# %%
# Draw both searches
# ------------------
display = ConvergenceDisplay.from_search(random, name="KFold (leaks)")
ConvergenceDisplay.from_search(grouped, name="GroupKFold", ax=display.ax_)
display.figure_.suptitle("Cross-validated AUC with random splits and with groups")
