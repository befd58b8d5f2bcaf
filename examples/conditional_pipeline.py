"""
Which model, and which parameters of that model
===============================================

A pipeline's last step may be one of three classifiers. Each has parameters of its own,
which exist only while it is chosen; one of them, the support vector machine, has a
kernel that has parameters in turn. All of it is one space with one budget.
"""

import argparse

from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.space import Choice

parser = argparse.ArgumentParser(description="Search over kinds of models.")
parser.add_argument("--n-iter", type=int, default=30, help="candidates to try")
parser.add_argument("--n-jobs", type=int, default=-1, help="fits at a time")
options = parser.parse_args()

# %%
# The space
# ---------
#
# :class:`~skbayes.space.Choice` names what opens with each option, to any depth.

KERNEL = Choice(
    {
        "linear": {},
        "rbf": {"model__gamma": (1e-4, 1.0, "log-uniform")},
        "poly": {"model__gamma": (1e-4, 1.0, "log-uniform"), "model__degree": (2, 4)},
    }
)

SEARCH_SPACES = {
    "reduce": Choice(
        {
            "passthrough": {},
            PCA(random_state=0): {"reduce__n_components": (2, 30)},
        }
    ),
    "model": Choice(
        {
            LogisticRegression(max_iter=5000): {
                "model__C": (1e-3, 1e3, "log-uniform"),
            },
            RandomForestClassifier(n_estimators=50, random_state=0): {
                "model__max_depth": (2, 16),
                "model__max_features": (0.1, 1.0),
            },
            SVC(): {
                "model__C": (1e-2, 1e3, "log-uniform"),
                "model__kernel": KERNEL,
            },
        }
    ),
}


def affordable(params):
    """Forests on principal components are slow and rarely better: leave them out."""
    forest = isinstance(params["model"], RandomForestClassifier)
    return not (forest and params["reduce"] != "passthrough")


# %%
# The search
# ----------
#
# What has served so far is tried first.

pipeline = Pipeline(
    [
        ("scale", StandardScaler()),
        ("reduce", "passthrough"),
        ("model", LogisticRegression()),
    ]
)
served = {
    "reduce": "passthrough",
    "model": SVC(),
    "model__C": 1.0,
    "model__kernel": "linear",
}
search = BayesSearchCV(
    pipeline,
    SEARCH_SPACES,
    n_iter=options.n_iter,
    constraint=affordable,
    initial_points=[served],
    n_jobs=options.n_jobs,
    random_state=0,
)
search.fit(*load_breast_cancer(return_X_y=True))

tried = [type(params["model"]).__name__ for params in search.cv_results_["params"]]
for name in sorted(set(tried)):
    print(f"{name}: {tried.count(name)} of {len(tried)} candidates")
print(f"best cross-validation accuracy: {search.best_score_:.4f}")
for name, value in search.best_params_.items():
    print(f"  {name} = {value!r}")
