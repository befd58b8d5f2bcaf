"""Partial dependence compared with explicit averages, and its displays."""

import itertools

import drawn_searches as drawn
import matplotlib.pyplot as plt
import numpy as np
import pytest
from priced_classifier import Priced, price
from sklearn.naive_bayes import GaussianNB

from skbayes import BayesSearchCV, Optimizer, TradeoffSearchCV
from skbayes.inspection import PartialDependenceDisplay
from skbayes.inspection.dependence import (
    BackgroundSample,
    dependences,
    marginal,
    score_model,
    space_of_values,
)
from skbayes.space import Choice, Space
from skbayes.surrogates import GaussianProcess
from skbayes.surrogates.surrogate import winsorize_low
from skbayes.trial.records import History

GRID = {"a": [1, 2, 4, 8], "b": ["x", "y", "z"], "c": [0.1, 0.2]}
TREE = {
    "a": [1, 2, 3],
    "kind": Choice({"u": {"c": [0.1, 1.0]}, "v": {"d": ["x", "y", "z"]}, "w": {}}),
}
SURROGATES = ["gp", "gp-additive", "gp-rbf", "graph", "trees"]


def score(params):
    return 0.1 * params["a"] + {"x": 0.0, "y": 0.3}.get(params.get("b"), 0.1)


def history_of(space, n, value=score):
    optimizer = Optimizer(space, surrogate="random", random_state=0)
    rows = [optimizer.ask() for _ in range(n)]
    return History(drawn.trial(i, value(row), row) for i, row in enumerate(rows))


def mean_over(model, rows):
    """Return the mean of the predictions for configurations."""
    return model.surrogate.predict(model.space.encode(rows))[0].mean()


def every(space, **fixed):
    """Return all configurations of a space without conditions, some values fixed."""
    names = sorted(space)
    rows = [
        dict(zip(names, v, strict=True))
        for v in itertools.product(*[space[name] for name in names])
    ]
    return [row for row in rows if all(row[k] == v for k, v in fixed.items())]


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_the_dependence_is_the_mean_over_all_others(surrogate):
    model = score_model(history_of(GRID, 15), surrogate=surrogate, search_spaces=GRID)
    single, pair = dependences(model, ["b", ("a", "c")])
    expected = [mean_over(model, every(GRID, b=b)) for b in GRID["b"]]
    np.testing.assert_allclose(single.mean, expected)
    expected = [
        [mean_over(model, every(GRID, a=a, c=c)) for c in GRID["c"]] for a in GRID["a"]
    ]
    np.testing.assert_allclose(pair.mean, expected)


def test_uncertainty_is_that_of_the_mean_by_draws_from_the_process():
    """The averages of joint draws have the variance of the band."""
    model = score_model(
        history_of(GRID, 12), surrogate=GaussianProcess(n_samples=0), search_spaces=GRID
    )
    (single,) = dependences(model, ["a"])
    X = model.space.encode(every(GRID))
    n = len(X)
    C = np.empty((n, n))
    sds = model.surrogate.predict(X)[1][0]
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        _, sd = model.surrogate.average(X[[i, j]], np.full(2, 0.5))
        C[i, j] = C[j, i] = 2.0 * sd[0] ** 2 - 0.5 * (sds[i] ** 2 + sds[j] ** 2)
    L = np.linalg.cholesky(C + 1e-9 * np.trace(C) / n * np.eye(n))
    draws = L @ np.random.default_rng(0).standard_normal((n, 20_000))
    for i, a in enumerate(GRID["a"]):
        alike = [k for k, row in enumerate(every(GRID)) if row["a"] == a]
        assert single.sd[i] == pytest.approx(draws[alike].mean(axis=0).std(), rel=0.03)
        # It is less than the standard deviations of single values.
        assert single.sd[i] < np.mean(sds[alike])


