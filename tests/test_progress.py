"""Lines and bars."""

import builtins
import math

import pytest
from side_by_side import Sometimes
from sklearn.datasets import load_iris

from skbayes import BayesSearchCV
from skbayes.progress import Lines, progress_bar
from skbayes.trials import History, Trial

FOLD = {"test_scores": 0.5, "fit_time": 0.0, "score_time": 0.0, "fit_error": None}
X, y = load_iris(return_X_y=True)


class Clock:
    """Tells the times given, one after the other."""

    def __init__(self, *times):
        self.times = list(times)

    def __call__(self):
        return self.times.pop(0)


def told(lines, trials):
    """Report trials, and return what each printed."""
    history = History()
    for trial in trials:
        history.append(trial)
        lines(trial, history)


def test_a_line_per_trial(capsys):
    lines = Lines(5, None, clock=Clock(10.0, 12.0, 16.0, 17.0, 18.0))
    skipped = {**FOLD, "skipped": True}
    told(
        lines,
        [
            Trial(0, {"C": 1}, [FOLD], math.nan, state="failed"),
            Trial(1, {"C": 2}, [FOLD], 0.25),
            Trial(2, {"C": 3}, [FOLD, FOLD, skipped], 0.5, state="raced"),
            Trial(3, {"C": 4}, [FOLD, skipped, skipped], 0.5, state="censored"),
        ],
    )
    assert capsys.readouterr().out.splitlines() == [
        "[trial 1/5] failed, best so far none yet, elapsed 2.0s, left 8.0s",
        # The median of 2 s and 4 s for each of three.
        "[trial 2/5] score 0.25, best so far 0.25 (trial 2), elapsed 6.0s, left 9.0s",
        "[trial 3/5] raced after 2 folds, best so far 0.25 (trial 2), elapsed 7.0s, "
        "left 4.0s",
        "[trial 4/5] censored after 1 folds, best so far 0.25 (trial 2), elapsed 8.0s, "
        "left 1.5s",
    ]


def test_a_timeout_bounds_what_is_left(capsys):
    told(Lines(9, 15.0, clock=Clock(0.0, 10.0, 20.0)), [Trial(0, {}, [FOLD], 0.5)])
    assert capsys.readouterr().out.endswith("left 5.0s\n")
    told(Lines(9, 15.0, clock=Clock(0.0, 20.0)), [Trial(0, {}, [FOLD], 0.5)])
    assert capsys.readouterr().out.endswith("left 0.0s\n")


def test_parameters(capsys):
    lines = Lines(1, None, with_params=True, clock=Clock(0.0, 1.0))
    told(lines, [Trial(0, {"C": 2.5, "kernel": "rbf"}, [FOLD], 0.5)])
    assert capsys.readouterr().out.splitlines()[1] == "[trial 1/1] C=2.5, kernel='rbf'"


@pytest.fixture
def bars(monkeypatch):
    """Keep what tqdm is told."""
    tqdm = pytest.importorskip("tqdm.auto")
    made = []

    class Bar:
        def __init__(self, **kwargs):
            self.said, self.n, self.closed = [kwargs], 0, False
            made.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.closed = True

        def set_postfix_str(self, text):
            self.said.append(text)

        def update(self):
            self.n += 1

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    return made


def test_a_bar_grows_by_each_trial(bars):
    with progress_bar(3) as report:
        told(report, [Trial(0, {}, [FOLD], 0.5), Trial(1, {}, [FOLD], 0.25)])
        assert not bars[0].closed
    assert bars[0].said[0]["total"] == 3
    assert bars[0].said[1:] == ["best 0.5 (trial 1)"] * 2
    assert bars[0].n == 2 and bars[0].closed


def test_the_bar_of_a_search(bars, capsys):
    BayesSearchCV(
        Sometimes(),
        {"quality": [1, 2, 3]},
        n_iter=3,
        cv=2,
        progress_bar=True,
        random_state=0,
    ).fit(X, y)
    assert bars[0].n == 3 and bars[0].closed
    assert bars[0].said[-1] == "best 3 (trial 3)"
    assert capsys.readouterr().out == ""


def test_the_bar_is_closed_when_a_fit_raises(bars):
    search = BayesSearchCV(
        Sometimes(bad="fit"),
        {"quality": [1]},
        progress_bar=True,
        error_score="raise",
        random_state=0,
    )
    with pytest.raises(RuntimeError, match="cannot be fitted"):
        search.fit(X, y)
    assert bars[0].closed


def test_a_real_bar(capsys):
    pytest.importorskip("tqdm")
    with progress_bar(2) as report:
        told(report, [Trial(0, {}, [FOLD], 0.5)])
    shown = capsys.readouterr().err
    assert "trials:  50%" in shown and "best 0.5 (trial 1)" in shown


def test_tqdm_is_missing(monkeypatch):
    real_import = builtins.__import__

    def without_tqdm(name, *args, **kwargs):
        if name.startswith("tqdm"):
            raise ImportError("no tqdm")
        return real_import(name, *args, **kwargs)

    class Unwanted(Sometimes):
        def fit(self, X, y):
            raise AssertionError("fitted all the same")

    monkeypatch.setattr(builtins, "__import__", without_tqdm)
    search = BayesSearchCV(
        Unwanted(),
        {"quality": [1]},
        progress_bar=True,
        error_score="raise",
        random_state=0,
    )
    with pytest.raises(ImportError, match="progress_bar=True needs tqdm.*pip install"):
        search.fit(X, y)
