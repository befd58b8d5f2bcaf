"""
Nested estimators and estimators of other libraries
===================================================

Every estimator with scikit-learn's interface can be searched. This example searches
nested estimators, whose parameters have names with two underscores, and the classes of
XGBoost, CatBoost and skorch. Libraries that are not installed are left out.
"""

# %%
# Each estimator is searched with a few trials, and the result is one printed line.
from argparse import ArgumentParser
from importlib.util import find_spec

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV

parser = ArgumentParser()
parser.add_argument("--n-iter", type=int, default=6)
n_iter = parser.parse_known_args()[0].n_iter

X, y = load_breast_cancer(return_X_y=True)
X, y = X[::4].astype(np.float32), y[::4]


def search(estimator, space, **options):
    """Print the best configuration of a short search."""
    found = BayesSearchCV(
        estimator, space, n_iter=n_iter, cv=3, random_state=0, **options
    ).fit(X, y)
    params = ", ".join(f"{name}={value}" for name, value in found.best_params_.items())
    print(f"{type(estimator).__name__}: {found.best_score_:.3f} with {params}")


linear = make_pipeline(StandardScaler(), LogisticRegression())
tree = DecisionTreeClassifier(random_state=0)
rate = (0.01, 1.0, "log-uniform")

# %%
# A classifier whose threshold is tuned in each fit. The ``scoring`` of the classifier
# chooses the threshold, and the ``scoring`` of the search chooses the parameters.
search(
    TunedThresholdClassifierCV(linear, cv=3),
    {
        "estimator__logisticregression__C": (0.01, 100.0, "log-uniform"),
        "scoring": ["f1", "balanced_accuracy"],
    },
    scoring="f1",
)

# %%
# A calibrated tree. The score is the log loss of its probabilities.
search(
    CalibratedClassifierCV(tree, cv=3),
    {"estimator__max_depth": (1, 8), "method": ["sigmoid", "isotonic"]},
    scoring="neg_log_loss",
)

# %%
# A stack. The names of parameters begin with the names of its estimators.
search(
    StackingClassifier([("tree", tree), ("linear", linear)], linear, cv=3),
    {
        "tree__max_depth": (1, 8),
        "linear__logisticregression__C": (0.01, 100.0, "log-uniform"),
        "passthrough": [False, True],
    },
)

# %%
# XGBoost and CatBoost. Each fit uses one thread, so that ``n_jobs`` of the search can
# use the other cores.
if find_spec("xgboost"):
    from xgboost import XGBClassifier

    space = {"max_depth": (1, 8), "learning_rate": rate, "subsample": (0.5, 1.0)}
    search(XGBClassifier(n_estimators=20, n_jobs=1), space)

if find_spec("catboost"):
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=20, thread_count=1, verbose=0, allow_writing_files=False
    )
    search(model, {"depth": (1, 8), "learning_rate": rate})

# %%
# A PyTorch network in skorch. The data must have the type float32, and the prefix
# ``module__`` refers to the arguments of the module.
if find_spec("skorch") and find_spec("torch"):
    import torch
    from skorch import NeuralNetClassifier

    class Network(torch.nn.Sequential):
        """One hidden layer."""

        def __init__(self, n_hidden=8):
            hidden, out = torch.nn.Linear(30, n_hidden), torch.nn.Linear(n_hidden, 2)
            super().__init__(hidden, torch.nn.ReLU(), out, torch.nn.Softmax(dim=-1))

    torch.manual_seed(0)
    net = NeuralNetClassifier(Network, max_epochs=5, train_split=None, verbose=0)
    search(
        make_pipeline(StandardScaler(), net),
        {
            "neuralnetclassifier__lr": rate,
            "neuralnetclassifier__module__n_hidden": (2, 32),
        },
    )
