"""Scheduler of trials: ask, evaluate and tell until a budget is spent.

Symbols: ``q`` is the number of trials in flight, ``n_points``.

Trial k is proposed from the results of exactly the trials 0 … k - q. The next q - 1
trials are pending, even if some of them have finished, because the optimizer observes
results in the order of the trials. The trials therefore depend on q, but never on
timing. There is one exception: with a timeout, the optimizer does not wait for a trial
that takes much longer than the others.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import operator
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.loop.executor import TrialExecutor, is_crash, is_unreadable, was_retried
from skbayes.space.candidates import Configuration, DrawsExhausted, SpaceExhausted
from skbayes.trial.limits import SearchTimeout
from skbayes.trial.plan import NullJournal, StageStart
from skbayes.trial.records import History, Trial
from skbayes.utils.optional import warn_or_log

if TYPE_CHECKING:
    from skbayes.trial.aspect import Evaluation
    from skbayes.trial.evaluator import CandidateEvaluator


logger = logging.getLogger("skbayes")

# Number of crashes of a worker that runs only one trial, after which this trial fails.
MAX_CRASHES = 2

# With a timeout, the optimizer waits for a trial for this multiple of the median
# duration of trials, and for at least this number of seconds. It then observes later
# trials.
PATIENCE, LEAST_PATIENCE = 3.0, 2.0


class StopReason:
    """Values of `stop_reason_` that are not from stoppers."""

    N_ITER = "n_iter"
    TIMEOUT = "timeout"
    EXHAUSTED = "exhausted"
    CALLBACK = "callback"
    STOPPER = "stopper"
    INTERRUPTED = "interrupted"


@dataclasses.dataclass(frozen=True)
class Budget:
    """Limits of a search: number of trials, seconds, and stoppers.

    A trial that is expected to exceed the `timeout` is replaced by a shorter one if the
    optimizer finds one. The first trial is always started. At the `deadline` by
    `clock`, trials in flight are dropped, and their fits are aborted if the backend can
    abort them. `stoppers` are called with the history after each trial. ``reserve``
    returns the seconds before the deadline that the refit needs, given the history.
    """

    n_iter: float
    timeout: float | None = None
    deadline: float = math.inf
    n_configurations: float = math.inf
    stoppers: Sequence[Callable[[History], bool]] = ()
    reserve: Callable[[History], float] | None = None
    clock: Callable[[], float] = dataclasses.field(
        default_factory=lambda: time.perf_counter
    )

    def left(self, history: History) -> float:
        """Return the seconds until the deadline, or until the refit before it."""
        reserved = 0.0 if self.reserve is None else self.reserve(history)
        return self.deadline - self.clock() - reserved


@dataclasses.dataclass
class Scheduler:
    """Runner of trials, with up to `n_points` of them in parallel.

    Trials in the journal are not run again. Budgets and stoppers count the new trials
    only. `score_of` returns the score that the optimizer observes for a trial. `start`
    is the start of the stage to which the trials belong.
    """

    optimizer: Any
    evaluator: CandidateEvaluator
    executor: TrialExecutor
    budget: Budget
    n_points: int = 1
    journal: Any = dataclasses.field(default_factory=NullJournal)
    report: Callable[[Trial, History], None] | None = None
    score_of: Callable[[Trial], Any] = operator.attrgetter("score")
    history: History = dataclasses.field(default_factory=History)
    start: StageStart = StageStart()

    def __post_init__(self) -> None:
        self._first = self.start.first
        self._n_asked = max(self._first, len(self.history))
        self._asked: dict[int, tuple[Configuration, float | None]] = {}
        self._evaluations: dict[int, Evaluation] = {}
        # Finished trials that the optimizer has not observed.
        self._done: dict[int, Trial] = {}
        # Finished trials that the optimizer has observed before an earlier trial.
        self._observed_early: set[int] = set()
        self._reason: str | None = None
        # Whether the search has ended, and not only this stage.
        self.is_over = False
        # Seconds of the last proposal.
        self._proposal_seconds = 0.0

    def run(
        self, on_interrupt: Callable[[], None], on_crash: Callable[[], None]
    ) -> str:
        """Run trials until a budget is spent; return the stop reason.

        `on_interrupt` prevents fits that have not begun from running. `on_crash` is
        called after a crash, before anything runs again. KeyboardInterrupt is raised if
        the user interrupts before any trial has finished, or twice.
        """
        self._begin = self.budget.clock()
        self._on_interrupt, self._on_crash = on_interrupt, on_crash
        try:
            try:
                while self._fill_slots():
                    first, begin = min(self._asked), self.budget.clock()
                    while first not in self._done:
                        self._wait(begin + self._patience())
                    self._tell(first)
            except SearchTimeout:
                # The time of a refit of a better trial may be shorter, but fits are
                # not possible any more.
                self._reason, self.is_over = StopReason.TIMEOUT, True
                on_interrupt()
                self._drain()
        except KeyboardInterrupt:
            self._interrupt()
        except Exception:
            self._abandon()
            raise
        assert self._reason is not None
        ends_search = (StopReason.CALLBACK, StopReason.INTERRUPTED)
        self.is_over |= self._reason in ends_search
        return self._reason

    # -- asking -------------------------------------------------------------------

    def _fill_slots(self) -> bool:
        """Start trials while slots are free; return whether any trial is running."""
        while self._reason is None:
            if len(self._asked) - len(self._observed_early) >= self.n_points:
                is_first_done = min(self._asked) in self._done
                if is_first_done or self._n_asked not in self.journal.results:
                    break
                self._observe_early()  # an earlier run did not wait for the first
            self._ask()
        return bool(self._asked)

    def _ask(self) -> None:
        """Start one more trial, or set the reason for not starting one."""
        number = self._n_asked
        n_asked = number - self._first
        if n_asked >= min(self.budget.n_configurations, self.budget.n_iter):
            exhausted = n_asked >= self.budget.n_configurations
            self._reason = StopReason.EXHAUSTED if exhausted else StopReason.N_ITER
            return
        recalled = number < len(self.journal.proposals)
        if recalled:
            configuration, improvement = self._pend_recorded(number)
        elif n_asked > 0 and self._left() <= self._proposal_seconds:
            self._reason = StopReason.TIMEOUT
            return
        else:
            try:
                configuration = self._propose()
            except SpaceExhausted as error:
                self._end_exhausted(error)
                return
            improvement = self.optimizer.last_expected_improvement
        # Stored first, so that an interrupt can withdraw the trial.
        self._asked[number] = configuration, improvement
        if number in self.journal.results:
            self._n_asked += 1
            self._done[number] = self.evaluator.recall(self.journal.results[number])
            return
        if self._would_overrun(configuration):
            self._withdraw(number)
            shorter = None if recalled else self._propose_shorter(number)
            if shorter is None:
                self._reason = StopReason.TIMEOUT
                return
            configuration, improvement = shorter
        if not recalled:
            self.journal.record_stage(self.start)
            self.journal.record_proposal(number, configuration, improvement)
        self._n_asked += 1
        evaluation = self.evaluator.prepare(number, configuration.params)
        self._evaluations[number] = evaluation
        self.executor.start(number, partial(self.evaluator.run, evaluation))
        logger.debug("trial %d started: %r", number, configuration)

    def _pend_recorded(self, number: int) -> tuple[Configuration, float | None]:
        """Return the proposal of an earlier run, which is pending again."""
        params = self.journal.proposals[number]
        configuration = Configuration.of(self.optimizer.space, params)
        self.optimizer.pend(configuration)
        return configuration, self.journal.expected_improvements[number]

    def _end_exhausted(self, error: SpaceExhausted) -> None:
        """Set the reason; raise ValueError if there is no trial."""
        if self._n_asked == 0:
            raise ValueError(f"No fits were performed. {error}") from error
        if isinstance(error, DrawsExhausted):
            trials = f"{self._n_asked} trial{'s' * (self._n_asked > 1)}"
            warn_or_log(f"The search ends after {trials}. {error}")
        self._reason = StopReason.EXHAUSTED

    def _would_overrun(self, configuration: Configuration) -> bool:
        # All trials of an earlier run are repeated, so that no number is missing.
        sure = max(self._first + 1, len(self.journal.proposals))
        if self.budget.timeout is None or self._n_asked < sure:
            return False
        return (self.optimizer.expected_cost(configuration) or 0.0) > self._left()

    def _left(self) -> float:
        """Return the remaining seconds for trials."""
        if self.budget.timeout is None:
            return math.inf
        left = self.budget.timeout - (self.budget.clock() - self._begin)
        return min(left, self.budget.left(self.history))

    def _propose(self, max_cost: float | None = None) -> Configuration:
        """Propose a configuration, and measure the time of the proposal."""
        begin = self.budget.clock()
        try:
            return self.optimizer.propose(max_cost)
        finally:
            self._proposal_seconds = self.budget.clock() - begin

    def _propose_shorter(
        self, number: int
    ) -> tuple[Configuration, float | None] | None:
        """Propose a trial that is expected to end in time; None if there is none.

        This is the only proposal that depends on the remaining time.
        """
        left = self._left() - self._proposal_seconds
        if left <= 0.0:
            return None
        try:
            configuration = self._propose(max_cost=left)
        except SpaceExhausted:
            return None
        self._asked[number] = configuration, self.optimizer.last_expected_improvement
        if self._would_overrun(configuration):
            self._withdraw(number)
            return None
        return self._asked[number]

    # -- finishing ----------------------------------------------------------------

    def _wait(self, end: float) -> None:
        """Wait for trials; after the `end`, observe those that have finished."""
        left = end - self.budget.clock()
        if left <= 0.0:
            self._observe_early()
            self._fill_slots()
            left = math.inf
        futures = self.executor.finished(min(left, self._until_deadline()))
        if not futures and self._until_deadline() > 0.0:
            return
        if crashed := self._store_finished(futures):
            self._recover(crashed)

    def _patience(self) -> float:
        """Return the seconds for which the optimizer waits for one trial."""
        if self.budget.timeout is None:
            return math.inf
        ended = [*self.history[self._first :], *self._done.values()]
        durations = [trial.duration for trial in ended] or [math.inf]
        return max(PATIENCE * float(np.median(durations)), LEAST_PATIENCE)

    def _until_deadline(self) -> float:
        """Return the seconds for which to wait for trials."""
        return max(0.0, self.budget.left(self.history))

    def _store_finished(self, futures: Mapping[int, Any]) -> dict[int, BaseException]:
        """Store the finished trials; return those whose workers crashed.

        An exception of one trial is raised after the others have been stored.
        SearchTimeout is raised if no trial has finished.
        """
        if not futures:
            raise SearchTimeout
        crashed: dict[int, BaseException] = {}
        raised: BaseException | None = None
        for number, future in futures.items():
            error = future.exception()
            if error is not None and is_crash(error):
                crashed[number] = error
                continue
            try:
                trial = self._concluded(number, future)
                if trial is None:
                    # A worker was interrupted; Ctrl-C in a terminal interrupts all.
                    raise KeyboardInterrupt
                self._store(trial)
            except BaseException as problem:
                raised = raised or problem
        if raised is not None:
            raise raised
        return crashed

    def _concluded(self, number: int, future: Any) -> Trial | None:
        return self.evaluator.conclude(self._evaluations[number], future.result())

    def _store(self, trial: Trial) -> None:
        improvement = self._asked[trial.number][1]
        trial = dataclasses.replace(trial, expected_improvement=improvement)
        self.journal.record_result(trial)
        self._done[trial.number] = trial
        del self._evaluations[trial.number]

    def _recover(self, crashed: dict[int, BaseException]) -> None:
        """Run the trials whose workers crashed again, each of them alone.

        The crash of one worker ends the pool with all trials in flight, including the
        trials of other searches. A worker can also be killed from outside. A trial
        fails only if it runs alone and its worker crashes twice. The proposals do not
        depend on the crash.
        """
        while self.executor.unfinished:
            seconds = self._until_deadline()
            crashed |= self._store_finished(self.executor.finished(seconds))
        self._on_crash()
        for number in sorted(crashed):
            logger.warning("trial %d: a worker died: %s", number, crashed[number])
            blamed = len(crashed) == 1 or was_retried(crashed[number])
            error = self._run_alone(number, n_crashes=int(blamed))
            if error is not None:
                text = f"The worker that ran this trial died: {error}"
                self._store(self.evaluator.failed(self._evaluations[number], text))

    def _run_alone(self, number: int, n_crashes: int) -> BaseException | None:
        """Run a trial until it ends, or return its last crash if there are too many."""
        error = None
        for _ in range(MAX_CRASHES - n_crashes):
            task = partial(self.evaluator.run, self._evaluations[number])
            self.executor.start(number, task, alone=True)
            futures = self.executor.finished(self._until_deadline())
            error = self._store_finished(futures).get(number)
            if error is None:
                break
            if is_unreadable(error):
                raise error
            self._on_crash()
        return error

    # -- telling ------------------------------------------------------------------

    def _tell(self, number: int) -> None:
        self._observe(number)
        self._observed_early.discard(number)
        del self._asked[number]
        trial = self._done.pop(number)
        self.history.append(trial)
        logger.info("trial %d finished: %s, score %r", number, trial.state, trial.score)
        if self.report is not None:
            self.report(trial, self.history)
        if self._reason is None:
            self._reason = self._stop_reason(trial)

    def _observe_early(self) -> None:
        """Observe the finished trials although an earlier one still runs."""
        for number in sorted(self._done):
            self._observe(number)
            if self._done[number].stop_requested:
                self._reason = StopReason.CALLBACK

    def _observe(self, number: int) -> None:
        """Let the optimizer observe a finished trial, once."""
        if number in self._observed_early:
            return
        self._observed_early.add(number)
        trial = self._done[number]
        details = self.evaluator.observe(trial)
        self.optimizer.tell(self._asked[number][0], self.score_of(trial), **details)

    def _stop_reason(self, trial: Trial) -> str | None:
        if trial.stop_requested:
            return StopReason.CALLBACK
        for stopper in self.budget.stoppers:
            if stopper(self.history[self._first :] if self._first else self.history):
                return str(getattr(stopper, "reason", StopReason.STOPPER))
        return None

    # -- interrupts ---------------------------------------------------------------

    def _interrupt(self) -> None:
        """End the search after Ctrl-C; raise it if no trial has finished."""
        self._reason = StopReason.INTERRUPTED
        try:
            self._on_interrupt()
            # Ctrl-C also interrupts the workers, and may have locked their queues.
            self.executor.end_workers()
            self._drain()
        except Exception:
            self._abandon()
            raise
        if not self.history:
            raise KeyboardInterrupt
        warn_or_log(
            f"The search was interrupted; it ends with {len(self.history)} finished "
            "trials.",
        )

    def _withdraw(self, number: int) -> None:
        """Remove a trial that was proposed."""
        configuration, _ = self._asked.pop(number)
        self._evaluations.pop(number, None)
        self.optimizer.forget(configuration)

    def _drain(self) -> None:
        """Let running fits end; store the finished trials, remove the others."""
        self.executor.drop()
        while self.executor.unfinished:
            for number, future in self.executor.finished().items():
                if future.exception() is not None:
                    continue
                try:
                    trial = self._concluded(number, future)
                except (Exception, SystemExit):
                    continue  # a fit that failed during the shutdown
                if trial is not None:
                    self._store(trial)
        for number in sorted(self._asked):
            if number in self._done:
                self._tell(number)
                continue
            logger.info("trial %d was aborted", number)
            self._withdraw(number)
        # Trials of an earlier run are finished, regardless of what ends this run.
        n_recorded = len(self.journal.proposals)
        for number in range(self._n_asked, n_recorded):
            is_of_stage = number - self._first < self.budget.n_iter
            if is_of_stage and number in self.journal.results:
                self._asked[number] = self._pend_recorded(number)
                self._done[number] = self.evaluator.recall(self.journal.results[number])
                self._tell(number)

    def _abandon(self) -> None:
        """Wait for the trials in flight, and ignore their results."""
        self._on_interrupt()
        self.executor.drop()
        while self.executor.unfinished:
            self.executor.finished()
