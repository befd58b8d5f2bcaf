"""The loop, with an optimiser, an evaluation and a clock of the tests' own."""

import math

import pytest

from skbayes.optimizer import SpaceExhausted
from skbayes.scheduling import StopReason, run_trials
from skbayes.trials import Trial


class Fake:
    """Proposes 0, 1, 2, …, up to `size`; a trial takes the seconds it is given."""

    def __init__(self, size=math.inf, seconds=(), stop_at=None, interrupt_at=None):
        self.size = size
        self.seconds = seconds
        self.stop_at = stop_at
        self.interrupt_at = interrupt_at
        self.now = 0.0
        self.n_asked = 0
        self.told = []
        self.log = []

    def ask(self, n=1):
        if self.n_asked >= self.size:
            raise SpaceExhausted
        self.n_asked += 1
        self.log.append(("ask", self.n_asked - 1))
        return [{"x": self.n_asked - 1}]

    def tell(self, params, score):
        self.log.append(("tell", params["x"]))
        self.told.append((params, score))

    def evaluate(self, number, params):
        if number == self.interrupt_at:
            raise KeyboardInterrupt
        self.log.append(("evaluate", number))
        self.now += self.seconds[number] if self.seconds else 1.0
        return Trial(
            number,
            params,
            [],
            score=float(number),
            stop_requested=number == self.stop_at,
        )

    def run(self, **kwargs):
        return run_trials(self, self.evaluate, clock=lambda: self.now, **kwargs)


def test_ask_evaluate_tell_in_turn():
    fake = Fake()
    history, reason = fake.run(n_iter=3)
    assert reason == StopReason.N_ITER == "n_iter"
    expected = [(step, i) for i in range(3) for step in ("ask", "evaluate", "tell")]
    assert fake.log == expected
    assert [trial.number for trial in history] == [0, 1, 2]
    assert fake.told == [({"x": i}, float(i)) for i in range(3)]


@pytest.mark.parametrize(
    "n_iter, size, told_size, n_trials, reason",
    [
        (5, 3, math.inf, 3, "exhausted"),  # found out by asking
        (3, 3, 3, 3, "exhausted"),  # known beforehand
        (2, 3, 3, 2, "n_iter"),
        (5, 3, 3, 3, "exhausted"),
    ],
)
def test_exhausted_space(n_iter, size, told_size, n_trials, reason):
    fake = Fake(size)
    history, why = fake.run(n_iter=n_iter, n_cells=told_size)
    assert (len(history), why) == (n_trials, reason)


@pytest.mark.parametrize(
    "seconds, timeout, n_trials",
    [
        ([10, 1], 1, 1),  # the first trial always runs
        ([1, 1, 1, 1], 3, 3),  # 3 s are just enough for three of one second
        ([1, 1, 1, 1], 2.9, 2),
        ([1, 5, 1, 1], 9, 4),  # after two: 6 + median 3 <= 9; after three: 7 + 1
        ([1, 5, 1, 1], 8.9, 2),
        ([2, 2, 2, 2, 2], math.inf, 5),
    ],
)
def test_timeout_plans_with_the_median_duration(seconds, timeout, n_trials):
    fake = Fake(seconds=seconds)
    history, reason = fake.run(n_iter=len(seconds), timeout=timeout)
    assert len(history) == n_trials
    assert reason == ("timeout" if n_trials < len(seconds) else "n_iter")


def test_a_request_to_stop_ends_when_the_trial_is_told():
    fake = Fake(stop_at=2)
    history, reason = fake.run(n_iter=9)
    assert reason == "callback"
    assert len(history) == len(fake.told) == 3
    assert fake.log[-1] == ("tell", 2)


def test_an_interrupt_before_any_trial_passes_on():
    with pytest.raises(KeyboardInterrupt):
        Fake(interrupt_at=0).run(n_iter=3)


def test_an_interrupt_later_keeps_what_was_finished():
    fake = Fake(interrupt_at=2)
    with pytest.warns(UserWarning, match="interrupted.* 2 finished"):
        history, reason = fake.run(n_iter=9)
    assert reason == "interrupted"
    assert len(history) == len(fake.told) == 2


def test_an_error_passes_on():
    fake = Fake()

    def fails(number, params):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_trials(fake, fails, n_iter=2)
    assert fake.told == []


def test_report_is_called_after_each_trial_was_told():
    fake, seen = Fake(), []
    fake.run(
        n_iter=3,
        report=lambda trial, history: seen.append(
            (trial.number, len(history), len(fake.told))
        ),
    )
    assert seen == [(0, 1, 1), (1, 2, 2), (2, 3, 3)]
