r"""
Comparing a custom method with skbayes.benchmark
================================================

:mod:`skbayes.benchmark` replays searches on tables of trained systems, so that a
comparison of methods takes seconds. A method is a class with ``ask`` and ``tell``. From
the command line, this one is called by its file and name::

    python -m skbayes.benchmark --tables zh-en --methods random skbayes \
        examples/methods/own_method.py:NearTheBest
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayes.benchmark import benchmark, expected_of_random, load_nmt, summarize

table = load_nmt("ru-en").first(1)
print(f"{len(table)} translation systems with {len(table.columns)} hyper-parameters")

# %%
# Define the method
# -----------------
#
# This method proposes the row of the table that is nearest to the best row so far. Ties
# are broken at random.


class NearTheBest:
    """Nearest neighbors of the best row."""

    def __init__(self, table, seed):
        self.table = table
        self.rng = np.random.default_rng(seed)
        self.free = np.ones(len(table), dtype=bool)
        self.best, self.best_score = None, -np.inf

    def ask(self):
        """Propose a configuration."""
        distance = np.abs(self.table.X - self.table.X[self.best]).sum(axis=1)
        distance += 0.01 * self.rng.random(len(distance))
        return self.table.params[np.where(self.free, distance, np.inf).argmin()]

    def tell(self, params, score):
        """Observe the score of a row."""
        row = self.table.params.index(params)
        self.free[row] = False
        if score > self.best_score:
            self.best, self.best_score = row, score


# %%
# Run the benchmark
# -----------------
#
# Each method runs with 10 seeds. The table shows the mean number of rows until the best
# row is found, with its standard error. The mean of random search can also be computed
# exactly. The condition is necessary because the command line imports this file.
if __name__ == "__main__":
    methods = {"near the best": NearTheBest, "random": "random", "skbayes": "skbayes"}
    rows = {
        name: summarize(benchmark({name: method}, [table], 10), table)["ftb"]
        for name, method in methods.items()
    }
    for name, ftb in rows.items():
        print(f"{name}: {ftb.mean:.1f} ± {ftb.se:.1f}")
    print(f"random, exact: {expected_of_random(table)['ftb'].mean:.1f}")

    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    axes.barh(list(rows), [f.mean for f in rows.values()], color=["C1", "C7", "C0"])
    axes.set(xlabel="rows until the best row (fewer is better)")
    axes.set_title("Rows until the best row is found, by method")
