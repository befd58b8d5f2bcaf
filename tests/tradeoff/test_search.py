"""TradeoffSearchCV: score minus a multiple of the cost, and training set size."""

import math

import numpy as np
import pytest
from every_search import small_search
from priced_classifier import Priced, price
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from skbayes import Optimizer, TradeoffSearchCV
from skbayes.space import Choice, Ordinal, Space
from skbayes.surrogates import ParzenEstimator
from skbayes.trial.measure import COSTS

SIZES = (0.2, 0.4, 0.6, 0.8, 1.0)
SPACE = {"x": (0.0, 1.0)}
TREE = DecisionTreeClassifier(random_state=0)
IRIS = load_iris(return_X_y=True)
N = 100
X = np.column_stack([np.arange(N), np.ones(N)])
y = np.arange(N) % 2


PRICED = {"tradeoff": 0.3, "cost": price, "n_iter": 10}


def make(space=SPACE, **params):
    return search_of(Priced(), space, **{**PRICED, **params})


def search_of(estimator, space, **params):
    return TradeoffSearchCV(estimator, space, **{"cv": 2, "random_state": 0, **params})


@pytest.fixture(scope="module")
def search():
    return make(n_iter=14).fit(X, y)


def _tried(search):
    return [(t.params, t.fidelity.train_fraction, t.score) for t in search.trials_]


@pytest.mark.parametrize("acquisition, n_points", [("ei-tradeoff", 2), ("paper", 1)])
def test_without_tradeoff_it_is_the_search_on_the_enriched_space(acquisition, n_points):
    model = ("gp", acquisition)
    search = make(tradeoff=0.0, surrogate=model, pre_dispatch=n_points).fit(X, y)
    options = {"initial_points": search.initial_points_, "n_initial_points": 3}
    space = {**SPACE, "train_size": Ordinal(SIZES)}
    plain = Optimizer(space, **options, random_state=0)
    waiting = []
    for trial in search.trials_:
        if len(waiting) == n_points:
            plain.tell(*waiting.pop(0))
        proposed = plain.ask()
        size = proposed.pop("train_size")
        assert (proposed, size) == (trial.params, trial.fidelity.train_fraction)
        waiting.append(({**proposed, "train_size": size}, trial.score))


def test_costs_draw_the_trials_to_smaller_training_sets(search):
    free = make(tradeoff=0.0, n_iter=14).fit(X, y)
    dear = make(tradeoff=2.0, n_iter=14).fit(X, y)
    # In the unit of the cost: the typical cost, 1, depends on the trials.
    cost, *others = (s.cv_results_["cost"].mean() for s in (dear, free, search))
    assert cost < min(others)


def test_the_best_tradeoff_is_found(search):
    x, size = np.meshgrid(np.linspace(0, 1, 101), SIZES)
    score = 0.95 - (x - 0.6) ** 2 - 2.0 / (size * N / 2)
    results = search.cv_results_
    whole = results["train_fraction"] == 1.0
    sigma = np.minimum(1, size * N / 2 * (0.1 + x) / np.median(results["cost"][whole]))
    best = np.max(score - 0.3 * sigma)
    assert results["tradeoff_score"].max() > best - 0.01


def test_trials_for_all_tradeoffs_do_not_depend_on_tradeoff():
    params = {"all_tradeoffs": True, "n_iter": 7}
    one, again = (make(tradeoff=a, **params).fit(X, y) for a in (0.1, 0.9))
    # The trials do not depend on the final choice.
    assert _tried(one) == _tried(again)
    alphas = [one.optimizer_._alpha(n) for n in range(200)]
    assert 0.001 <= min(alphas) < 0.0015 and 0.7 < max(alphas) <= 1
    assert np.median(alphas) == pytest.approx(0.03, rel=0.5)
    assert len(set(alphas)) == 200
    assert one.best_cost_ >= again.best_cost_


