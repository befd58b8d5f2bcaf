"""MultiStageSearchCV: stages on subsets of the training rows."""

import pickle

import numpy as np
import pytest
from endings import raises_after
from every_search import small_search
from fake_clock import CLOCK, TakesTime
from grid_comparison import assert_same_tables
from scipy.stats import spearmanr
from simple_estimators import Sized
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from skbayes import BayesSearchCV, MultiStageSearchCV
from skbayes.space import Choice
from skbayes.stages.fidelity import MultiFidelity
from skbayes.stages.optimizers import StageFactory
from skbayes.surrogates import GaussianProcess, ParzenEstimator
from skbayes.surrogates.registry import registry
from skbayes.trial.settings import Settings

X, y = load_iris(return_X_y=True)
SPACE = {"C": (1e-2, 1e2, "log-uniform"), "kernel": ["rbf", "linear"]}
STAGE_COLUMNS = ("stage", "train_fraction")
LISTS = {"quality": [k / 24 for k in range(24)]}


def make(space=SPACE, estimator=None, **kwargs):
    arguments = {
        "stages": (0.3, 1.0),
        "n_iter": 12,
        "cv": 3,
        "random_state": 0,
    } | kwargs
    return MultiStageSearchCV(estimator or SVC(), space, **arguments)


def sized(**kwargs):
    return make({"quality": (0.0, 1.0)}, Sized(), **{"refit": False, **kwargs})


def of_stage(search, stage):
    return [trial for trial in search.trials_ if trial.fidelity.stage == stage]


@pytest.fixture(scope="module")
def fitted():
    return make().fit(X, y)


@pytest.mark.parametrize(
    "space, kwargs",
    [
        (SPACE, {"surrogate": "tpe", "pre_dispatch": 2, "initial_points": 5}),
        ({"C": [0.1, 1, 10]}, {"n_iter": 30, "initial_points": [{"C": 1}]}),
        (SPACE, {"pruning": True, "return_train_score": True}),
    ],
)
def test_one_stage_is_the_plain_search_trial_for_trial(space, kwargs):
    kwargs = {"initial_points": 3} | kwargs
    one = make(space, stages=(1.0,), **kwargs).fit(X, y)
    plain = small_search(SVC(), space, **{"n_iter": 12, "cv": 3} | kwargs).fit(X, y)
    table = {k: v for k, v in one.cv_results_.items() if k not in STAGE_COLUMNS}
    assert_same_tables(table, plain.cv_results_)
    assert one.best_params_ == plain.best_params_
    expected = [trial.expected_improvement for trial in plain.trials_]
    assert [trial.expected_improvement for trial in one.trials_] == expected
    if plain.stop_reason_ != "exhausted":
        assert one.optimizer_.ask() == plain.optimizer_.ask()
    assert len(one.stage_correlation_) == 0


@pytest.mark.parametrize(
    "n_iter, stages, n_iter_given, expected",
    [
        (20, (0.3, 1.0), None, [15, 5]),
        (12, (0.1, 0.3, 1.0), None, [5, 4, 3]),
        (3, (0.2, 0.3, 1.0), None, [1, 1, 1]),
        (5, (0.3,), None, [5]),
        (50, (20, 60, 1.0), (2, 3, 2), [2, 3, 2]),
    ],
)
def test_trials_by_stage(n_iter, stages, n_iter_given, expected):
    search = sized(n_iter=n_iter_given or n_iter, stages=stages).fit(X, y)
    table = search.all_cv_results_
    np.testing.assert_array_equal(np.bincount(table["stage"]), expected)
    n_rows = np.round(table["mean_test_score"] - 0.2)
    for stage, size in enumerate(stages):
        due = size if isinstance(size, int) else round(size * 100)
        assert set(n_rows[table["stage"] == stage]) == {due}
        assert search.train_fractions_[stage] == pytest.approx(due / 100)
    np.testing.assert_allclose(table["train_fraction"], n_rows / 100)


def test_a_stage_begins_with_the_best_of_the_one_before(fitted):
    best = sorted(of_stage(fitted, 0), key=lambda trial: -trial.score)[:3]
    assert [t.params for t in of_stage(fitted, 1)[:3]] == [t.params for t in best]
    fewer = make(n_promoted=1).fit(X, y)
    second = of_stage(fewer, 1)
    best = max(of_stage(fewer, 0), key=lambda trial: trial.score)
    assert second[0].params == best.params
    assert second[0].expected_improvement is None
    # One score is sufficient for the model.
    assert second[1].expected_improvement is not None


