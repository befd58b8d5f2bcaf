"""Progress lines and progress bars."""

import math
import re
import sys

import numpy as np
import pytest
from simple_estimators import Sometimes
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from skbayes import BayesSearchCV
from skbayes.inspection import read_record
from skbayes.loop.progress import Lines, PlannedStage, progress_bar
from skbayes.trial.records import Fidelity, FoldResult, History, Trial

FOLD = FoldResult({"score": 0.5}, 0.0, 0.0)
X, y = load_iris(return_X_y=True)


def lines_at(*times, stages, timeout=None, recalled=(), **options):
    """Return a report whose clock shows given times one after the other."""
    return Lines(stages, timeout, dict(recalled), clock=iter(times).__next__, **options)


def told(lines, trials):
    """Report trials."""
    history = History()
    for trial in trials:
        history.append(trial)
        lines(trial, history)


def ran(number, seconds, stage=0):
    """Return a trial with the given duration."""
    return Trial(number, {}, [FOLD], 0.5, duration=seconds, fidelity=Fidelity(stage))


@pytest.fixture
def times_left(capsys):
    """Return a function that reports trials, and returns the printed times left."""

    def reported(stages, times, trials, recalled=(), timeout=None):
        if not isinstance(trials[0], Trial):
            trials = [ran(number, seconds) for number, seconds in enumerate(trials)]
        known = [(number, trials[number]) for number in recalled]
        lines = lines_at(*times, stages=stages, timeout=timeout, recalled=known)
        told(lines, trials)
        printed = capsys.readouterr().out.splitlines()
        return [float(line.rpartition("left ")[2].rstrip("s")) for line in printed]

    return reported


def test_a_line_per_trial(capsys):
    lines = lines_at(10.0, 12.0, 16.0, 17.0, 18.0, 18.0, stages=[PlannedStage(5)])
    skipped = FoldResult(status="skipped")
    told(
        lines,
        [
            Trial(0, {"C": 1}, [FOLD], math.nan, state="failed"),
            Trial(1, {"C": 2}, [FOLD], 0.25),
            Trial(2, {"C": 3}, [FOLD, FOLD, skipped], 0.5, state="pruned"),
            Trial(3, {"C": 4}, [FOLD, skipped, skipped], 0.5, state="timed_out"),
            Trial(4, {"C": 5}, [FOLD, skipped], 0.3, fidelity=Fidelity(0, 0.4, 0, 1)),
        ],
    )
    assert capsys.readouterr().out.splitlines() == [
        "[1/5] trial 0: failed, best so far none yet, elapsed 2.0s, left 8.0s",
        "[2/5] trial 1: score 0.25, best so far 0.25 (trial 1), elapsed 6.0s, "
        "left 9.0s",
        "[3/5] trial 2: pruned after 2 folds, best so far 0.25 (trial 1), "
        "elapsed 7.0s, left 4.4s",
        "[4/5] trial 3: timed out after 1 fold, best so far 0.25 (trial 1), "
        "elapsed 8.0s, left 1.8s",
        "[5/5] trial 4: score 0.3, best so far 0.3 (trial 4, 1 of 2 folds, 40% of the "
        "rows), elapsed 8.0s, left 0.0s",
    ]


def test_negated_metrics_are_printed_as_in_the_displays(capsys):
    options = {"scoring": "neg_log_loss", "n_iter": 2, "cv": 3, "random_state": 0}
    space = {"C": (0.1, 10.0, "log-uniform")}
    search = BayesSearchCV(LogisticRegression(max_iter=1000), space, **options)
    search.fit(X, y)
    assert capsys.readouterr().out == ""
    search.set_params(verbose=1).fit(X, y)
    record = read_record(search)
    lines = capsys.readouterr().out.splitlines()
    for place, shown in enumerate(record.shown):
        text = f"trial {place}: {record.title} {shown:.6g}, best so far "
        assert text in lines[1 + place]
    best = f"best so far {-search.best_score_:.6g} (trial {search.best_index_})"
    assert best in lines[2]


