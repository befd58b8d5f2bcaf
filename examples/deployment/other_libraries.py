"""
Nested estimators and estimators of other libraries
===================================================

Every estimator with scikit-learn's interface can be tuned. This example tunes a stack
of two estimators, and the classes of XGBoost, CatBoost and skorch. Libraries that are
not installed are omitted.
"""

from importlib.util import find_spec

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.inspection import ConvergenceDisplay

X, y = load_breast_cancer(return_X_y=True)
X, y = X[::2].astype("float32"), y[::2]
log_range = (0.01, 1.0, "log-uniform")

# %%
# Stacks and other nested estimators
# ----------------------------------
#
# The names of nested hyper-parameters are joined with two underscores.
linear = make_pipeline(StandardScaler(), LogisticRegression())
tree = DecisionTreeClassifier(random_state=0)
stack = StackingClassifier([("tree", tree), ("linear", linear)], linear, cv=3)
space = {"tree__max_depth": (1, 8), "linear__logisticregression__C": log_range}
tuned = [(stack, space)]

# %%
# XGBoost and CatBoost
# --------------------
#
# Each fit uses one thread, so that ``n_jobs`` of the search can use the other cores.
if find_spec("xgboost"):
    from xgboost import XGBClassifier

    xgb = XGBClassifier(n_estimators=20, n_jobs=1)
    tuned.append((xgb, {"max_depth": (1, 8), "learning_rate": log_range}))
if find_spec("catboost"):
    from catboost import CatBoostClassifier

    cat = CatBoostClassifier(20, thread_count=1, silent=True, allow_writing_files=False)
    tuned.append((cat, {"depth": (1, 6), "learning_rate": log_range}))

# %%
# PyTorch with skorch
# -------------------
#
# The data must have the type float32. ``module__`` is the prefix of the arguments of a
# module class.
if find_spec("skorch") and find_spec("torch"):
    import torch
    from skorch import NeuralNetClassifier

    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(30, 2), torch.nn.Softmax(dim=-1))
    net = NeuralNetClassifier(layers, max_epochs=5, train_split=None, verbose=0)
    net = make_pipeline(StandardScaler(), net)
    tuned.append((net, {"neuralnetclassifier__lr": log_range}))

# %%
# Run the searches
# ----------------
#
# Each search has a budget of five trials. The figure shows the best accuracy so far.
axes = None
for estimator, space in tuned:
    search = BayesSearchCV(estimator, space, n_iter=5, cv=3, random_state=0).fit(X, y)
    name = type(estimator).__name__
    print(f"{name}: {search.best_score_:.3f} with {search.best_params_}")
    axes = ConvergenceDisplay.from_search(search, name=name, ax=axes).ax_
axes.figure.suptitle("Best accuracy of each estimator so far")
