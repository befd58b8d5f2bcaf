"""Reading of journals by other processes."""

import math
import os
import sys

import numpy as np
import pandas as pd
import pytest
from journal_samples import (
    CLASSIFIERS,
    IDENTITY,
    METADATA,
    SPACE,
    fold,
    open_journal,
    params_of,
    record,
    trial_of,
)
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skbayes.options.journal.reader import load_history
from skbayes.results.read import read_trials
from skbayes.space import Space
from skbayes.trial.records import FoldResult


def test_a_finished_search_has_all_columns(path):
    before = pd.Timestamp.now("UTC") - pd.Timedelta(seconds=10)
    with open_journal(path) as journal:
        record(journal, range(3))
    content, frame = path.read_bytes(), load_history(path)
    assert path.read_bytes() == content
    assert (
        list(frame)
        == (
            "number state score expected_improvement param_C param_clf param_gamma "
            "param_kernel param_n mean_test_score split0_test_score split1_test_score "
            "mean_fit_time mean_score_time started finished duration error"
        ).split()
    )
    assert frame["number"].tolist() == [0, 1, 2]
    assert frame["score"].tolist() == [0.0, 0.1, 0.2]
    assert frame["param_C"].tolist() == [params_of(number)["C"] for number in range(3)]
    assert frame["param_n"].tolist() == [1, 2, 3]
    assert frame["param_clf"].tolist() == ["SVC()"] * 3
    assert frame["param_gamma"].isna().tolist() == [False, True, False]
    np.testing.assert_allclose(frame["split1_test_score"], np.arange(3) / 7)
    np.testing.assert_allclose(frame["mean_test_score"], np.arange(3) * 5 / 21)
    assert frame["mean_fit_time"].tolist() == [0.5] * 3
    seconds = (frame["finished"] - frame["started"]).dt.total_seconds()
    np.testing.assert_allclose(seconds, frame["duration"], atol=1e-3)
    assert frame["started"].between(before, pd.Timestamp.now("UTC")).all()
    assert frame["error"].isna().all()
    assert frame.attrs == {
        "seed": 7,
        "n_points": 2,
        "n_splits": 2,
        "identity": IDENTITY,
        **METADATA,
    }


def test_a_running_search_shows_unfinished_trials(path):
    with open_journal(path) as journal:
        assert len(load_history(path)) == 0
        record(journal, range(2))
        journal.record_proposal(2, params_of(2), 0.25)
        frame = load_history(path)
        journal.record_result(trial_of(2, expected_improvement=0.25))
        assert load_history(path)["state"].tolist() == ["complete"] * 3
    assert frame["state"].tolist() == ["complete", "complete", "unfinished"]
    assert frame["expected_improvement"].tolist()[2] == 0.25
    assert frame["param_n"].tolist() == [1, 2, 3]
    assert frame.loc[2, ["score", "duration", "mean_test_score"]].isna().all()
    assert frame.loc[2, "started"] is not pd.NaT
    assert frame.loc[2, "finished"] is pd.NaT


def test_each_metric_has_columns_and_failures_have_none(path):
    two = [
        fold({"a": 1.0, "b": 2.0}, train_scores={"a": 5.0, "b": 6.0}),
        fold({"a": 3.0, "b": 4.0}, train_scores={"a": 7.0, "b": 8.0}),
    ]
    failed = [fold({}, "Traceback: no", train_scores={})] * 2
    none = dict.fromkeys("ab", math.nan)
    pruned = [two[0], FoldResult(none, train_scores=none, status="skipped")]
    trials = [
        trial_of(0, state="failed", folds=failed, score=math.nan),
        trial_of(1, folds=two, score=2.0),
        trial_of(2, state="pruned", folds=pruned, score=1.0, noise=0.5),
    ]
    with open_journal(path) as journal:
        for trial in trials:
            journal.record_proposal(trial.number, trial.params, None)
            journal.record_result(trial)
    frame = load_history(path)
    assert frame["state"].tolist() == ["failed", "complete", "pruned"]
    np.testing.assert_equal(frame["mean_test_a"].tolist(), [math.nan, 2.0, 1.0])
    np.testing.assert_equal(frame["mean_test_b"].tolist(), [math.nan, 3.0, 2.0])
    np.testing.assert_equal(frame["mean_train_b"].tolist(), [math.nan, 7.0, 6.0])
    np.testing.assert_equal(frame["split1_test_a"].tolist(), [math.nan, 3.0, math.nan])
    np.testing.assert_equal(frame["mean_fit_time"].tolist(), [0.5] * 3)
    assert frame["error"].tolist()[0] == "Traceback: no"
    assert "mean_test_score" not in frame


def test_parameters_are_shown_as_they_are(path):
    options = [None, 3, "text", (1, 2), SVC(C=3), np.log1p, float("inf"), True]
    space = Space.from_notation({"p": options})
    with open_journal(path, space=space) as journal:
        for number, option in enumerate(options):
            journal.record_proposal(number, {"p": option}, None)
    values = load_history(path)["param_p"].tolist()
    assert values[:5] == [None, 3, "text", "(1, 2)", "SVC(C=3)"]
    assert "log1p" in values[5]
    assert values[6] == "inf"
    assert values[7] is True


def test_missing_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="journal: there is no file"):
        load_history(tmp_path / "missing")
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError, match="journal: .* is not a journal"):
        load_history(tmp_path / "empty")
    assert os.listdir(tmp_path) == ["empty"]


def test_without_pandas_its_name_is_in_the_error(written, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="load_history .*pip install pandas"):
        load_history(written)
    assert len(read_trials(written).trials) == 3


def test_trials_for_another_space(path):
    from skbayes.options.warm_start.known_trials import known_trials

    with open_journal(path) as journal:
        record(journal, range(6))
        journal.record_proposal(6, params_of(6), None)
    trials = read_trials(path, SPACE).trials
    assert [trial.number for trial in trials] == list(range(6))
    assert all(trial == trial_of(trial.number) for trial in trials)
    other = Space.from_notation(
        {
            "C": (0.01, 10.0),
            "n": [1, 2, 3, 4, 5],
            "kernel": ["linear", "poly"],
            "clf": [None, LogisticRegression(), SVC()],
        }
    )
    with pytest.warns(UserWarning, match="4 of 6 .*4 outside search_spaces"):
        read = known_trials(path, other)
    # Trials with a linear kernel and at most 5 of n.
    assert [one.trial.number for one in read] == [1, 3]
    assert read[0].params["clf"] is other.columns[1].dimension.values[2]
    assert read[0].params["clf"] is not CLASSIFIERS[0]