def test_results_are_those_of_the_last_stage(fitted):
    results, all_results = fitted.cv_results_, fitted.all_cv_results_
    assert len(results["params"]) == 3 and len(all_results["params"]) == 12
    assert set(results) - set(all_results) == {"rank_test_score"}
    assert set(all_results) < set(results)
    for key, column in all_results.items():
        np.testing.assert_array_equal(column[-3:], results[key], err_msg=key)
    assert np.isfinite(fitted.best_score_corrected_)
    assert len(fitted.trials_) == 12


def test_the_rule_of_the_paper_takes_the_best_of_all_stages():
    class Worse(Sized):
        def score(self, X, y, sample_weight=None):
            return self.quality - self.n_rows_ / 1000

    search = make({"quality": (0.0, 1.0)}, Worse(), best_of="all_stages").fit(X, y)
    assert len(search.cv_results_["params"]) == 12
    scores = search.cv_results_["mean_test_score"]
    assert search.best_index_ == np.argmax(scores)
    assert search.trials_[search.best_index_].fidelity.stage == 0
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1


def test_fold_results_of_the_winner_have_the_rows_of_its_stage():
    params = {"return_folds": ["estimators", "predict"], "n_iter": 4}
    search = make(**params).fit(X, y)
    assert [one.shape_fit_[0] for one in search.fold_estimators_] == [100] * 3
    assert np.mean(search.oof_predictions_ == y) == pytest.approx(search.best_score_)
    # A trial of an earlier stage is fitted again on its subset.
    early = make(best_of="all_stages", refit=lambda results: 0, **params).fit(X, y)
    assert [one.shape_fit_[0] for one in early.fold_estimators_] == [30] * 3


@pytest.mark.parametrize(
    "surrogate", [*registry, GaussianProcess(n_samples=0), ParzenEstimator()]
)
def test_every_surrogate_completes_both_stages(surrogate):
    options = {"surrogate": surrogate, "cv": 2, "pre_dispatch": 2}
    search = make(LISTS, Sized(), **options).fit(X, y)
    np.testing.assert_array_equal(np.bincount(search.all_cv_results_["stage"]), [9, 3])
    row = search.stage_correlation_.iloc[0]
    assert row["n_both"] >= 3
    has_model = surrogate not in ("random", "sobol", "tpe")
    has_model &= not isinstance(surrogate, ParzenEstimator)
    assert np.isfinite(row["model_correlation"]) == has_model
    again = pickle.loads(pickle.dumps(search))
    assert again.optimizer_.ask() == search.optimizer_.ask()
    # A model that takes a column uses earlier stages.
    is_mixed = isinstance(search.optimizer_.surrogate, MultiFidelity)
    assert is_mixed == (has_model and surrogate != "graph")
    if not is_mixed:
        with pytest.raises(ValueError, match="multi_fidelity"):
            search.set_params(multi_fidelity=True).fit(X, y)


def test_samples_never_split_a_group():
    groups = np.repeat(np.arange(30), 5)
    shuffled = np.random.default_rng(0).permutation(150)
    sizes = set()

    class Grouped(GaussianNB):
        def fit(self, X, y):
            sizes.update(np.unique(X[:, 0], return_counts=True)[1])
            return super().fit(X, y)

    with_groups = np.column_stack([groups, X])[shuffled]
    space = {"var_smoothing": (1e-9, 1e-3, "log-uniform")}
    search = make(space, Grouped(), cv=GroupKFold(3), n_iter=8, refit=False)
    search.fit(with_groups, y[shuffled], groups=groups[shuffled])
    assert sizes == {5}


def test_multi_fidelity_predicts_better_where_stages_agree():
    errors = {}
    for multi_fidelity in (False, True):
        search = sized(multi_fidelity=multi_fidelity, n_iter=14).fit(X, y)
        assert len(of_stage(search, 1)) == 4
        # Without it, the model of a stage only uses the stage's own trials.
        assert search.optimizer_.n_told == 4 or multi_fidelity
        grid = [{"quality": q} for q in np.linspace(0, 1, 20)]
        mean = search.optimizer_.predict(grid)[0]
        true = [100 + 0.4 * one["quality"] for one in grid]
        errors[multi_fidelity] = np.abs(mean - true).max()
    assert isinstance(search.optimizer_.surrogate, MultiFidelity)
    assert errors[True] < 0.5 * errors[False]