@pytest.mark.parametrize(
    "space, options, n_trials",
    [
        *(
            ({"x": [0.1, 0.3, 0.7]}, {"surrogate": surrogate, "n_iter": 6}, 6)
            for surrogate in ("sobol", "graph", "gp-rbf")
        ),
        ({"x": Choice({0.1: {"fails_above": [2.0, 3.0]}, 0.6: {}})}, {"n_iter": 4}, 4),
        ([{"x": (0.0, 0.2)}, {"x": (0.5, 0.7)}], {"n_iter": 6}, 6),
        # A space that is exhausted.
        ({"x": [0.1, 0.6]}, {"n_iter": 50, "train_sizes": [0.5, 1.0]}, 4),
    ],
)
def test_all_configurations_and_sizes_are_different(space, options, n_trials):
    search = make(space, **options).fit(X, y)
    assert len(search.trials_) == len({repr(t[:2]) for t in _tried(search)}) == n_trials
    allowed = Space.from_notation(space)
    assert all(t.params in allowed for t in search.trials_)
    expected = "n_iter" if n_trials == options["n_iter"] else "exhausted"
    assert search.stop_reason_ == expected


def test_initial_points_come_first_and_constraints_hold():
    points = [{"x": 0.25}, {"x": 0.75, "train_size": 0.4}]
    rule = lambda params: params["train_size"] != 0.6  # noqa: E731
    search = make(initial_points=points, constraints=rule).fit(X, y)
    assert _tried(search)[0][:2] == ({"x": 0.25}, 1.0)
    assert _tried(search)[1][:2] == ({"x": 0.75}, 0.4)
    assert 0.6 not in search.cv_results_["train_fraction"]


def test_columns_of_costs_follow_their_definition(search):
    results = search.cv_results_
    whole = results["train_fraction"] == 1.0
    typical = np.median(results["cost"][whole])
    sigma = np.minimum(1, results["cost"] / typical)
    np.testing.assert_allclose(results["relative_cost"], sigma)
    tradeoff = results["mean_test_score"] - 0.3 * sigma
    np.testing.assert_allclose(results["tradeoff_score"], tradeoff)
    assert results["rank_tradeoff_score"][np.argmax(tradeoff)] == 1
    assert search.best_index_ == np.argmax(tradeoff)
    rows = 50 * results["train_fraction"]
    x = results["param_x"].astype(float)
    np.testing.assert_allclose(results["cost"], rows * (0.1 + x))
    assert "param_train_size" not in results
    assert all(set(params) == {"x"} for params in results["params"])


@pytest.mark.parametrize("cost", COSTS)
def test_named_costs_are_finite_and_not_negative(cost):
    search = search_of(TREE, {"max_depth": [1, 5]}, cost=cost, n_iter=2).fit(*IRIS)
    costs = search.cv_results_["cost"]
    assert np.all(costs >= 0) and np.all(np.isfinite(costs))
    if cost == "score_time":
        times = [fold.score_time for fold in search.trials_[1].folds]
        assert costs[1] == np.mean(times)


def test_the_first_fit_of_its_kind_is_marked():
    # The class of the second pipeline is known, but not that of its step.
    for wrap in (make_pipeline, make_pipeline, lambda model: model):
        model = wrap(type("new", (Priced,), {})())
        space = {k: (0.0, 1.0) for k in model.get_params() if k.endswith("x")}
        search = search_of(model, space, n_iter=3).fit(X, y)
        folds = [fold for trial in search.trials_ for fold in trial.folds]
        assert [fold.extras["warm_up"] for fold in folds] == [True] + [False] * 5
    # The trial's cost is the cost of its other fold.
    first = search.trials_[0].folds
    assert search.cv_results_["cost"][0] == first[1].extras["costs"]["fit_time"]


