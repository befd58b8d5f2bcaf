r"""
A method of your own in the benchmark
=====================================

A method is a class with ask and tell. Each run makes a new instance, tells it the first
rows, and then asks and tells in turn. Run it from here, or beside others from the
command line::

    python -m skbayes.benchmark --tables zh-en --methods random skbayes \
        examples/own_method.py:NearTheBest
"""

import argparse

import numpy as np

from skbayes.benchmark import benchmark, expected_of_random, load_nmt, summarize


class NearTheBest:
    """Take the free row that is nearest to the best one so far."""

    def __init__(self, table, seed):
        self.table = table
        self.rng = np.random.default_rng(seed)
        self.free = np.ones(len(table), dtype=bool)
        self.best, self.best_score = None, -np.inf

    def ask(self):
        """Propose a configuration; what is no free row becomes the nearest one."""
        distance = np.abs(self.table.X - self.table.X[self.best]).sum(axis=1)
        distance += 0.01 * self.rng.random(len(distance))  # ties at random
        return self.table.params[np.where(self.free, distance, np.inf).argmin()]

    def tell(self, params, score):
        """Learn the score of a row; greater is better."""
        row = self.table.params.index(params)
        self.free[row] = False
        if score > self.best_score:
            self.best, self.best_score = row, score


def main():
    """Compare it with random search on one table."""
    parser = argparse.ArgumentParser(description="Run a method of one's own.")
    parser.add_argument("--seeds", type=int, default=50, help="number of runs")
    seeds = parser.parse_args().seeds

    table = load_nmt("ru-en").first(1)
    methods = {"near the best": NearTheBest, "random": "random"}
    for label, method in methods.items():
        summary = summarize(benchmark({label: method}, [table], seeds), table)
        ftb = summary["ftb"]
        print(f"{label}: the best row after {ftb.mean:.1f} ± {ftb.se:.1f} rows")
    print(f"random, exact: {expected_of_random(table)['ftb'].mean:.1f}")


# The benchmark imports this file for its class, and must not run it then.
if __name__ == "__main__":
    main()