def five_each(**kwargs):
    return sized(**{"stages": (0.2, 1.0), "n_iter": [5, 5], **kwargs})


@pytest.mark.filterwarnings("ignore:best_score_ is the score on 3 of 3")
@pytest.mark.parametrize(
    "changes, stages, reason",
    [
        # A stopper sees the trials of a stage alone.
        ({"stopper": lambda trials: len(trials) == 3}, [0] * 3 + [1] * 3, "stopper"),
        (
            {"search_spaces": {"quality": [0.1, 0.2, 0.3]}},
            *([0] * 3 + [1] * 3, "exhausted"),
        ),
        ({"stopper": raises_after(4)}, [0] * 4, "interrupted"),
        ({"stopper": raises_after(7)}, [0] * 5 + [1] * 2, "interrupted"),
    ],
)
def test_whatever_ends_a_stage_there_is_a_best(changes, stages, reason, recwarn):
    search = five_each(refit=True).set_params(**changes).fit(X, y)
    assert [trial.fidelity.stage for trial in search.trials_] == stages
    assert search.stop_reason_ == reason
    messages = [str(warning.message) for warning in recwarn]
    assert any("interrupted" in m for m in messages) == (reason == "interrupted")
    results, last = search.cv_results_, max(stages)
    assert len(results["params"]) == stages.count(last)
    assert set(results["train_fraction"]) == {(0.2, 1.0)[last]}
    assert search.best_estimator_.n_rows_ == len(X)
    assert len(search.stage_correlation_) == last


def test_a_journal_keeps_the_ends_of_stages_and_all_trials(tmp_path):
    options = {"journal": tmp_path / "journal", "refit": True}
    five_each(stopper=lambda trials: True, **options).fit(X, y)
    search = five_each(**options).fit(X, y)
    assert [trial.fidelity.stage for trial in search.trials_] == [0] + [1] * 5
    with pytest.warns(UserWarning, match="interrupted"):
        again = five_each(stopper=raises_after(2), **options).fit(X, y)
    assert again.trials_ == search.trials_
    assert_same_tables(again.cv_results_, search.cv_results_)
    assert again.best_params_ == search.best_params_


def test_a_race_is_run_among_the_trials_of_a_stage():
    search = five_each(pruning=0.49, n_iter=[6, 6]).fit(X, y)
    second = of_stage(search, 1)
    # Scores of the first stage are much lower, so that no trial would be pruned.
    assert [trial.state for trial in second[:3]] == ["complete"] * 3
    assert any(trial.state == "pruned" for trial in second)


def test_a_timeout_is_shared_by_trials_and_training_sizes(fake_clock):
    options = {"stages": (0.2, 1.0), "n_iter": [100, 30], "surrogate": "random"}
    # 100 trials on a fifth of the rows take as long as 20 on all, together 50.
    timeout = 25 * 3 * 9000 * Clocked.seconds_per_row
    search = timed(timeout=timeout, **options)
    n_trials = np.bincount(search.all_cv_results_["stage"])
    np.testing.assert_allclose(n_trials, [50, 15], atol=1)


@pytest.mark.filterwarnings("ignore:best_score_ is the score on 2 of 2")
@pytest.mark.parametrize("timeout, stages", [(7.0, [0, 1, 2]), (4.7, [0, 1])])
def test_a_timeout_lets_each_stage_have_its_first_trial(timeout, stages, fake_clock):
    # A trial takes 2.4 s, more than the share of the first stage.
    options = {"timeout": timeout, "stages": (0.2, 0.5, 1.0), "cv": 2, "refit": False}
    search = make({"quality": (0.6, 1.0)}, TakesTime(), **options).fit(X, y)
    np.testing.assert_array_equal(search.all_cv_results_["stage"], stages)
    assert search.stop_reason_ == "timeout"
    # The best trials of each stage were promoted.
    assert len({repr(t.params) for t in search.trials_}) == 1


