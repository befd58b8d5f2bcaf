"""
Ask and tell: the optimizer alone, for any Python function
==========================================================

No estimator here. A stiff differential equation, van der Pol's oscillator, is to be
integrated to six digits with as few evaluations of its right-hand side as possible.
Which of SciPy's methods, and which tolerances? The optimizer proposes configurations
(``ask``), we try them and report (``tell``).
"""

import argparse
import pickle

import numpy as np
from scipy.integrate import solve_ivp

from skbayes import Optimizer

parser = argparse.ArgumentParser(description="Tune an ODE solver by ask and tell.")
parser.add_argument("--n-iter", type=int, default=40, help="configurations to try")
n_iter = parser.parse_args().n_iter

# %%
# What is tuned
# -------------
#
# Any function from configurations to a number, of which more is better.

SEARCH_SPACES = {
    "method": ["RK45", "DOP853", "Radau", "BDF", "LSODA"],
    "rtol": (1e-12, 1e-2, "log-uniform"),
    "atol": (1e-12, 1e-2, "log-uniform"),
}


def solve(method, rtol, atol):
    """Integrate the oscillator; return its end point and the evaluations used."""
    solution = solve_ivp(
        lambda t, y: [y[1], 10 * (1 - y[0] ** 2) * y[1] - y[0]],
        (0, 20),
        [2.0, 0.0],
        method=method,
        rtol=rtol,
        atol=atol,
    )
    return solution.y[:, -1], solution.nfev


def score(params, exact):
    """Cost, on a log scale and negative; a missing digit weighs a hundredfold cost."""
    end, n_evaluations = solve(**params)
    digits = -np.log10(max(np.abs(end - exact).max(), 1e-16))
    return -np.log10(n_evaluations) - 2 * max(0.0, 6.0 - digits)


# %%
# The loop
# --------

exact, _ = solve("DOP853", 1e-13, 1e-14)
optimizer = Optimizer(SEARCH_SPACES, random_state=0)
for number in range(n_iter):
    params = optimizer.ask()
    optimizer.tell(params, score(params, exact))
    if number == n_iter // 2:
        # Everything it knows survives a pickle: stop here, go on tomorrow.
        optimizer = pickle.loads(pickle.dumps(optimizer))

end, n_evaluations = solve(**optimizer.best_params)
print(f"best of {n_iter}: {optimizer.best_params}")
print(f"evaluations: {n_evaluations}, error: {np.abs(end - exact).max():.1e}")
