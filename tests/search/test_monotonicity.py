import lightgbm
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from skbayes.search.monotonicity import (
    KNOWN_MONOTONICITY,
    check_monotonicity,
    known_monotonicity,
)
from skbayes.space import Choice, Space

RANGE = (1.0, 2.0)


SCALED = make_pipeline(StandardScaler(), SVC())
COLUMNS = ColumnTransformer([("both", SCALED, [0, 1])])
NESTED = Pipeline([("columns", COLUMNS), ("last", Ridge())])
MODEL = Pipeline([("model", SVC())])


class Mine(SVC):
    """Class with the signs of its base."""


class Backwards(BaseEstimator):
    """Estimator whose alpha has no known monotonicity."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha


@pytest.mark.parametrize(
    ("estimator", "space", "expected"),
    [
        (SVC(), {"C": RANGE, "gamma": RANGE, "tol": RANGE}, {"C": 1, "gamma": 1}),
        (Mine(), {"C": RANGE}, {"C": 1}),
        (SGDClassifier(), {"alpha": RANGE, "l1_ratio": (0.0, 1.0)}, {"alpha": -1}),
        (KNeighborsClassifier(), {"n_neighbors": (1, 9)}, {"n_neighbors": 1}),
        (DecisionTreeClassifier(), {"max_depth": [2, 3, None]}, {}),
        (BaggingClassifier(SVC()), {"estimator__C": [1, 2]}, {"estimator__C": 1}),
        (SCALED, {"svc__C": RANGE}, {"svc__C": 1}),
        (lightgbm.LGBMClassifier(), {"num_leaves": (2, 9)}, {"num_leaves": 1}),
        (NESTED, {"columns__both__svc__C": RANGE, "last__alpha": RANGE},
         {"columns__both__svc__C": 1, "last__alpha": -1}),
        # A step that is chosen has the signs of what is chosen.
        (MODEL, {"model": Choice([(SVC(), {"model__C": RANGE}),
                                  (Ridge(), {"model__alpha": RANGE})])},
         {"model__C": 1, "model__alpha": -1}),
        (MODEL, [{"model": [SVC()], "model__C": RANGE},
                 {"model": [LogisticRegression()], "model__C": RANGE},
                 {"model": [SGDClassifier()], "model__alpha": RANGE}],
         {"model__C": 1, "model__alpha": -1}),
        # Signs that differ between alternatives are none.
        (MODEL, [{"model": [Ridge()], "model__alpha": RANGE},
                 {"model": [Backwards()], "model__alpha": RANGE}], {}),
    ],
)  # fmt: skip
def test_known_signs(estimator, space, expected):
    assert known_monotonicity(estimator, space) == expected


def test_the_table_names_what_exists():
    """Each class of scikit-learn has the parameters in the table."""
    theirs = dict(all_estimators())
    ours = {"LGBMModel": lightgbm.LGBMModel, "XGBModel": None}
    for name, signs in KNOWN_MONOTONICITY.items():
        assert set(signs.values()) <= {1, -1}
        if (cls := theirs.get(name, ours.get(name))) is None:
            assert name in ours
            continue
        assert not set(signs) - set(cls._get_param_names()), name


def check(complexity, space):
    return check_monotonicity(complexity, SVC(), Space.from_notation(space))


def test_the_user_decides():
    space = {"C": RANGE, "gamma": RANGE, "kernel": ["rbf", "poly"]}
    assert check("auto", space) == {"C": 1, "gamma": 1}
    assert check(None, space) == {}
    assert check({"gamma": -1}, space) == {"gamma": -1}
    assert check({"gamma": 1, "C": 0, "kernel": 0}, space) == {"gamma": 1}


@pytest.mark.parametrize(
    ("complexity", "error", "message"),
    [
        ({"kernel": 1}, ValueError, "'kernel' have no order"),
        ({"c": 1}, ValueError, "names 'c', which is not in search_spaces"),
        ({"C": 2}, ValueError, "must be"),
        ({"C": True}, ValueError, "must be"),
        ({"C": "up"}, ValueError, "must be"),
        (["C"], TypeError, "complexity must be"),
        ("none", TypeError, "complexity must be"),
    ],
)
def test_mistakes_are_named(complexity, error, message):
    with pytest.raises(error, match=message):
        check(complexity, {"C": RANGE, "kernel": ["rbf", "poly"]})