@pytest.mark.filterwarnings("ignore")
def test_a_last_stage_that_fails_leaves_the_one_before():
    class Fragile(SVC):
        def fit(self, X, y):
            if len(X) > 50:
                raise RuntimeError("too much")
            return super().fit(X, y)

    search = make(estimator=Fragile(), refit=False, n_iter=(9, 2)).fit(X, y)
    assert set(search.cv_results_["stage"]) == {0}
    assert np.isfinite(search.best_score_)


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more"
)
def test_a_first_stage_that_fails_gives_a_warning():
    model = CalibratedClassifierCV(SVC(), cv=8)
    with pytest.warns(
        UserWarning, match="Stage 1 .* sets, 0.09 of the rows, are too small"
    ):
        space = {"estimator__C": (1e-2, 1e2, "log-uniform")}
        search = make(space, model, stages=(9, 1.0), n_iter=(2, 1)).fit(X, y)
    assert search.best_score_ > 0.9
    assert set(search.cv_results_["stage"]) == {1}
    with pytest.warns(UserWarning, match="too small"):
        with pytest.raises(RuntimeError, match="cannot be fitted"):
            make({"quality": [1, 2]}, Sized(bad="fit")).fit(X, y)


def test_more_trials_continue_the_last_stage(tmp_path):
    kwargs = {"pre_dispatch": 2, "journal": tmp_path / "journal"}
    make(n_iter=14, **kwargs).fit(X, y)
    with pytest.raises(ValueError, match="settings: stages"):
        make(stages=(0.5, 1.0), n_iter=14, **kwargs).fit(X, y)
    resumed = make(n_iter=20, **kwargs).fit(X, y)
    assert [trial.fidelity.stage for trial in resumed.trials_] == [0] * 10 + [1] * 10


def test_a_warm_start_tries_its_incumbent_first():
    grid = GridSearchCV(SVC(), {"C": [0.01, 1, 5], "kernel": ["linear"]}, cv=3)
    grid.fit(X, y)
    search = make(warm_start_from=grid, n_promoted=2).fit(X, y)
    order = np.argsort(-grid.cv_results_["mean_test_score"], kind="stable")[:2]
    assert [t.params for t in search.trials_[:2]] == [
        grid.cv_results_["params"][i] for i in order
    ]
    # Its own last stage is known, too.
    plain = small_search(SVC(), SPACE, n_iter=1, cv=3, warm_start_from=search)
    with pytest.warns(UserWarning, match="9 without a comparable score"):
        plain.fit(X, y)
    assert plain.trials_[0].params == search.best_params_


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"stages": ()}, "stages must have"),
        ({"stages": (0.0, 1.0)}, "stages: a fraction"),
        ({"stages": (1.0, 0.3)}, "stages: training sets must not become smaller"),
        ({"stages": (60, 0.3)}, "stages: training sets must not become smaller"),
        ({"stages": (0.01, 1.0)}, r"stages: 0.01 .* Use at least 0.025 \(3 rows\)"),
        ({"n_iter": 1}, "n_iter must be at least the number of stages"),
        ({"n_iter": [3]}, "n_iter must be an int"),
        ({"n_iter": [3, 0]}, "n_iter must be an int"),
        ({"n_iter": [3, 2.5]}, "n_iter must be an int"),
        ({"n_iter": [3, 4], "stages": "auto", "timeout": 9}, "n_iter"),
        ({"n_iter": None, "stages": "auto"}, "n_iter"),
        ({"n_promoted": 0}, "n_promoted"),
        ({"best_of": "first"}, "best_of"),
        ({"stages": "all"}, "stages"),
        ({"stages": ("0.3", 1.0)}, "stages must be fractions"),
    ],
)
def test_wrong_arguments_are_named_before_any_fit(kwargs, message, no_trials):
    with pytest.raises((TypeError, ValueError), match=message):
        make(**kwargs).fit(X, y)


def test_stage_correlation_is_that_of_the_scores():
    space = {"gamma": (1e-3, 1e1, "log-uniform"), "C": (0.1, 10.0, "log-uniform")}
    cv = StratifiedKFold(2, shuffle=True, random_state=0)
    search = make(space, n_promoted=6, n_iter=[9, 8], cv=cv).fit(X, y)
    (row,) = search.stage_correlation_.to_dict("records")
    assert (row["stage"], row["next_stage"]) == (0, 1)
    assert (row["train_fraction"], row["next_train_fraction"]) == (0.3, 1.0)
    first = {repr(t.params): t.score for t in of_stage(search, 0)}
    second = of_stage(search, 1)
    both = [(first[repr(t.params)], t.score) for t in second if repr(t.params) in first]
    assert row["n_both"] == len(both) >= 6
    expected = spearmanr(*np.transpose(both))[0]
    assert row["rank_correlation"] == pytest.approx(expected)
    mean, _ = search.optimizers_[0].predict([t.params for t in second])
    expected = spearmanr(mean, [t.score for t in second])[0]
    assert row["model_correlation"] == pytest.approx(expected)


