"""One configuration on all splits."""

import math

import numpy as np
import pytest
from side_by_side import Sometimes
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel

from skbayes import compat
from skbayes.evaluation import CandidateEvaluator, check_candidates

X, y = load_iris(return_X_y=True)
SPLITS = list(StratifiedKFold(3).split(X, y))


class NoTasks:
    def evaluation(self, task_id):
        return None


def evaluator(estimator, n_jobs=None, contain=False, **kwargs):
    arguments = {
        "scorer": get_scorer("accuracy"),
        "error_score": math.nan,
        "return_train_score": False,
        "fit_params": {},
        "score_params": {},
        "verbose": 0,
        **kwargs,
    }
    return CandidateEvaluator(
        estimator,
        X,
        y,
        splits=SPLITS,
        parallel=Parallel(n_jobs=n_jobs),
        contain_errors=contain,
        tasks=NoTasks(),
        n_candidates=1,
        target=float,
        **arguments,
    )


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_scores_are_those_of_cross_val_score(n_jobs):
    trial = evaluator(SVC(), n_jobs)(4, {"C": 0.3})
    expected = cross_val_score(SVC(C=0.3), X, y, cv=SPLITS)
    np.testing.assert_array_equal(trial.scores["score"], expected)
    assert trial.score == pytest.approx(expected.mean())
    assert (trial.number, trial.params, trial.state) == (4, {"C": 0.3}, "complete")
    assert trial.error is None
    assert not trial.stop_requested
    assert trial.duration >= trial.fit_times.max()


def test_the_estimator_is_left_alone():
    model = SVC()
    evaluator(model)(0, {"C": 0.3})
    assert model.C == 1.0
    assert not hasattr(model, "support_")


def test_a_trial_that_fails_everywhere():
    trial = evaluator(Sometimes(bad="fit"))(0, {"quality": 1})
    assert trial.state == "failed"
    assert math.isnan(trial.score)
    assert trial.error.rstrip().endswith("RuntimeError: cannot be fitted")
    assert [fold["fit_error"] is not None for fold in trial.folds] == [True] * 3


def test_train_scores():
    trial = evaluator(SVC(), return_train_score=True)(0, {"C": 0.3})
    assert trial.train_scores["score"].shape == (3,)


@pytest.mark.parametrize("n_jobs, contain", [(None, False), (2, True)])
def test_an_exception_reaches_the_caller(n_jobs, contain):
    run = evaluator(Sometimes(bad="fit"), n_jobs, contain, error_score="raise")
    with pytest.raises(RuntimeError, match="cannot be fitted") as raised:
        run(0, {"quality": 1})
    if contain:
        # The traceback stayed in the worker; the note tells it.
        assert "Raised in a worker" in "".join(raised.value.__notes__)
    # The pool is still of use.
    assert evaluator(Sometimes(), n_jobs, contain)(1, {"quality": 1}).score >= 0


def test_a_trial_that_set_params_refuses_has_a_row_like_any_other():
    run = evaluator(Sometimes(), return_train_score=True)
    refused = run(0, {"quality": 2.0, "bad": "params"})
    fine = run(1, {"quality": 2.0})
    assert refused.state == "failed"
    assert "do not go together" in refused.error
    assert refused.folds[0].keys() == fine.folds[0].keys()
    assert len(refused.folds) == len(fine.folds)
    np.testing.assert_array_equal(refused.fit_times, 0)


def test_check_candidates_accepts_and_changes_nothing():
    model = make_pipeline(StandardScaler(), SVC())
    check_candidates(
        model, [{"svc__C": 2}, {"svc": LogisticRegression(), "svc__C": 2}, {}]
    )
    assert isinstance(model[-1], SVC)
    assert model[-1].C == 1.0


@pytest.mark.parametrize(
    "params, culprit",
    [
        ({"svc__C": 2, "svc__nonsense": 3}, "'svc__nonsense'"),
        ({"nonsense": 2}, "'nonsense'"),
        ({"svc": "passthrough", "svc__C": 3}, "'svc', 'svc__C'"),
    ],
)
def test_check_candidates_names_the_culprit(params, culprit):
    model = make_pipeline(StandardScaler(), SVC())
    with pytest.raises(ValueError, match=f"search_spaces names {culprit}, which"):
        check_candidates(model, [{"svc__C": 1}, params])


def test_error_scores_of_several_metrics_are_told_apart():
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(
        Sometimes(), {}, scoring=["accuracy", "f1_macro"], refit="accuracy"
    )
    scorers, _ = compat.resolve_scorers(search)
    run = evaluator(Sometimes(), scorer=scorers, error_score=-1.0)
    trial = run(0, {"quality": 2.0, "bad": "params"})
    assert trial.scores.keys() == {"accuracy", "f1_macro"}
    np.testing.assert_array_equal(trial.scores["accuracy"], -1.0)
