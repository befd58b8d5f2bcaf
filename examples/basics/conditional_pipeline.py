"""
Choosing among models in a pipeline
===================================

The last step of this pipeline is one of three classifiers, and each classifier has its
own hyper-parameters. :class:`~skbayes.space.Choice` describes such conditional search
spaces, so that one search compares all models within one budget.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.inspection import SliceDisplay
from skbayes.space import Choice

X, y = load_breast_cancer(return_X_y=True)
pipeline = Pipeline(
    [("scale", StandardScaler()), ("reduce", "passthrough"), ("model", SVC())]
)

# %%
# Define the search space
# -----------------------
#
# The hyper-parameters of an option exist only in configurations with this option.
# Choices can be nested: ``model__gamma`` exists only if the model is a support vector
# machine with an RBF kernel.
c_range = (1e-3, 1e3, "log-uniform")
kernels = Choice(
    {"linear": {}, "rbf": {"model__gamma": (1e-4, 1.0, "log-uniform")}},
)
models = Choice(
    {
        LogisticRegression(max_iter=5000): {"model__C": c_range},
        SVC(): {"model__C": c_range, "model__kernel": kernels},
        RandomForestClassifier(30, random_state=0): {"model__max_depth": (2, 16)},
    }
)
reductions = Choice({"passthrough": {}, PCA(): {"reduce__n_components": (2, 30)}})

# %%
# Run the search
# --------------
#
# The constraint excludes forests on principal components before they are fitted. The
# table shows the five best trials.


def allowed(params):
    """Return whether a configuration may be tried."""
    is_forest = isinstance(params["model"], RandomForestClassifier)
    return not is_forest or params["reduce"] == "passthrough"


search = BayesSearchCV(
    pipeline,
    {"model": models, "reduce": reductions},
    n_iter=24,
    constraint=allowed,
    random_state=0,
).fit(X, y)
columns = ["mean_test_score", "param_model", "param_model__C", "param_reduce"]
search.results_frame().nlargest(5, "mean_test_score")[columns]

# %%
# Draw the scores of each model
# -----------------------------
#
# Later trials are darker. Only two of the models have the hyper-parameter ``C``.
SliceDisplay.from_search(search, params=["model", "model__C", "reduce"])