# -- sizes that are chosen ------------------------------------------------------------


class Clocked(Sized):
    """Estimator whose fits take a time that is proportional to their rows."""

    seconds_per_row = 1e-3

    def fit(self, X, y):
        CLOCK.now += self.seconds_per_row * len(X)
        return super().fit(X, y)


def timed(n_rows=13500, cls=Clocked, space=None, kind=MultiStageSearchCV, **kwargs):
    options = {"n_iter": None, "cv": 3, "refit": False, "random_state": 0} | kwargs
    search = kind(cls(), space or {"quality": (0.0, 1.0)}, **options)
    return search.fit(np.zeros((n_rows, 1)), np.arange(n_rows) % 2)


def rows_by_trial(search):
    return [round(9000 * trial.fidelity.train_fraction) for trial in search.trials_]


@pytest.mark.parametrize(
    "n_rows, fractions",
    [(3000, [1.0]), (18000, [1.0]), (18900, [0.2, 1.0]), (94000, [0.04, 0.2, 1.0])],
)
def test_without_a_limit_the_sizes_depend_on_the_rows(n_rows, fractions):
    search = timed(n_rows, Sized, n_iter=4)
    np.testing.assert_allclose(search.train_fractions_, fractions)


def test_sizes_and_folds_are_those_for_which_there_is_time(fake_clock):
    # One fit on all rows takes 9 s. Twenty take more than half of the time.
    search = timed(timeout=150.0, return_train_score=True)
    by_stage = {}
    for trial, rows in zip(search.trials_, rows_by_trial(search), strict=True):
        by_stage.setdefault((rows, int(trial.fitted.sum())), []).append(trial.params)
    assert list(by_stage) == [(1000, 3), (3000, 3), (3000, 1), (9000, 3)]
    n_trials = [len(params) for params in by_stage.values()]
    assert n_trials[:2] == [1, 1] and n_trials[2] >= 20 and n_trials[3] >= 2
    # The own configuration is measured, and then compared with the best ones.
    assert all({"quality": 0.5} in params for params in by_stage.values())
    assert len(search.cv_results_["params"]) == n_trials[-1]
    table = search.all_cv_results_
    assert (np.array(table["n_folds"]) == 1).sum() == n_trials[2]
    assert np.isfinite(table["mean_test_score"]).all()
    assert {trial.state for trial in search.trials_} == {"complete"}
    assert search.best_params_["quality"] > 0.9


@pytest.mark.filterwarnings("ignore:best_score_ is")
@pytest.mark.parametrize(
    "timeout, last", [(1e5, (9000, 3)), (40.0, (9000, 1)), (8.0, (1000, 1))]
)
def test_the_last_stage_is_the_largest_for_which_there_is_time(
    timeout, last, fake_clock
):
    search = timed(timeout=timeout, n_iter=20)
    assert (rows_by_trial(search)[-1], search.trials_[-1].fitted.sum()) == last
    assert len(search.trials_) <= 20


@pytest.mark.filterwarnings("ignore:best_score_ is")
@pytest.mark.parametrize(
    "timeout, n_folds", [(110.0, [1, 3, 3]), (40.0, [1, 1, 1]), (3.0, [1, 1, 1])]
)
def test_few_rows_have_one_fold_before_all_if_time_is_short(
    timeout, n_folds, fake_clock, monkeypatch
):
    monkeypatch.setattr("skbayes.stages.ladder.N_WITH_ALL_FOLDS", 20)
    options = {"timeout": timeout, "surrogate": "trees"}
    search = timed(1200, **options)  # a fit takes 0.8 s
    assert {trial.fidelity.train_fraction for trial in search.trials_} == {1.0}
    folds = [int(trial.fitted.sum()) for trial in search.trials_]
    assert folds[:3] == n_folds and folds == sorted(folds)
    assert (folds[-1] == 3) == (timeout >= 40.0)
    assert (search.best_fidelity_.n_folds is None) == (timeout >= 40.0)
    plain = timed(1200, n_iter=2, **options)
    assert {int(trial.fitted.sum()) for trial in plain.trials_} == {3}
    same = timed(1200, kind=BayesSearchCV, **options)
    data = [[(t.params, t.fidelity) for t in s.trials_] for s in (search, same)]
    assert data[0] == data[1]


