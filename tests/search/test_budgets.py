"""What ends a search: `n_iter`, `timeout`, an exhausted space, Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from side_by_side import Sometimes
from sklearn.datasets import load_iris

from skbayes import BayesSearchCV
from skbayes.stopping import ExpectedImprovementBelow, NoImprovement, TargetScore

X, y = load_iris(return_X_y=True)
SPACE = {"quality": (0.0, 1.0)}


class Interrupted(Sometimes):
    """Ctrl-C comes in the fit with the number `at`."""

    n_fits = 0

    def __init__(self, quality=0.5, bad=None, at=0):
        super().__init__(quality, bad)
        self.at = at

    def fit(self, X, y):
        type(self).n_fits += 1
        if type(self).n_fits == self.at:
            raise KeyboardInterrupt
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def no_fits_yet():
    Interrupted.n_fits = 0


def test_n_iter():
    search = BayesSearchCV(Sometimes(), SPACE, n_iter=4, cv=2).fit(X, y)
    assert search.stop_reason_ == "n_iter"
    assert len(search.trials_) == 4


@pytest.mark.parametrize("n_iter, reason", [(2, "n_iter"), (3, "exhausted")])
def test_exhausted(n_iter, reason):
    search = BayesSearchCV(Sometimes(), {"quality": [1, 2, 3]}, n_iter=n_iter, cv=2)
    assert search.fit(X, y).stop_reason_ == reason


@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupt_in_the_first_trial_is_passed_on(at):
    search = BayesSearchCV(Interrupted(at=at), SPACE, n_iter=4, cv=2)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("at, n_finished", [(3, 1), (6, 2), (7, 3)])
def test_an_interrupt_later_ends_the_search_cleanly(at, n_finished):
    search = BayesSearchCV(Interrupted(at=at), SPACE, n_iter=5, cv=2, random_state=0)
    with pytest.warns(UserWarning, match=f"interrupted.* {n_finished} finished"):
        search.fit(X, y)
    assert search.stop_reason_ == "interrupted"
    assert len(search.trials_) == len(search.cv_results_["params"]) == n_finished
    # The interrupted trial is neither told nor recorded.
    assert search.optimizer_.n_told == n_finished
    assert search.predict(X).shape == (150,)
    whole = BayesSearchCV(Sometimes(), SPACE, n_iter=5, cv=2, random_state=0)
    tried = whole.fit(X, y).cv_results_["params"]
    assert search.cv_results_["params"] == tried[:n_finished]


def test_stoppers():
    search = BayesSearchCV(
        Sometimes(),
        {"quality": (0.0, 1.0)},
        n_iter=30,
        cv=2,
        random_state=0,
        stopper=[TargetScore(2.0), NoImprovement(4)],
    ).fit(X, y)
    assert search.stop_reason_ == "no_improvement"
    best = search.trials_.best.number
    assert len(search.trials_) == best + 1 + 4
    search.set_params(stopper=TargetScore(search.best_score_)).fit(X, y)
    assert search.stop_reason_ == "target_score"
    assert len(search.trials_) == best + 1
    search.set_params(stopper=lambda trials: len(trials) == 2).fit(X, y)
    assert (search.stop_reason_, len(search.trials_)) == ("stopper", 2)
    assert search.predict(X).shape == (150,)


def test_expected_improvement_ends_a_search():
    search = BayesSearchCV(
        Sometimes(),
        {"quality": (0.0, 1.0)},
        n_iter=30,
        cv=2,
        random_state=0,
        stopper=ExpectedImprovementBelow(1e9),
    ).fit(X, y)
    # The first trial that the model proposed.
    assert search.stop_reason_ == "expected_improvement"
    assert len(search.trials_) == 4


@pytest.mark.parametrize("stopper", [3, [3], "no_improvement", NoImprovement])
def test_what_is_no_stopper_is_refused(stopper):
    with pytest.raises((TypeError, ValueError), match="stopper"):
        BayesSearchCV(Sometimes(), SPACE, n_iter=2, stopper=stopper).fit(X, y)


def test_a_timeout_already_spent_allows_the_first_trial_only():
    search = BayesSearchCV(Sometimes(), SPACE, n_iter=5, cv=2, timeout=1e-9)
    search.fit(X, y)
    assert search.stop_reason_ == "timeout"
    assert len(search.trials_) == 1
    assert search.predict(X).shape == (150,)


def test_a_timeout_shortens_the_sequence_and_never_alters_it():
    tried = []
    for timeout in (1e-9, 1e6):
        search = BayesSearchCV(
            Sometimes(), SPACE, n_iter=4, cv=2, timeout=timeout, random_state=0
        ).fit(X, y)
        tried.append(search.cv_results_["params"])
    assert tried[0] == tried[1][:1]
    assert search.stop_reason_ == "n_iter"


PROGRAM = """
import sys
from side_by_side import Slow
from sklearn.datasets import load_iris
from skbayes import BayesSearchCV
X, y = load_iris(return_X_y=True)
search = BayesSearchCV(
    Slow(), {"quality": (0.0, 1.0)}, n_iter=99, cv=4, verbose=1, n_jobs=int(sys.argv[1])
).fit(X, y)
print(search.stop_reason_, search.optimizer_.n_told, len(search.predict(X)))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal are POSIX's")
@pytest.mark.parametrize("n_jobs, whole_group", [(1, False), (2, False), (2, True)])
def test_ctrl_c_from_a_terminal(n_jobs, whole_group):
    # A terminal sends the signal to the workers too.
    tests = Path(__file__).parents[1]
    search_path = os.pathsep.join([str(tests), str(tests.parent)])
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", PROGRAM, str(n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests run in the background, interrupts are ignored from birth on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env={**os.environ, "PYTHONPATH": search_path},
    )
    with process:
        for line in process.stdout:
            if line.startswith("[trial 2/"):
                break
        send = os.killpg if whole_group else os.kill
        send(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 0, err
    reason, n_told, n_predicted = out.splitlines()[-1].split()
    assert (reason, n_predicted) == ("interrupted", "150")
    assert 2 <= int(n_told) < 99
