"""Choice of the default surrogate for grids, and its effect.

Variants of the additive Gaussian process and the plain process are run on the six
translation tables and on those of grids.py. The result for a table is the mean number
of rows until the best one is found, relative to that of the plain process. If several
rows tie for best, any of them counts.

The variant is chosen on the same tables that it is evaluated on. Therefore the choice
is repeated for each table from all other tables, and its result on the omitted table is
shown as "left out".

Finished runs are cached; the same command continues an interrupted benchmark.

Example: python benchmarks/default_on_grids.py --seeds 100 --jobs 2
"""

from __future__ import annotations

import argparse
import json
import math
from functools import partial
from pathlib import Path

import grids
import numpy as np

from skbayes.benchmark import benchmark, load_nmt, summarize
from skbayes.benchmark.methods import SkbayesMethod
from skbayes.benchmark.tables import NMT_PAIRS
from skbayes.surrogates import AdditiveGaussianProcess

RESULTS = Path(__file__).parent / "results" / "default_on_grids.json"
PLAIN = ("gp-matern52", "gp-matern32", "gp-rbf")
# Kernel, share of the pairs, prior median of the length scales.
ADDITIVE = (
    ("matern32", 0.5, 0.1),
    ("matern32", 0.5, 0.2),
    ("matern32", 0.5, 0.4),
    ("matern32", 0.0, 0.2),
    ("matern52", 0.5, 0.2),
)


def methods() -> dict[str, object]:
    """Return plain and additive processes by their options."""
    found = {name: partial(SkbayesMethod, surrogate=name) for name in PLAIN}
    for kernel, share, scale in ADDITIVE:
        surrogate = AdditiveGaussianProcess(
            kernel, pair_share=share, length_scale=scale
        )
        name = f"{kernel}, pairs {share:g}, scale {scale:g}"
        found[name] = partial(SkbayesMethod, surrogate=surrogate)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("default-on-grids"))
    arguments = parser.parse_args()
    tables = [load_nmt(pair).first(1) for pair in NMT_PAIRS]
    tables += [grids.load(task) for task in grids.GRIDS]
    named = methods()
    runs = benchmark(
        named, tables, arguments.seeds, n_jobs=arguments.jobs, folder=arguments.folder
    )
    ftb = np.empty((len(named), len(tables)))
    for i, name in enumerate(named):
        for j, table in enumerate(tables):
            own = [r for r in runs if r.method == name and r.table == table.name]
            ftb[i, j] = summarize(own, table)["ftb_any"].mean
    logs = np.log(ftb / ftb[0])
    names = list(named)
    rows = {name: [*ftb[i], math.exp(logs[i].mean())] for i, name in enumerate(names)}
    chosen = [
        int(np.argmin(np.delete(logs, j, axis=1).mean(axis=1)))
        for j in range(len(tables))
    ]
    left_out = [ftb[i, j] for j, i in enumerate(chosen)]
    geometric = np.mean([logs[i, j] for j, i in enumerate(chosen)])
    rows["left out"] = [*left_out, math.exp(geometric)]
    print(" " * 32, *(f"{table.name[:9]:>9}" for table in tables), "    mean")
    for name, row in rows.items():
        print(f"{name:32}", *(f"{v:9.1f}" for v in row[:-1]), f"{row[-1]:8.3f}")
    print("chosen on the other tables:", *(names[i] for i in chosen), sep="\n  ")
    RESULTS.write_text(
        json.dumps(
            {
                "seeds": arguments.seeds,
                "tables": [table.name for table in tables],
                "rows until the best, then mean ratio to plain": rows,
                "chosen without the table": [names[i] for i in chosen],
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
