"""HyperTuneSearchCV: its two parts, its messages, and its interface."""

import numpy as np
import pytest
from endings import kill_after, raises_after
from every_search import small_search
from simple_estimators import Growing
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes import HyperTuneSearchCV
from skbayes.space import Space
from skbayes.surrogates import MonotonicGP

X, y = load_iris(return_X_y=True)
SPACE = {"quality": (0.0, 1.0), "other": (0.0, 1.0)}
UP = {"quality": 1}


def make(**kwargs):
    params = {"complexity": UP, "n_iter": 21, "n_subsets": 3, "n_small_iter": 5}
    params |= {"subset_fraction": 0.35, "cv": 3, "random_state": 2}
    return HyperTuneSearchCV(Growing(), SPACE, **(params | kwargs))


@pytest.fixture(scope="module")
def search():
    return make().fit(X, y)


def summary(fitted):
    return [
        (t.fidelity.stage, t.fidelity.subset, t.params, t.score) for t in fitted.trials_
    ]


def test_small_samples_take_turns_and_count(search):
    results = search.cv_results_
    assert len(results["params"]) == search.n_iter == 21
    np.testing.assert_array_equal(results["stage"], [0] * 15 + [1] * 6)
    np.testing.assert_array_equal(results["subset"], [0, 1, 2] * 5 + [-1] * 6)
    np.testing.assert_array_equal(results["train_fraction"], [0.35] * 15 + [1.0] * 6)
    assert search.stop_reason_ == "n_iter"


def test_the_small_optimum_is_tried_first_on_all_data(search):
    assert search.trials_[15].params == search.small_optimum_
    best = [max(search.trials_[n:15:3], key=lambda t: t.score) for n in range(3)]
    assert search.small_optima_ == [trial.params for trial in best]
    # The best quality grows with the rows: about 0.3 for 35 and 0.85 for 100 rows.
    assert search.small_optimum_["quality"] < 0.5 < search.best_params_["quality"]
    # The surrogate assumes the signs between the simple end and this optimum.
    assert search.signs_ == UP
    model = search.optimizer_.surrogate
    points = search.optimizer_.space.decode(model.sign_points)
    assert isinstance(model, MonotonicGP) and len(points) == 10
    largest = max(point["quality"] for point in points)
    assert 0 < largest <= search.small_optimum_["quality"]
    assert max(point["other"] for point in points) > 0.8
    assert np.unique(model.signs, axis=0).tolist() == [[0.0, 1.0]]  # other, quality


def test_the_best_is_one_of_those_on_all_data(search):
    results = search.cv_results_
    # The score on a small sample may be higher, but is not comparable with all data.
    assert search.best_index_ >= 15
    assert search.best_score_ == results["mean_test_score"][15:].max()
    ranks = results["rank_test_score"]
    assert sorted(ranks[15:]) == [1, 2, 3, 4, 5, 6] and set(ranks[:15]) == {7}
    assert search.best_estimator_.n_rows_ == 150


def test_nested_parts_have_signs():
    smooth = (1e-3, 1e3, "log-uniform")
    space = {"svc__C": smooth, "svc__gamma": smooth, "svc__shrinking": [True, False]}
    pipeline = make_pipeline(StandardScaler(), SVC())
    params = {"n_iter": 9, "n_subsets": 2, "n_small_iter": 3, "random_state": 0}
    search = HyperTuneSearchCV(pipeline, space, cv=2, **params).fit(X, y)
    assert search.signs_ == {"svc__C": 1, "svc__gamma": 1}
    assert search.small_optimum_.keys() == space.keys()
    assert sum(search.cv_results_["stage"] == 0) == 6


