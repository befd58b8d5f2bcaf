"""Tables and figures of the documentation compared with the committed results."""

import json
import re
from math import exp, log
from pathlib import Path

import benchmark_tables as tables
import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


SETTLED = ROOT / "docs" / "settled_measurements.rst"  # names removed scripts


@pytest.mark.parametrize("name", tables.TABLES)
def test_table_is_whole_and_its_command_that_of_the_readme(name):
    table, script = tables.table_of(name), name.partition("/")[0]
    assert table.caption and table.rows
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert all(any(row[1:]) for row in table.rows)
    if not list((ROOT / "benchmarks").glob(f"{script}*")):
        assert f"(``{script}.py``, in commit" in SETTLED.read_text(encoding="utf-8")
        return
    command = tables.command_of(name)
    assert f"benchmarks/{script}" in command
    assert all(f"    {line}\n" in BENCHMARKS for line in command.splitlines())


def test_pages_have_every_table():
    names = ("index", "measurements", "parallel")
    pages = [ROOT / "docs" / f"{name}.rst" for name in names]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert all(f".. measured:: {name}\n" in text for name in tables.TABLES)


NAMING = [*(ROOT / "docs").glob("*.rst"), *(ROOT / "skbayes").rglob("*.py")]
NAMING += [ROOT / name for name in ("README.md", "benchmarks/README.md", ".ci/run")]


def test_named_scripts_exist():
    pages = [page for page in NAMING if page != SETTLED]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    script = r"(?<![/\w])(?:benchmarks|docs|examples)/[\w/]+\.py"
    assert not {name for name in re.findall(script, text) if not (ROOT / name).exists()}


def _cell(table, row, column):
    (found,) = (r for r in table.rows if r[0] == row)
    return found[table.header.index(column)]


@pytest.mark.parametrize(
    "name, title",
    [
        ("sklearn", "scikit-learn, 60 tasks, three seeds"),
        ("lcbench-40", "perceptrons, 34 tasks, three seeds"),
        ("xgboost", "XGBoost, 119 tasks, one seed"),
    ],
)
def test_readme_has_the_regrets_of_the_judges(name, title):
    entries = tables.load(f"judges/{name}")["groups"]["all"]

    def regrets(method):
        return " / ".join(f"{mean:.0f}" for mean in entries[method]["mean"][:3])

    apart = entries["optuna-tpe"]["minus_first"]
    pairs = zip(apart["mean"][:3], apart["se"][:3], strict=True)
    cells = [title, f"**{regrets('skbayes')}**", regrets("optuna-tpe")]
    cells += [regrets("hyperopt"), " / ".join(f"{m:.0f} ± {s:.0f}" for m, s in pairs)]
    assert f"| {' | '.join(cells)} |\n" in README


@pytest.mark.parametrize(
    "name, title",
    [
        ("skbayes", "skbayes"),
        ("skbayes-ensemble", 'skbayes, `refit="ensemble"`'),
        ("flaml", "FLAML"),
        ("optuna", "OptunaSearchCV"),
        ("random", "RandomizedSearchCV"),
        ("halving", "HalvingRandomSearchCV"),
    ],
)
def test_readme_has_the_losses_on_new_rows(name, title):
    entry = tables.load("new_rows/table")["groups"]["all"][name]
    mean = entry["mean"]
    cells = [" / ".join(f"{m:.0f}" for m in mean[:3]), f"{mean[3]:.0f}"]
    apart = entry.get("minus_first", {"mean": [], "se": []})
    pairs = zip(apart["mean"][:3], apart["se"][:3], strict=True)
    cells += [f"{mean[4]:.0f}%", " / ".join(f"{m:+.0f} ± {s:.0f}" for m, s in pairs)]
    row = f"| {title} | {' | '.join(cells)} |\n"
    assert row in README and row in BENCHMARKS
    if name == "skbayes-ensemble":
        times = f"take {mean[5]:.0f} s, which is {apart['mean'][5]:.0f} s longer"
        assert times in " ".join(README.split())


def test_readme_has_the_times_and_the_trials():
    times = tables.load("overhead/flat")["groups"]["100"]
    order = ("skbayes", "optuna-tpe", "optuna-gp", "skopt")
    cells = [f"{times[method]['mean'][0]:.0f}" for method in order]
    assert f"after 100 trials | {' | '.join(cells)} | |\n" in README
    groups = tables.load("nmt/bleu")["groups"].values()
    ours, tpe, gp, random = (
        f"{exp(sum(log(at[method]['mean'][0]) for at in groups) / 6):.0f}"
        for method in (*order[:3], "random")
    )
    assert f"six tables | **{ours}** | {tpe} | {gp} | | {random} |\n" in README


def test_pages_have_the_figures_of_their_sentences():
    pages = {
        page.stem: " ".join(page.read_text(encoding="utf-8").split())
        for page in (ROOT / "docs").glob("*.rst")
    }
    entries = tables.load("automl/seconds_60")["groups"]["all"]
    ranks = {
        name: f"{entry['mean'][1]:.1f} ± {entry['se'][1]:.1f}"
        for name, entry in entries.items()
    }
    for sentence in (
        f'is {ranks["skbayes-ensemble"]} with ``refit="ensemble"`` and '
        f"{ranks['skbayes']} without it.",
        f"It is {ranks['autogluon-best']} for AutoGluon's ``best_quality``, "
        f"{ranks['autogluon']} for AutoGluon, {ranks['flaml-ensemble']} for FLAML's "
        f"ensemble, and {ranks['flaml']} for FLAML.",
    ):
        assert sentence in pages["models"]
    apart = tables.load("judges/sklearn")["groups"]["linear"]["optuna-tpe"]
    mean, se = (apart["minus_first"][key][2] for key in ("mean", "se"))
    assert f"(difference −{-mean:.0f} ± {se:.0f})" in pages["bayes"]
    times = tables.load("overhead/flat")["groups"]["100"]
    ours, tpe, gp, skopt = (
        f"{times[method]['mean'][0]:.0f}"
        for method in ("skbayes", "optuna-tpe", "optuna-gp", "skopt")
    )
    assert (
        f"a proposal takes {ours} ms. Optuna TPE takes {tpe} ms, Optuna GP {gp} ms, "
        f"and scikit-optimize {skopt} ms."
    ) in pages["bayes"]


def test_figures_are_those_of_the_files():
    (mean, *_) = tables.load("overhead/flat")["groups"]["100"]["skbayes"]["mean"]
    assert _cell(tables.table_of("overhead/flat"), "100", "skbayes") == f"{mean:.0f}"
    ours = tables.load("nmt/bleu")["groups"]["ru-en"]["skbayes"]
    expected = f"{ours['mean'][0]:.1f} ± {ours['se'][0]:.1f}"
    assert _cell(tables.table_of("nmt/bleu"), "ru-en", "skbayes") == expected


def test_other_methods_do_no_harm():
    """Results of other methods are supported, because they change."""
    results = tables.load("overhead/flat")
    del results["groups"]["500"]["skopt"]
    assert tables.table_of("overhead/flat", results).rows[-1][-1] == ""


def test_files_of_results_are_read():
    """Each file is JSON, and the results of studies name their columns."""
    for path in (ROOT / "benchmarks" / "results").glob("[!ahr]*/*.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        assert {"columns", "ms", "judges"} & set(found), path