@pytest.mark.parametrize(
    "cv, n_folds",
    [
        (LeaveOneOut(), 12),
        (TimeSeriesSplit(5), 4),
        (KFold(10), 2),
        (ShuffleSplit(4), 1),
    ],
)
def test_first_folds_represent_all_folds(cv, n_folds, fake_clock):
    search = timed(60, timeout=3 * 0.06 * cv.get_n_splits(np.ones(60)), cv=cv)
    assert search.trials_[0].n_folds == n_folds


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [BayesSearchCV, MultiStageSearchCV])
@pytest.mark.parametrize("begin, timeout", [(1, 80.0), (0, 80.0), (0, 6.0)])
def test_a_first_configuration_that_fails_is_not_compared(
    kind, begin, timeout, fake_clock
):
    class Failing(Clocked):
        def fit(self, X, y):
            super().fit(X, y)
            if self.quality == 0.5 and CLOCK.now > begins:
                raise ValueError("fails")
            return self

    begins = fake_clock.now + begin
    n_rows = 1200 if kind is BayesSearchCV else 4500
    search = timed(n_rows, Failing, kind=kind, surrogate="random", timeout=timeout)
    best = search.trials_[search._ranked_numbers[search.best_index_]]
    assert best.params["quality"] != 0.5 and search.trials_[0].params["quality"] == 0.5
    assert best.n_folds == 3 or timeout < 80.0


def test_pre_dispatch_limits_trials_in_progress_on_one_fold():
    for pre_dispatch, n_points in (("2*n_jobs", 3), (1, 1)):
        search = BayesSearchCV(SVC(), n_jobs=2, pre_dispatch=pre_dispatch)
        stages = StageFactory(search, 3, True).timed((1.0,), Settings(), None, y).stages
        assert max(stage.n_points for stage in stages) == n_points


@pytest.mark.parametrize(
    "options",
    [
        {"n_iter": 3},
        {"stopper": lambda trials: len(trials) > 2},
        {"pruning": True},
        {"refit": "ensemble"},
        {"warm_start_from": {"params": [{"quality": 0.9}], "mean_test_score": [0.9]}},
        {"refit": True, "return_folds": "estimators"},
    ],
)
def test_some_options_need_all_folds_of_each_trial(options, fake_clock):
    search = timed(timeout=120.0, kind=BayesSearchCV, **options)
    assert all(trial.fidelity.n_folds is None for trial in search.trials_)
    assert len(search.cv_results_["params"]) == len(search.trials_)


def test_samples_have_all_classes_and_several_groups(fake_clock):
    y = np.r_[np.zeros(13000), np.ones(490), np.full(10, 2)]
    options = {"n_iter": 6, "timeout": 100.0, "refit": False, "cv": 3}
    search = MultiStageSearchCV(Clocked(), {"quality": (0.0, 1.0)}, **options)
    assert search.fit(np.zeros((13500, 1)), y).best_score_ > 0
    groups = np.arange(13500) // 1500
    search.set_params(cv=GroupKFold(3)).fit(np.zeros((13500, 1)), y, groups=groups)
    assert set(rows_by_trial(search)) == {9000}  # a sample would have few groups


@pytest.mark.filterwarnings("ignore:One or more")
def test_small_samples_on_which_all_fits_fail_are_left(fake_clock):
    class Greedy(Clocked):
        def fit(self, X, y):
            if len(X) < 2000:
                raise ValueError("too few rows")
            return super().fit(X, y)

    with pytest.warns(FitFailedWarning, match="too few rows"):
        search = timed(cls=Greedy, timeout=400.0, n_iter=12)
    assert rows_by_trial(search)[-1] == 9000
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("kind", [BayesSearchCV, MultiStageSearchCV])
@pytest.mark.parametrize("timeout", [400.0, None])
def test_a_journal_continues_with_the_stages_of_the_first_run(
    kind, timeout, fake_clock, tmp_path
):
    kwargs = {"kind": kind, "journal": tmp_path / "journal", "surrogate": "random"}
    first = timed(4500, timeout=80.0, **kwargs)
    resumed = timed(4500, timeout=timeout, n_iter=len(first.trials_) + 5, **kwargs)
    data = [
        [(t.params, t.fidelity, t.score) for t in s.trials_] for s in (first, resumed)
    ]
    assert data[1][:-5] == data[0]
    # The best configuration on one fold has all folds now.
    assert resumed.trials_[resumed._ranked_numbers[0]].n_folds == 3