@pytest.mark.parametrize(
    "stages, recalled, times, trials, left",
    [
        # A journal may contain more stages than are planned.
        (
            [PlannedStage(3)],
            (0, 1),
            (0, 0, 0, 4.0),
            [ran(0, 4.0), ran(1, 4.0, stage=1), ran(2, 4.0)],
            [4.0, 4.0, 0.0],
        ),
        # The trial 1 was in flight when the earlier run was killed.
        (
            [PlannedStage(6)],
            (0, 2),
            (0, 0, 6.0, 6.0, 12.0),
            [ran(0, 4.0), ran(1, 6.0), ran(2, 4.0), ran(3, 6.0)],
            [16.0, 16.0, 16.0, 11.3],
        ),
        # Later stages take the time that their weights say.
        (
            [PlannedStage(4, weight=0.25, n_in_flight=2), PlannedStage(3, weight=1.0)],
            (),
            (0.0, 1.0, 1.0, 2.0, 2.0, 8.0),
            [*[ran(k, 1.0) for k in range(4)], ran(4, 6.0, stage=1)],
            [13.5, 13.0, 12.5, 12.0, 10.7],
        ),
        # A stage that has ended takes no more time.
        (
            [PlannedStage(9), PlannedStage(3)],
            (),
            (0, 1.0, 2.0),
            [ran(0, 1.0), ran(1, 1.0, stage=1)],
            [11.0, 2.0],
        ),
        # Six trials of 10 s are recalled within 0.6 s. Before the first trial of this
        # run, only the times of the earlier run are known. Later trials take 20 s each,
        # and their proposals 1 s.
        (
            [PlannedStage(10)],
            range(6),
            (0.0, *[0.1 * k for k in range(1, 7)], 21.6, 42.6, 63.6, 84.6),
            [ran(number, 10.0 if number < 6 else 20.0) for number in range(10)],
            [*[40.0] * 6, *[pytest.approx(21.0 * k, rel=0.2) for k in (3, 2, 1, 0)]],
        ),
        # A timeout of 100 s.
        ([PlannedStage(9)], (), (0.0, 95.0, 105.0), [ran(0, 95.0)] * 2, [5.0, 0.0]),
    ],
)
def test_the_time_left_is_estimated(stages, recalled, times, trials, left, times_left):
    assert times_left(stages, times, trials, recalled, timeout=100.0) == left


