"""A clock that only estimators move, so that a busy machine changes nothing."""

from grid_comparison import Sometimes


class FakeClock:
    """Stands for the module `time` where trials are timed."""

    def __init__(self):
        self.now = 1e9

    def time(self):
        return self.now

    perf_counter = process_time = time


CLOCK = FakeClock()


class TakesTime(Sometimes):
    """Takes some seconds by `CLOCK` for high qualities, none on all 150 rows.

    `together` is a barrier that fits wait at before the time passes; None: no barrier.
    """

    seconds, together = 1.2, None

    def fit(self, X, y):
        if self.quality > 0.5 and len(X) < 150:
            if self.together is not None:
                self.together.wait(60)
            CLOCK.now += self.seconds
        return super().fit(X, y)
