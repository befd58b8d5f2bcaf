"""Progress lines and progress bars."""

import math
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


class Clock:
    """Clock that returns given times one after the other."""

    def __init__(self, *times):
        self.times = list(times)

    def __call__(self):
        return self.times.pop(0)


def told(lines, trials):
    """Report trials, and return the output for each of them."""
    history = History()
    for trial in trials:
        history.append(trial)
        lines(trial, history)


def ran(number, seconds, stage=0):
    """Return a trial with the given duration."""
    return Trial(number, {}, [FOLD], 0.5, duration=seconds, fidelity=Fidelity(stage))


def times_left(capsys):
    """Return the printed remaining times."""
    lines = capsys.readouterr().out.splitlines()
    return [float(line.rpartition("left ")[2].rstrip("s")) for line in lines]


def test_a_line_per_trial(capsys):
    lines = Lines([PlannedStage(5)], None, clock=Clock(10.0, 12.0, 16.0, 17.0, 18.0))
    skipped = FoldResult(status="skipped")
    told(
        lines,
        [
            Trial(0, {"C": 1}, [FOLD], math.nan, state="failed"),
            Trial(1, {"C": 2}, [FOLD], 0.25),
            Trial(2, {"C": 3}, [FOLD, FOLD, skipped], 0.5, state="pruned"),
            Trial(3, {"C": 4}, [FOLD, skipped, skipped], 0.5, state="timed_out"),
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
    ]


def test_negated_metrics_are_printed_as_in_the_displays(capsys):
    options = {"scoring": "neg_log_loss", "n_iter": 2, "cv": 3, "random_state": 0}
    space = {"C": (0.1, 10.0, "log-uniform")}
    search = BayesSearchCV(LogisticRegression(max_iter=1000), space, **options)
    search.set_params(verbose=1).fit(X, y)
    record = read_record(search)
    lines = capsys.readouterr().out.splitlines()
    for place, shown in enumerate(record.shown):
        text = f"trial {place}: {record.title} {shown:.6g}, best so far "
        assert text in lines[1 + place]
    best = f"best so far {-search.best_score_:.6g} (trial {search.best_index_})"
    assert best in lines[2]


def test_recalled_trials_take_no_time(capsys):
    # Six trials of 10 s are recalled within 0.6 s. Later trials take 20 s each, and
    # their proposals 1 s.
    recalled = {number: ran(number, 10.0) for number in range(6)}
    clock = Clock(0.0, *[0.1 * k for k in range(1, 7)], 21.6, 42.6, 63.6, 84.6)
    lines = Lines([PlannedStage(10)], None, recalled, clock=clock)
    told(lines, [*recalled.values(), *[ran(number, 20.0) for number in range(6, 10)]])
    # Before the first trial of this run, only the times of the earlier run are known.
    left = times_left(capsys)
    assert left[:6] == [40.0] * 6 and left[9] == 0.0
    assert left[6:9] == pytest.approx([63.0, 42.0, 21.0], rel=0.2)


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
        # A timeout of 100 s.
        ([PlannedStage(9)], (), (0.0, 95.0, 105.0), [ran(0, 95.0)] * 2, [5.0, 0.0]),
    ],
)
def test_the_time_left_is_estimated(stages, recalled, times, trials, left, capsys):
    recalled = {number: trials[number] for number in recalled}
    told(Lines(stages, 100.0, recalled, clock=Clock(*times)), trials)
    assert times_left(capsys) == left


