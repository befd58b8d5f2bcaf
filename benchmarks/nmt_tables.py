"""Tuning translation systems by table look-up: trials until the best row is found.

Each of six tables lists trained translation systems: six hyper-parameters and a BLEU
score. Looking a row up replaces training it. A run starts from 3 random distinct rows
(the same for every method under the same seed); a method then takes rows not yet taken.

ftb      rows taken until the best row, at least 3; where rows tie for best, the first
         in file order counts
ftb_any  the same, until any of the rows that tie for best
fb       best score minus the best one found, after 20 rows

skbayes runs on the columns' distinct values with a constraint that only rows of the
table are allowed. The others propose in the unit cube of the scaled columns, and the
nearest free row is taken and told.

Example: python benchmarks/nmt_tables.py --seeds 100 --methods skbayes,random --jobs 2
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    HERE,
    Cache,
    add_run_options,
    names,
    parse_option,
    run_all,
    save_results,
)
from methods import METHODS, Float, Levels, Method, make_method

COLUMNS = ("bpe", "num_layers", "num_embed", "num_hidden", "num_heads", "init_lr")
TARGETS = {
    "zh-en": 33,
    "ru-en": 14,
    "ja-en": 19,
    "en-ja": 22,
    "sw-en": 22,
    "so-en": 52,
}
N_START = 3
N_FB = 20


@dataclass(frozen=True)
class Table:
    """The rows of one language pair."""

    params: list[dict[str, float]]  # n rows, numbers as in the file
    scaled: np.ndarray  # (n, 6), each column within [0, 1]
    score: np.ndarray  # (n,), BLEU

    @property
    def best(self) -> int:
        """The first of the best rows."""
        return int(np.argmax(self.score))


def load(pair: str, folder: Path) -> Table:
    with open(folder / f"{pair}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    params = [
        {c: float(row[c]) if c == "init_lr" else int(row[c]) for c in COLUMNS}
        for row in rows
    ]
    x = np.array([[row[name] for name in COLUMNS] for row in params], dtype=float)
    x[:, 0] = (
        np.log2(x[:, 0] / 1000) / 5
        if pair in ("sw-en", "so-en")
        else (x[:, 0] - 10000) / 40000
    )
    x[:, 1] = (x[:, 1] - x[:, 1].min()) / np.ptp(x[:, 1])
    x[:, 2] = (np.log2(x[:, 2]) - 8) / 2
    x[:, 3] = (x[:, 3] - 1024) / 1024
    x[:, 4] = (x[:, 4] - 8) / 8
    x[:, 5] = (x[:, 5] - 0.0003) / 0.0007
    x = np.clip(x, 0.0, 1.0)  # rounding can leave 1.0000000000000002
    return Table(params, x, np.array([float(row["dev_bleu"]) for row in rows]))


class _Rows:
    """A method that proposes rows of a table."""

    def __init__(self, name: str, table: Table, seed: int, options: dict) -> None:
        self._table = table
        self._exact = name == "skbayes"
        if self._exact:
            key = {tuple(p[c] for c in COLUMNS): i for i, p in enumerate(table.params)}
            self._row = lambda params: key[tuple(params[c] for c in COLUMNS)]
            space: Any = {
                c: Levels(tuple(sorted({p[c] for p in table.params}))) for c in COLUMNS
            }
            options = {
                "constraint": lambda p: tuple(p[c] for c in COLUMNS) in key,
                "n_initial_points": 0,
            } | options
        else:
            space = {c: Float(0.0, 1.0) for c in COLUMNS}
        self._method: Method = make_method(name, space, seed, **options)

    def ask(self, free: np.ndarray) -> int:
        params = self._method.ask()
        if self._exact:
            return self._row(params)
        x = np.array([params[c] for c in COLUMNS])
        distance = np.sum((self._table.scaled - x) ** 2, axis=1)
        return int(np.argmin(np.where(free, distance, np.inf)))

    def tell(self, row: int) -> None:
        params = (
            self._table.params[row]
            if self._exact
            else dict(zip(COLUMNS, self._table.scaled[row].tolist(), strict=True))
        )
        self._method.tell(params, float(self._table.score[row]))


def run(
    name: str, pair: str, seed: int, cap: int | None, option: list[str], folder: Path
) -> dict[str, Any]:
    """Take rows until the best is among them and 20 are taken, or `cap` are."""
    table = load(pair, folder)
    n_rows = len(table.score)
    rng = np.random.default_rng(seed)
    start = rng.choice(n_rows, N_START, replace=False).tolist()
    began = time.process_time()
    taken: list[int] = []
    free = np.ones(n_rows, dtype=bool)
    order = rng.permutation([row for row in range(n_rows) if row not in start])
    method = None
    if name != "random":
        method = _Rows(name, table, seed, dict(map(parse_option, option)))
    while len(taken) < min(n_rows, cap or n_rows):
        if len(taken) < N_START:
            row = start[len(taken)]
        elif method is None:
            row = int(order[len(taken) - N_START])
        else:
            row = method.ask(free)
        if not free[row]:
            raise RuntimeError(f"{name} proposed row {row} of {pair} twice")
        taken.append(row)
        free[row] = False
        if not free[table.best] and len(taken) >= N_FB:
            break
        if method is not None:
            method.tell(row)
    seconds = time.process_time() - began
    return {
        "pair": pair,
        "seed": seed,
        "cap": cap,
        "rows": taken,
        "seconds": round(seconds, 3),
    }


def metrics(record: dict[str, Any], table: Table) -> dict[str, float]:
    rows = record["rows"]
    top = table.score[rows] == table.score.max()
    # Not found within the cap: counted as found at the cap, a lower bound.
    found = rows.index(table.best) + 1 if table.best in rows else len(rows)
    found_any = int(np.argmax(top)) + 1 if top.any() else len(rows)
    return {
        "ftb": max(found, N_START),
        "ftb_any": max(found_any, N_START),
        "fb": float(table.score.max() - table.score[rows[:N_FB]].max()),
        "capped": float(table.best not in rows),
        "ms": 1000 * record["seconds"] / max(len(rows) - N_START, 1),
    }


def random_expectation(n_rows: int) -> tuple[float, float]:
    """Mean and sd of ftb when the place of the best row is uniform on 1 … n_rows."""
    place = np.maximum(np.arange(1, n_rows + 1), N_START)
    return float(place.mean()), float(place.std())


def summarise(
    cache: Cache, labels: list[str], pairs: list[str], args: argparse.Namespace
) -> dict[str, Any]:
    summary: dict[str, Any] = {}
    head = "   ftb ± sd (se)      any    fb   ms"
    print(f"{'':12}{'table':7}{'seeds':>6}{head}   target")
    for label in labels:
        for pair in pairs:
            table = load(pair, args.data)
            runs = {
                r["seed"]: metrics(r, table)
                for r in cache.load(label)
                if (r["pair"], r["cap"]) == (pair, args.cap) and r["seed"] < args.seeds
            }
            if not runs:
                continue
            value = {
                k: np.array([r[k] for r in runs.values()]) for k in runs[min(runs)]
            }
            n = len(runs)
            entry = {"seeds": n, "capped": int(value["capped"].sum())}
            for key in ("ftb", "ftb_any", "fb"):
                sd = float(value[key].std(ddof=1)) if n > 1 else 0.0
                entry[key] = {
                    "mean": round(float(value[key].mean()), 3),
                    "sd": round(sd, 3),
                    "se": round(sd / n**0.5, 3),
                }
            entry["ms_per_row"] = round(float(value["ms"].mean()), 2)
            note = f"{TARGETS[pair]:8}"
            if label == "random":
                mean, sd = random_expectation(len(table.score))
                z = (entry["ftb"]["mean"] - mean) / (sd / n**0.5)
                entry["expected_ftb"] = round(mean, 2)
                entry["z"] = round(z, 2)
                verdict = "within" if abs(z) <= 2 else "NOT within"
                note += f"   expected {mean:.1f}, z = {z:+.2f}: {verdict} 2 se"
            elif entry["ftb"]["mean"] > TARGETS[pair]:
                note += "  above"
            ftb = entry["ftb"]
            print(
                f"{label:12}{pair:7}{n:6}{ftb['mean']:7.1f} ± {ftb['sd']:4.1f}"
                f" ({ftb['se']:.1f})  {entry['ftb_any']['mean']:6.1f}"
                f" {entry['fb']['mean']:5.2f} {entry['ms_per_row']:5.1f}{note}"
            )
            summary.setdefault(label, {})[pair] = entry
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", type=int, default=100, help="runs per table, seeds 0 … n-1")
    add("--tables", type=names(TARGETS), default="all", help="comma-separated, or all")
    add("--methods", type=names(METHODS), default="skbayes,random")
    add("--cap", type=int, help="end a run after so many rows, found or not")
    folder = HERE.parents[1] / "shared" / "data" / "nmt_hpo"
    add("--data", type=Path, default=folder, help="folder with the tables")
    add_run_options(parser)
    args = parser.parse_args()
    pairs = args.tables
    if not args.data.is_dir():
        parser.exit(1, f"no tables in {args.data}: name their folder by --data\n")
    cache = Cache("nmt_tables")
    label_of = {m: m for m in args.methods}
    if "skbayes" in label_of:
        label_of["skbayes"] = args.label or "skbayes"
        if args.fresh:
            cache.clear(label_of["skbayes"])
    jobs = []
    for method, label in label_of.items():
        done = {(r["pair"], r["seed"], r["cap"]) for r in cache.load(label)}
        jobs += [
            (label, (method, pair, seed, args.cap, args.option, args.data))
            for pair in pairs
            for seed in range(args.seeds)
            if (pair, seed, args.cap) not in done
        ]
    run_all(run, jobs, cache, args.jobs)
    summary = summarise(cache, list(label_of.values()), pairs, args)
    if args.save:
        save_results("nmt_tables", {"targets": TARGETS, "methods": summary})


if __name__ == "__main__":
    main()