def test_an_unmeasured_cost_is_nan_and_never_chosen(fits_here):
    def sometimes(estimator):
        if estimator.x > 0.5:
            raise ValueError("unknown")
        return 1.0

    with pytest.warns(UserWarning, match="Measuring 'cost' failed"):
        search = make(cost=sometimes, n_iter=6).fit(X, y)
    results = search.cv_results_
    unknown = np.isnan(results["cost"])
    assert unknown.any()
    np.testing.assert_array_equal(np.isnan(results["tradeoff_score"]), unknown)
    assert search.best_params_["x"] <= 0.5
    with pytest.raises(ValueError, match="unknown"):
        make(cost=sometimes, error_score="raise").fit(X, y)
    fails = pytest.raises(ValueError, match="both a score and a cost within trial_limi")
    with pytest.warns(UserWarning, match="Measuring"), fails:
        make(cost=lambda e: e.nothing, trial_limits={"time": 600}).fit(X, y)
    with pytest.raises(ValueError, match="cost must be 0 or more, got -1.0"):
        make(cost=lambda estimator: -1.0).fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bad", [-1.0, 3.0])
def test_fits_that_fail_or_have_no_cost_become_rare(seed, bad):
    def measured(model):
        return math.nan if model.fails_above == 3.0 else price(model)

    space = {**SPACE, "fails_above": [2.0, bad]}
    search = make(space, n_iter=20, random_state=seed, cost=measured).fit(X, y)
    failed = [trial.params["fails_above"] == bad for trial in search.trials_]
    assert any(failed) and sum(failed[8:]) < 4
    assert np.isnan(search.cv_results_["tradeoff_score"][failed]).all()
    assert search.best_params_["fails_above"] == 2.0


def test_the_curve_says_what_each_tradeoff_chooses(search):
    curve, results = search.tradeoff_curve_, search.cv_results_
    bounds = [*curve["tradeoff_from"], np.inf]
    assert bounds[0] == 0.0 and bounds[1:] == list(curve["tradeoff_to"])
    for alpha in np.linspace(0, 3, 61):
        values = results["mean_test_score"] - alpha * results["relative_cost"]
        inside = (curve["tradeoff_from"] <= alpha) & (alpha <= curve["tradeoff_to"])
        rows = curve["trial"][inside]
        np.testing.assert_allclose(values[rows], values.max(), atol=1e-12)
    assert curve["score"].is_monotonic_decreasing
    assert curve["relative_cost"].is_monotonic_decreasing
    assert list(curve["param_x"]) == list(results["param_x"][curve["trial"]])


def test_select_refits_the_best_trial_for_another_tradeoff(search):
    chosen = clone(search).fit(X, y)
    for alpha in (0.0, 0.1, 5.0):
        chosen.select(alpha, X, y)
        results = chosen.cv_results_
        values = results["mean_test_score"] - alpha * results["relative_cost"]
        assert chosen.best_index_ == np.argmax(values)
        assert chosen.best_params_ == results["params"][chosen.best_index_]
        assert chosen.best_score_ == results["mean_test_score"][chosen.best_index_]
        assert chosen.best_cost_ == results["cost"][chosen.best_index_]
        fraction = results["train_fraction"][chosen.best_index_]
        assert chosen.best_train_fraction_ == fraction
        assert len(chosen.best_estimator_.rows_) == round(fraction * N)
        assert chosen.best_estimator_.x == chosen.best_params_["x"]
    with pytest.raises(ValueError, match="0 or more"):
        chosen.select(-0.1, X, y)
    with pytest.raises(TypeError, match="a number"):
        chosen.select("most", X, y)
    with pytest.raises(NotFittedError):
        make().select(0.5, X, y)


def test_another_selection_has_no_fold_of_the_first():
    params = {"cost": "model_size", "n_iter": 5, "return_folds": ["all", "predict"]}
    selected = search_of(TREE, {"max_depth": [1, 2, 3]}, **params).fit(*IRIS)
    first = set(vars(selected))
    selected.select(1.0, *IRIS)
    assert first - set(vars(selected)) == {"oof_predictions_"}


