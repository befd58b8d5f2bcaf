"""Scheduler with fake optimizer, evaluator, executor and clock."""

import math
import warnings
from concurrent.futures import BrokenExecutor, Future
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skbayes.loop.scheduler import Budget, Scheduler, StopReason
from skbayes.optimizer import SpaceExhausted
from skbayes.space import Integer, Space
from skbayes.space.candidates import Configuration
from skbayes.trial.evaluator import CandidateEvaluator
from skbayes.trial.plan import NullJournal
from skbayes.trial.records import FoldResult, Trial, TrialState


class Fake:
    """Fake of all parts of a search; trial k takes `seconds[k]`, or one second.

    Its executor ends trials in the order that `order` chooses. Its optimizer proposes
    0, 1, 2, …, up to `size`, and records which trials had been observed.
    """

    last_expected_improvement = None
    space = Space([{"x": Integer(0, 1000)}])

    def __init__(self, size=math.inf, seconds=(), order=min, **events):
        self.size, self.seconds, self.order, self.events = size, seconds, order, events
        self.now = 0.0
        self.n_asked = 0
        self.pending, self.told, self.learned, self._complete = [], [], [], []
        self.knew = {}
        self.started, self.futures, self.left = [], {}, {}
        self.is_stopped = False
        self.n_in_flight = []

    # the optimizer

    def propose(self, max_cost=None):
        if self.n_asked >= self.size:
            raise SpaceExhausted
        configuration = Configuration.of(self.space, {"x": self.n_asked})
        self.pend(configuration)
        return configuration

    def pend(self, configuration):
        self.knew[self.n_asked] = [one["x"] for one, _ in self.told]
        self.n_asked += 1
        self.pending.append(configuration.params)

    def forget(self, configuration):
        self.pending.remove(configuration.params)

    def tell(self, configuration, score, **options):
        self.pending.remove(configuration.params)
        self.told.append((configuration.params, score))
        self.options = options

    def expected_cost(self, configuration):
        seconds = sorted(self.seconds[one["x"]] for one, _ in self.told)
        return float(np.median(seconds)) if seconds else None

    # the evaluator

    def prepare(self, number, params):
        if self.events.get("interrupt_while_preparing") == number:
            raise KeyboardInterrupt
        return number, params

    def conclude(self, evaluation, outcome):
        number, params = evaluation
        if self.events.get("fails_at") == number:
            raise ZeroDivisionError
        if outcome == "interrupted":
            return None
        stop = self.events.get("stop_at") == number
        fields = {"extras": {"stop_requested": stop}, "duration": self.takes(number)}
        return Trial(number, params, [], float(number), **fields)

    def failed(self, evaluation, text):
        number, params = evaluation
        folds = [FoldResult(fit_error=text)]
        return Trial(number, params, folds, math.nan, state="failed")

    plan = SimpleNamespace(aspects=(), objective=lambda scores: scores["score"])

    def observe(self, trial):
        self.learned.append(trial.number)
        return CandidateEvaluator.observe(self, trial)

    def recall(self, trial):
        return trial

    # the executor

    def takes(self, number):
        return float(self.seconds[number]) if self.seconds else 1.0

    @property
    def unfinished(self):
        return sorted(self.futures)

    def start(self, number, task, alone=False):
        assert not (alone and self.futures)
        self.started.append(number)
        self.futures[number] = Future()
        self.left[number] = self.takes(number)
        self.n_in_flight.append(len(self.futures))

    def finished(self, seconds=math.inf):
        number = self.order(self.unfinished)
        if self.is_stopped:
            self.futures[number].set_result("interrupted")
            return {number: self.futures.pop(number)}
        if self.left[number] > seconds:
            self.now += seconds
            self.left[number] -= seconds
            return {}
        if number == self.events.get("interrupt_at"):
            del self.events["interrupt_at"]
            raise KeyboardInterrupt
        self.now += self.left[number]
        killer = self.events.get("killer")
        once = self.events.get("killed_once", [])
        if killer in self.futures or (once and once[0] in self.futures):
            del once[:1]
            # All trials in flight end with it.
            ended = {n: self.futures.pop(n) for n in self.unfinished}
            for number, future in ended.items():
                cause = self.events.get("cause", {}).get(number)
                text = self.events.get("text", "killed")
                future.set_exception(cause or BrokenExecutor(text))
            return ended
        future = self.futures.pop(number)
        died = number == self.events.get("interrupted_worker")
        future.set_result("interrupted" if died else number)
        return {number: future}

    def drop(self):
        """Cancel trials that were not begun: all, if they run in this thread."""
        if self.events.get("in_this_thread"):
            self.futures.clear()

    def stop(self):
        self.is_stopped = True

    def end_workers(self):
        """End nothing: there are no processes."""

    def run(self, n_iter, n_points=1, journal=None, report=None, **budget):
        scheduler = Scheduler(
            self,
            self,
            self,
            Budget(n_iter, clock=lambda: self.now, **budget),
            n_points=n_points,
            journal=journal or NullJournal(),
            report=report,
        )
        self.history = scheduler.history
        stop = self.stop if "deadline" in budget else lambda: None
        reason = scheduler.run(stop, lambda: None)
        return [trial.number for trial in scheduler.history], reason