def test_samples_of_hyper_parameters_add_their_disagreement():
    class TwoMinds:
        def average(self, X, weights):
            return np.array([1.0, 3.0]), np.array([0.5, 0.5])

    space = Space.from_notation({"a": [1, 2]})
    mean, sd = marginal(TwoMinds(), BackgroundSample(space), (0,), [np.array([0.0])])
    assert (mean[0], sd[0]) == pytest.approx((2.0, np.sqrt(0.25 + 1.0)))


def test_only_configurations_in_which_the_parameter_exists_count():
    history = history_of(TREE, 12, lambda row: row["a"] + row.get("c", 5.0))
    model = score_model(history, search_spaces=TREE)
    (c, a) = dependences(model, ["c", "a"])
    for i, value in enumerate([0.1, 1.0]):
        rows = [{"a": a, "kind": "u", "c": value} for a in (1, 2, 3)]
        assert c.mean[i] == pytest.approx(mean_over(model, rows))
    # All options are equally likely, regardless of their sub-spaces.
    kinds = (
        [{"kind": "u", "c": c} for c in (0.1, 1.0)],
        [{"kind": "v", "d": d} for d in "xyz"],
        [{"kind": "w"}],
    )
    for i, value in enumerate([1, 2, 3]):
        means = [
            mean_over(model, [{"a": value} | row for row in kind]) for kind in kinds
        ]
        assert a.mean[i] == pytest.approx(np.mean(means))


def test_pairs_that_have_no_plot_are_refused():
    model = score_model(history_of(TREE, 12), search_spaces=TREE)
    with pytest.raises(ValueError, match="'c' and 'd' never occur"):
        dependences(model, [("c", "d")])
    with pytest.raises(ValueError, match="params: a pair needs ranges .*'kind' has"):
        dependences(model, [("kind", "c")])


def sample_of(notation, n_averaged=128, **kwargs):
    """Return the function that draws the other values, and their weights."""
    space = Space.from_notation(notation, **kwargs)
    return BackgroundSample(space, n_averaged=n_averaged).of


def test_many_others_are_drawn_within_constraints_and_few_are_listed():
    space = {"a": [1, 2, 3], "b": (0.0, 1.0)}
    of = sample_of(space, constraint=lambda p: p["b"] < 0.5 or p["a"] == 3)
    X, _ = of((0,), [0.0])
    assert len(X) == 128 and X[:, 1].max() < 0.5
    assert of((0,), [1.0])[0][:, 1].max() > 0.9
    of = sample_of({"a": [1, 2], "b": (1, 1000), "c": (0.0, 1.0)}, n_averaged=64)
    X, weights = of((0,), [1.0])
    assert X.shape == (64, 3) and weights.sum() == pytest.approx(1.0)
    assert abs(X[:, 2].mean() - 0.5) < 0.02
    assert len(sample_of(GRID)((1,), [0.5])[0]) == 8
    # Each value is combined with the same other values.
    others = sample_of({"a": (0.0, 1.0), "b": (0.0, 1.0)})
    first, second = (others((0,), [value])[0] for value in (0.2, 0.9))
    np.testing.assert_array_equal(first[:, 1], second[:, 1])
    # Rare conditions are found.
    deep = {"p": Choice({i: ({"q": (0.0, 1.0)} if i == 7 else {}) for i in range(40)})}
    X, _ = sample_of(deep | {"r": (0.0, 1.0)}, n_averaged=32)((1,), [0.5])
    assert len(X) == 32 and not np.isnan(X[:, 1]).any()


def test_a_search_shows_its_own_model():
    search = drawn.search("metrics")
    model = score_model(search)
    rows = [{"C": 0.1}]
    mean, _ = model.surrogate.predict(model.space.encode(rows))
    assert mean.mean() == pytest.approx(search.optimizer_.predict(rows)[0][0])
    # A loss is shown as a positive value.
    assert (model.unit, model.offset) == (-1.0, 0.0)
    (one,) = dependences(model, ["C"])
    assert one.mean.min() > 0 and "lower is better" in model.record.label