@pytest.mark.parametrize("n", [4, 16])
def test_trials_in_flight_count_by_their_number(n, times_left):
    # n at a time, 8 s each: n are told at 8 s, n more at 16 s, and so on.
    ends = [8.0 * (1 + k // n) for k in range(4 * n)]
    left = times_left([PlannedStage(4 * n, n_in_flight=n)], [0.0, *ends], [8.0] * 4 * n)
    for end, shown in zip(ends, left, strict=True):
        # Trials in flight end within the next eight seconds.
        assert 32.0 - end - 0.1 <= shown <= 32.0 - end + 8.0
    assert all(now >= later for now, later in zip(left, left[1:], strict=False))


def test_trials_that_start_the_workers_count_less_and_less(times_left):
    times = [0.0, *[20.0 + 2.0 * (k // 2) for k in range(14)]]
    durations = [20.0] * 2 + [2.0] * 12
    left = times_left([PlannedStage(16, n_in_flight=2)], times, durations)
    assert left[:2] == [150.0, 140.0] and 2.0 < left[-1] < 4.0


@pytest.mark.parametrize("n_in_flight", [1, 4])
def test_one_trial_does_not_change_the_estimate_by_a_large_factor(
    n_in_flight, times_left
):
    for seed in range(20):
        durations = np.random.default_rng(seed).lognormal(0.0, 1.5, 40)
        free, ends = np.zeros(n_in_flight), []
        for number, seconds in enumerate(durations):
            worker = free.argmin()
            free[worker] += seconds
            ends.append((free[worker], number))
        ends.sort()
        stages = [PlannedStage(40, n_in_flight=n_in_flight)]
        trials = [ran(number, durations[number]) for _, number in ends]
        # Little time is left for the last trials, and each trial is a large share of
        # it.
        left = np.array(times_left(stages, [0.0, *[end for end, _ in ends]], trials))
        factors = left[1:-5] / left[:-6]
        assert 0.5 < factors.min() and factors.max() <= 2.0


def test_estimates_follow_trials_that_become_slower(times_left):
    seconds = [1.0] * 20 + [30.0] * 20
    left = times_left([PlannedStage(60)], [0.0, *np.cumsum(seconds).tolist()], seconds)
    assert left[19] == 40.0 and 400.0 < left[-1] < 600.0


def test_parameters_are_shown_and_do_not_control_the_terminal(capsys):
    class Shown:
        def __repr__(self):
            return "Pipeline(\n    \x1b[31mred)"

    lines = lines_at(0.0, 1.0, stages=[PlannedStage(1)], with_params=True)
    params = {"C": 2.5, "kernel": "rbf", "a\x1b": Shown()}
    told(lines, [Trial(0, params, [FOLD], 0.5)])
    lines_printed = capsys.readouterr().out.splitlines()
    shown_params = "C=2.5, kernel='rbf', a\ufffd=Pipeline( \ufffd[31mred)"
    assert lines_printed[1:] == [f"[1/1] trial 0: {shown_params}"]


def search_of(quality, estimator=None, **params):
    space, options = {"quality": quality}, {"cv": 2, "random_state": 0, **params}
    return BayesSearchCV(estimator or Sometimes(), space, **options)


@pytest.fixture
def bar(capsys):
    """Return a function that returns what tqdm, and nothing else, has printed."""
    pytest.importorskip("tqdm")

    def printed():
        out, text = capsys.readouterr()
        assert out == ""
        return text

    return printed


def test_the_bar_shows_the_share_and_the_best_score(bar):
    with progress_bar(2) as report:
        told(report, [Trial(0, {}, [FOLD], 0.5)])
    printed = bar()
    assert "trials:  50%" in printed and "best 0.5 (trial 0)" in printed


def test_the_bar_of_a_search_shows_the_best_score(bar):
    search_of([1, 3, 2], n_iter=3, verbose="progress").fit(X, y)
    printed = bar()
    bests = dict.fromkeys(re.findall(r"best \d \(trial \d\)", printed))
    assert [*bests] == ["best 1 (trial 0)", "best 3 (trial 1)"]
    assert "0/3" in printed and re.search(r"100%.* 3/3 .*\n$", printed)


def test_a_resumed_search_continues_its_progress(bar, tmp_path, capsys):
    search = search_of((0.0, 1.0), n_iter=3, journal=tmp_path / "a.journal").fit(X, y)
    search.set_params(n_iter=5, verbose="progress").fit(X, y)
    numbers = re.findall(r"\d/5", bar())
    assert (numbers[0], numbers[-1]) == ("3/5", "5/5")
    search.set_params(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()[1:]
    heads = [f"[{number + 1}/5] trial {number}:" for number in range(5)] + ["Advice:"]
    assert [line[: len(head)] for line, head in zip(lines, heads, strict=True)] == heads


def test_the_bar_is_closed_when_a_fit_raises(bar):
    search = search_of([1], Sometimes(bad="fit"), error_score="raise")
    with pytest.raises(RuntimeError, match="cannot be fitted") as raised:
        search.set_params(verbose="progress").fit(X, y)
    assert raised.tb and bar().endswith("\n")


def test_tqdm_is_missing(monkeypatch):
    class Unwanted(Sometimes):
        def fit(self, X, y):
            raise AssertionError("fitted all the same")

    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    search = search_of([1], Unwanted(), verbose="progress", error_score="raise")
    message = r"verbose='progress' needs tqdm.*skbayes\[progress\]"
    with pytest.raises(ImportError, match=message):
        search.fit(X, y)