def assert_known(fake, n_iter, n_points):
    """Check the rule of what is known when each trial is proposed."""
    for k in range(n_iter):
        assert fake.knew[k] == list(range(max(0, k - n_points + 1)))


@given(
    seed=st.integers(0, 2**32 - 1),
    n_points=st.integers(1, 6),
    n_iter=st.integers(1, 15),
)
def test_observations_before_a_proposal_do_not_depend_on_timing(seed, n_points, n_iter):
    rng = np.random.default_rng(seed)
    fake = Fake(order=lambda numbers: int(rng.choice(numbers)))
    numbers, _ = fake.run(n_iter=n_iter, n_points=n_points)
    assert numbers == list(range(n_iter))
    assert_known(fake, n_iter, n_points)
    assert max(fake.n_in_flight) == min(n_points, n_iter)


class Memory(NullJournal):
    """Journal that keeps the proposals."""

    def record_proposal(self, number, params, expected_improvement):
        assert number == len(self.proposals)
        self.proposals.append(params.params)
        self.expected_improvements.append(expected_improvement)
        return True


@given(
    seed=st.integers(0, 2**32 - 1),
    n_points=st.integers(1, 6),
    killed_after=st.lists(st.integers(0, 14), max_size=3),
)
def test_a_log_continues_where_it_ended(seed, n_points, killed_after):
    rng = np.random.default_rng(seed)

    class Limited(Memory):
        """Journal that ends the program after a number of results."""

        def record_result(self, trial):
            assert trial.number not in self.results
            self.results[trial.number] = trial
            if len(self.results) == self.limit:
                raise SystemExit
            return True

    journal = Limited()
    n_fits = []
    for journal.limit in [*killed_after, 99]:
        fake = Fake(order=lambda numbers: int(rng.choice(numbers)))
        try:
            numbers, _ = fake.run(n_iter=15, n_points=n_points, journal=journal)
        except SystemExit:
            n_fits.append(len(fake.started))
            continue
        break
    assert numbers == list(range(15))
    assert sorted(journal.results) == list(range(15))
    assert [one["x"] for one in journal.proposals] == list(range(15))
    assert_known(fake, 15, n_points)


@pytest.mark.parametrize(
    "n_iter, size, told_size, n_trials, reason",
    [
        (5, 3, math.inf, 3, "exhausted"),  # found out by asking
        (3, 3, 3, 3, "exhausted"),  # known beforehand
        (2, 3, 3, 2, "n_iter"),
        (5, 3, 3, 3, "exhausted"),
    ],
)
@pytest.mark.parametrize("n_points", [1, 9])
def test_exhausted_spaces_end_runs(n_iter, size, told_size, n_trials, reason, n_points):
    numbers, end_reason = Fake(size).run(
        n_iter=n_iter, n_configurations=told_size, n_points=n_points
    )
    assert (len(numbers), end_reason) == (n_trials, reason)


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
def test_timeout_plans_with_the_expected_cost(seconds, timeout, n_trials):
    fake = Fake(seconds=seconds)
    numbers, reason = fake.run(n_iter=len(seconds), timeout=timeout)
    assert len(numbers) == n_trials
    assert reason == ("timeout" if n_trials < len(seconds) else "n_iter")
    # Trials that have not begun are no longer pending.
    assert fake.pending == []


@pytest.mark.parametrize(
    "n_points, n_iter, finished, dropped",
    [(1, 9, [0, 1], [2]), (3, 9, [0, 1, 3, 4], [2]), (1, 3, [0, 1], [2])],
)
def test_trials_in_flight_at_the_deadline_are_dropped(
    n_points, n_iter, finished, dropped, caplog
):
    caplog.set_level("INFO", "skbayes")
    seconds = [1, 1, 100, 1, 1]
    fake = Fake(
        seconds=seconds, order=lambda numbers: min(numbers, key=seconds.__getitem__)
    )
    numbers, reason = fake.run(n_iter, n_points, timeout=5.0, deadline=5.0)
    assert (numbers, reason, fake.now) == (finished, "timeout", 5.0)
    aborted = [record.args for record in caplog.records if "aborted" in record.msg]
    assert aborted == [(number,) for number in dropped]
    assert [one["x"] for one, _ in fake.told] == finished
    assert fake.pending == []


