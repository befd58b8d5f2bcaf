"""Process time of a proposal: one tell and the next ask.

The space has 8 dimensions: 4 real on a log scale, 2 whole, 2 categorical. First, a
history of the given size is reported to the optimizer. It consists of random points
with a smooth score and slight noise, and is the same for every method. Then several
consecutive steps of tell + ask are timed, in seconds of process time: mean and largest.
The column "cold" is the time of reporting the whole history and of the first ask, which
is not among the steps. A library that reuses fitted values in later steps spends their
time there: skbayes does not fit its hyper-parameters in every step.

In the study "conditional", the space has 15 dimensions, 12 of which depend on others,
and only skbayes is timed. The figures are milliseconds.

Example: python benchmarks/overhead.py flat --tasks "10;100" --methods skbayes,skopt
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from harness import Record, Study, main
from methods import (
    METHODS,
    Categories,
    Float,
    Int,
    Method,
    Params,
    Space,
    make_method,
)

from skbayes import Optimizer
from skbayes.space import Choice

SPACE: Space = {
    "a": Float(1e-5, 1e1, log=True),
    "b": Float(1e-5, 1e1, log=True),
    "c": Float(1e-4, 1e0, log=True),
    "d": Float(1e-3, 1e3, log=True),
    "e": Int(1, 10),
    "f": Int(8, 256, log=True),
    "g": Categories(("relu", "tanh", "logistic")),
    "h": Categories(("l1", "l2")),
}
SIZES = (10, 30, 100, 200, 500)
CONDITIONAL_SIZES = (20, 50, 100, 200)
Score = Callable[[Params, np.random.Generator], float]
# Methods that take seconds per step get fewer steps if a history is at least this long.
LONG, FEW_STEPS = 200, 2


def score(params: Params, rng: np.random.Generator) -> float:
    """Return a smooth score with its maximum inside the space, and noise of sd 0.02."""
    value = -0.05 * (np.log10(params["a"]) + 2) ** 2
    value -= 0.05 * (np.log10(params["b"] * params["c"]) + 4) ** 2
    value -= 0.02 * np.log10(params["d"]) ** 2
    value -= 0.01 * (params["e"] - 6) ** 2 + 0.1 * np.log(params["f"] / 64) ** 2
    value -= {"relu": 0.0, "tanh": 0.1, "logistic": 0.3}[params["g"]]
    value -= {"l1": 0.05, "l2": 0.0}[params["h"]]
    return float(value + 0.02 * rng.standard_normal())


def conditional_space() -> dict[str, Any]:
    """Return a space of 15 dimensions with conditions, in the notation of skbayes."""
    kernel = {"rbf": {"gamma": (1e-4, 1e1, "log-uniform")}, "linear": {}}
    return {
        "scale": [True, False],
        "features": (0.1, 1.0),
        "model": Choice(
            {
                "boosting": {
                    "rate": (1e-3, 1.0, "log-uniform"),
                    "leaves": (4, 256, "log-uniform"),
                    "rounds": (20, 500, "log-uniform"),
                    "l2": (1e-8, 1e2, "log-uniform"),
                    "subsample": (0.3, 1.0),
                    "columns": (0.3, 1.0),
                },
                "forest": {
                    "depth": (2, 30),
                    "split": (2, 20),
                    "criterion": ["gini", "entropy", "log_loss"],
                },
                "svm": {
                    "C": (1e-3, 1e3, "log-uniform"),
                    "kernel": Choice(kernel),
                },
            }
        ),
    }


def conditional_score(params: Params, rng: np.random.Generator) -> float:
    """Return a score that is smooth in active dimensions, with noise of sd 0.02."""
    value = {"boosting": 0.2, "forest": 0.1, "svm": 0.0}[params["model"]]
    for name, given in sorted(params.items()):
        if isinstance(given, float):
            value -= 0.01 * (np.log10(given) + 0.5 * len(name) % 3) ** 2
    return float(value + 0.02 * rng.standard_normal())


def tell_history(method: Method, history: list[Params], values: list[float]) -> None:
    """Report a history, in one call if the library refits at every tell."""
    if hasattr(method, "tell_many"):
        method.tell_many(history, values)
        return
    for params, value in zip(history, values, strict=True):
        method.tell(params, value)


def steps(
    method: Method, history: list[Params], rate: Score, n_steps: int, seed: int
) -> Record:
    """Return mean and largest milliseconds of the steps, and those of the start."""
    rng = np.random.default_rng(seed)
    values = [rate(params, rng) for params in history]
    began = time.process_time()
    tell_history(method, history, values)
    params = method.ask()
    cold = time.process_time() - began
    seconds = np.empty(n_steps)
    for step in range(n_steps):
        value = rate(params, rng)
        began = time.process_time()
        method.tell(params, value)
        params = method.ask()
        seconds[step] = time.process_time() - began
    return {"figures": [1e3 * seconds.mean(), 1e3 * seconds.max(), 1e3 * cold]}


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Time one method after a history of one size."""
    few = method != "skbayes" and int(task) >= LONG
    draw = make_method("random", SPACE, seed)
    history = [draw.ask() for _ in range(int(task))]
    n_steps = FEW_STEPS if few else options["steps"]
    return steps(make_method(method, SPACE, seed), history, score, n_steps, seed)


def run_conditional(
    method: str, task: str, seed: int, options: dict[str, Any]
) -> Record:
    """Time skbayes on the conditional space."""
    space = conditional_space()
    history = Optimizer(space, surrogate="random", random_state=seed).ask(int(task))
    optimizer = Optimizer(space, random_state=seed)
    return steps(optimizer, history, conditional_score, options["steps"], seed)


FLAT = Study(
    name="overhead",
    tasks=lambda: list(map(str, SIZES)),
    methods=("skbayes", "optuna-tpe", "optuna-gp", "skopt"),
    run=run,
    known=METHODS.__getitem__,
    columns=lambda options: ["mean", "largest", "cold"],
    overall=False,
    options={"steps": 5},
    seeds=1,
    digits=2,
    smallest=("--tasks", "10", "--steps", "2", "--methods", "skbayes,random"),
)
STUDIES = {
    "flat": FLAT,
    "conditional": replace(
        FLAT,
        name="overhead/conditional",
        tasks=lambda: list(map(str, CONDITIONAL_SIZES)),
        methods=("skbayes",),
        run=run_conditional,
        smallest=("--tasks", "20", "--steps", "2"),
    ),
}


if __name__ == "__main__":
    main(STUDIES, __doc__)