@pytest.mark.parametrize(
    ("n_rows", "fraction", "expected"),
    # Ten rows for each of three classes, but at most half of the rows to train on.
    [(150, 0.1, 0.3), (150, 0.4, 0.4), (45, 0.35, 0.5)],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_sample_has_ten_rows_for_each_class(n_rows, fraction, expected):
    rows = np.linspace(0, 149, n_rows).astype(int)
    search = make(subset_fraction=fraction, n_iter=4, n_small_iter=1, refit=False)
    search.fit(X[rows], y[rows])
    fractions = search.cv_results_["train_fraction"][:3]
    np.testing.assert_allclose(fractions, expected)


@pytest.mark.parametrize(
    ("n_iter", "n_small"), [(200, 75), (50, 35), (20, 15), (12, 0)]
)
def test_small_samples_have_at_most_three_quarters_of_the_trials(n_iter, n_small):
    search = HyperTuneSearchCV(Growing(), SPACE, complexity=UP, n_iter=n_iter)
    space = Space.from_notation(SPACE)
    stages = search._ladder(search._settings(), space, None, y).stages
    assert sum(stage.n_trials for stage in stages) == n_iter
    assert sum(stage.n_trials for stage in stages[:-1]) == n_small


@pytest.mark.parametrize(("initial_points", "n"), [("default", 3), (4, 4)])
def test_the_first_of_each_small_sample_do_not_depend_on_scores(initial_points, n):
    options = {"n_iter": 13, "n_subsets": 2, "n_small_iter": 6, "cv": 2}
    runs = [
        make(initial_points=initial_points, scoring=scoring, refit=False, **options)
        for scoring in (None, lambda model, X, y: (model.quality - 0.1) ** 2)
    ]
    for run in runs:
        run.set_params(search_spaces=SPACE | {"bad": [None, "no", "never", "not"]})
    runs = [[trial.params for trial in run.fit(X, y).trials_] for run in runs]
    are_equal = [one == other for one, other in zip(*runs, strict=True)]
    assert are_equal[:12] == [True] * 2 * n + [False] * 2 * (6 - n)


@pytest.mark.parametrize("complexity", [None, {"quality": 0}])
def test_without_signs_the_trials_are_those_of_bayes_search(complexity):
    ours = make(complexity=complexity, n_iter=8).fit(X, y)
    plain = small_search(Growing(), SPACE, n_iter=8, cv=3, random_state=2).fit(X, y)
    assert [t.params for t in ours.trials_] == [t.params for t in plain.trials_]
    assert ours.small_optimum_ is None and ours.small_optima_ == []
    np.testing.assert_array_equal(ours.cv_results_["stage"], [1] * 8)
    np.testing.assert_array_equal(ours.cv_results_["subset"], [-1] * 8)


def test_unknown_signs_get_a_warning_and_small_spaces_no_samples():
    with pytest.warns(UserWarning, match="complexity='auto' finds no sign"):
        make(complexity="auto", n_iter=3).fit(X, y)
    space = {"quality": [0.1, 0.5, 0.9], "other": [0.0, 1.0]}
    search = make(n_iter=20).set_params(search_spaces=space).fit(X, y)
    assert len(search.trials_) == 6 and search.small_optimum_ is None
    # Constant scores do not change the signs.
    space = {"strategy": ["prior", "stratified"], "constant": (0, 1_000_000)}
    params = {"complexity": {"constant": 1}, "n_iter": 12, "n_subsets": 2, "cv": 2}
    search = HyperTuneSearchCV(DummyClassifier(random_state=0), space, **params)
    assert len(search.set_params(random_state=0).fit(X, y).trials_) == 12


def test_warm_starts_apply_to_the_search_on_all_data(search):
    with pytest.warns(UserWarning, match="15 without a comparable score"):
        warm = make(warm_start_from=search, n_iter=19).fit(X, y)
    # Small samples are searched as without it; then the best known configuration comes
    # first.
    assert summary(warm)[:15] == summary(search)[:15]
    assert warm.trials_[15].params == warm.small_optimum_
    assert warm.trials_[16].params == search.best_params_


def test_a_callable_refit_may_not_choose_a_small_sample():
    with pytest.raises(ValueError, match="row 2, a trial on a small sample"):
        make(refit=lambda results: 2, n_iter=16).fit(X, y)
    chosen = make(refit=lambda results: 15, n_iter=16).fit(X, y)
    assert chosen.best_index_ == 15


def test_an_interrupt_on_small_samples_gets_a_warning():
    with pytest.warns(UserWarning) as caught:
        search = make(stopper=raises_after(4)).fit(X, y)
    messages = [str(one.message) for one in caught]
    assert any("No trial on all data has a score" in one for one in messages)
    assert len(search.trials_) == 4 and search.small_optimum_ is None


@pytest.mark.parametrize("constraints", [None, {"fit_time": "<= 1000"}])
@pytest.mark.parametrize("part", ["a small sample", "all data"])
def test_a_part_of_the_search_may_fail(part, constraints):
    class FailsOnPart(Growing):
        def fit(self, X, y):
            if (len(X) < 60) == (part == "a small sample"):
                raise RuntimeError("wrong number of rows")
            return super().fit(X, y)

    changes = {"estimator": FailsOnPart(), "constraints": constraints, "refit": False}
    search = make(n_iter=4, n_subsets=2, n_small_iter=1, cv=2).set_params(**changes)
    with pytest.warns() as caught:
        search.fit(X, y)
    assert any(f"No trial on {part} has a score" in str(one.message) for one in caught)
    assert search.best_score_ == np.nanmax(search.cv_results_["mean_test_score"])


def test_trials_on_all_data_keep_their_stage_in_a_longer_run(tmp_path):
    params = {"n_small_iter": "auto", "journal": tmp_path / "search.db"}
    for n_iter in (2, 12):
        search = make(n_iter=n_iter, **params).fit(X, y)
    assert set(search.cv_results_["stage"]) == {1}


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_small_iter": 7}, "n_iter=21 leaves no trial on all data"),
        ({"complexity": {"nothing": 1}}, "names 'nothing'"),
        ({"complexity": {"quality": 3}}, "must be"),
        ({"subset_fraction": 0.0}, "subset_fraction"),
        ({"n_subsets": 0}, "n_subsets"),
        ({"surrogate": "tpe"}, "surrogate"),
        ({"surrogate": ("gp", "eif")}, "acquisition"),
    ],
)
def test_mistakes_are_named_before_any_fit(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make(**kwargs).fit(X, y)


def test_the_size_of_small_samples_is_that_of_the_splits_in_the_journal(tmp_path):
    rows = np.arange(0, 150, 3)

    def search(n_test, **kwargs):
        splits = iter([(rows[n_test:], rows[:n_test])])
        params = {"subset_fraction": 0.01, "n_iter": 8, "n_small_iter": 2, **kwargs}
        return make(cv=splits, journal=tmp_path / "search.db", **params)

    kill_after(1, search(5), X, y)
    fractions = search(20).fit(X, y).cv_results_["train_fraction"]
    assert len(set(fractions[:6])) == 1
