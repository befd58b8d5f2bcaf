"""Trial and History."""

import copy
import math
import pickle
from collections.abc import Sequence
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from skbayes.trial.records import Fidelity, FoldResult, History, Trial


def fold(score, error=None, **fields):
    scores = score if isinstance(score, dict) else {"score": score}
    return FoldResult(scores, 0.5, 0.25, fit_error=error, **fields)


def trial(number, score, **kwargs):
    return Trial(number, {"x": number}, [fold(score)], score=score, **kwargs)


def test_each_metric_has_the_scores_of_its_folds():
    folds = [
        fold({"a": 1.0, "b": 2.0}, train_scores={"a": 3.0, "b": 4.0}),
        fold({"a": 5.0, "b": 6.0}, train_scores={"a": 7.0, "b": 8.0}),
    ]
    one = Trial(0, {}, folds, score=3.0)
    assert trial(0, 1.0).train_scores == {}
    np.testing.assert_array_equal(one.fit_times, [0.5, 0.5])
    np.testing.assert_array_equal(one.score_times, [0.25, 0.25])
    np.testing.assert_array_equal(one.scores["a"], [1, 5])
    np.testing.assert_array_equal(one.scores["b"], [2, 6])
    np.testing.assert_array_equal(one.train_scores["b"], [4, 8])


def test_results_are_frozen_and_compare_without_temporary_values():
    one = fold(0.5)
    for record, name in [(one, "test_scores"), (trial(0, 1.0), "folds")]:
        with pytest.raises(FrozenInstanceError):
            setattr(record, name, {})
    fitted = one.with_transient(fit="model").with_transient(seconds=2.0)
    assert fitted == one and fitted.transient == {"fit": "model", "seconds": 2.0}
    assert one.transient == {} and "transient" not in one.as_dict()
    extended = fitted.with_extras(a=1).with_extras(b=2)
    assert extended.extras == {"a": 1, "b": 2} and extended.seconds == 2.0
    assert isinstance(Trial(0, {}, [one], 0.5).folds, tuple)


def test_a_fold_without_scores_counts_for_every_metric():
    folds = [fold({}, "Traceback"), fold({"a": 1.0, "b": 2.0})]
    trial = Trial(0, {}, folds, score=math.nan)
    np.testing.assert_array_equal(trial.scores["a"], [math.nan, 1])
    np.testing.assert_array_equal(trial.scores["b"], [math.nan, 2])
    assert Trial(0, {}, folds[:1], score=math.nan).scores == {}
    skipped = Trial(0, {}, [fold({}, status="skipped"), folds[1]], score=1.0)
    assert skipped.fitted.tolist() == [False, True]
    assert Trial(0, {}, [], score=0.5).fitted.dtype == bool


def test_a_trial_of_an_older_pickle_does_not_say_when_it_began():
    old = trial(0, 1.0, started=1.0)
    del old.__dict__["started"]
    loaded = pickle.loads(pickle.dumps(old))
    assert "started" not in loaded.__dict__
    assert loaded.started is None
    # Trials with different times can be equal.
    assert loaded == old == trial(0, 1.0, started=2.0)
    with pytest.raises(FrozenInstanceError):
        loaded.score = 2.0


def test_history_is_a_sequence():
    trials = [trial(i, float(i)) for i in range(4)]
    source = trials[:3]
    history = History(source)
    source.clear()
    history.append(trials[3])
    assert isinstance(history, Sequence) and isinstance(history[1:3], History)
    assert [*history] == trials and [*history[1:3]] == trials[1:3]
    assert history[1] is trials[1] and history[-1] is trials[3]
    assert trials[2] in history and history.index(trials[2]) == 2
    assert history.params == [{"x": i} for i in range(4)]
    assert [f.test_scores["score"] for f in history.folds] == [0, 1, 2, 3]
    with pytest.raises(IndexError):
        history[4]
    for equal in (pickle.loads(pickle.dumps(history)), copy.deepcopy(history)):
        assert equal == history
    assert history != History(trials[:3]) and history != trials
    with pytest.raises(TypeError):
        hash(history)


def test_best_is_the_first_of_the_highest_and_ignores_failures():
    assert History().best is None
    assert History([trial(0, math.nan, state="failed")]).best is None
    history = History([trial(i, s) for i, s in enumerate([math.nan, 1.0, 3.0, 3.0])])
    assert history.best is history[2]


def test_the_best_so_far_is_the_first_of_the_ranking_at_any_time():
    rng = np.random.default_rng(0)
    history, ranked_history = History(), History()
    for number in range(300):
        score = math.nan if rng.random() < 0.1 else float(rng.integers(20))
        state = "failed" if math.isnan(score) else "complete"
        state = "pruned" if rng.random() < 0.1 else state
        violation = float(rng.integers(3)) if number % 2 else None
        fidelity = Fidelity(number // 100)
        fields = {"fidelity": fidelity, "extras": {"violation": violation}}
        for each in (history, ranked_history):
            each.append(trial(number, score, state=state, **fields))
        if number % 3 == 0:
            ranked = ranked_history.best_first()
            assert ranked_history.best is (ranked[0] if ranked else None)
    assert history.best is history.best_first()[0]
    assert pickle.loads(pickle.dumps(ranked_history)).best == ranked_history.best
    assert ranked_history[:250].best == History(ranked_history[:250]).best_first()[0]


def test_repr_counts_failures():
    history = History([trial(0, 1.0), trial(1, math.nan, state="failed")])
    assert repr(history) == "<History of 2 trials, 1 failed>"
    for number, state in enumerate(["timed_out", "pruned", "timed_out"], start=2):
        history.append(trial(number, math.nan, state=state))
    assert repr(history) == "<History of 5 trials, 1 failed, 1 pruned, 2 timed out>"


def test_a_state_that_was_stored_as_text_is_restored():
    ended = trial(0, 1.0, state="pruned")
    stored = {**vars(ended), "state": "pruned"}
    restored = Trial.__new__(Trial)
    restored.__setstate__(stored)
    assert restored == ended and restored.state.is_partial