@pytest.mark.parametrize(
    "timeout, trials",
    [
        (None, [[0, 1], [0, 1, 2], [0, 1, 2, 3]]),
        (99, [[0, 1], [0, 1, 3], [0, 1, 3, 4]]),
    ],
)
def test_with_a_timeout_a_long_trial_delays_others_for_a_limited_time(timeout, trials):
    seconds = [1, 1, 30, 1, 1, 1, 1, 1]
    fake = Fake(
        seconds=seconds, order=lambda numbers: min(numbers, key=fake.left.__getitem__)
    )
    numbers, reason = fake.run(8, n_points=2, timeout=timeout)
    assert (numbers, reason) == (list(range(8)), "n_iter")
    assert sorted(one["x"] for one, _ in fake.told) == numbers
    # Trial 3 runs beside trial 2, and is told after 3 s of waiting for trial 2.
    assert [fake.knew[k] for k in (3, 4, 5)] == trials
    assert fake.pending == []


def test_a_log_of_trials_that_did_not_wait_is_recalled_completely():
    class Parallel(Fake):
        def order(self, numbers):
            return min(numbers, key=self.left.__getitem__)

    journal, times = Memory(), {k: 99 if k == 2 else 1 for k in range(8)}
    for seconds, finished in ((times, [0, 1, *range(3, 8)]), ([1] * 8, list(range(8)))):
        fake = Parallel(seconds=seconds)
        del fake.__dict__["order"]
        numbers, _ = fake.run(8, n_points=2, journal=journal, timeout=9, deadline=9)
        assert numbers == finished
        journal.results = {trial.number: trial for trial in fake.history}
    assert fake.started == [2]


def test_no_trial_is_proposed_when_proposals_take_longer_than_what_is_left():
    class Slow(Fake):
        def propose(self, max_cost=None):
            self.now += 2.0
            return super().propose(max_cost)

    fake = Slow(seconds=[1] * 9)
    numbers, reason = fake.run(n_iter=9, timeout=7.5)
    # A third trial is not proposed: proposals took 2 s, and 1.5 s are left.
    assert (numbers, reason, fake.now) == ([0, 1], "timeout", 6.0)


@pytest.mark.parametrize("state", list(TrialState))
def test_trials_aborted_for_their_memory_are_observed_as_such(state):
    class Heavy(Fake):
        def conclude(self, evaluation, outcome):
            number, params = evaluation
            return Trial(number, params, [], math.nan, duration=1.0, state=state)

    fake = Heavy()
    fake.run(n_iter=1)
    assert fake.options.get("aborted", False) == (state == "out_of_memory")


class Planner(Fake):
    """Optimizer that proposes trials of 4 seconds, or of `short` seconds on request."""

    short = 1.0

    def __init__(self):
        super().__init__()
        self.within = []

    def propose(self, max_cost=None):
        self.within.append(max_cost)
        x = self.n_asked + (0 if max_cost is None else 100)
        configuration = Configuration.of(self.space, {"x": x})
        self.pend(configuration)
        return configuration

    def expected_cost(self, configuration):
        return 4.0 if configuration.params["x"] < 100 else self.short

    def start(self, number, task, alone=False):
        _, params = task.args[0]
        self.seconds = {number: 4.0 if params["x"] < 100 else self.short}
        super().start(number, task, alone)


def test_trials_that_are_expected_to_end_in_time_are_started():
    fake = Planner()
    numbers, reason = fake.run(n_iter=9, timeout=10.5)
    assert (numbers, reason) == ([0, 1, 2, 3], "timeout")
    assert [one["x"] >= 100 for one, _ in fake.told] == [False, False, True, True]
    limits = [one for one in fake.within if one is not None]
    assert limits == [2.5, 1.5, 0.5]
    assert fake.pending == []
    # No trial is proposed if no time is left.
    fake = Planner()
    assert fake.run(n_iter=9, timeout=8.0) == ([0, 1], "timeout")
    assert fake.within == [None] * 2
    assert fake.pending == []


@pytest.mark.parametrize("n_points", [1, 3])
def test_a_request_to_stop_counts_when_the_trial_is_observed(n_points):
    fake = Fake(stop_at=2, order=max)
    numbers, reason = fake.run(n_iter=9, n_points=n_points)
    assert reason == "callback"
    # Trials in flight at this time are finished.
    assert numbers == list(range(2 + n_points))


