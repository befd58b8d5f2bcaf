import json
from importlib.resources import files
from unittest import mock

import numpy as np
import pytest
from default_spaces import estimators
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import (
    CountVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import HuberRegressor, Lasso, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import all_estimators

from skbayes.defaults import learned_prior as learned_priors
from skbayes.defaults.catalog import CATALOG, DataFacts
from skbayes.defaults.learned_prior import (
    knowledge_of,
    learned_prior,
    library,
    log_density,
)
from skbayes.defaults.parts import current_values, parts_of, space_of
from skbayes.space import Choice, Space

KNOWLEDGE = {
    "Toy": {
        "portfolio": [{}, {"C": 10.0, "kernel": "linear"}],
        "regrets": [[50, 20], [0, 30]],
        "densities": {
            "C": {"scale": "log", "at": [0.01, 1.0, 100.0], "log_density": [-1, 0, 2]},
            "kernel": {"options": [["rbf", 0.5], ["linear", -0.5]]},
        },
    }
}


def toy(**knowledge):
    """Return made-up knowledge about SVC."""
    return {"SVC": {**KNOWLEDGE["Toy"], **knowledge}}


def prior_of(estimator, space, knowledge, y=None):
    parts = parts_of(estimator, DataFacts.of(None, y))
    space, values = Space.from_notation(space), current_values(estimator)
    with mock.patch.object(learned_priors, "library", lambda: knowledge):
        return learned_prior(parts, space, values)


def portfolio_of(estimator, space, knowledge, y=None):
    prior = prior_of(estimator, space, knowledge, y)
    portfolio = prior and prior.portfolio
    return None if portfolio is None else prior.space.decode(portfolio.rows)


def test_the_file_is_complete_and_consistent():
    path = files("skbayes.defaults").joinpath("knowledge.json")
    assert len(path.read_text("utf-8")) < 87_000
    classes = [c for name, c in all_estimators() if ("sklearn", name) in CATALOG]
    named = {base.__name__ for c in classes for base in c.__mro__}
    for name, one in library().items():
        assert name.removesuffix(" of texts") in named | {name for _, name in CATALOG}
        regrets = np.array(one["regrets"])
        if regrets.size:
            assert one["portfolio"][0] == {}
            assert regrets.shape[0] == len(one["portfolio"]) >= 8
            assert regrets.min() >= 0 and regrets.max() <= 100
        for density in one["densities"].values():
            assert json.dumps(density)
            logs = [log for _, log in density.get("options", ())]
            if "at" in density:
                assert np.all(np.diff(density["at"]) > 0)
                assert len(density["at"]) == len(density["log_density"])
                logs += density["log_density"]
            # A fifth of each density is uniform.
            assert min(logs) >= np.log(0.2) - 0.01, name


BOOSTING = {
    "BaseGradientBoosting": {
        "portfolio": [
            {},
            {"learning_rate": 0.02, "n_estimators": 400, "max_depth": 2},
            {"learning_rate": 0.2, "n_estimators": 80, "max_depth": 4},
        ],
        "regrets": [[50], [0], [20]],
        "densities": {
            name: {"scale": "log", "at": [0.01, 1000.0], "log_density": [0, 1]}
            for name in ("learning_rate", "n_estimators", "max_depth")
        },
    }
}
LOG = "log-uniform"
RATE = {"learning_rate": (0.01, 0.5, LOG)}
TREES = {"n_estimators": (30, 500, LOG)}
DEPTH = {"max_depth": (1, 8)}


def boosted(n_estimators=100):
    return GradientBoostingRegressor(n_estimators=n_estimators)


@pytest.mark.parametrize(
    ("space", "most_rounds", "applied", "n"),
    [
        # Only a configuration with about as many trees as the estimator.
        ({**RATE, **DEPTH}, 0, ["max_depth"], 2),
        ({**RATE, **DEPTH}, np.inf, ["learning_rate", "max_depth"], 3),
        ({**RATE, **DEPTH}, 100, ["learning_rate", "max_depth"], 2),
        ({**TREES, **DEPTH}, 0, ["max_depth"], 0),
        ({**RATE, **TREES}, 0, ["learning_rate", "n_estimators"], 3),
        # Both configurations need learning rates that differ from the estimator's.
        (DEPTH, 0, ["max_depth"], 0),
    ],
)
def test_a_learning_rate_needs_its_number_of_rounds(space, most_rounds, applied, n):
    model = GradientBoostingRegressor()
    parts, values = parts_of(model, DataFacts()), current_values(model)
    with mock.patch.object(learned_priors, "library", lambda: BOOSTING):
        prior = learned_prior(parts, Space.from_notation(space), values, most_rounds)
    assert repr(prior) == f"OptimumPrior({', '.join(applied)})"
    assert n == (0 if prior.portfolio is None else len(prior.portfolio.rows))


def test_the_rounds_of_another_model_are_not_those_of_a_learning_rate():
    forest = RandomForestClassifier()
    options = [(boosted(), {"m__learning_rate": (0.01, 0.5)})]
    options.append((forest, {"m__n_estimators": (10, 500)}))
    prior = prior_of(Pipeline([("m", forest)]), {"m": Choice(options)}, BOOSTING)
    assert prior.is_flat


@pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning")
def test_all_points_of_a_portfolio_are_in_the_default_space():
    X, y = np.random.default_rng(0).random((90, 12)), np.repeat([0, 1], [70, 20])
    n_known, part_of_it = 0, set()
    for name, estimator in estimators():
        estimator = type(estimator)()
        parts = parts_of(estimator, DataFacts.of(X, y))
        space, known = Space.from_notation(space_of(parts)), knowledge_of(parts[0])
        prior = learned_prior(parts, space, current_values(estimator))
        if known is None or not known["portfolio"] or prior is None:
            continue
        n_known += 1
        rows = prior.portfolio.rows
        if len(rows) < len(known["portfolio"]):
            part_of_it.add(name)
        for params in space.decode(rows):
            estimator.set_params(**params)
    # These have the knowledge of another class, whose space has more options.
    others = {"ExtraTreesRegressor", "KNeighborsRegressor", "SVR"}
    assert part_of_it == {"ExtraTreeClassifier", "ExtraTreeRegressor", *others}
    assert n_known > 20


class Mine(SVC):
    pass


def test_a_class_has_the_knowledge_of_its_nearest_base():
    (part,) = parts_of(Mine(), DataFacts())
    assert knowledge_of(part) is library()["SVC"]
    (part,) = parts_of(HistGradientBoostingRegressor(), DataFacts())
    assert knowledge_of(part) is library()["BaseHistGradientBoosting"]
    (part,) = parts_of(HuberRegressor(), DataFacts())
    assert knowledge_of(part) is None
    assert prior_of(Lasso(), {"alpha": (0.1, 1.0)}, {}) is None


@pytest.mark.parametrize("n_columns, is_known", [(5000, True), (5001, False)])
def test_wide_data_have_no_knowledge(n_columns, is_known):
    facts = DataFacts.of(np.zeros((4, n_columns)), [0, 1, 0, 1])
    (part,) = parts_of(LogisticRegression(), facts)
    assert (knowledge_of(part) is not None) == is_known


def test_forests_of_xgboost_do_not_use_the_knowledge_of_boosting():
    xgboost = pytest.importorskip("xgboost")
    (part,) = parts_of(xgboost.XGBClassifier(), DataFacts())
    assert knowledge_of(part) is library()["XGBClassifier"]
    for forest in (xgboost.XGBRFClassifier(), xgboost.XGBRFRegressor()):
        (part,) = parts_of(forest, DataFacts())
        assert knowledge_of(part) is None


def test_densities_are_linear_between_numbers_and_constant_beyond():
    density = KNOWLEDGE["Toy"]["densities"]["C"]
    numbers = [1e-5, 0.01, 0.1, 1.0, 10.0, 100.0, 1e9, 0.0, np.inf, np.nan]
    expected = [-1, -1, -0.5, 0, 1, 2, 2, -1, 2, 0]
    np.testing.assert_allclose(log_density(density, numbers), expected)
    prior = prior_of(SVC(), {"C": [np.nan, 1.0, 100.0]}, toy())
    X = prior.sample(5, np.random.default_rng(0))
    assert np.isfinite(prior.log_density(X)).all()
    # Options count by value and type.
    density = {"options": [[True, 1.0], [1, 2.0], [None, 3.0], [[5, 5], 4.0]]}
    densities = log_density(density, [True, 1, None, (5, 5), "other"])
    np.testing.assert_allclose(densities, [1, 2, 3, 4, 0])


def test_a_density_is_evaluated_in_another_range_and_at_listed_values():
    prior = prior_of(SVC(), {"C": (0.1, 10.0, "log-uniform")}, toy())
    X = prior.space.encode([{"C": C} for C in (0.1, 1.0, 10.0)])
    # The differences come from the file, on another range.
    np.testing.assert_allclose(np.diff(prior.log_density(X)), [0.5, 1.0], atol=0.01)
    kernels = ["linear", "sigmoid", "rbf"]
    prior = prior_of(SVC(), {"C": [1, 100], "kernel": kernels}, toy())
    rows = [{"C": 1, "kernel": kernel} for kernel in kernels]
    X = prior.space.encode([*rows, {"C": 100, "kernel": "rbf"}])
    np.testing.assert_allclose(np.diff(prior.log_density(X)), [0.5, 0.5, 2.0])
    pipeline = make_pipeline(StandardScaler(), SVC())
    space = {"svc__C": (0.1, 10.0), "svc__tol": (1e-4, 1e-2)}
    assert repr(prior_of(pipeline, space, toy())) == "OptimumPrior(svc__C)"


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_some_parameters_are_relative_to_the_scale_of_the_target(scale):
    knowledge = {"Ridge": {**toy(y_scaled=["alpha"])["SVC"]}}
    knowledge["Ridge"]["densities"] = {"alpha": KNOWLEDGE["Toy"]["densities"]["C"]}
    knowledge["Ridge"]["portfolio"] = [{}, {"alpha": 0.5}]
    y = scale * np.array([-1.0, 1.0])
    space = {"alpha": (0.1, 1000.0, "log-uniform")}
    prior = prior_of(Ridge(), space, knowledge, y)
    X = prior.space.encode([{"alpha": 0.5 * scale}, {"alpha": 0.25 * scale}])
    expected = np.diff(np.interp(np.log([0.5, 0.25]), np.log([0.01, 1.0]), [-1, 0]))
    np.testing.assert_allclose(np.diff(prior.log_density(X)), expected, atol=0.05)
    assert portfolio_of(Ridge(), space, knowledge, y)[1] == {"alpha": 0.5 * scale}


SHARES = (0.1, 50.0)
KERNELS = {"kernel": ["rbf", "linear"]}
N_TREES = {"n_estimators": (30, 200, "log-uniform")}
BEST_IS_RBF = Space.from_notation(
    {"C": SHARES, **KERNELS}, constraint=lambda params: params["kernel"] == "rbf"
)
LACKING = toy(
    portfolio=[{}, {"C": 10.0, "coef0": 3.0}, {"C": 50.0, "degree": 2}],
    regrets=[[50], [0], [20]],
)


def with_option(n_others):
    """Return knowledge in which one point has an option of its own."""
    others = [{"C": value} for value in (2.0, 3.0, 4.0)[:n_others]]
    points = [{}, *others, {"C": 9.0, "shrinking": False}]
    return toy(portfolio=points, regrets=[[0]] * len(points))


@pytest.mark.parametrize(
    ("estimator", "space", "knowledge", "name", "expected"),
    [
        # The estimator's own values come first.
        (SVC(C=2.0), {"C": SHARES, **KERNELS}, toy(), "C", [2.0, 10.0]),
        (SVC(C=2.0), {"C": SHARES, **KERNELS}, toy(), "kernel", ["rbf", "linear"]),
        # The nearest value of a list; from outside of it, the estimator's own.
        (SVC(), {"C": [0.5, 1.0, 2.0], **KERNELS}, toy(), "C", [1.0, 1.0]),
        (SVC(), {"C": [1, 5, 200], **KERNELS}, toy(), "C", [1, 5]),
        # The point needs the linear kernel.
        (SVC(), {"C": SHARES}, toy(), "C", None),
        (SVC(), {"C": SHARES, "kernel": ["rbf", "poly"]}, toy(), "C", None),
        (SVC(), BEST_IS_RBF, toy(), "C", None),
        (SVC(kernel="linear"), {"C": SHARES}, toy(), "C", [1.0, 10.0]),
        # An option that the space lacks is ignored if few other points fit.
        (SVC(), {"C": [1.0, 2, 3, 4, 9]}, with_option(2), "C", [1.0, 2, 3, 9]),
        (SVC(), {"C": [1.0, 2, 3, 4, 9]}, with_option(3), "C", [1.0, 2, 3, 4]),
        # A number that the space lacks matters for boosted estimators only.
        (SVC(), {"C": (0.1, 100.0, LOG)}, LACKING, "C", [1.0, 10.0, 50.0]),
        (boosted(), {**RATE, **TREES}, BOOSTING, "n_estimators", [100, 400, 80]),
        # A low learning rate needs its number of rounds.
        (boosted(), {**RATE, **N_TREES}, BOOSTING, "n_estimators", [100, 80]),
        (boosted(100), RATE, BOOSTING, "learning_rate", [0.1, 0.2]),
        (boosted(300), RATE, BOOSTING, "learning_rate", [0.1, 0.02]),
        (boosted(9), RATE, BOOSTING, "learning_rate", None),
    ],
)
def test_a_portfolio_has_the_points_that_fit_the_space(
    estimator, space, knowledge, name, expected
):
    portfolio = portfolio_of(estimator, space, knowledge)
    values = None if portfolio is None else [params[name] for params in portfolio]
    if isinstance((expected or [""])[0], str):
        assert values == expected
    else:
        assert values == pytest.approx(expected, rel=1e-3)


def test_steps_without_a_portfolio_do_not_change_that_of_the_last_step():
    name = "tfidfvectorizer__binary"
    space = {name: [True, False], "svc__C": SHARES, "svc__kernel": ["rbf", "linear"]}
    pipeline = make_pipeline(TfidfVectorizer(), SVC())
    step = {"portfolio": [], "regrets": []}
    step["densities"] = {"binary": {"options": [[True, 1.0], [False, -1.0]]}}
    knowledge = {**toy(), "TfidfVectorizer": step}
    expected = portfolio_of(pipeline, space, toy())
    assert len(expected) == 2
    assert portfolio_of(pipeline, space, knowledge) == expected
    prior = prior_of(pipeline, space, knowledge)
    X = prior.space.encode([{**expected[0], name: binary} for binary in (True, False)])
    np.testing.assert_allclose(np.diff(prior.log_density(X)), -2.0)


@pytest.mark.parametrize(
    ("first", "name"),
    [
        ([TfidfVectorizer()], "SVC of texts"),
        ([CountVectorizer(), TfidfTransformer()], "SVC of texts"),
        # The scale of counts differs from that of weights and of tables.
        ([CountVectorizer()], None),
    ],
)
def test_classifiers_of_tf_idf_weights_have_a_separate_prior(first, name):
    knowledge = {"SVC": {"tables": 1}, "SVC of texts": {"tables": 2}}
    *_, part = parts_of(make_pipeline(*first, SVC()), DataFacts())
    with mock.patch.object(learned_priors, "library", lambda: knowledge):
        assert knowledge_of(part) is knowledge.get(name)
