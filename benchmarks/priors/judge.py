"""Evaluation of portfolios on tables of results, with one table left out.

A portfolio is learned from all other tables. Its configurations are looked up in the
table that is left out, in the order in which the portfolio proposes them. The result is
the regret × 1000 after 1, 3, 5, and 8 configurations. The value in parentheses is the
ratio to the regret of random configurations after the estimator's own. The scores are
those of the tasks of auto_spaces.py.

Example: python benchmarks/priors/judge.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import one_thread  # noqa: F401

# isort: split
import argparse

import auto_spaces
import numpy as np
from priors import learn, results

from skbayes.space import Space
from skbayes.space import portfolio as package

SHOWN = (1, 3, 5, 8)
N_RANDOM = 200
# name: (weight of the predicted regret, own score alone, adaptive, size)
VARIANTS = {
    "as it is": (0.5, False, True, 16),
    "fixed order": (0.5, False, False, 16),
    "fixed order, not smoothed": (0.0, False, False, 16),
    "fixed order, own score alone": (0.5, True, False, 16),
    "12 configurations": (0.5, False, True, 12),
    "24 configurations": (0.5, False, True, 24),
}


def order(losses: np.ndarray, regret: np.ndarray, adaptive: bool, n: int) -> list[int]:
    """Return the configurations in the order in which they are proposed."""
    places = np.array(learn.portfolio(losses, n))
    space = Space.from_notation({"number": list(range(n))})
    points = [{"number": k} for k in range(n)]
    rounded = np.rint(100.0 * np.minimum(losses[:, places], 1.0)) / 100.0
    portfolio = package.Portfolio(space, points, rounded, n)
    made = [0]
    while len(made) < SHOWN[-1]:
        scores = -regret[places[made]] if adaptive else np.full(len(made), np.nan)
        free = [k for k in range(n) if k not in made]
        place = portfolio.choose(portfolio.rows[made], scores, free)
        assert place is not None
        made.append(place)
    return places[made].tolist()


def judge(name: str, variant: str) -> np.ndarray:
    """Return regrets of a portfolio and of random search, (n_tasks, 2, len(SHOWN))."""
    share, own_alone, adaptive, n = VARIANTS[variant]
    raw, smooth = learn.regrets(name), learn.smoothed(name)
    tables = [table.name for table in results.load(name)]
    losses = []
    for regret, half in zip(raw, smooth, strict=True):
        loss = half if share else regret
        usable = not np.isnan(loss).all()
        losses.append(
            (loss[:, 0] if own_alone else learn._mixed(loss)) if usable else None
        )
    found = []
    for _, table, place in auto_spaces.tasks_of(name):
        left_out = tables.index(table)
        others = [
            loss
            for k, loss in enumerate(losses)
            if k != left_out and loss is not None and not np.isnan(loss).any()
        ]
        regret = raw[left_out][:, place]
        rng = np.random.default_rng(0)
        random = [
            np.minimum.accumulate(
                regret[[0, *1 + rng.permutation(len(regret) - 1)[:7]]]
            )
            for _ in range(N_RANDOM)
        ]
        made = order(np.array(others), regret, adaptive, n)
        ours = np.minimum.accumulate(regret[made])
        found.append([ours, np.mean(random, axis=0)])
    return np.array(found)[:, :, np.array(SHOWN) - 1]


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    names = [name for name in results.names() if name != auto_spaces.XGBOOST]
    for variant in VARIANTS:
        found = np.concatenate([judge(name, variant) for name in names])
        ours, random = found.mean(axis=0)
        cells = [
            f"{1000 * a:5.0f} ({a / b:.2f})" for a, b in zip(ours, random, strict=True)
        ]
        print(f"{variant:32}{len(found)} tasks " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
