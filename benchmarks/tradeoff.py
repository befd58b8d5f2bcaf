"""Accuracy and training time: TradeoffSearchCV compared with fixed data sizes.

IMDB (25,000 reviews, tf-idf of words without stop words) is classified by LIBLINEAR's
support vector machines (solver, C, intercept), and Adult by LightGBM (six parameters).
Each seed holds out 5,000 rows for validation. Every search makes 20 trials, 3 of which
are initial trials; the cost is processor time. The chosen configuration is trained on
the chosen share of all training rows. The results are its test accuracy, and the
processor time of this training (median of three).

- full: BayesSearchCV on all rows; subset: on 30 % of them, and trained on those.
- ei-tradeoff, paper: TradeoffSearchCV with either acquisition function, for each
  tradeoff.
- all: one search for all tradeoffs (`all_tradeoffs=True`), from which each tradeoff is
  selected.

Finished runs are cached; run the script again to continue. `--report` only summarizes.

Example: python benchmarks/tradeoff.py --data adult --seeds 0,1
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import time
import warnings
from functools import cache
from typing import Any

import joblib
import numpy as np
import shared
from common import HERE, Cache, names, save_results
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from skbayes import BayesSearchCV, TradeoffSearchCV
from skbayes.text import LiblinearClassifier

TRADEOFFS = (0.1, 0.3, 0.5, 0.7, 0.9)
# With these tradeoffs, the whole training time has the same weight as 0.3 or 1 % of
# accuracy. They are excluded from the averages.
SMALL_TRADEOFFS = (0.003, 0.01)
MORE_TRADEOFFS = (*SMALL_TRADEOFFS, 0.03, *TRADEOFFS)
N_ITER, N_INITIAL, N_VALIDATION, SUBSET = 20, 3, 5000, 0.3

LEARNERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "imdb": (
        LiblinearClassifier(random_state=0),
        {
            "solver": ["L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L1R_L2LOSS_SVC"],
            "C": (1e-2, 1e1, "log-uniform"),
            "fit_intercept": [True, False],
        },
    ),
    "adult": (
        LGBMClassifier(n_jobs=1, random_state=0, verbose=-1, subsample_freq=1),
        {
            "colsample_bytree": (0.2, 1.0),
            "subsample": (0.2, 1.0),
            "learning_rate": (0.01, 0.5, "log-uniform"),
            "n_estimators": (10, 100, "log-uniform"),
            "num_leaves": (4, 32, "log-uniform"),
            "min_child_samples": (2, 200, "log-uniform"),
        },
    ),
}


@cache
def load(data: str) -> tuple[Any, Any, Any, Any]:
    if data == "adult":
        sets = shared.load().load_adult()
        return (*sets["train"], *sets["test"])
    kept = HERE / "cache" / "tradeoff" / "imdb.joblib"
    if not kept.exists():
        sets = shared.load().load_imdb()
        (train, y), (test, y_test) = sets["train"], sets["test"]
        vectorizer = TfidfVectorizer(stop_words="english", dtype=np.float64)
        X, X_test = vectorizer.fit_transform(train), vectorizer.transform(test)
        joblib.dump((X, y, X_test, y_test), kept)
    return joblib.load(kept)


def train(data: str, params: dict, fraction: float, seed: int) -> dict[str, float]:
    """Train a choice on its share of the rows; return accuracy and seconds."""
    X, y, X_test, y_test = load(data)
    rows = np.arange(len(y))
    if fraction < 1.0:
        rows, _ = train_test_split(
            rows, train_size=fraction, stratify=y, random_state=seed
        )
    estimator = clone(LEARNERS[data][0]).set_params(**params)
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        estimator.fit(X[rows], y[rows])
        seconds.append(time.process_time() - begin)
    return {
        "fraction": fraction,
        "accuracy": float(estimator.score(X_test, y_test)),
        "seconds": float(np.median(seconds)),
    }


def make_search(data: str, method: str, seed: int, alpha: float | None) -> Any:
    _, y, _, _ = load(data)
    fit, validate = train_test_split(
        np.arange(len(y)), test_size=N_VALIDATION, stratify=y, random_state=seed
    )
    if method == "subset":
        fit, _ = train_test_split(
            fit, train_size=SUBSET, stratify=y[fit], random_state=seed
        )
    estimator, space = LEARNERS[data]
    common = {
        "n_iter": N_ITER,
        "n_initial_points": N_INITIAL,
        "cv": [(fit, validate)],
        "refit": False,
        "random_state": seed,
    }
    if method in ("full", "subset"):
        return BayesSearchCV(estimator, space, **common)
    rule = {} if method == "all" else {"acquisition": method}
    return TradeoffSearchCV(
        estimator,
        space,
        tradeoff=0.5 if alpha is None else alpha,
        all_tradeoffs=method == "all",
        cost="cpu_time",
        **rule,
        **common,
    )


def run(data: str, method: str, seed: int, alpha: float | None) -> list[dict]:
    """Run a search and train its choice; return a record for each tradeoff."""
    X, y, _, _ = load(data)
    begin = time.process_time()
    search = make_search(data, method, seed, alpha).fit(X, y)
    elapsed = time.process_time() - begin
    choices: list[tuple[float | None, dict, float]] = []
    if method in ("full", "subset"):
        fraction = 1.0 if method == "full" else SUBSET
        choices.append((None, search.best_params_, fraction))
    else:
        results = search.cv_results_
        for one in MORE_TRADEOFFS if method == "all" else [alpha]:
            row = row_of(search, one)
            fraction = float(results["train_fraction"][row])
            choices.append((one, results["params"][row], fraction))
    return [
        {
            "data": data,
            "method": method,
            "seed": seed,
            "alpha": one,
            "search_seconds": elapsed,
            "params": params,
            **train(data, params, fraction, seed),
        }
        for one, params, fraction in choices
    ]


def row_of(search: Any, alpha: float) -> int:
    """Return the index of the trial that a search chooses for a tradeoff."""
    curve = search.tradeoff_curve_
    chosen = (curve["tradeoff_from"] <= alpha) & (alpha < curve["tradeoff_to"])
    return int(curve["trial"][chosen].iloc[0])


def jobs(seeds: list[int], data: list[str]) -> list[tuple]:
    """Return the runs, the most important ones first."""
    first: list[tuple[str, float | None]] = [("full", None), ("all", None)]
    first += [("ei-tradeoff", alpha) for alpha in TRADEOFFS]
    small = [("ei-tradeoff", alpha) for alpha in SMALL_TRADEOFFS]
    published = [("subset", None), *(("paper", alpha) for alpha in TRADEOFFS)]
    rounds = [first, small, published]
    return [
        (one, method, seed, alpha)
        for some in rounds
        for seed in seeds
        for one in data
        for method, alpha in some
    ]


def mean(values: Any) -> tuple[float, float]:
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def summarize(records: list[dict]) -> list[dict]:
    """Compare with the search on all rows, paired by seed."""
    full = {(r["data"], r["seed"]): r for r in records if r["method"] == "full"}
    groups: dict[tuple, list[dict]] = {}
    for record in records:
        if (record["data"], record["seed"]) in full:
            key = (record["data"], record["method"], record["alpha"])
            groups.setdefault(key, []).append(record)
    for data, method in {(d, m) for d, m, alpha in groups if alpha is not None}:
        # Averaged over the tradeoffs for each seed.
        parts = [r for a in TRADEOFFS for r in groups.get((data, method, a), [])]
        groups[data, method, "mean"] = parts
    table = []
    for (data, method, alpha), some in groups.items():
        base = [full[r["data"], r["seed"]] for r in some]
        seeds = sorted({r["seed"] for r in some})
        by_seed = {s: [i for i, r in enumerate(some) if r["seed"] == s] for s in seeds}

        def paired(function: Any, some=some, base=base, by_seed=by_seed) -> tuple:
            values = [function(r, b) for r, b in zip(some, base, strict=True)]
            return mean([np.mean([values[i] for i in at]) for at in by_seed.values()])

        table.append(
            {
                "data": data,
                "method": method,
                "alpha": alpha,
                "seeds": len(seeds),
                "accuracy": paired(lambda r, b: r["accuracy"]),
                "difference": paired(lambda r, b: r["accuracy"] - b["accuracy"]),
                "accuracy_ratio": paired(lambda r, b: r["accuracy"] / b["accuracy"]),
                "seconds": paired(lambda r, b: r["seconds"]),
                "time_ratio": float(
                    np.sum([r["seconds"] for r in some])
                    / np.sum([b["seconds"] for b in base])
                ),
                "fraction": paired(lambda r, b: r["fraction"]),
                "search_ratio": float(
                    np.sum([r["search_seconds"] for r in some])
                    / np.sum([b["search_seconds"] for b in base])
                ),
            }
        )
    return sorted(
        table, key=lambda row: (row["data"], row["method"], str(row["alpha"]))
    )


def report(table: list[dict]) -> None:
    print(
        f"{'data':7}{'method':13}{'alpha':>6}{'n':>3}{'accuracy':>10}"
        f"{'difference':>20}{'of full':>9}{'seconds':>9}{'of full':>9}{'rows':>7}"
        f"{'search':>8}"
    )
    for row in table:
        alpha = "" if row["alpha"] is None else row["alpha"]
        difference = "{:+.4f} ± {:.4f}".format(*row["difference"])
        print(
            f"{row['data']:7}{row['method']:13}{alpha!s:>6}{row['seeds']:3}"
            f"{row['accuracy'][0]:10.4f}{difference:>20}"
            f"{row['accuracy_ratio'][0]:9.1%}{row['seconds'][0]:9.3f}"
            f"{row['time_ratio']:9.1%}{row['fraction'][0]:7.2f}"
            f"{row['search_ratio']:8.2f}"
        )


def draw(table: list[dict]) -> None:
    """Plot accuracy over training time, with one panel per data set.

    Methods without runs for all seeds are omitted.
    """
    import matplotlib.pyplot as plt

    sets = sorted({row["data"] for row in table})
    figure, axes = plt.subplots(
        1, len(sets), figsize=(4.5 * len(sets), 3.4), layout="constrained"
    )
    for axis, data in zip(np.atleast_1d(axes), sets, strict=True):
        rows = [r for r in table if r["data"] == data and r["alpha"] != "mean"]
        rows = [r for r in rows if r["seeds"] == max(one["seeds"] for one in rows)]
        for method, style in (("ei-tradeoff", "o-"), ("paper", "s:"), ("all", "^--")):
            line = sorted(
                (r for r in rows if r["method"] == method),
                key=lambda r: r["alpha"],
            )
            if not line:
                continue
            axis.errorbar(
                [r["seconds"][0] for r in line],
                [r["accuracy"][0] for r in line],
                yerr=[r["accuracy"][1] for r in line],
                fmt=style,
                ms=4,
                lw=1,
                label={"all": "one search for all"}.get(method, method),
            )
        for method, marker in (("full", "*"), ("subset", "X")):
            for r in (r for r in rows if r["method"] == method):
                axis.plot(
                    r["seconds"][0],
                    r["accuracy"][0],
                    marker,
                    color="k",
                    ms=9,
                    label={"full": "all rows", "subset": "30 % of the rows"}[method],
                )
        axis.set(xlabel="seconds to train", title=data)
    np.atleast_1d(axes)[0].set_ylabel("test accuracy")
    np.atleast_1d(axes)[-1].legend(frameon=False, fontsize=8)
    figure.savefig("tradeoff_benchmark.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=names(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--report", action="store_true", help="only summarize")
    parser.add_argument(
        "--save", action="store_true", help="write the results to results/"
    )
    parser.add_argument("--draw", action="store_true", help="plot the figure")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    store = Cache("tradeoff")
    if not options.report:
        seeds = [int(seed) for seed in options.seeds.split(",")]
        for job in jobs(seeds, options.data):
            label = "-".join(str(part) for part in job)
            if not store.load(label):
                for record in run(*job):
                    store.append(label, record)
                print(label, flush=True)
    records = [r for label in store.labels() for r in store.load(label)]
    table = summarize(records)
    report(table)
    if options.save:
        runs = [{k: v for k, v in r.items() if k != "params"} for r in records]
        save_results("tradeoff", {"n_iter": N_ITER, "table": table, "runs": runs})
    if options.draw:
        draw(table)


if __name__ == "__main__":
    main()
