"""Sampler for Optuna, including Optuna's own tests."""

import math
import runpy
import warnings
from pathlib import Path

import optuna
import pytest
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
)

from skbayes import Optimizer
from skbayes.integration import OptunaSampler
from skbayes.integration.optuna_sampler import _conditional_space, _places
from skbayes.space import Space

optuna.logging.set_verbosity(optuna.logging.WARNING)


class TestOptunaSampler(
    BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
):
    @pytest.fixture
    def sampler(self):
        return lambda: OptunaSampler(seed=0)


def parabola(trial):
    x = trial.suggest_float("x", -5.0, 5.0)
    n = trial.suggest_int("n", 0, 20, step=2)
    return (x - 1.0) ** 2 + (n - 8) ** 2 / 10


def run(objective, n_trials, direction="minimize", **options):
    study = optuna.create_study(direction=direction, sampler=OptunaSampler(**options))
    study.optimize(objective, n_trials=n_trials)
    return study


@pytest.mark.parametrize("sign", [1, -1])
def test_the_best_is_found_in_either_direction(sign):
    direction = "minimize" if sign > 0 else "maximize"
    study = run(lambda trial: sign * parabola(trial), 20, direction, seed=0)
    assert sign * study.best_value < 0.1


def test_proposals_are_those_of_the_optimizer():
    study = run(lambda trial: trial.suggest_float("x", -5.0, 5.0) ** 2, 8, seed=0)
    optimizer = Optimizer({"x": (-5.0, 5.0)}, random_state=study.sampler._seed)
    for trial in study.trials[:-1]:
        optimizer.tell(trial.params, -trial.value)
    assert optimizer.propose().params == study.trials[-1].params


def test_a_seed_makes_a_study_reproducible():
    params = [[t.params for t in run(parabola, 8, seed=s).trials] for s in (3, 3, 4)]
    assert params[0] == params[1] != params[2]


@pytest.mark.parametrize(
    "suggest, values",
    [
        (lambda trial: trial.suggest_int("x", 0, 5), [0, 1, 2, 3, 4, 5]),
        (lambda trial: trial.suggest_categorical("x", "abcd") != "c", list("abcd")),
    ],
)
def test_a_finite_space_is_tried_completely_and_then_again(suggest, values):
    study = run(suggest, len(values) + 2, seed=0)
    tried = [trial.params["x"] for trial in study.trials]
    assert sorted(tried[: len(values)]) == values
    assert len(tried) == len(values) + 2


def test_trials_that_run_are_pending():
    study = optuna.create_study(sampler=OptunaSampler(seed=0))
    space = {"c": optuna.distributions.IntDistribution(0, 3)}
    study.tell(study.ask(space), 0.0)
    running = [study.ask(space).params["c"] for _ in range(3)]
    assert sorted({study.trials[0].params["c"], *running}) == [0, 1, 2, 3]