def test_scores_of_a_tradeoff_are_shown_in_their_unit():
    spaces = {"var_smoothing": (1e-9, 1.0, "log-uniform")}
    options = {"scoring": "neg_log_loss", "score_range": (-4.0, 0.0), "random_state": 0}
    search = TradeoffSearchCV(
        GaussianNB(), spaces, cost="model_size", n_iter=6, cv=2, **options
    ).fit(drawn.X, drawn.y)
    model = score_model(search)
    by_name = {one.names[0]: one for one in dependences(model)}
    assert set(by_name) == {"train_size", "var_smoothing"}
    low, high = -search.cv_results_["mean_test_score"][0] + [-0.3, 0.3]
    assert low < by_name["train_size"].mean.mean() < high
    # Its scores are between 0 and 1; a new model is fitted to other scores.
    assert (model.unit, model.offset) == (-4.0, 4.0)
    mean, _ = model.surrogate.predict(model.space.encode(model.params))
    scores = model.unit * mean.mean(axis=0) + model.offset
    np.testing.assert_allclose(scores, model.record.shown, atol=0.5)


@pytest.mark.parametrize("kind", ["tpe", "pareto", "history"])
def test_without_a_model_of_the_score_one_is_fitted(kind):
    if kind == "tpe":
        source = BayesSearchCV(GaussianNB(), {"var_smoothing": (0.0, 1.0)}, n_iter=6)
        source.set_params(surrogate="tpe", cv=2).fit(drawn.X, drawn.y)
    else:
        source = drawn.search("pareto")
        source = source.trials_ if kind == "history" else source
    model = score_model(source)
    assert isinstance(model.surrogate, GaussianProcess)
    assert len(dependences(model)) == 1


def test_failures_count_as_the_worst_and_smaller_samples_do_not_count():
    trials = [drawn.trial(a, float(a), {"a": a}) for a in (1, 2, 3, 4)]
    trials.append(drawn.trial(5, None, {"a": 5}))
    trials.append(drawn.trial(6, 99.0, {"a": 5}, train_fraction=0.5))
    model = score_model(History(trials), search_spaces={"a": [1, 2, 3, 4, 5]})
    assert len(model.params) == 5
    (one,) = dependences(model, ["a"])
    assert one.mean[4] < 3.0
    # One trial is enough, and none is not.
    model = score_model(History(trials[:1]), search_spaces={"a": [1, 2]})
    np.testing.assert_allclose(dependences(model, ["a"])[0].mean, 1.0)
    failed = History(trials[4:5])
    with pytest.raises(ValueError, match="No trial has a score"):
        score_model(failed, search_spaces={"a": [1, 5]})
    empty = PartialDependenceDisplay.from_history(failed, search_spaces={"a": [1, 5]})
    assert empty.dependences == [] and len(empty.ax_.texts) == 1
    with pytest.raises(ValueError, match="search_spaces must be given"):
        space_of_values([{"a": 1}, {"b": 2}])


def floor_of(scores):
    return np.min(winsorize_low(np.array(scores)))


def test_the_picture_says_which_scores_were_raised():
    scores = [0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.2]
    trials = [drawn.trial(i, score, {"a": i}) for i, score in enumerate(scores)]
    display = PartialDependenceDisplay.from_history(History(trials), resolution=4)
    assert display.floor == pytest.approx(floor_of(scores))
    assert f"below {display.floor:.4g} count as" in display.ax_.get_title(loc="left")
    plain = GaussianProcess(winsorize_scores=False)
    assert score_model(History(trials), surrogate=plain).floor is None
    assert score_model(History(trials[:-1])).floor is None
    # Failures count as in the search.
    trials += [drawn.trial(i, None, {"a": i}) for i in range(7, 11)]
    floor = floor_of([*scores, *[0.2] * 4])
    assert floor < display.floor - 0.05
    assert score_model(History(trials)).floor == pytest.approx(floor)


