"""
Choosing among models in a pipeline
===================================

The last step of this pipeline is one of three classifiers, and each classifier has its
own hyper-parameters. :class:`~skbayes.space.Choice` describes such conditional search
spaces, so that one search compares all models within one budget.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.space import Choice

X, y = load_breast_cancer(return_X_y=True)
pipeline = Pipeline([("scale", StandardScaler()), ("reduce", PCA()), ("model", SVC())])

# %%
# Define the search space
# -----------------------
#
# The hyper-parameters of an option exist only in configurations with this option.
# Choices can be nested: ``model__gamma`` exists only if the model is a support vector
# machine with an RBF kernel.
c_range = (1e-3, 1e3, "log-uniform")
gamma_range = (1e-4, 1.0, "log-uniform")
kernels = Choice({"linear": {}, "rbf": {"model__gamma": gamma_range}})
forest = RandomForestClassifier(n_estimators=30, random_state=0)
models = Choice(
    {
        LogisticRegression(max_iter=5000): {"model__C": c_range},
        SVC(): {"model__C": c_range, "model__kernel": kernels},
        forest: {"model__max_depth": (4, 32)},
    }
)
reductions = Choice({"passthrough": {}, PCA(): {"reduce__n_components": (2, 30)}})
space = {"model": models, "reduce": reductions}

# %%
# Run the search
# --------------
#
# Forests select features themselves, and principal components usually reduce their
# accuracy. The constraint excludes such configurations before they are fitted.


def allowed(params):
    """Return whether a configuration may be tried."""
    return params["model"] is not forest or params["reduce"] == "passthrough"


search = BayesSearchCV(pipeline, space, n_iter=24, constraints=allowed, random_state=0)
search.fit(X, y)
print(f"accuracy {search.best_score_:.3f} with {search.best_params_}")

# %%
# Compare the models
# ------------------
#
# The table shows the best trial of each model. Missing values (NaN and NA)
# mark hyper-parameters that do not exist in the configuration.
results = search.results_frame()
results["model"] = [type(model).__name__ for model in results["param_model"]]
best = results.groupby("model")["mean_test_score"].idxmax()
results.loc[best].set_index("model").filter(regex="mean_test_score|param_(model_|red)")

# %%
# Draw the scores of each model
# -----------------------------
#
# The search tries each model, and those with high scores most often. The axis omits
# accuracies below 0.9.
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
for model, trials in results.groupby("model"):
    axes.plot(trials.index, trials["mean_test_score"], "o", label=model)
axes.set(xlabel="trial", ylabel="accuracy", title="Accuracy of the trials by model")
axes.set_ylim(bottom=0.9)
axes.legend()