def test_stoppers_end_the_run_with_their_reason():
    def enough(history):
        return len(history) == 4

    fake = Fake()
    assert fake.run(n_iter=9, stoppers=[enough]) == ([0, 1, 2, 3], "stopper")
    enough.reason = "had_enough"
    never = lambda history: False  # noqa: E731
    fake = Fake()
    assert fake.run(n_iter=9, stoppers=[never, enough])[1] == "had_enough"


@pytest.mark.parametrize("n_points, killer", [(1, 2), (4, 0), (4, 2), (4, 5)])
def test_a_crashed_worker_costs_one_trial(n_points, killer):
    fake = Fake(killer=killer)
    numbers, reason = fake.run(n_iter=8, n_points=n_points)
    assert (numbers, reason) == (list(range(8)), "n_iter")
    failed = [trial.number for trial in fake.history if trial.state == "failed"]
    assert failed == [killer]
    assert "died: killed" in fake.history[killer].error
    assert_known(fake, 8, n_points)


@pytest.mark.parametrize(
    "n_points, killed, n_started",
    [
        (1, range(8), 16),
        (4, [0, 4], 16),
        (4, [0, 2, 3], 14),  # those with 0, and 2 and 3 once more when alone
    ],
)
def test_no_trial_is_blamed_for_one_death(n_points, killed, n_started):
    fake = Fake(killed_once=list(killed))
    numbers, _ = fake.run(n_iter=8, n_points=n_points)
    assert numbers == list(range(8))
    assert {trial.state for trial in fake.history} == {"complete"}
    assert len(fake.started) == n_started
    assert_known(fake, 8, n_points)


@pytest.mark.parametrize("number", [0, 3])
def test_the_cause_of_a_breakdown_is_raised(number):
    # After an object that cannot be pickled, joblib shuts down the workers of other
    # trials.
    with pytest.raises(TypeError, match="cannot pickle"):
        cause = {number: TypeError("cannot pickle")}
        Fake(killed_once=[0], cause=cause).run(n_iter=8, n_points=4)


def test_objects_that_cannot_be_unpickled_fail_only_their_search():
    text = "A task has failed to un-serialize."
    assert len(Fake(killed_once=[1], text=text).run(n_iter=4, n_points=2)[0]) == 4
    with pytest.raises(BrokenExecutor, match="un-serialize"):
        Fake(killer=1, text=text).run(n_iter=4, n_points=2)


def test_an_error_passes_on_when_what_is_in_flight_has_ended():
    fake = Fake(fails_at=1)
    with pytest.raises(ZeroDivisionError):
        fake.run(n_iter=5, n_points=3)
    assert fake.futures == {}
    assert [one["x"] for one, _ in fake.told] == [0]


@pytest.mark.parametrize(
    "events, n_points, finished",
    [
        # An executor that continues lets the running trial end.
        ({"interrupt_at": 2}, 1, [0, 1, 2]),
        # In this thread, trials that have not begun are dropped.
        ({"interrupt_at": 2, "in_this_thread": True}, 3, [0, 1]),
        # The trial in preparation is withdrawn.
        ({"interrupt_while_preparing": 2}, 1, [0, 1]),
        # Trial 3 is forgotten; the trials that ended at the same time are kept.
        ({"interrupted_worker": 3, "order": max}, 3, [0, 1, 2, 4, 5]),
    ],
)
def test_an_interrupt_keeps_what_was_finished(events, n_points, finished, caplog):
    fake, text = Fake(**events), f"ends with {len(finished)} finished"
    with pytest.warns(UserWarning, match=f"interrupted.*{text}"):
        numbers, reason = fake.run(n_iter=9, n_points=n_points)
    assert (numbers, reason) == (finished, StopReason.INTERRUPTED)
    assert fake.pending == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, reason = Fake(**events).run(n_iter=9, n_points=n_points)
    assert reason == "interrupted" and text in caplog.text


def test_an_interrupt_before_any_trial_passes_on():
    with pytest.raises(KeyboardInterrupt):
        Fake(interrupt_at=0, in_this_thread=True).run(n_iter=1)


def test_report_is_called_after_each_observed_trial():
    fake, reports = Fake(), []

    def report(trial, history):
        reports.append((trial.number, len(history), len(fake.told)))

    numbers, reason = fake.run(n_iter=3, report=report)
    assert reports == [(0, 1, 1), (1, 2, 2), (2, 3, 3)]
    assert reason == StopReason.N_ITER == "n_iter"
    assert numbers == fake.started == fake.learned == [0, 1, 2]
    assert fake.told == [({"x": i}, float(i)) for i in range(3)]
    assert fake.pending == []
