"""
Grouped data with several metrics
=================================

If a data set has several rows per patient or customer, the rows of a patient must not
be split between training and test data. This example uses ``GroupKFold``, reports three
metrics, and refits the best configuration according to one of them.
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
patient_ids = np.repeat(np.arange(60), 8)
profiles = rng.normal(size=(60, 5))
X = profiles[patient_ids] + 0.3 * rng.normal(size=(480, 5))
is_ill = profiles[:, 0] + profiles[:, 1] + rng.normal(size=60) > 0
y = is_ill.astype(int)[patient_ids]

# %%
# Search with groups
# ------------------
#
# ``fit`` passes the groups to the splitter. If a class is rare, use
# ``StratifiedGroupKFold``, which also balances the classes between the folds. ``refit``
# names the metric that guides the search. The other metrics are reported.
ranges = {
    "max_depth": (1, 12),
    "max_features": (1, 5),
    "min_samples_leaf": (1, 40, "log-uniform"),
}
forest = RandomForestClassifier(n_estimators=30, random_state=0)
metrics = ["roc_auc", "accuracy", "neg_log_loss"]
options = {"scoring": metrics, "refit": "roc_auc", "n_iter": 12, "random_state": 0}
grouped = BayesSearchCV(forest, ranges, cv=GroupKFold(4), **options)
grouped.fit(X, y, groups=patient_ids)

# %%
# Different configurations can have equal scores, for example if the trees do not reach
# the maximum depth.
columns = [f"param_{name}" for name in ranges]
columns += [f"mean_test_{name}" for name in metrics]
grouped.results_frame().nlargest(5, "mean_test_roc_auc")[columns]

# %%
# Compare with random splits
# --------------------------
#
# Random splits put rows of the same patient into the training and the test data. Their
# scores are far too high for a model that is used for new patients. To keep a test set
# of new patients, split the data with ``GroupShuffleSplit`` before the search.
random_splits = KFold(4, shuffle=True, random_state=0)
leaking = BayesSearchCV(forest, ranges, cv=random_splits, **options).fit(X, y)
print(f"AUC with groups: {grouped.best_score_:.3f}, {grouped.best_params_}")
print(f"AUC with random splits: {leaking.best_score_:.3f}, {leaking.best_params_}")

# %%
# Plot both searches
# ------------------
display = ConvergenceDisplay.from_search(leaking, name="KFold (leaks)")
ConvergenceDisplay.from_search(grouped, name="GroupKFold", ax=display.ax_)
display.ax_.set(title="Random splits overestimate the AUC", ylabel="ROC AUC")
