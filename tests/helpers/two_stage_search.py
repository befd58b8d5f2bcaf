"""Search in two stages for tests, importable by workers."""

from skbayes import BayesSearchCV
from skbayes.evaluation.subsets import Fidelity
from skbayes.loop.scheduler import Stage
from skbayes.optimizer import Optimizer


class InTwoStages(BayesSearchCV):
    """Search on two alternating subsets, then on all rows from the best two on."""

    def _stages(self, run):
        first, second = self.n_iter // 2, self.n_iter - self.n_iter // 2
        small = [self._small(number, {})[1] for number in range(2)]
        return [
            Stage(self._first_optimizer, first, self._small, small, weight=0.2),
            Stage(self._second, second),
        ]

    def _small(self, number, params):
        return params, Fidelity(train_size=0.2, subset=number % 2)

    def _second(self, run, history):
        best = sorted(history, key=lambda trial: -trial.score)[:2]
        points = [trial.params for trial in best]
        return Optimizer(run.space, initial_points=points, random_state=run.seed)

    def _extra_columns(self, run, history):
        names = ("stage", "train_fraction", "subset")
        return {name: [getattr(one, name) for one in history] for name in names}