def test_the_floor_of_the_plot_includes_pruned_trials():
    # The trials are given, so that no rounding decides which of them are pruned.
    points = [{"x": x} for x in (0.6, 0.59, 0.62, 0.57, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0)]
    options = {"n_iter": 10, "initial_points": points, "cv": 5, "pruning": True}
    search = BayesSearchCV(Priced(), {"x": (0.0, 1.0)}, **options)
    trials = search.fit(np.arange(60.0)[:, None], np.arange(60) % 2).trials_
    complete, learned = (
        [one.score for one in trials if one.state in states]
        for states in (["complete"], ["complete", "pruned"])
    )
    # Few complete trials are as bad as the pruned trials.
    assert len(learned) == 10 and floor_of(complete) > floor_of(learned) + 0.01
    assert score_model(search).floor == pytest.approx(floor_of(learned))


def test_the_floor_is_on_the_scale_that_is_shown():
    options = {"n_iter": 12, "cv": 3, "random_state": 0, "tradeoff": 0.0}
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    options["score_range"] = (-3.0, 2.0)
    search = TradeoffSearchCV(Priced(), {"x": (0.0, 1.0)}, cost=price, **options)
    model = score_model(search.fit(X, y))
    scores = [one.score for one in search.trials_]
    assert model.floor == pytest.approx(floor_of(scores)) and model.floor > min(scores)


def test_artists_hold_the_numbers():
    display = PartialDependenceDisplay.from_search(
        drawn.search("bayes"), ["C", "shrinking"], resolution=6
    )
    line, options = display.dependences
    assert len(line.mean) == 6 and len(options.mean) == 2
    np.testing.assert_allclose(display.lines_[0].get_ydata(), line.mean)
    np.testing.assert_allclose(display.lines_[0].get_xdata(), line.values[0])
    assert display.axes_[0].get_xscale() == "log"
    top = display.bands_[0].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(np.max(line.mean + 2 * line.sd))
    np.testing.assert_allclose(display.lines_[1].get_xdata(), [0, 1])
    assert display.contours_ == [None, None]
    assert display.ax_.figure is display.figure_
    _, axes = plt.subplots(1, 2)
    assert list(display.plot(ax=axes).axes_) == list(axes)


def test_smooth_pairs_are_contours():
    space = {"x": (0.0, 1.0), "y": (1e-3, 1e3, "log-uniform")}
    history = history_of(space, 8, lambda row: row["x"] - np.log10(row["y"]) ** 2)
    # Few values are shown as tiles.
    smooth, tiles = (
        PartialDependenceDisplay.from_history(
            history, [("x", "y")], search_spaces=space, resolution=resolution
        )
        for resolution in (8, 3)
    )
    assert type(smooth.contours_[0]).__name__ == "QuadContourSet"
    assert smooth.lines_ == [None] and smooth.ax_.get_yscale() == "log"
    values = np.ravel(tiles.contours_[0].get_array())
    np.testing.assert_allclose(values, tiles.dependences[0].mean.T.ravel())


def test_many_parameters_show_those_that_matter():
    space = {f"p{i:02}": (0.0, 1.0) for i in range(15)}
    history = history_of(space, 12, lambda row: row["p03"])
    displayed = dependences(score_model(history, search_spaces=space), resolution=4)
    assert len(displayed) == 12 and "p03" in {one.names[0] for one in displayed}


@pytest.mark.parametrize(
    "options",
    [
        ["fn", "fn2", "mean", "a_long_function_of_mine"],
        [f"option {k}" for k in range(9)],
        ["rbf", "poly", "linear"],
    ],
)
def test_names_of_options_do_not_lie_on_each_other(options):
    trials = [
        drawn.trial(k, 0.1 * k, {"a": k, "b": k, "c": option})
        for k, option in enumerate(options)
    ]
    display = PartialDependenceDisplay.from_history(History(trials))
    display.figure_.canvas.draw()
    (panel,) = [ax for ax in display.axes_ if ax.get_xlabel() == "c"]
    texts = panel.get_xticklabels()
    assert len(texts) == len(options)
    if texts[0].get_rotation():
        # Rotated labels end at their marks.
        assert {text.get_ha() for text in texts} == {"right"}
        return
    boxes = [text.get_window_extent() for text in texts]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
