"""
Which model? A choice among models for a table
==============================================

The function :func:`~skbayes.defaults.models` returns a pipeline and a search space for
a table. The search compares several models, each with the preprocessing that it needs.
See :doc:`/models` for the list of models.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from skbayes import BayesSearchCV, models

X, y = load_wine(return_X_y=True, as_frame=True)

# %%
# Run the search
# --------------
#
# The first trials evaluate each model once. The next ones tune the models that are
# likely to be the best. Some configurations of the linear model do not converge.
warnings.simplefilter("ignore", ConvergenceWarning)
search = BayesSearchCV(
    *models(X, y), n_iter=12, scoring="neg_log_loss", cv=3, random_state=0
)
search.fit(X, y)
best = search.best_params_["model"]
print(f"log loss {-search.best_score_:.3f} with {type(best).__name__}")

# %%
# Compare the models
# ------------------
#
# The table has the number of trials and the best log loss of each model.
results = search.results_frame()
results["model"] = [type(model).__name__ for model in results["param_model"]]
results["log loss"] = -results["mean_test_score"]
by_model = results.groupby("model")["log loss"].agg(["count", "min"])
by_model.sort_values("min")

# %%
# Draw the best loss of each model
# --------------------------------
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
losses = by_model["min"].sort_values(ascending=False)
axes.barh(losses.index, losses)
axes.set(xlabel="log loss", title="Best log loss of each model")
