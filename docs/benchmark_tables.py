"""Tables of benchmark results, made from the committed files.

The scripts in ``benchmarks/`` write ``benchmarks/results/*.json``. Each function makes
the tables of one of these files, and the directive ``measured`` in ``extensions.py``
adds them to a page. If a file does not contain a method or a task, its cells are empty
or its row is omitted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmark_cells import (
    NMT_TABLES,
    STAGES_PUBLISHED,
    TEXT_PUBLISHED,
    TRADEOFF_PUBLISHED,
    Table,
    label,
    number,
    pair,
)

__all__ = ["TABLES", "Table", "command_of", "load", "tables_of"]

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

# -- one function per file ------------------------------------------------------------


def _overhead(results: dict) -> list[Table]:
    told = results["told"]
    methods = list(next(iter(told.values())))
    rows = [
        [n, *(number(1000 * at[m]["mean"], 0) if m in at else "" for m in methods)]
        for n, at in told.items()
    ]
    caption = (
        "Milliseconds for one tell and the next ask, by the number of observations."
    )
    return [Table(caption, ["observations", *map(label, methods)], rows)]


def _sklearn_tasks(results: dict) -> list[Table]:
    header = ["method", *(f"{n} trials" for n in results["trials"])]
    rows = [
        [label(name), *map(_regret, found["mean"], found["se"])]
        for name, found in results["methods"].items()
    ]
    n_tasks = len(results["best_known"])
    caption = (
        f"Normalized regret × 1000, mean ± standard error over {n_tasks} tasks and "
        f"{results['seeds']} seeds. 0 is the best known score, and 1000 is the score "
        "of the median random trial."
    )
    return [Table(caption, header, rows)]


def _regret(mean: float, error: float) -> str:
    return pair((mean, error), 0)


def _nmt(results: dict) -> list[Table]:
    single = [r for r in results["results"] if len(r["objectives"]) == 1]
    several = [r for r in results["results"] if len(r["objectives"]) > 1]
    runs = max((r["n_runs"] for r in single), default=0)
    found: list[Table] = []
    if single:
        methods = list(dict.fromkeys(r["method"] for r in single))
        rows = [_published_row(results["published"], "ftb", min)]
        rows += [_measured_row(single, method, "ftb", runs) for method in methods]
        caption = (
            "One objective: rows until the best one (ftb), mean ± standard deviation "
            f"over {runs} runs. Numbers in brackets are different numbers of runs."
        )
        found.append(Table(caption, ["method", *NMT_TABLES], rows))
    if several:
        rows = []
        for measure, best in (("fto", min), ("fta", min), ("fbp", max)):
            rows.append(_published_row(results["published"], measure, best))
            rows.append(_measured_row(several, "skbayes", measure, runs))
        for row, name in zip(rows, 3 * ["published", "skbayes"], strict=True):
            row[0] = f"{row[0]}, {name}"
        caption = (
            "Two objectives, BLEU and decoding time: rows until the first row of the "
            "Pareto front (fto), rows until the whole front (fta), and rows of the "
            "front among the first 50 rows, or 200 rows for sw-en and so-en (fbp). "
            "The published values are those of the best method in the paper."
        )
        found.append(Table(caption, ["measure", *NMT_TABLES], rows))
    return found


def _published_row(published: list[dict], measure: str, best: Callable) -> list[str]:
    cells = []
    for table in NMT_TABLES:
        means = [
            p["mean"]
            for p in published
            if p["table"] == table and p["measure"] == measure
        ]
        cells.append(f"{best(means):g}" if means else "")
    name = "best published" if measure == "ftb" else measure
    return [name, *cells]


def _measured_row(
    results: list[dict], method: str, measure: str, runs: int
) -> list[str]:
    cells = []
    for table in NMT_TABLES:
        cell = ""
        for r in results:
            if (r["table"], r["method"]) == (table, method) and measure in r[
                "measures"
            ]:
                at = r["measures"][measure]
                cell = f"{at['mean']:.1f} ± {at['sd']:.1f}"
                if r["n_runs"] != runs:
                    cell += f" ({r['n_runs']})"
        cells.append(cell)
    return [label(method) if measure == "ftb" else measure, *cells]


def _default_on_grids(results: dict) -> list[Table]:
    key = "rows until the best, then mean ratio to plain"
    header = ["kernel", *results["tables"], "ratio"]
    names = {"left out": "chosen on the other tables"}
    rows = [
        [
            names.get(name, name),
            *(number(v, 1) for v in values[:-1]),
            number(values[-1], 3),
        ]
        for name, values in results[key].items()
    ]
    caption = (
        f"Rows until the best one, mean over {results['seeds']} seeds, and geometric "
        "mean of the ratios to the kernel gp-matern52."
    )
    return [Table(caption, header, rows)]


def _parallel(results: dict) -> list[Table]:
    sleeps = {
        "uniform": "uniform",
        "lognormal-trials": "lognormal by trial",
        "lognormal-fits": "lognormal by fit",
    }
    tables = []
    for part, caption in (
        ("runs", "The machine was busy with other work."),
        ("idle machine", "The same machine was otherwise idle."),
    ):
        by_method: dict[str, dict[str, dict]] = {}
        for key, run in results.get(part, {}).items():
            backend, kind, method = key.split(" ", 2)
            by_method.setdefault(f"{backend}, {method}", {})[kind] = run
        rows = [
            [
                name.replace("skopt", "scikit-optimize").replace(
                    "grid n_points=24", "GridSearchCV"
                ),
                *(_slowdown(kinds.get(kind)) for kind in sleeps),
            ]
            for name, kinds in by_method.items()
        ]
        if rows:
            caption = (
                "Wall time divided by the ideal wall time of 8 workers, mean ± "
                f"standard deviation over {results['seeds']} tables of durations. "
                "Values in brackets are simulated with the order of the trials as the "
                f"only overhead. {caption}"
            )
            tables.append(Table(caption, ["method", *sleeps.values()], rows))
    return tables


def _slowdown(run: dict | None) -> str:
    if run is None:
        return ""
    return f"{pair((run['mean'], run['sd']), 2)} ({run['schedule']:.2f})"


def _memory(results: dict) -> list[Table]:
    columns = ["written", "dumps", "growth", "own", "folder", "seconds"]
    rows = [
        [splits, label(library), *(f"{at[c]:g}" for c in columns)]
        for splits, libraries in results["splits"].items()
        for library, at in libraries.items()
    ]
    gigabytes = results["size"] / 1e9
    caption = (
        f"Input of {gigabytes:g} GB. Sizes are multiples of the input: bytes written "
        "by the search, largest growth of memory and temporary files, and its two "
        "parts. Dumped files have more than a hundredth of the size of the input."
    )
    header = ["splits", "library", "written", "dumped files", "growth", "memory"]
    return [Table(caption, [*header, "temporary files", "seconds"], rows)]


def _engine_overhead(results: dict) -> list[Table]:
    ms = results["ms"]
    rows = [
        [name, number(at["median"], 2), number(journal.get("median"), 2)]
        for name, at in ms.items()
        if "smallest" in at and not name.endswith("journal")
        for journal in [ms.get(f"{name} journal", {})]
    ]
    caption = (
        "Milliseconds per trial, without proposals and fits. In the first column, loop "
        "is the scheduling alone, and grid is GridSearchCV."
    )
    return [Table(caption, ["search", "without journal", "with journal"], rows)]


def _racing(results: dict) -> list[Table]:
    tables = []
    for folds, found in results.items():
        if folds in ("versions", "simulated"):
            continue
        rows = [
            [
                budget,
                pair(at["without"], 0),
                pair(at["racing"], 0),
                pair(at["difference"], 0, sign=True),
            ]
            for budget, at in found["regret"].items()
        ]
        caption = (
            f"Regret × 1000 with {folds}, mean ± standard error over "
            f"{len(found['tasks'])} tasks and {found['seeds']} seeds. With racing, "
            f"{found['raced'][0]:.0%} of the trials are pruned, and the same number of "
            f"trials takes {found['fits_for_as_many_trials'][0]:.0%} of the fits."
        )
        header = ["budget", "without racing", "with racing", "difference"]
        tables.append(Table(caption, header, rows))
    return [*tables, _racing_simulated(results["simulated"])]


def _racing_simulated(found: dict) -> Table:
    folds = [name for name in found if name.endswith("folds")]
    kinds = dict.fromkeys(kind.rpartition(", ")[0] for kind in found[folds[0]])
    rows = []
    for kind in kinds:
        row = [kind]
        for name in folds:
            lost = [
                at["best_lost"]
                for key, at in found[name].items()
                if key.rpartition(", ")[0] == kind
            ]
            row.append(f"{number(min(lost), 1)} to {number(max(lost), 1)}")
        rows.append(row)
    caption = (
        f"Percentage of {found['searches']} simulated searches that prune their best "
        f"trial at the default risk, {found['risk']:.0%}, over three spreads of the "
        "means of the trials, by the noise of the folds."
    )
    return Table(caption, ["noise", *folds], rows)


# Displayed names of the methods in `rounds.py`.
ROUNDS = {
    "auto": '``rounds="auto"``',
    "raced": '``rounds="auto"``, ``racing=True``',
    "dimension": "``n_estimators`` as a dimension",
    "100": "100 rounds",
    "1000": "1000 rounds",
    "optuna": "Optuna, pruned",
    "tuner": "LightGBMTunerCV",
    "short": "``auto`` with half the patience",
    "impatient": "``auto`` without patience",
}


def _rounds(results: dict) -> list[Table]:
    found = results["log loss"]
    header = ["method", "runs", "final loss, %", "loss at half the time, %",
              "time ratio", "reached in half the time", "optimism, %"]  # fmt: skip
    rows = [
        [
            ROUNDS[way],
            str(own["runs"]),
            pair(own["loss"], 1, sign=True),
            pair(own["at 0.5"], 1, sign=True),
            number(own["time"], 2),
            f"{own['within half']:.0%}",
            pair(own["optimism"], 1, sign=True),
        ]
        for way, own in found["all"].items()
    ]
    caption = (
        f"Test log loss after {results['trials']} trials, and after half of the "
        "processor time of the reference search, in percent above the final loss of "
        "the reference search. The reference is the search with the number of rounds "
        "as a dimension. Further columns: geometric mean of the ratios of processor "
        "times, share of runs that reach the final loss of the reference in half of "
        "its time, and excess of the test loss over the cross-validated loss, "
        "relative to the reference. Mean ± standard error over tables, estimators "
        "and seeds, paired."
    )
    learners = [name for name in ("lightgbm", "xgboost", "histgb") if name in found]
    ways = [way for way in ROUNDS if any(way in found[name] for name in learners)]
    cells = {
        name: [
            f"{pair(found[name][way]['at 0.5'], 1, sign=True)}; "
            f"{number(found[name][way]['time'], 2)}"
            if way in found[name]
            else ""
            for way in ways
        ]
        for name in learners
    }
    by_learner = [
        [ROUNDS[way], *(cells[name][i] for name in learners)]
        for i, way in enumerate(ways)
    ]
    return [
        Table(caption, header, rows),
        Table(
            "Loss at half the time, and time ratio, by estimator.",
            ["method", *map(label, learners)],
            by_learner,
        ),
    ]


def _multi_stage(results: dict) -> list[Table]:
    rows = []
    for task, at in results["tasks"].items():
        for method, found in at["methods"].items():
            seconds = found["seconds"]
            rows.append(
                [
                    label(task),
                    label(method),
                    str(found["seeds"]),
                    pair(found["test"], 4),
                    pair(found.get("test_minus_full"), 4, sign=True),
                    number(seconds[0], 1),
                    pair(found.get("time_of_full"), 2),
                ]
            )
    measured = Table(
        "Measured: test score, difference from the search on all rows, processor time "
        "in seconds, and its ratio to the time of the search on all rows. Mean ± "
        "standard error, paired by seed.",
        ["task", "search", "seeds", "test score", "difference", "time", "time ratio"],
        rows,
    )
    published = Table(
        "Published: precision at 1 on a set of questions (QA), accuracy on Yelp, and "
        "minutes per trial.",
        ["search", "QA", "QA minutes", "Yelp", "Yelp minutes"],
        STAGES_PUBLISHED,
    )
    return [published, measured]


def _linear(results: dict) -> list[Table]:
    runs = results["runs"]
    data = list(dict.fromkeys(run["data"] for run in runs))
    rows = []
    for solver in dict.fromkeys(run["solver"] for run in runs):
        at = {run["data"]: run for run in runs if run["solver"] == solver}
        rows.append([solver, *(_times(at.get(name)) for name in data)])
    caption = (
        "Milliseconds per fit of LiblinearClassifier / of scikit-learn, and their "
        "ratio in brackets. The geometric mean of the ratios is "
        f"{results['ratio']:.2f}."
    )
    return [
        Table(caption, ["solver", *data], rows),
        *_liblinear_fallback(results, data),
    ]


def _liblinear_fallback(results: dict, data: list[str]) -> list[Table]:
    if "fallback_ratio" not in results:
        return []
    rows = []
    for name in data:
        runs = [run for run in results["runs"] if run["data"] == name]
        ratios = [run["fallback_seconds"] / run["seconds"] for run in runs]
        off = [abs(run["fallback_accuracy"] - run["accuracy"]) for run in runs]
        equal = [run["fallback_equal"] for run in runs]
        rows.append(
            [
                name,
                f"{min(ratios):.2f} to {max(ratios):.2f}",
                f"{max(off):.4f}",
                f"{min(equal):.1%} to {max(equal):.1%}",
            ]
        )
    caption = (
        "LiblinearClassifier with the copy of LIBLINEAR in scikit-learn, compared "
        "with liblinear-official. The ranges are over the solvers. The geometric mean "
        f"of the time ratios is {results['fallback_ratio']:.2f}."
    )
    header = ["data", "time ratio", "largest accuracy difference", "equal predictions"]
    return [Table(caption, header, rows)]


def _times(run: dict | None) -> str:
    if run is None:
        return ""
    ours, theirs = 1000 * run["seconds"], 1000 * run["sklearn_seconds"]
    return f"{ours:.0f} / {theirs:.0f} ({run['ratio']:.2f})"


def _tradeoff(results: dict) -> list[Table]:
    rows = [
        [
            label(r["data"]),
            label(r["method"]),
            "" if r["alpha"] is None else str(r["alpha"]),
            number(r["accuracy"][0], 4),
            pair(r["difference"], 4, sign=True),
            f"{r['accuracy_ratio'][0]:.1%}",
            f"{r['time_ratio']:.1%}",
            number(r["fraction"][0], 2),
        ]
        for r in sorted(results["table"], key=_order_of_tradeoff)
    ]
    header = ["data", "search", "α", "accuracy", "difference", "accuracy ratio"]
    measured = Table(
        "Measured: test accuracy of the selected model, difference from the search "
        "on all rows (± standard error, paired by seed), ratios of the accuracy and "
        "of the training time of the final model to those of the search on all rows, "
        'and share of the rows. "mean" is the mean over α from 0.1 to 0.9.',
        [*header, "time ratio", "rows"],
        rows,
    )
    published = Table(
        "Published: accuracy, and minutes to train the selected model.",
        ["search", "Insurance", "Insurance minutes", "Yelp", "Yelp minutes"],
        TRADEOFF_PUBLISHED,
    )
    return [published, measured]


def _order_of_tradeoff(row: dict) -> tuple:
    methods = ["full", "subset", "ei-tradeoff", "all", "paper"]
    method, alpha = row["method"], row["alpha"]
    place = methods.index(method) if method in methods else len(methods)
    data = {"imdb": 0, "adult": 1}.get(row["data"], 2)
    return (data, row["data"], place, alpha == "mean", str(alpha))


def _hypertune(results: dict) -> list[Table]:
    rivals = ["hypertune", "ei-bo", "hyperband", "fabolas-like"]
    rows = []
    for task, at in results.items():
        if "end" not in at:
            continue
        published = " / ".join(
            "–" if one is None else f"{one:g}" for one in at.get("published") or []
        )
        cells = [pair(at["end"].get(rival), 3) for rival in rivals]
        rows.append([task, str(at["seeds"]), *cells, published])
    caption = (
        "Held-out error of the incumbent, fitted on all training rows, when HyperTune "
        "has spent its time. Mean ± standard error over the runs. The published errors "
        "of Fabolas / Hyperband / HyperTune were measured on larger data."
    )
    header = ["task", "runs", *map(label, rivals), "published"]
    return [Table(caption, header, rows), *_hypertune_over_tasks(results)]


def _hypertune_over_tasks(results: dict) -> list[Table]:
    """Return tables of mean differences over the tasks, by time and by trials."""
    over = results.get("over tasks", {})
    by_time = {name: at for name, at in over.items() if "at the end" in at}
    by_trials = {name: at for name, at in over.items() if "at the end" not in at}
    tables = []
    if by_time:
        rows = [
            [
                label(name.rpartition(" - ")[2]),
                pair(at["at the end"], 4, sign=True),
                pair(at.get("all the time"), 3, sign=True),
            ]
            for name, at in by_time.items()
        ]
        caption = (
            "Error of HyperTune minus error of the other method, mean ± standard error "
            "over the tasks."
        )
        header = ["other method", "at the end", "mean over the time of HyperTune"]
        tables.append(Table(caption, header, rows))
    if by_trials:
        trials = list(next(iter(by_trials.values())))
        names = {
            "hypertune": "HyperTune",
            "center": "EI-BO with the same first trial",
            "centre": "EI-BO with the same first trial",
            "wrong": "HyperTune with all signs wrong",
        }
        rows = [
            [
                names.get(name.partition(" - ")[0], name),
                *(pair(at.get(n), 3, sign=True) for n in trials),
            ]
            for name, at in by_trials.items()
        ]
        caption = (
            "Validation error minus error of EI-BO, by the number of trials on all "
            "rows. Mean ± standard error over the tasks."
        )
        tables.append(Table(caption, ["search", *trials], rows))
    return tables


def _text(results: dict) -> list[Table]:
    methods = {
        "default": "default search",
        "grid": "grid",
        "fasttext": "fastText",
        "published": "published configuration",
        "paper": "paper's space",
    }
    there = {key: name for key, name in methods.items() if results.get(key)}
    tasks = dict.fromkeys([*TEXT_PUBLISHED, *(r["task"] for r in results["default"])])
    accuracies, seconds, choices = [], [], []
    for task in tasks:
        runs = {
            key: [run for run in results[key] if run["task"] == task] for key in there
        }
        if not any(runs.values()):
            continue
        published = TEXT_PUBLISHED.get(task)
        cells = [_mean_and_least([run["test"] for run in runs[key]]) for key in there]
        figure = "" if published is None else f"{published:.2f}"
        accuracies.append([label(task), figure, *cells])
        seconds.append(
            [label(task), *(_mean_of(runs[key], "seconds", 1) for key in there)]
        )
        chosen = [run for run in runs["default"] if "tests" in run]
        if chosen:
            choices.append([label(task), *_text_choice(chosen)])
    return [
        Table(
            "Test accuracy in %, mean over the seeds, with the lowest accuracy in "
            "brackets. The published accuracies of Yogatama, Kong and Smith (2015) "
            "were measured on other copies of the data.",
            ["task", "published accuracy", *there.values()],
            accuracies,
        ),
        Table(
            "Processor time of a search and its final fit, in seconds.",
            ["task", *there.values()],
            seconds,
        ),
        Table(
            "Selection among the trials of the default search, in percentage points of "
            "test accuracy: distance of the selected trial to the best of its ten best "
            "trials (regret), gain by averaging the best 3, 5 and 10 trials, and the "
            "correction of the best score.",
            ["task", "regret", "best 3", "best 5", "best 10", "correction"],
            choices,
        ),
    ]


def _mean_of(runs: list[dict], key: str, digits: int) -> str:
    return number(sum(r[key] for r in runs) / len(runs), digits) if runs else ""


def _text_choice(runs: list[dict]) -> list[str]:
    columns: list[list[float]] = [[max(run["tests"]) - run["tests"][0] for run in runs]]
    columns += [
        [r["ensembles"][k] - r["tests"][0] for r in runs if k in r["ensembles"]]
        for k in ("3", "5", "10")
    ]
    columns.append([run["score"] - run["corrected"] for run in runs])
    return [number(100 * sum(c) / len(c), 2) if c else "" for c in columns]


def _mean_and_least(shares: list[float]) -> str:
    if not shares:
        return ""
    mean = number(100 * sum(shares) / len(shares), 2)
    return f"{mean} ({number(100 * min(shares), 2)})" if len(shares) > 1 else mean


# Functions that make the tables, by the name of the file.
TABLES: dict[str, Callable[[dict], list[Table]]] = {
    "default_on_grids": _default_on_grids,
    "engine_overhead": _engine_overhead,
    "hypertune": _hypertune,
    "linear": _linear,
    "memory": _memory,
    "multi_stage": _multi_stage,
    "nmt": _nmt,
    "overhead": _overhead,
    "parallel": _parallel,
    "racing": _racing,
    "rounds": _rounds,
    "sklearn_tasks": _sklearn_tasks,
    "text": _text,
    "tradeoff": _tradeoff,
}


def load(name: str, folder: Path | None = None) -> dict[str, Any]:
    """Read one file of results."""
    path = (folder or BENCHMARKS / "results") / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def tables_of(name: str, results: dict[str, Any] | None = None) -> list[Table]:
    """Make the tables of one file of results."""
    return TABLES[name](load(name) if results is None else results)


# -- commands -------------------------------------------------------------------------


def command_of(name: str) -> str:
    """Return the commands of a benchmark, from the README of the benchmarks."""
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    title = "nmt_report.py" if name == "nmt" else f"{name}.py"
    section = re.search(
        rf"^## [^\n]*`{re.escape(title)}`\n\n((?:    [^\n]*\n)+)", text, re.MULTILINE
    )
    if section is None:
        raise KeyError(f"benchmarks/README.md has no commands for {title}")
    return re.sub(r"^    ", "", section[1], flags=re.MULTILINE).rstrip("\n")
