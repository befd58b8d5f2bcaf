"""
Surrogate and expected improvement
==================================

The surrogate of a Bayesian search predicts the score of each configuration, with an
uncertainty. The acquisition function chooses the next trial from these predictions.
This example draws both for one hyper-parameter and a noisy score.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayes import Optimizer
from skbayes.acquisition import ExpectedImprovement

rng = np.random.default_rng(1)
x = np.linspace(0, 1, 201)
truth = 0.5 * np.sin(12 * x) + 1.6 * x * (1 - x)

# %%
# Run the optimizer
# -----------------
#
# The optimizer runs nine trials. After three, five and nine trials, the predictions are
# stored.
optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
positions, scores, predictions = [], [], {}
for n in range(1, 10):
    params = optimizer.ask()
    positions.append(params["x"])
    scores.append(np.interp(params["x"], x, truth) + 0.05 * rng.standard_normal())
    optimizer.tell(params, scores[-1])
    if n in (3, 5, 9):
        mean, sd = optimizer.predict([{"x": value} for value in x])
        incumbent = optimizer.predict([{"x": value} for value in positions])[0].max()
        predictions[n] = mean, sd, ExpectedImprovement()(mean, sd, incumbent).value
print(f"best of 9 trials: x = {optimizer.best_params['x']:.3f}")
print(f"maximum of the true function: x = {x[truth.argmax()]:.3f}")

# %%
# Draw the predictions
# --------------------
#
# The upper plots show the true function (dashed), the trials, and the predicted mean
# with a band of two standard deviations. Very low scores are raised before the
# surrogate is fitted, so that the mean does not pass through the lowest trials. The
# lower plots show the expected improvement (EI), whose maximum is the next trial.
figure, axes = plt.subplots(
    2, 3, figsize=(9, 3.6), height_ratios=[3, 1], layout="constrained"
)
for (upper, lower), (n, (mean, sd, log_improvement)) in zip(
    axes.T, predictions.items(), strict=True
):
    upper.fill_between(x, mean - 2 * sd, mean + 2 * sd, color="C0", alpha=0.3)
    upper.plot(x, mean, "C0")
    upper.plot(x, truth, "--", color="0.5")
    upper.plot(positions[:n], scores[:n], "o", color="0.1", ms=4)
    upper.set(ylim=(-0.8, 1.4), xlim=(0, 1), title=f"{n} trials", xticks=[])
    lower.fill_between(x, np.exp(log_improvement), color="C1")
    lower.axvline(x[log_improvement.argmax()], color="0.1", ls=":")
    lower.set(xlim=(0, 1), xlabel="x", yticks=[])
axes[0, 0].set_ylabel("score")
figure.suptitle("Surrogate and expected improvement")
axes[1, 0].set_ylabel("EI")
