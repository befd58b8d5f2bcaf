"""Search with a simulated clock and simulated workers, without fits."""

import math
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np

from skbayes import MultiStageSearchCV
from skbayes.loop.scheduler import Budget, StopReason
from skbayes.results.scores import compared
from skbayes.search.running import Outcome, RunningSearch
from skbayes.stages.ladder import chosen_sizes
from skbayes.stages.optimizers import StageFactory
from skbayes.trial.plan import NullJournal
from skbayes.trial.records import Fidelity, FoldResult, FoldStatus, Trial, succeeded
from skbayes.trial.settings import Settings

N_FOLDS = 5

# Seconds of a fit by share of the rows, on all rows about one.
COSTS = {
    "linear": lambda share, rng: share,
    "quadratic": lambda share, rng: share**2,
    "constant": lambda share, rng: 1.0,
    "offset": lambda share, rng: 0.2 + 0.8 * share,
    "wild": lambda share, rng: share * float(rng.lognormal(0.0, 1.5)),
}


@dataclass
class Simulation:
    """Search for some seconds; configurations are numbers, of which zero may fail."""

    n_rows: int = 40_000
    kind: str = "linear"
    n_workers: int = 1
    unit: float = 1.0
    seed: int = 0
    n_iter: int | None = None
    fails: bool = False
    journal: NullJournal = field(default_factory=NullJournal)

    def __post_init__(self):
        params = {"n_iter": self.n_iter, "timeout": 1, "n_jobs": self.n_workers}
        self.search = MultiStageSearchCV(None, **params)
        sizes = chosen_sizes(self.n_rows, None, None, self.n_iter, True)
        self.plan = SimpleNamespace(
            settings=Settings(sizes=sizes, n_iter=self.n_iter),
            splits=range(N_FOLDS),
            train_fraction=lambda sample: sample.train_size,
            prior=None,
            space=SimpleNamespace(n_configurations=math.inf),
        )
        ladder = self.search._ladder(self.plan.settings, None, None, None)
        stages = [replace(s, make_optimizer=lambda *args: None) for s in ladder.stages]
        self.plan.ladder = replace(ladder, stages=stages)
        self.now = 0.0

    def run(self, seconds):
        """Run the trials of the journal and new ones, and return all of them."""
        self.deadline = self.now + seconds
        context = SimpleNamespace(n_workers=self.n_workers)
        running = RunningSearch(
            *(self.search, self.plan, context, self.journal, None, 1, 0.0)
        )
        self.outcome = Outcome([])
        budget = Budget(math.inf, seconds, self.deadline, clock=lambda: self.now)
        self.parts = []
        for stage, start, allowance in running._stages(self.outcome, budget):
            self.parts.append(start.stage)
            self.outcome.stop_reason = self._run_stage(stage, start, allowance)
        return self.outcome.history

    def _run_stage(self, stage, start, allowance):
        history, begin = self.outcome.history, self.now
        limit = begin + (math.inf if allowance.seconds is None else allowance.seconds)
        fidelity = Fidelity(start.stage, stage.samples[0].train_size, 0, stage.n_folds)
        factory = StageFactory(self.search, 3, True)
        is_new = start.first == len(history)
        starts = is_new and history and factory.starts(stage.role, self.plan, history)
        queue = [params["x"] for params in starts or [{"x": 0}][:is_new]]
        free, durations, ended = [begin] * self.n_workers, [], [begin] * stage.n_points
        while len(history) - start.first < allowance.n_trials:
            number = len(history)
            if number in self.journal.results:
                history.append(self.journal.results[number])
                continue
            earliest = min(free)
            expected = sum(durations) / max(len(durations), 1)
            # A trial may wait for a worker.
            asked = sorted(ended)[-stage.n_points] if stage.n_points > 1 else earliest
            if durations and asked + expected > limit:
                self.now = max(free)
                return StopReason.TIMEOUT
            x = queue.pop(0) if queue else number + 1
            ends = []
            for _ in range(N_FOLDS)[: stage.n_folds]:
                place = int(np.argmin(free))
                free[place] += self.seconds(x, fidelity.train_fraction)
                ends.append(free[place])
            self.journal.record_stage(start)
            self.journal.proposals.append({"x": x})
            if max(ends) > self.deadline:
                self.now = self.deadline
                return StopReason.TIMEOUT
            durations.append(max(ends) - earliest)
            ended.append(max(ends))
            trial = self._trial(number, x, fidelity, durations[-1])
            history.append(trial)
            self.journal.results[number] = trial
        self.now = max(free)
        return StopReason.N_ITER

    def seconds(self, x, share):
        """Return the seconds of a fit; configurations differ by at most a fifth."""
        rng = np.random.default_rng([self.seed, x, round(share * 1e6)])
        factor = 1.0 + 0.2 * np.random.default_rng([self.seed, x]).random()
        return self.unit * factor * COSTS[self.kind](share, rng)

    def _trial(self, number, x, fidelity, duration):
        rng = np.random.default_rng([self.seed, x, 1])
        n_folds = len(range(N_FOLDS)[: fidelity.n_folds])
        score = float(rng.random()) * (0.5 + 0.5 * fidelity.train_fraction)
        state, score = ("failed", math.nan) if x < self.fails else ("complete", score)
        folds = [FoldResult({"score": score})] * n_folds
        folds += [FoldResult(status=FoldStatus.SKIPPED)] * (N_FOLDS - n_folds)
        return Trial(number, {"x": x}, folds, score, duration, state, fidelity=fidelity)

    def killed(self, n_finished):
        """Return the same search after a crash, when some trials had finished."""
        journal = NullJournal()
        journal.stages = [s for s in self.journal.stages if s.first <= n_finished]
        journal.results = {
            n: trial for n, trial in self.journal.results.items() if n < n_finished
        }
        journal.proposals = self.journal.proposals[:n_finished]
        return replace(self, journal=journal)

    def check(self):
        """Check what holds after each run, and return the trials that are compared."""
        history = self.outcome.history
        assert self.now <= self.deadline + 1e-9
        stages = [trial.fidelity.stage for trial in history]
        assert stages == sorted(stages) and {*stages} == {*range(max(stages) + 1)}
        chosen = compared(history)
        for first in [*filter(succeeded, history)][:1]:
            assert chosen and len({trial.fidelity for trial in chosen}) == 1
            same_params = [trial for trial in chosen if trial.params == first.params]
            assert same_params and chosen[0].score >= same_params[0].score
        last = [trial for trial in history if trial.fidelity.stage == stages[-1]]
        n_iter = math.inf if self.n_iter is None else self.n_iter
        if len(history) < n_iter:
            # No trial of the last stage fits into the rest of the time.
            longest = max(trial.duration for trial in last)
            assert self.deadline - self.now <= longest + 1e-9
        return chosen
