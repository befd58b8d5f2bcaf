"""Time of a Gaussian process on values and signs, compared with the plain process.

    python benchmarks/sign_process.py [--values 100] [--signs 50] [--columns 4]

The process is fitted to the given numbers of values and of (point, column) signs, and
predicts 1,000 points. It is measured with given hyper-parameters and with learned ones.
The output is the median of five runs in milliseconds, and the number of sweeps of
expectation propagation.
"""

import one_thread  # noqa: F401, I001 - before NumPy is imported

import argparse
import time

import numpy as np

from skbayes.surrogates import GaussianProcess, MonotonicGP

N_PREDICTED, N_RUNS = 1000, 5


def make_data(n, k, D, seed):
    """Return scores that increase with each column, and k consistent signs."""
    rng = np.random.default_rng(seed)
    X, points = rng.random((n, D)), rng.random((k, D))
    y = np.tanh(2 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)
    signs = np.zeros((k, D))
    signs[np.arange(k), np.arange(k) % D] = 1.0
    return X, y, points, signs, rng.random((N_PREDICTED, D))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=int, default=100)
    parser.add_argument("--signs", type=int, default=50)
    parser.add_argument("--columns", type=int, default=4)
    arguments = parser.parse_args()
    D = arguments.columns
    given = {"length_scales": np.full(D, 0.8), "amplitude": 1.0, "noise": 0.02}
    for learned in (False, True):
        for kernel in ("rbf", "matern52"):
            rows = {"plain": [], "signs": []}
            sweeps = []
            for seed in range(N_RUNS):
                X, y, points, signs, candidates = make_data(
                    arguments.values, arguments.signs, D, seed
                )
                options = {"hyperparameters": None if learned else given}
                models = {
                    "plain": GaussianProcess(kernel, **options),
                    "signs": MonotonicGP(
                        kernel, sign_points=points, signs=signs, **options
                    ),
                }
                for name, model in models.items():
                    begin = time.perf_counter()
                    model.fit(X, y).predict(candidates)
                    rows[name].append(1000 * (time.perf_counter() - begin))
                assert models["signs"].converged_
                sweeps.append(models["signs"].n_sweeps_)
            print(
                f"{'learned' if learned else 'given  '} {kernel:8s}: plain "
                f"{np.median(rows['plain']):6.1f} ms, with signs "
                f"{np.median(rows['signs']):6.1f} ms, {np.median(sweeps):.0f} sweeps"
            )


if __name__ == "__main__":
    main()