def test_each_model_of_a_choice_is_tried_on_two_sizes_of_samples(fake_clock):
    scores = [lambda self, X, y, k=k: k for k in range(5)]
    kinds = [type(f"Kind{k}", (Clocked,), {"score": scores[k]}) for k in range(5)]
    space = {
        "model": Choice([(kind(), {"model__quality": (0.0, 1.0)}) for kind in kinds])
    }
    pipeline = Pipeline([("model", kinds[0]())])
    search = timed(cls=lambda: pipeline, space=space, timeout=300.0)
    on_one_fold = [trial for trial in search.trials_ if trial.fitted.sum() == 1]
    for trials in (of_stage(search, 0), on_one_fold[:5]):
        assert {type(trial.params["model"]) for trial in trials} == set(kinds)
    assert min(rows_by_trial(search)[5:]) > max(rows_by_trial(search)[:5])
    # Few trials are left for a comparison on all rows.
    few = search.set_params(n_iter=7).fit(np.zeros((13500, 1)), np.arange(13500) % 2)
    assert len({type(trial.params["model"]) for trial in of_stage(few, 0)}) == 5
    assert rows_by_trial(few) == [1000] * 5 + [9000] * 2
    short = timed(6000, lambda: pipeline, space, BayesSearchCV, timeout=44.0)
    for compared in few.trials_[5:], short.trials_[5:]:
        assert [type(t.params["model"]) for t in compared] == [kinds[0], kinds[4]]
    # The plain search tries each model on one fold, if there are many rows.
    kwargs = {"kind": BayesSearchCV, "timeout": 100.0}
    for n_rows, n_folds in ((4999, 3), (5000, 1)):
        first = timed(n_rows, lambda: pipeline, space, **kwargs).trials_[:5]
        assert {type(trial.params["model"]) for trial in first} == set(kinds)
        assert {trial.fitted.sum() for trial in first} == {n_folds}


def test_without_time_for_all_folds_the_best_on_one_fold_is_chosen(fake_clock):
    with pytest.warns(UserWarning, match="score on 1 of 3 folds, with 100% of"):
        # The refit takes 13.5 s.
        search = timed(timeout=43.5, n_iter=9, refit=True)
    assert [trial.fitted.sum() for trial in search.trials_] == [3] + [1] * 6
    assert search.best_score_ == max(trial.score for trial in search.trials_[-2:])
    assert search.best_estimator_.n_rows_ == 13500
    with pytest.warns(UserWarning):
        search = timed(timeout=46.0, n_iter=9, refit="ensemble")
    assert "no time was left" in search.ensemble_.reason


def test_fits_of_earlier_stages_are_released(monkeypatch):
    from skbayes.options.folds.aspect import FoldEstimators

    numbers, observe = [], FoldEstimators.observe

    def observed(self, trial):
        observations = observe(self, trial)
        numbers.append([*self.by_trial])
        return observations

    monkeypatch.setattr(FoldEstimators, "observe", observed)
    make(return_folds="estimators", n_iter=8).fit(X, y)
    assert len(numbers) == 8
    assert all(len(numbers_kept) == 1 for numbers_kept in numbers)


class Weighted(Clocked):
    """Estimator with a parameter whose values are arrays."""

    def __init__(self, alphas=None, quality=0.5, bad=None):
        super().__init__(quality, bad)
        self.alphas = alphas


def test_options_that_are_arrays_are_compared_with_a_timeout(fake_clock):
    space = {"alphas": [np.arange(2.0), np.ones(2)], "quality": (0.0, 1.0)}
    search = timed(timeout=150.0, cls=Weighted, space=space, surrogate="random")
    assert len({trial.params["alphas"][0] for trial in search.trials_}) == 2
    assert len({trial.fidelity.stage for trial in search.trials_}) == 4
    assert search.best_params_["quality"] > 0.5