def test_the_refit_takes_the_selected_fraction_of_all_rows(search):
    cheap, again = (make(tradeoff=3.0, n_iter=6).fit(X, y) for _ in range(2))
    fraction = cheap.best_train_fraction_
    assert fraction < 1
    rows = cheap.best_estimator_.rows_
    assert len(rows) == round(fraction * N)
    assert set(np.bincount(y[rows])) == {len(rows) // 2}  # stratified
    np.testing.assert_array_equal(rows, again.best_estimator_.rows_)
    fitted = make(train_sizes=[10, 20, 50], tradeoff=3.0, n_iter=6).fit(X, y)
    assert set(fitted.cv_results_["train_fraction"]) <= {0.2, 0.4, 1.0}
    assert fitted.train_fractions_ == [0.2, 0.4, 1.0]
    assert len(fitted.best_estimator_.rows_) == fitted.best_train_fraction_ * 50


def test_refit_keeps_groups_whole_and_cuts_weights():
    groups = np.arange(N) // 10
    params = {"groups": groups, "sample_weight": np.arange(N, dtype=float)}
    search = make(tradeoff=3.0, cv=GroupKFold(2)).fit(X, y, **params)
    fitted = search.best_estimator_
    assert len(fitted.rows_) < N
    np.testing.assert_array_equal(fitted.weight_, fitted.rows_)
    assert set(np.bincount(groups[fitted.rows_], minlength=10)) == {0, 10}
    search.select(3.0, X, y, **params)
    np.testing.assert_array_equal(search.best_estimator_.rows_, fitted.rows_)


def test_one_size_is_the_plain_search():
    search = make(train_sizes=[1.0], tradeoff=0.0, n_iter=2).fit(X, y)
    plain = small_search(Priced(), SPACE, initial_points=3).fit(X, y)
    # The same except for a constant column.
    assert search.cv_results_["param_x"][0] == plain.cv_results_["param_x"][0]
    assert search.best_train_fraction_ == 1.0
    assert len(search.best_estimator_.rows_) == N


def test_scores_outside_of_0_and_1_are_refused():
    tree, space = DecisionTreeClassifier(max_leaf_nodes=4), {"max_depth": [1, 2]}
    search = search_of(tree, space, scoring="neg_log_loss", n_iter=4)
    with pytest.raises(ValueError, match="score_range"):
        search.fit(*IRIS)
    results = search.set_params(score_range=(-20.0, 0.0)).fit(*IRIS).cv_results_
    expected = 1 + results["mean_test_score"] / 20 - 0.5 * results["relative_cost"]
    np.testing.assert_allclose(results["tradeoff_score"], expected)


def test_the_metric_of_refit_determines_the_tradeoff():
    params = {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro", "n_iter": 6}
    search = search_of(TREE, {"max_depth": [1, 2, 3]}, cost="model_size", **params)
    results = search.fit(*IRIS).cv_results_
    tradeoff = results["mean_test_f1_macro"] - 0.5 * results["relative_cost"]
    assert search.best_index_ == np.argmax(tradeoff)
    assert search.best_score_ == results["mean_test_f1_macro"][search.best_index_]
    assert "rank_test_accuracy" in results and "mean_test_cost" not in results


def test_refit_by_a_callable_and_none():
    search = make(refit=lambda results: 2, n_iter=5).fit(X, y)
    assert search.best_index_ == 2
    assert len(search.best_estimator_.rows_) == round(search.best_train_fraction_ * N)
    search.set_params(refit=False).fit(X, y)
    assert not hasattr(search, "best_estimator_")
    assert search.best_train_fraction_ in SIZES
    assert not hasattr(search, "best_score_corrected_")


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        ({"tradeoff": -0.1}, ValueError, "'tradeoff'"),
        ({"train_sizes": []}, ValueError, "train_sizes"),
        ({"train_sizes": [0.5, 10]}, ValueError, "either fractions or numbers of rows"),
        ({"train_sizes": [0.5, 0.5]}, ValueError, "has duplicates"),
        ({"train_sizes": ["half"]}, TypeError, "train_sizes must be"),
        ({"train_sizes": [0.001, 1.0]}, ValueError, "train_sizes: .*Use at least"),
        ({"cost": Priced}, TypeError, "cost must be one of"),
        ({"error_score": -1.0}, ValueError, "error_score: A score of -1 is not"),
        ({"score_range": (1.0, 0.0)}, ValueError, "low < high"),
        ({"score_range": (0.0,)}, ValueError, "score_range must be a pair"),
        ({"surrogate": ("gp", "ei")}, ValueError, "'ei' is not an acquisition"),
        ({"surrogate": "tpe"}, ValueError, "'tpe' does not predict scores"),
        ({"space": {"train_size": [1, 2]}}, ValueError, "must not contain 'train_size"),
        ({"space": {"z": [1, 2]}}, ValueError, "search_spaces names 'z'"),
        ({"surrogate": ParzenEstimator()}, ValueError, "surrogate"),
    ],
)
def test_mistakes_are_named_before_any_fit(arguments, error, match, no_trials):
    with pytest.raises(error, match=match):
        make(**arguments).fit(X, y)


