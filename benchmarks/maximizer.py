"""Share of the greatest expected improvement that the maximizer finds.

The variants of variants.py propose the trials of a search on a synthetic function in
turn. If one of them proposed all trials, the remaining maxima would be those that it
does not find.
After 20 and 50 trials, each variant maximizes the expected improvement of the fitted
surrogate once. The result is the ratio of what it finds to the greatest expected
improvement that is known. This is the best of all variants and of a search with 37,500
candidates, of which 20 are refined with up to 100 steps of gradient ascent. The time is
the processor time of one maximization.

Example: python benchmarks/maximizer.py --variants ,snapped --save
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import math
import time
import warnings
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import variants
from common import save_results

from skbayes import Optimizer
from skbayes.acquisition import maximize
from skbayes.space import Choice

Params = dict[str, Any]
AFTER = (20, 50)
THOROUGH = {
    "N_SOBOL": 2**15,
    "N_PERTURBED": 940,
    "PERTURBATIONS": (0.1, 0.03, 0.01, 0.003, 0.001),
    "N_STARTS": 20,
    "N_ROUNDS": 4,
    "MAX_ASCENT_STEPS": 100,
}

HART_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
HART_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
HART_C = np.array([1.0, 1.2, 3.0, 3.2])


def _vector(params: Params) -> np.ndarray:
    return np.array([params[f"x{d}"] for d in range(len(params))], dtype=float)


def _cube(low: Any, high: Any, n: int) -> dict[str, Any]:
    return {f"x{d}": (low, high) for d in range(n)}


def _hart6(params: Params) -> float:
    r = np.sum(HART_A * (_vector(params) - HART_P) ** 2, axis=1)
    return float(HART_C @ np.exp(-r))


def _branin(params: Params) -> float:
    x, y = _vector(params)
    bowl = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return -(bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


def _rosenbrock(params: Params) -> float:
    x = _vector(params)
    return -float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def _ackley(params: Params) -> float:
    x = _vector(params)
    far = 20 * math.exp(-0.2 * math.sqrt(np.mean((x - 1.7) ** 2)))
    return far + math.exp(np.mean(np.cos(2 * math.pi * (x - 1.7)))) - 20 - math.e


def _mixed(params: Params) -> float:
    shift = {"a": 0.0, "b": 0.6, "c": 1.1}[params["kind"]]
    log_rate = math.log10(params["rate"])
    terms = (log_rate + 2 + shift) ** 2, 0.02 * (params["depth"] - 7) ** 2
    return -sum(terms) - 4 * (params["share"] - 0.3 * shift) ** 2 - shift


def _conditional(params: Params) -> float:
    if params["kernel"] == "linear":
        return -((math.log10(params["C"]) + 1) ** 2) - 0.5
    bowl = (math.log10(params["C"]) - 1) ** 2 + (math.log10(params["gamma"]) + 2) ** 2
    return -bowl - 0.2 * (params["kernel"] == "poly")


def _grid(params: Params) -> float:
    x = _vector(params) * len(params) / 54
    return -float(np.sum((x - np.linspace(0.2, 0.8, len(x))) ** 2)) - abs(x[0] - x[1])


_C, _GAMMA = (1e-3, 1e3, "log-uniform"), (1e-5, 1e1, "log-uniform")
FUNCTIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "hart6": (_cube(0.0, 1.0, 6), _hart6),
    "branin2": ({"x0": (-5.0, 10.0), "x1": (0.0, 15.0)}, _branin),
    "ros10": (_cube(-2.0, 2.0, 10), _rosenbrock),
    "ackley5": (_cube(-5.0, 5.0, 5), _ackley),
    "mixed": (
        {
            "kind": ["a", "b", "c"],
            "rate": (1e-4, 1.0, "log-uniform"),
            "depth": (1, 20),
            "share": (0.0, 1.0),
        },
        _mixed,
    ),
    "conditional": (
        {
            "C": _C,
            "kernel": Choice(
                {"linear": {}, "rbf": {"gamma": _GAMMA}, "poly": {"gamma": _GAMMA}}
            ),
        },
        _conditional,
    ),
    "grid6": (_cube(0, 9, 6), _grid),
    "grid10": (_cube(0, 4, 10), _grid),
}


def found_by(optimizer: Optimizer, seed: int, names: list[str]) -> dict[str, Any]:
    """Return log improvements and processor times of each variant, and the best."""
    observations = optimizer._observations()
    proposer = optimizer._proposer.fit(observations)
    proposer = proposer.with_terms(optimizer._terms(observations))
    candidates, incumbents = optimizer._candidates, observations.incumbents
    logs, seconds = {}, {}
    for name in (*names, None):
        with ExitStack() as stack:
            if name is None:
                stack.enter_context(patch.multiple(maximize, **THOROUGH))
            else:
                stack.enter_context(variants.applied(name, optimizer.n_told))
            began = time.process_time()
            rng = np.random.default_rng(seed)
            row = proposer.rank(candidates, incumbents, rng)[0]
            seconds[name] = time.process_time() - began
        logs[name] = float(proposer.scores(row[None])[0])
    best = max(logs.values())
    return {name: (math.exp(logs[name] - best), seconds[name]) for name in names}


def run(function: str, seed: int, names: list[str]) -> dict[int, dict[str, Any]]:
    """Run one search; return what each variant finds after some trials."""
    space, score = FUNCTIONS[function]
    optimizer = Optimizer(space, random_state=seed)
    found = {}
    for n in range(1, AFTER[-1] + 1):
        with variants.applied(names[n % len(names)], n):
            params = optimizer.ask()
        optimizer.tell(params, score(params))
        if n in AFTER:
            found[n] = found_by(optimizer, seed, names)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--variants", default="", help='comma-separated; "" is the default')
    add("--functions", default=",".join(FUNCTIONS), help="comma-separated")
    add("--seeds", type=int, default=5)
    add("--save", action="store_true", help="write the result to results/")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    names = list(dict.fromkeys(args.variants.split(",")))
    summary: dict[str, Any] = {"seeds": args.seeds, "functions": {}}
    for function in args.functions.split(","):
        runs = [run(function, seed, names) for seed in range(args.seeds)]
        summary["functions"][function] = own = {}
        for n in AFTER:
            own[n] = {
                name or "default": [
                    round(float(np.mean([one[n][name][k] for one in runs])), digits)
                    for k, digits in ((0, 3), (1, 5))
                ]
                for name in names
            }
            line = [f"{k} {v[0]:.2f} ({1000 * v[1]:.0f} ms)" for k, v in own[n].items()]
            print(f"{function:12}{n:4}  " + "  ".join(line), flush=True)
    if args.save:
        save_results("maximizer/figures", summary)


if __name__ == "__main__":
    main()
