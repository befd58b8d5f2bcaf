"""Scores with shared steps, for all transformers of scikit-learn."""

import numpy as np
import pytest
from counting_steps import arguments_of_selectors, sharing
from every_search import small_search
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

# No first steps of a pipeline for a classifier: they transform labels, images, kernels,
# a single column or two tables, or no new rows.
NOT_STEPS = {
    *("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer", "PatchExtractor"),
    *("IsotonicRegression", "CCA", "PLSCanonical", "PLSRegression", "PLSSVD"),
    *("KernelCenterer", "Pipeline", "StackingRegressor", "VotingRegressor"),
}
ALL = {
    name: kind
    for name, kind in all_estimators()
    if hasattr(kind, "transform") and hasattr(kind, "fit_transform")
    if name not in NOT_STEPS
}

INNER = LogisticRegression(max_iter=20, random_state=0)
PAIR = [("a", INNER), ("b", DecisionTreeClassifier(max_depth=2, random_state=0))]
ARGUMENTS = {
    "ColumnTransformer": [[("a", StandardScaler(), [0]), ("b", MinMaxScaler(), [1])]],
    "FeatureUnion": [[("a", StandardScaler()), ("b", MinMaxScaler())]],
    **arguments_of_selectors(INNER),
    "StackingClassifier": [PAIR],
    "VotingClassifier": [PAIR],
}
SMALL = {"n_estimators": 3, "max_iter": 5, "n_quantiles": 10, "n_components": 2}
SMALL |= {"n_clusters": 3, "cv": 2, "k": 2, "random_state": 0, "n_features": 16}
SMALL |= {"n_features_to_select": 1}
PARAMS = {"LinearDiscriminantAnalysis": {"n_components": 1}}
PARAMS |= {"MissingIndicator": {"features": "all"}}


def made(name):
    """Return a small transformer that draws the same numbers in each fit."""
    transformer = ALL[name](*ARGUMENTS.get(name, []))
    accepted = transformer.get_params(deep=False)
    params = {key: value for key, value in SMALL.items() if key in accepted}
    return transformer.set_params(**params | PARAMS.get(name, {}))


KINDS = {
    "texts": ["CountVectorizer", "HashingVectorizer", "TfidfVectorizer"],
    "dicts": ["DictVectorizer", "FeatureHasher"],
    "codes": ["OneHotEncoder", "OrdinalEncoder", "TargetEncoder"],
}
# A step has at most 32 settings, of which each transformer is one.
_NUMBERS = [name for name in ALL if name not in sum(KINDS.values(), [])]
KINDS |= {f"numbers {i}": _NUMBERS[i::3] for i in range(3)}


def rows(kind):
    """Return 40 rows of a kind, and two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    X = np.round(rng.random((40, 4)) + 0.3 * y[:, None], 2)
    if kind == "texts":
        return [" ".join(f"w{v:.1f}" for v in row) for row in X], y
    if kind == "dicts":
        return [dict(zip("abcd", map(float, row), strict=True)) for row in X], y
    return np.round(X) if kind == "codes" else X, y


def weighted_sum(y, response):
    """Return a number that depends on the response of each row."""
    return float(response @ np.arange(1.0, len(response) + 1))


# It determines the predictions of a tree, too.
SCORER = make_scorer(weighted_sum, response_method="predict_proba")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_scores_are_those_of_the_plain_pipeline(kind):
    steps = [("first", None), ("model", DecisionTreeClassifier(random_state=0))]
    space = {"first": [made(name) for name in KINDS[kind]], "model__max_depth": [1, 2]}
    params = {"n_iter": 200, "pre_dispatch": 1, "refit": False, "error_score": "raise"}
    params |= {"scoring": SCORER, "return_train_score": True}
    params["cv"] = ShuffleSplit(1, test_size=0.5, random_state=0)
    both = []
    for shares in (True, False):
        with sharing(shares):
            both.append(small_search(Pipeline(steps), space, **params).fit(*rows(kind)))
    shared, plain = both
    for column, values in shared.cv_results_.items():
        if "time" not in column:
            np.testing.assert_array_equal(values, plain.cv_results_[column], column)
    # Every second trial has the transformer of the one before.
    assert all(trial.shared_time > 0.0 for trial in shared.trials_[1::2])