def test_a_warm_start_tries_the_best_first(search, tmp_path):
    warm = make(n_iter=2, warm_start_from=search).fit(X, y)
    best = search.trials_[int(np.argmax(search.cv_results_["mean_test_score"]))]
    assert _tried(warm)[0][:2] == (best.params, best.fidelity.train_fraction)
    data = warm.optimizer_._observations()
    np.testing.assert_allclose(data.costs[:14], search.cv_results_["cost"])

    with pytest.warns(UserWarning, match=r"of 14 known configurations are ignored"):
        make({"x": (0.0, 0.5)}, n_iter=1, warm_start_from=search).fit(X, y)

    path = tmp_path / "search.db"
    make(n_iter=6, journal=path, cost="model_size").fit(X, y)
    with pytest.raises(ValueError, match="train_sizes"):
        make(journal=path, cost="model_size", train_sizes=[0.5, 1.0]).fit(X, y)
    for cost, n_known in (("model_size", 7), ("fit_time", 1), (price, 1)):
        warm = make(n_iter=1, warm_start_from=path, cost=cost).fit(X, y)
        assert np.isfinite(warm.optimizer_._observations().costs).sum() == n_known
    other = make(n_iter=1, warm_start_from=search, cost="model_size").fit(X, y)
    assert np.isfinite(other.optimizer_._observations().costs).sum() == 1

    grid = GridSearchCV(Priced(), {"x": [0.2, 0.5, 0.8]}, cv=2).fit(X, y)
    from_grid = make(n_iter=4, warm_start_from=grid).fit(X, y)
    assert _tried(from_grid)[0][:2] == ({"x": 0.5}, 1.0)
    assert np.isnan(from_grid.optimizer_._observations().costs[:3]).all()


def test_an_extended_space_has_one_more_column():
    space, size = Space.from_notation([{"a": [1, 2]}, {"b": [3]}]), Ordinal([0.5, 1.0])
    wider = space.extended("size", size)
    assert wider.parameter_names == ["a", "b", "size"]
    assert space.parameter_names == ["a", "b"]
    params = [{"a": 1, "size": 0.5}]
    assert wider.decode(wider.encode(params)) == params
    assert wider.n_configurations == 6
    with pytest.raises(ValueError, match="'a' is declared twice"):
        space.extended("a", size)


def test_the_cheaper_of_equal_scores_is_chosen_for_every_tradeoff():
    # The same tree at three sizes that are made up: all have the same score.
    alphas = [0.0, 1e-9, 2e-9]
    params = {"cost": lambda tree: 3.0 - 1e9 * tree.ccp_alpha, "n_iter": 3}
    params |= {"initial_points": [{"ccp_alpha": alpha} for alpha in alphas]}
    params |= {"train_sizes": [1.0], "tradeoff": 0.0}
    search = search_of(TREE, {"ccp_alpha": alphas}, **params).fit(*IRIS)
    assert len(set(search.cv_results_["mean_test_score"])) == 1
    assert search.best_params_["ccp_alpha"] == 2e-9
    best = search.best_index_
    assert list(search.tradeoff_curve_["trial"]) == [best]
    assert search.select(0.0, *IRIS).best_index_ == best
