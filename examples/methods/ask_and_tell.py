"""
Ask and tell: optimizing any function
=====================================

:class:`~skbayes.Optimizer` maximizes any function of a configuration. This example
tunes the solver of a stiff differential equation: the result must have six correct
digits, and the right-hand side must be evaluated as rarely as possible.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

from skbayes import Optimizer

# %%
# Define the function
# -------------------
#
# The equation is the Van der Pol oscillator. The score is the negative logarithm of the
# number of evaluations, with a penalty for each missing digit.
space = {
    "method": ["RK45", "DOP853", "Radau", "BDF", "LSODA"],
    "rtol": (1e-12, 1e-2, "log-uniform"),
    "atol": (1e-12, 1e-2, "log-uniform"),
}


def oscillator(t, y):
    """Return the right-hand side of the equation."""
    return [y[1], 10 * (1 - y[0] ** 2) * y[1] - y[0]]


def solve(**params):
    """Return the state at the end and the number of evaluations."""
    solution = solve_ivp(oscillator, (0, 20), [2.0, 0.0], **params)
    return solution.y[:, -1], solution.nfev


exact, _ = solve(method="DOP853", rtol=1e-13, atol=1e-14)

# %%
# Run the optimizer
# -----------------
#
# ``ask`` proposes a configuration, and ``tell`` reports its score.
optimizer = Optimizer(space, random_state=0)
methods, digits, evaluations = [], [], []
for _ in range(25):
    params = optimizer.ask()
    state, n_evaluations = solve(**params)
    methods.append(params["method"])
    digits.append(-np.log10(max(np.abs(state - exact).max(), 1e-12)))
    evaluations.append(n_evaluations)
    penalty = 2 * max(0.0, 6.0 - digits[-1])
    optimizer.tell(params, -np.log10(n_evaluations) - penalty)
state, n_evaluations = solve(**optimizer.best_params)
print(f"{n_evaluations} evaluations, error {np.abs(state - exact).max():.1e}")
print(optimizer.best_params)

# %%
# Draw the trials
# ---------------
#
# The best trial is the lowest point to the right of the dotted line.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for method in space["method"]:
    chosen = np.array(methods) == method
    axes.plot(
        np.array(digits)[chosen], np.array(evaluations)[chosen], "o", label=method
    )
axes.axvline(6, color="0.5", ls=":")
axes.set(yscale="log", xlabel="correct digits", ylabel="evaluations")
axes.set_title("Correct digits and evaluations of the solvers")
axes.legend()