def test_the_sampler_learns_from_failed_and_pruned_trials():
    def objective(trial):
        x = trial.suggest_int("x", 0, 5)
        trial.report(float(x), 0)
        if x in (1, 2):
            raise optuna.TrialPruned
        if x == 3:
            raise ValueError("no")
        return float(x)

    study = optuna.create_study(sampler=OptunaSampler(seed=0))
    study.enqueue_trial({"x": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(objective, n_trials=6, catch=ValueError)
    assert sorted(t.params["x"] for t in study.trials) == [0, 1, 2, 3, 4, 5]


def test_a_front_is_found_for_two_objectives():
    study = optuna.create_study(
        directions=["minimize", "maximize"], sampler=OptunaSampler(seed=0)
    )

    def objective(trial):
        x = trial.suggest_int("x", 0, 9)
        return x**2, min(x, 4)

    study.optimize(objective, n_trials=10)
    assert sorted(t.params["x"] for t in study.best_trials) == [0, 1, 2, 3, 4]


def nested(trial):
    """Objective with a condition within a condition, and a loop over an integer."""
    if trial.suggest_categorical("model", ["svm", "tree"]) == "svm":
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        loss = (math.log10(C) - 1) ** 2 / 9
        if trial.suggest_categorical("kernel", ["rbf", "linear"]) == "linear":
            return loss + 0.1
        gamma = trial.suggest_float("gamma", 1e-4, 10, log=True)
        return loss + (math.log10(gamma) + 2) ** 2 / 9
    n = trial.suggest_int("n_layers", 1, 3)
    return 0.05 + sum(trial.suggest_int(f"units_{i}", 1, 9) for i in range(n)) / 9


def inferred(objective, n_trials):
    """Return the search space that is inferred from random trials."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=n_trials)
    distributions = OptunaSampler().infer_relative_search_space(study, None)
    rows = [_places(trial, distributions) for trial in study.trials]
    return Space.from_notation(_conditional_space(distributions, rows)), rows


@pytest.mark.parametrize("n_trials", [1, 2, 5, 12, 60])
def test_all_trials_belong_to_the_inferred_space(n_trials):
    space, rows = inferred(nested, n_trials)
    assert all(row in space for row in rows)


def test_conditions_are_inferred_from_trials():
    space, _ = inferred(nested, 60)
    # The indices of the options, and the decades of C and gamma.
    svm = {"model": 0, "C": 1.0}
    assert svm | {"kernel": 0, "gamma": 0.1} in space
    assert svm | {"kernel": 1} in space
    assert svm | {"kernel": 1, "gamma": 0.1} not in space
    units = {f"units_{i}": 4 for i in range(3)}
    assert {"model": 1, "n_layers": 2} | units in space
    assert {"model": 1, "n_layers": 1} | units not in space
    assert {"model": 1, "n_layers": 0, "units_0": 4} in space


def test_a_parameter_that_depends_on_a_number_is_drawn_at_random():
    def objective(trial):
        trial.suggest_categorical("c", "abc")
        x = trial.suggest_float("x", 0, 1)
        return x if x < 0.5 else trial.suggest_float("y", 0, 1)

    space, _ = inferred(objective, 30)
    assert space.parameter_names == ["c", "x"]
    assert run(objective, 12, seed=0).best_value < 0.2


def test_ranges_that_change_are_joined():
    def objective(trial):
        high = 1 + trial.number % 3
        trial.suggest_float("s", high / 4, high / 4 + 1, step=0.5)
        return trial.suggest_int("n", -high, high) + trial.suggest_float("x", 0, high)

    study = run(objective, 9, seed=0)
    distributions = study.sampler.infer_relative_search_space(study, None)
    assert distributions == {
        "n": optuna.distributions.IntDistribution(-3, 3),
        "x": optuna.distributions.FloatDistribution(0, 3),
    }


def test_conditional_parameters_are_tuned_within_each_branch():
    def objective(trial):
        branch = trial.suggest_categorical("branch", "abc")
        x, y = (trial.suggest_float(f"{name}_{branch}", 0, 1) for name in "xy")
        return {"a": 0.1, "b": 0.0, "c": 0.05}[branch] + (x - 0.3) ** 2 + (y - 0.7) ** 2

    assert run(objective, 40, seed=0).best_value < 0.01


def test_several_programs_work_on_one_stored_study(tmp_path):
    def load_storage():
        backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "log"))
        return optuna.storages.JournalStorage(backend)

    optuna.create_study(study_name="shared", storage=load_storage())
    programs = [
        optuna.load_study(
            study_name="shared", storage=load_storage(), sampler=OptunaSampler(seed=i)
        )
        for i in range(2)
    ]
    for i in range(20):
        running = programs[1].ask()  # the trial of another program is pending
        running.suggest_float("x", -5.0, 5.0), running.suggest_int("n", 0, 20, step=2)
        programs[0].optimize(parabola, n_trials=1)
        programs[1].tell(running, parabola(running))
        assert len(programs[0].trials) == 2 * (i + 1)
    assert programs[0].best_value < 0.1


@pytest.mark.parametrize("name, value", [("surrogate", "RF"), ("n_initial_points", -1)])
def test_mistakes_are_errors_before_the_first_trial(name, value):
    with pytest.raises(ValueError, match=name):
        OptunaSampler(**{name: value})


def test_the_package_for_optunahub_has_the_sampler():
    folder = Path(__file__).parents[2] / "packaging/optunahub/package/samplers/skbayes"
    assert runpy.run_path(folder / "__init__.py")["OptunaSampler"] is OptunaSampler
    text = (folder / "README.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    line = next(line for line in code.splitlines() if "load_module" in line)
    namespace = {"OptunaSampler": OptunaSampler}
    exec(code.replace("import optunahub\n", "").replace(line, ""), namespace)
    assert namespace["study"].best_value < 0.1
