"""Tables of the documentation compared with the committed results."""

import copy
import json
from pathlib import Path
from statistics import mean, median

import benchmark_tables as tables
import pytest

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


def test_every_file_has_tables():
    assert sorted(tables.TABLES) == [path.stem for path in RESULTS]


@pytest.mark.parametrize("name", tables.TABLES)
def test_tables_are_whole(name):
    made = tables.tables_of(name)
    assert made
    for table in made:
        assert table.caption and table.rows
        assert {len(row) for row in table.rows} == {len(table.header)}
        assert all(any(row[1:]) for row in table.rows)


@pytest.mark.parametrize("name", tables.TABLES)
def test_command_is_that_of_the_readme(name):
    command = tables.command_of(name)
    script = "nmt_report" if name == "nmt" else name
    assert f"benchmarks/{script}.py" in command
    readme = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"    {line}\n" in readme for line in command.splitlines())


def test_page_has_every_table():
    page = (ROOT / "docs" / "measurements.rst").read_text(encoding="utf-8")
    assert all(f".. measured:: {name}\n" in page for name in tables.TABLES)


def _cell(table, row, column):
    (found,) = (r for r in table.rows if r[: len(row)] == row)
    return found[table.header.index(column)]


def test_pages_cite_the_simulated_races():
    found = tables.load("racing")["simulated"]
    lost = {}
    for folds in ("3 folds", "5 folds", "10 folds"):
        for kind, at in found[folds].items():
            lost.setdefault(kind.partition(",")[0], []).append(at["best_lost"])
    by_fold = max(lost["folds differ"] + lost["one noisy fold"])
    assert max(lost["equal"]) <= 1.0 and round(by_fold) == 4
    assert [round(f(lost["trials differ"])) for f in (min, max)] == [1, 9]
    page = (ROOT / "docs" / "bayes.rst").read_text(encoding="utf-8")
    assert all(part in page for part in ("at most 1% of", "up to 4% of", "1% to 9%"))
    (*_, table) = tables.tables_of("racing")
    readme = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"| {' | '.join(row)} |\n" in readme for row in table.rows)


def test_figures_are_those_of_the_files():
    (overhead,) = tables.tables_of("overhead")
    seconds = tables.load("overhead")["told"]["100"]["skbayes"]["mean"]
    assert _cell(overhead, ["100"], "skbayes") == f"{1000 * seconds:.0f}"

    single, several = tables.tables_of("nmt")
    assert _cell(single, ["best published"], "zh-en") == "13"
    assert _cell(several, ["fta, published"], "so-en") == "321"
    (ours,) = (
        r["measures"]["ftb"]
        for r in tables.load("nmt")["results"]
        if (r["table"], r["method"], len(r["objectives"])) == ("ru-en", "skbayes", 1)
    )
    expected = f"{ours['mean']:.1f} ± {ours['sd']:.1f}"
    assert _cell(single, ["skbayes"], "ru-en") == expected


def test_runs_of_text_are_averaged():
    ours = {"task": "sst", "seconds": 2.0, "score": 0.9, "corrected": 0.88}
    ours |= {"tests": [0.8, 0.83], "ensembles": {"3": 0.81}}
    default = [{**ours, "test": test} for test in (0.8, 0.82)]
    grid = [{"task": "sst", "test": 0.8, "seconds": 9.0}]
    results = {"default": default, "grid": grid, "versions": {}}
    accuracy, seconds, choice = tables.tables_of("text", results)
    assert accuracy.rows == [["SST-2", "82.43", "81.00 (80.00)", "80.00"]]
    assert seconds.rows == [["SST-2", "2.0", "9.0"]]
    assert choice.rows == [["SST-2", "3.00", "1.00", "", "", "2.00"]]


def test_liblinear_fallback_is_summarized():
    run = {"data": "letter", "solver": "L2R_LR", "seconds": 1.0, "sklearn_seconds": 1.0}
    run |= {"ratio": 1.0, "accuracy": 0.5, "sklearn_accuracy": 0.5}
    run |= {"fallback_accuracy": 0.52, "fallback_equal": 0.98}
    runs = [{**run, "fallback_seconds": 2.0}, {**run, "fallback_seconds": 3.0}]
    results = {"ratio": 1.0, "fallback_ratio": 2.4, "runs": runs}
    _, table = tables.tables_of("linear", results)
    assert table.rows == [["letter", "2.00 to 3.00", "0.0200", "98.0% to 98.0%"]]


def test_other_tasks_and_methods_do_no_harm():
    """Results of other tasks and methods are supported, because they change."""
    hypertune = tables.load("hypertune")
    task = next(name for name in hypertune if "end" in hypertune[name])
    fewer = copy.deepcopy({"versions": {}, task: hypertune[task]})
    del fewer[task]["end"]["hyperband"]
    fewer["mnist-mlp"] = copy.deepcopy(fewer[task])
    fewer["mnist-mlp"]["published"] = None
    (table,) = tables.tables_of("hypertune", fewer)
    assert [row[0] for row in table.rows] == [task, "mnist-mlp"]
    assert [row[table.header.index("Hyperband")] for row in table.rows] == ["", ""]

    stages = tables.load("multi_stage")
    stages["tasks"]["another"] = {
        "methods": {"mine": {"seeds": 1, "test": [0.5, None], "seconds": [1.0, None]}}
    }
    _, measured = tables.tables_of("multi_stage", stages)
    assert measured.rows[-1] == ["another", "mine", "1", "0.5000", "", "1.0", ""]

    overhead = tables.load("overhead")
    del overhead["told"]["500"]["skopt"]
    assert tables.tables_of("overhead", overhead)[0].rows[-1][-1] == ""


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_name_what_they_were_made_with(path):
    results = json.loads(path.read_text(encoding="utf-8"))
    assert "versions" in results or path.stem == "default_on_grids"


@pytest.mark.parametrize(
    "name, exceeded", [("after", []), ("left_out", ["SVR strike"])]
)
def test_readme_has_the_times_of_default_spaces(name, exceeded):
    path = ROOT / "benchmarks" / "results" / "default_space_time" / f"{name}.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["exceeded"] == exceeded
    assert name != "after" or len(saved["runs"]) == 101
    runs = {}
    for label, run in saved["runs"].items():
        if run["random"] is not None:
            runs.setdefault(label.split()[0], []).append(run)
    readme = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    for estimator, found in runs.items():
        times = [run["default"]["seconds"] / run["random"]["seconds"] for run in found]
        gains = [
            run["default"]["best_score"] - run["random"]["best_score"] for run in found
        ]
        row = [f"{median(times):.1f}", f"{max(times):.1f}"]
        row += [f"{f(gains):+.3f}" for f in (mean, min)]
        assert f"| {estimator} | {len(found)} | {' | '.join(row)} |\n" in readme
