"""Progress of a running search: one line for each trial, or a progress bar."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from skbayes.trial.records import History, Trial, TrialState
from skbayes.utils.optional import import_optional
from skbayes.utils.texts import one_line, positive_name

Report = Callable[[Trial, History], None]

# The time of a trial is limited to this multiple of the average, and to the average
# divided by it. The last trial has at least this weight in the average.
MAX_RATIO, MIN_SHARE_OF_LAST = 3.0, 0.1


def metric_text(score: float, metric: str) -> str:
    """Format a score as the displays show it: a negated metric as the metric itself."""
    shown = -score if metric.startswith("neg_") else score
    return f"{shown:.6g}"


def _best_so_far(history: History, metric: str) -> str:
    best = history.best
    if best is None:
        return "none yet"
    where, fidelity = f"trial {best.number}", best.fidelity
    if fidelity.n_folds is not None or fidelity.train_fraction < 1.0:
        share = f"{fidelity.train_fraction:.0%} of the rows"
        where += f", {best.n_folds} of {len(best.folds)} folds, {share}"
    if not best.feasible:
        where += ", violates constraints"
    return f"{metric_text(best.score, metric)} ({where})"


def time_text(seconds: float) -> str:
    """Format a time as seconds, minutes and seconds, or hours and minutes."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, seconds_of_minute = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds_of_minute} s"
    )


def _score(trial: Trial, metric: str) -> str:
    if trial.state == TrialState.FAILED:
        return "failed"
    if trial.state == TrialState.COMPLETE:
        return f"{positive_name(metric)} {metric_text(trial.score, metric)}"
    state, n_folds = trial.state.replace("_", " "), int(trial.fitted.sum())
    return f"{state} after {n_folds} fold{'s' * (n_folds != 1)}"


@dataclass(frozen=True)
class PlannedStage:
    """Stage of at most `n_trials` before it begins, with `n_in_flight` in parallel.

    `weight` is the expected time of a trial, relative to trials of other stages.
    """

    n_trials: float
    weight: float = 1.0
    n_in_flight: int = 1


class Lines:
    """Callback that prints a line for each trial: scores, time elapsed and left.

    Trials of an earlier run (`recalled`) take no time. The time left is estimated from
    the times at which trials end: with n trials in flight, the last n trials took the
    time since the end of the trial before them. It includes the time between trials,
    mostly for proposals.
    """

    def __init__(
        self,
        stages: Sequence[PlannedStage],
        timeout: float | None,
        recalled: Mapping[int, Trial] = MappingProxyType({}),
        with_params: bool = False,
        metric: str = "score",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._stages, self._recalled = stages, dict(recalled)
        self._timeout = math.inf if timeout is None else timeout
        self._with_params, self._metric, self._clock = with_params, metric, clock
        self._begin = clock()
        self._ends = [self._begin]
        self._n_run = [0] * len(stages)
        self._n_left = [stage.n_trials for stage in stages]
        # Seconds of a trial of weight 1; the seconds of the earlier run are a first
        # guess.
        seconds = weights = 0.0
        for trial in self._recalled.values():
            index = self._index_of_stage(trial)
            self._n_left[index] -= 1
            seconds += trial.duration
            weights += stages[index].weight
        self._unit = seconds / weights if weights else math.nan

    def __call__(self, trial: Trial, history: History) -> None:
        """Print the line of a trial."""
        now = self._clock()
        elapsed = now - self._begin
        left = max(0.0, min(self._seconds_left(trial, now), self._timeout - elapsed))
        n_planned = sum(stage.n_trials for stage in self._stages)
        planned = f"/{n_planned}" * math.isfinite(n_planned)
        head = f"[{len(history)}{planned}] trial {trial.number}:"
        print(
            f"{head} {_score(trial, self._metric)}, "
            f"best so far {_best_so_far(history, self._metric)}, "
            f"elapsed {elapsed:.1f}s" + f", left {left:.1f}s" * math.isfinite(left)
        )
        if self._with_params:
            shown = ", ".join(f"{k}={v!r}" for k, v in trial.params.items())
            print(f"{head} {one_line(shown)}")

    def _seconds_left(self, trial: Trial, now: float) -> float:
        """Return the estimated time left after a trial.

        A trial changes the average time by a small factor only, because times are often
        skewed, and the first ones include the start of the workers. The last trials
        count most.
        """
        first = self._index_of_stage(trial)
        if trial.number not in self._recalled:
            stage = self._stages[first]
            seconds = (now - self._ends[-stage.n_in_flight :][0]) / stage.weight
            unit = seconds if math.isnan(self._unit) else self._unit
            self._ends.append(now)
            self._n_run[first] += 1
            self._n_left[first] -= 1
            limited = min(max(seconds, unit / MAX_RATIO), unit * MAX_RATIO)
            share = max(2.0 / (self._n_run[first] + 2), MIN_SHARE_OF_LAST)
            self._unit = unit + share * (limited - unit)
        elif len(self._ends) == 1:
            self._ends = [now]
        left = zip(self._n_left[first:], self._stages[first:], strict=True)
        return sum(
            self._unit * stage.weight * max(n_left, 0) / stage.n_in_flight
            for n_left, stage in left
        )

    def _index_of_stage(self, trial: Trial) -> int:
        # A journal may contain more stages than are planned now.
        return min(trial.fidelity.stage, len(self._stages) - 1)


@contextlib.contextmanager
def progress_bar(
    n_planned: float,
    recalled: Mapping[int, Trial] = MappingProxyType({}),
    metric: str = "score",
) -> Iterator[Report]:
    """Return a callback that shows a progress bar, or a widget in notebooks."""
    recalled_numbers = frozenset(recalled)
    # Parallel trials end in bursts; without smoothing, the rate averages over them.
    bar = import_optional(
        "tqdm.auto",
        extra="progress",
        purpose="verbose='progress'",
        instead=", or use verbose=1",
    ).tqdm(
        total=n_planned if math.isfinite(n_planned) else None,
        initial=min(len(recalled_numbers), n_planned),
        smoothing=0,
        desc="trials",
        unit="trial",
    )
    with bar:

        def report(trial: Trial, history: History) -> None:
            bar.set_postfix_str(f"best {_best_so_far(history, metric)}")
            if trial.number not in recalled_numbers:
                bar.update()

        yield report
