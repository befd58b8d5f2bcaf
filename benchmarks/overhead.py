"""Process time of a proposal: one tell and the next ask.

The space has 8 dimensions: 4 real on a log scale, 2 whole, 2 categorical. First, a
history of the given size is reported to the optimizer. It consists of random points
with a smooth score and slight noise, and is the same for every method. Then several
consecutive steps of tell + ask are timed, in seconds of process time: mean and largest.
The column "cold" is the time of reporting the whole history and of the first ask, which
is not among the steps. A library that reuses fitted values in later steps spends their
time there: skbayes does not fit its hyper-parameters in every step.

With `--conditional`, the space has 15 dimensions, 12 of which depend on others, and
only skbayes is timed. With `--against DIR`, the skbayes in another directory is also
timed, with each size immediately before the same size of this one.

Example: python benchmarks/overhead.py --sizes 10,100 --methods skbayes,skopt
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
from common import names, save_results
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


def steps(name: str, size: int, n_steps: int, seed: int) -> tuple[float, np.ndarray]:
    """Return the process time of the cold start, and of each step, in seconds."""
    rng = np.random.default_rng(seed)
    draw = make_method("random", SPACE, seed)
    method = make_method(name, SPACE, seed)
    history = [draw.ask() for _ in range(size)]
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
    return cold, seconds


def conditional_space() -> dict[str, Any]:
    """Return a space of 15 dimensions with conditions, in the notation of skbayes."""
    from skbayes.space import Choice

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
    for name, one in sorted(params.items()):
        if isinstance(one, float):
            value -= 0.01 * (np.log10(one) + 0.5 * len(name) % 3) ** 2
    return float(value + 0.02 * rng.standard_normal())


def conditional_steps(size: int, n_steps: int, seed: int) -> tuple[float, np.ndarray]:
    """Return the same times as `steps` for skbayes on the conditional space."""
    from skbayes import Optimizer

    rng = np.random.default_rng(seed)
    space = conditional_space()
    history = Optimizer(space, surrogate="random", random_state=seed).ask(size)
    optimizer = Optimizer(space, random_state=seed)
    began = time.process_time()
    for params in history:
        optimizer.tell(params, conditional_score(params, rng))
    params = optimizer.ask()
    cold = time.process_time() - began
    seconds = np.empty(n_steps)
    for step in range(n_steps):
        value = conditional_score(params, rng)
        began = time.process_time()
        optimizer.tell(params, value)
        params = optimizer.ask()
        seconds[step] = time.process_time() - began
    return cold, seconds


def time_other(directory: str, size: int, args: argparse.Namespace) -> dict[str, float]:
    """Time the skbayes in another directory, in a separate process."""
    command = [sys.executable, __file__, "--sizes", str(size), "--json"]
    command += ["--steps", str(args.steps), "--seed", str(args.seed)]
    command += ["--methods", "skbayes"] + ["--conditional"] * args.conditional
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": directory},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])[str(size)]["skbayes"]


def tell_history(method: Method, history: list[Params], values: list[float]) -> None:
    """Report a history, in one call if the library refits at every tell."""
    if hasattr(method, "tell_many"):
        method.tell_many(history, values)
        return
    for params, value in zip(history, values, strict=True):
        method.tell(params, value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    default = "skbayes,optuna-tpe,optuna-gp,skopt"
    add("--methods", type=names(METHODS), default=default)
    add("--sizes", default=",".join(map(str, SIZES)), help="numbers of observed trials")
    add("--steps", type=int, default=5, help="number of timed steps")
    add("--seed", type=int, default=0)
    add("--conditional", action="store_true", help="use the space with conditions")
    add("--against", metavar="DIR", help="directory of another skbayes")
    add("--json", action="store_true", help="print the results as JSON")
    add("--save", action="store_true", help="write the results to results/")
    args = parser.parse_args()
    if args.conditional:
        args.methods = ["skbayes"]
    summary: dict[str, dict[str, dict[str, float]]] = {}
    print(
        "seconds of process time per tell + ask: mean (largest), cold, "
        "mean / skbayes' mean"
    )
    for size in map(int, args.sizes.split(",")):
        entries = summary[str(size)] = {}
        if args.against:
            entries["before"] = time_other(args.against, size, args)
        for name in args.methods:
            entries[name] = time_steps(name, size, args)
        for name, entry in entries.items():
            ratio = ""
            if "skbayes" in entries:
                entry["ratio"] = round(entry["mean"] / entries["skbayes"]["mean"], 2)
                ratio = f"{entry['ratio']:8.2f}"
            times = f"{entry['mean']:9.4f} ({entry['max']:.4f}){entry['cold']:9.4f}"
            print(f"{size:5} {name:12}{times}{ratio}", flush=True)
    if args.json:
        print(json.dumps(summary))
    if args.save:
        save_results("overhead", {"told": summary})


def time_steps(name: str, size: int, args: argparse.Namespace) -> dict[str, float]:
    """Return the times of one method after a history of one size."""
    few = name != "skbayes" and size >= LONG
    n_steps = FEW_STEPS if few else args.steps
    if args.conditional:
        cold, seconds = conditional_steps(size, n_steps, args.seed)
    else:
        cold, seconds = steps(name, size, n_steps, args.seed)
    return {
        "mean": round(float(seconds.mean()), 5),
        "max": round(float(seconds.max()), 5),
        "cold": round(cold, 5),
    }


if __name__ == "__main__":
    main()