@pytest.mark.parametrize("n", [4, 16])
def test_trials_in_flight_count_by_their_number(n, capsys):
    # n at a time, 8 s each: n are told at 8 s, n more at 16 s, and so on.
    n_trials = 4 * n
    clock = Clock(0.0, *[8.0 * (1 + k // n) for k in range(n_trials)])
    lines = Lines([PlannedStage(n_trials, n_in_flight=n)], None, clock=clock)
    told(lines, [ran(k, 8.0) for k in range(n_trials)])
    left = times_left(capsys)
    for k, shown in enumerate(left):
        # Trials in flight end within the next eight seconds.
        end_of_trial = 32.0 - 8.0 * (1 + k // n)
        assert end_of_trial - 0.1 <= shown <= end_of_trial + 8.0
    assert all(now >= later for now, later in zip(left, left[1:], strict=False))


def test_trials_that_start_the_workers_count_less_and_less(capsys):
    durations = [20.0] * 2 + [2.0] * 12
    clock = Clock(0.0, *[20.0 + 2.0 * (k // 2) for k in range(14)])
    lines = Lines([PlannedStage(16, n_in_flight=2)], None, clock=clock)
    told(lines, [ran(k, seconds) for k, seconds in enumerate(durations)])
    left = times_left(capsys)
    assert left[:2] == [150.0, 140.0] and 2.0 < left[-1] < 4.0


@pytest.mark.parametrize("n_in_flight", [1, 4])
def test_one_trial_does_not_change_the_estimate_by_a_large_factor(n_in_flight, capsys):
    for seed in range(20):
        durations = np.random.default_rng(seed).lognormal(0.0, 1.5, 40)
        free, ends = np.zeros(n_in_flight), []
        for number, seconds in enumerate(durations):
            worker = free.argmin()
            free[worker] += seconds
            ends.append((free[worker], number))
        ends.sort()
        clock = Clock(0.0, *[end for end, _ in ends])
        lines = Lines([PlannedStage(40, n_in_flight=n_in_flight)], None, clock=clock)
        told(lines, [ran(number, durations[number]) for _, number in ends])
        # Little time is left for the last trials, and each trial is a large share of
        # it.
        left = np.array(times_left(capsys))[:-5]
        factors = left[1:] / left[:-1]
        assert 0.5 < factors.min() and factors.max() <= 2.0


def test_estimates_follow_trials_that_become_slower(capsys):
    seconds = [1.0] * 20 + [30.0] * 20
    clock = Clock(0.0, *np.cumsum(seconds).tolist())
    lines = Lines([PlannedStage(60)], None, clock=clock)
    told(lines, [ran(number, time) for number, time in enumerate(seconds)])
    left = times_left(capsys)
    assert left[19] == 40.0 and 400.0 < left[-1] < 600.0


def test_parameters_are_shown_and_do_not_control_the_terminal(capsys):
    class Shown:
        def __repr__(self):
            return "Pipeline(\n    \x1b[31mred)"

    lines = Lines([PlannedStage(1)], None, with_params=True, clock=Clock(0.0, 1.0))
    params = {"C": 2.5, "kernel": "rbf", "a\x1b": Shown()}
    told(lines, [Trial(0, params, [FOLD], 0.5)])
    lines_printed = capsys.readouterr().out.splitlines()
    shown_params = "C=2.5, kernel='rbf', a\ufffd=Pipeline( \ufffd[31mred)"
    assert lines_printed[1:] == [f"[1/1] trial 0: {shown_params}"]


def search_of(quality, estimator=None, **params):
    space, options = {"quality": quality}, {"cv": 2, "random_state": 0, **params}
    return BayesSearchCV(estimator or Sometimes(), space, **options)


@pytest.fixture
def bars(monkeypatch):
    """Record the calls of tqdm."""
    tqdm = pytest.importorskip("tqdm.auto")
    bars_made = []

    class Bar:
        def __init__(self, **kwargs):
            self.said, self.n, self.closed = [kwargs], 0, False
            bars_made.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.closed = True

        def set_postfix_str(self, text):
            self.said.append(text)

        def update(self):
            self.n += 1

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    return bars_made


def test_tqdm_shows_the_share_and_the_best_score(capsys):
    pytest.importorskip("tqdm")
    with progress_bar(2) as report:
        told(report, [Trial(0, {}, [FOLD], 0.5)])
    printed = capsys.readouterr().err
    assert "trials:  50%" in printed and "best 0.5 (trial 0)" in printed


def test_the_bar_of_a_search_shows_the_best_score(bars, capsys):
    search_of([1, 3, 2], n_iter=3, verbose="progress").fit(X, y)
    assert bars[0].n == bars[0].said[0]["total"] == 3 and bars[0].closed
    assert bars[0].said[1:] == ["best 1 (trial 0)", *["best 3 (trial 1)"] * 2]
    assert capsys.readouterr().out == ""


def test_a_resumed_search_continues_its_progress(bars, tmp_path, capsys):
    search = search_of((0.0, 1.0), n_iter=3, journal=tmp_path / "a.journal").fit(X, y)
    search.set_params(n_iter=5, verbose="progress").fit(X, y)
    assert bars[0].said[0]["initial"] == 3 and bars[0].said[0]["total"] == 5
    assert bars[0].n == 2
    search.set_params(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()[1:]
    heads = [f"[{number + 1}/5] trial {number}:" for number in range(5)] + ["Advice:"]
    assert [line[: len(head)] for line, head in zip(lines, heads, strict=True)] == heads


def test_the_bar_is_closed_when_a_fit_raises(bars):
    search = search_of([1], Sometimes(bad="fit"), error_score="raise")
    with pytest.raises(RuntimeError, match="cannot be fitted"):
        search.set_params(verbose="progress").fit(X, y)
    assert bars[0].closed


def test_tqdm_is_missing(monkeypatch):
    class Unwanted(Sometimes):
        def fit(self, X, y):
            raise AssertionError("fitted all the same")

    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    search = search_of([1], Unwanted(), verbose="progress", error_score="raise")
    message = r"verbose='progress' needs tqdm.*skbayes\[progress\]"
    with pytest.raises(ImportError, match=message):
        search.fit(X, y)
