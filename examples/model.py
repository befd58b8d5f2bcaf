"""
Predictions of the model
========================

One parameter, a score that is noisy, and the Gaussian process in between. After every
trial :class:`~skbayes.Optimizer` knows how good each configuration probably is, and
how sure it is of that; the next trial is made where an improvement is to be expected.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

from skbayes import Optimizer
from skbayes.acquisition import ExpectedImprovement

parser = argparse.ArgumentParser(description="Draw a model with one parameter.")
parser.add_argument("--output", default="model.png", help="picture to write")
options = parser.parse_args()

rng = np.random.default_rng(1)
x = np.linspace(0.0, 1.0, 201)


def truth(x):
    """Return the expected score of a configuration, which nobody knows."""
    return 0.5 * np.sin(12 * x) + 1.6 * x * (1 - x)


# %%
# Prediction and expected improvement
# -----------------------------------
#
# Above, the predicted mean of the score with two standard deviations, the trials so
# far, and, dashed, the true score. Below, the expected improvement, and where the next
# trial is made: first where there are few trials, later near the best. Very bad scores
# are raised before the model learns from them, so that one of them does not make it
# steep everywhere.


def draw(optimizer, tried, upper, lower):
    """Draw belief, trials and expected improvement."""
    mean, sd = optimizer.predict([{"x": float(one)} for one in x])
    upper.fill_between(x, mean - 2 * sd, mean + 2 * sd, color="#56B4E9", alpha=0.35)
    upper.plot(x, mean, color="#0072B2")
    upper.plot(x, truth(x), "--", color="0.5", lw=1)
    upper.plot(*zip(*tried, strict=True), "o", color="0.1", ms=4)
    upper.set(ylim=(-0.8, 1.4), title=f"after {len(tried)} trials", xticks=[])
    known, _ = optimizer.predict([{"x": one} for one, _ in tried])
    improvement = np.exp(ExpectedImprovement()(mean, sd, known.max()).value)
    lower.fill_between(x, improvement, color="#E69F00")
    lower.axvline(x[improvement.argmax()], color="0.1", lw=1, ls=":")
    lower.set(xlim=(0, 1), xlabel="x", yticks=[])
    upper.set_xlim(0, 1)


optimizer = Optimizer({"x": (0.0, 1.0)}, random_state=0)
figure, axes = plt.subplots(
    2, 3, figsize=(9, 3.6), height_ratios=[3, 1], layout="constrained"
)
tried = []
for n, (upper, lower) in zip((3, 5, 9), axes.T, strict=True):
    while len(tried) < n:
        params = optimizer.ask()
        score = float(truth(params["x"]) + 0.05 * rng.standard_normal())
        optimizer.tell(params, score)
        tried.append((params["x"], score))
    draw(optimizer, tried, upper, lower)
axes[0, 0].set_ylabel("score")
axes[1, 0].set_ylabel("EI")

if options.output:
    figure.savefig(options.output, dpi=150)

# %%

print(f"best of {len(tried)}: x = {optimizer.best_params['x']:.3f}")
print(f"the truth: x = {x[truth(x).argmax()]:.3f}")
