"""Progress of a running search: one line for each trial, or a progress bar."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from skbayes.evaluation.trial import History, Trial, TrialState
from skbayes.utils.optional import import_optional
from skbayes.utils.texts import one_line

Report = Callable[[Trial, History], None]


def _best_so_far(history: History) -> str:
    best = history.best
    if best is None:
        return "none yet"
    where = f"trial {best.number}"
    if not best.feasible:
        where += ", violates constraints"
    return f"{best.score:.6g} ({where})"


def in_minutes(seconds: float) -> str:
    """Format a time as minutes and seconds, or as hours and minutes."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _score(trial: Trial) -> str:
    if trial.state == TrialState.FAILED:
        return "failed"
    if trial.state == TrialState.COMPLETE:
        return f"score {trial.score:.6g}"
    state = trial.state.replace("_", " ")
    return f"{state} after {int(trial.fitted.sum())} folds"


@dataclass(frozen=True)
class PlannedStage:
    """Stage of at most `n_trials` before it begins, with `n_in_flight` in parallel.

    `weight` is the expected time of a trial, relative to trials of other stages.
    """

    n_trials: float
    weight: float = 1.0
    n_in_flight: int = 1


class _TimeLeft:
    """Estimator of the time left, from the trials of this run.

    A stage takes (trials left) * (mean duration / trials in flight + idle time). Idle
    time is the elapsed time per trial in which no trial ran: mostly proposals.
    """

    def __init__(
        self, plan: Sequence[PlannedStage], recalled: Mapping[int, Trial], begin: float
    ) -> None:
        self._plan = plan
        self._recalled = dict(recalled)
        self._begin = begin
        self._run: list[Trial] = []
        self._busy = 0.0
        self._n_left = [stage.n_trials for stage in plan]
        for trial in self._recalled.values():
            self._n_left[self._stage(trial)] -= 1

    def after(self, trial: Trial, now: float) -> float:
        """Return the estimated seconds left after a trial."""
        if trial.number not in self._recalled:
            self._run.append(trial)
            stage = self._stage(trial)
            self._n_left[stage] -= 1
            self._busy += trial.duration / self._plan[stage].n_in_flight
        elif not self._run:
            self._begin = now
        seconds = self._seconds_per_trial()
        first = self._stage(trial)
        idle = self._idle(seconds, first, now)
        return sum(
            max(0, self._n_left[stage])
            * (seconds[stage] / self._plan[stage].n_in_flight + idle)
            for stage in range(first, len(self._plan))
        )

    def _stage(self, trial: Trial) -> int:
        # A journal may contain more stages than are planned now.
        return min(trial.stage, len(self._plan) - 1)

    def _seconds_per_trial(self) -> list[float]:
        """Return the mean duration by stage, estimated by weights for later stages.

        Only the later half of the trials counts, because the first ones include the
        start of the workers, and no more than 1,000.
        """
        known = self._run or list(self._recalled.values())
        known = known[max(len(known) // 2, len(known) - 1000) :]
        durations = np.array([trial.duration for trial in known])
        stages = np.array([self._stage(trial) for trial in known])
        weights = np.array([stage.weight for stage in self._plan])
        means = weights * (durations.sum() / weights[stages].sum())
        for stage in np.unique(stages):
            means[stage] = durations[stages == stage].mean()
        return [float(mean) for mean in means]

    def _idle(self, seconds: list[float], stage: int, now: float) -> float:
        if not self._run:
            return 0.0
        n_in_flight = self._plan[stage].n_in_flight
        # No trial ends before one duration has passed, for any number in parallel.
        busy = seconds[stage] * (1.0 - 1.0 / n_in_flight)
        return max(0.0, now - self._begin - busy - self._busy) / len(self._run)


class Lines:
    """Callback that prints a line for each trial: scores, time elapsed and left.

    Trials of an earlier run (`recalled`) take no time.
    """

    def __init__(
        self,
        plan: Sequence[PlannedStage],
        timeout: float | None,
        recalled: Mapping[int, Trial] = MappingProxyType({}),
        with_params: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._n_planned = sum(stage.n_trials for stage in plan)
        self._timeout = math.inf if timeout is None else timeout
        self._with_params = with_params
        self._clock = clock
        self._begin = clock()
        self._time_left = _TimeLeft(plan, recalled, self._begin)

    def __call__(self, trial: Trial, history: History) -> None:
        """Print the line of a trial."""
        now = self._clock()
        elapsed = now - self._begin
        left = self._time_left.after(trial, now)
        left = max(0.0, min(left, self._timeout - elapsed))
        planned = f"/{self._n_planned}" * math.isfinite(self._n_planned)
        head = f"[{len(history)}{planned}] trial {trial.number}:"
        print(
            f"{head} {_score(trial)}, best so far {_best_so_far(history)}, "
            f"elapsed {elapsed:.1f}s" + f", left {left:.1f}s" * math.isfinite(left)
        )
        if self._with_params:
            shown = ", ".join(f"{k}={v!r}" for k, v in trial.params.items())
            print(f"{head} {one_line(shown)}")


@contextlib.contextmanager
def progress_bar(
    n_planned: float, recalled: Mapping[int, Trial] = MappingProxyType({})
) -> Iterator[Report]:
    """Return a callback that shows a progress bar, or a widget in notebooks."""
    kept = frozenset(recalled)
    # Parallel trials end in bursts; without smoothing, the rate averages over them.
    bar = import_optional(
        "tqdm.auto",
        extra="progress",
        purpose="verbose='progress'",
        instead=", or use verbose=1",
    ).tqdm(
        total=n_planned if math.isfinite(n_planned) else None,
        initial=min(len(kept), n_planned),
        smoothing=0,
        desc="trials",
        unit="trial",
    )
    with bar:

        def report(trial: Trial, history: History) -> None:
            bar.set_postfix_str(f"best {_best_so_far(history)}")
            if trial.number not in kept:
                bar.update()

        yield report
