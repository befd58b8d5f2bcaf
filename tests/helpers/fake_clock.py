"""Clock that is advanced by estimators only, so that other load has no effect."""

from simple_estimators import Sometimes
from sklearn.tree import DecisionTreeClassifier


class FakeClock:
    """Substitute for the module `time` in the modules that time trials."""

    def __init__(self):
        self.now = 1e9

    def time(self):
        return self.now

    perf_counter = process_time = monotonic = time


CLOCK = FakeClock()


class TimedTree(DecisionTreeClassifier):
    """Tree whose fits take a time by `CLOCK` that is proportional to their rows."""

    seconds_per_row = 0.01

    def fit(self, X, y, sample_weight=None, check_input=True):
        CLOCK.now += self.seconds_per_row * X.shape[0]
        return super().fit(X, y)


class TakesTime(Sometimes):
    """Estimator with slow fits by `CLOCK` for high qualities, except on 150 rows.

    `together` is a barrier at which fits wait before the time passes, or None.
    """

    seconds, together = 1.2, None

    def fit(self, X, y):
        if self.quality > 0.5 and len(X) < 150:
            if self.together is not None:
                self.together.wait(600)
            CLOCK.now += self.seconds
        return super().fit(X, y)
