"""A search in two stages that is made for tests; workers can import it."""

from skbayes import BayesSearchCV
from skbayes.evaluation.subsets import Fidelity
from skbayes.loop.stages import Stage
from skbayes.optimizer import Optimizer


class InTwoStages(BayesSearchCV):
    """On two subsets in turn, then the best two and others on everything."""

    def _stages(self, space):
        first, second = self.n_iter // 2, self.n_iter - self.n_iter // 2
        return [
            Stage(None, first, self._small, weight=0.2),
            Stage(lambda seed, history: self._second(space, seed, history), second),
        ]

    def _small(self, number, params):
        return params, Fidelity(train_size=0.2, subset=number % 2)

    def _settings(self):
        return [self._small(number, {})[1] for number in range(2)]

    def _second(self, space, seed, history):
        best = sorted(history, key=lambda trial: -trial.score)[:2]
        points = [trial.params for trial in best]
        return Optimizer(space, initial_points=points, random_state=seed)

    def _more_columns(self, history):
        names = ("stage", "train_fraction", "subset")
        return {name: [getattr(one, name) for one in history] for name in names}
