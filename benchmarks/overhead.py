"""Process time of a proposal: one tell and the next ask.

The space has 8 dimensions: 4 real on a log scale, 2 whole, 2 categorical. First, a
history of the given size is reported to the optimizer. It consists of random points
with a smooth score and slight noise, and is the same for every method. Then several
consecutive steps of tell + ask are timed, in seconds of process time: mean and largest.
The column "cold" is the time of reporting the whole history and of the first ask, which
is not among the steps. A library that reuses fitted values in later steps spends their
time there: skbayes does not fit its hyper-parameters in every step. The figures are
milliseconds.

Example: python benchmarks/overhead.py flat --tasks '^100?$' --methods skbayes,skopt
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import time
from typing import Any

import numpy as np
from harness import Record, Study, main
from methods import METHODS, Categories, Float, Int, Method, Params, Space, make_method

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


def tell_history(method: Method, history: list[Params], values: list[float]) -> None:
    """Report a history, in one call if the library refits at every tell."""
    if hasattr(method, "tell_many"):
        method.tell_many(history, values)
        return
    for params, value in zip(history, values, strict=True):
        method.tell(params, value)


def run(name: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return mean and largest milliseconds of the steps, and those of the start."""
    draw, method = (make_method(label, SPACE, seed) for label in ("random", name))
    history = [draw.ask() for _ in range(int(task))]
    is_slow = name != "skbayes" and len(history) >= LONG
    n_steps = FEW_STEPS if is_slow else options["steps"]
    rng = np.random.default_rng(seed)
    values = [score(params, rng) for params in history]
    began = time.process_time()
    tell_history(method, history, values)
    params = method.ask()
    cold = time.process_time() - began
    seconds = np.empty(n_steps)
    for step in range(n_steps):
        value = score(params, rng)
        began = time.process_time()
        method.tell(params, value)
        params = method.ask()
        seconds[step] = time.process_time() - began
    return {"figures": [1e3 * seconds.mean(), 1e3 * seconds.max(), 1e3 * cold]}


FLAT = Study(
    name="overhead",
    tasks=lambda: list(map(str, SIZES)),
    methods=("skbayes", "optuna-tpe", "optuna-gp", "skopt"),
    run=run,
    check_method=METHODS.__getitem__,
    columns=lambda options: ["mean", "largest", "cold"],
    overall=False,
    options={"steps": 5},
    seeds=1,
    digits=2,
    smallest=("--tasks", "^10$", "--steps", "2", "--methods", "skbayes,random"),
)

STUDIES = {"flat": FLAT}

if __name__ == "__main__":
    main(STUDIES, __doc__)
