"""Tables and figures of the documentation compared with the committed results."""

import json
import re
from math import exp, log
from pathlib import Path

import benchmark_tables as tables
import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", tables.TABLES)
def test_table_is_whole_and_its_command_that_of_the_readme(name):
    table, script = tables.table_of(name), name.partition("/")[0]
    assert table.caption and table.rows
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert all(any(row[1:]) for row in table.rows)
    if not list((ROOT / "benchmarks").glob(f"{script}*")):
        assert f"`{script}.py`, commit" in BENCHMARKS  # a removed script
        return
    command = tables.command_of(name)
    assert f"benchmarks/{script}" in command
    assert all(f"    {line}\n" in BENCHMARKS for line in command.splitlines())


def test_pages_have_every_table():
    names = ("measurements", "parallel")
    pages = [ROOT / "docs" / f"{name}.rst" for name in names]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert all(f".. measured:: {name}\n" in text for name in tables.TABLES)


NAMING = [*(ROOT / "docs").glob("*.rst"), *(ROOT / "skbayes").rglob("*.py")]
NAMING += [ROOT / name for name in ("README.md", "benchmarks/README.md", ".ci/run")]


def test_named_scripts_exist():
    text = "\n".join(page.read_text(encoding="utf-8") for page in NAMING)
    script = r"(?<![/\w])(?:benchmarks|docs|examples)/[\w/]+\.py"
    assert not {name for name in re.findall(script, text) if not (ROOT / name).exists()}


def row(*cells):
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(cells)} |\n"


def with_errors(entry, n, sign=""):
    """Return the first means of an entry with their standard errors."""
    pairs = zip(entry["mean"][:n], entry["se"][:n], strict=True)
    return " / ".join(f"{mean:{sign}.0f} ± {se:.0f}" for mean, se in pairs)


def text_of(page):
    """Return the text of a file in lines without ends."""
    return " ".join(page.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("judge", ["sklearn", "lcbench-40"])
@pytest.mark.parametrize(
    "name, title",
    [("skbayes", "skbayes"), ("optuna-tpe", "Optuna TPE"), ("hyperopt", "hyperopt")],
)
def test_the_regrets_of_the_judges_are_the_saved_ones(judge, name, title):
    entry = tables.load(f"judges/{judge}")["groups"]["all"][name]
    regrets = " / ".join(f"{mean:.0f}" for mean in entry["mean"][:3])
    apart = entry.get("minus_first", {"mean": [], "se": []})
    assert f"| {title} | " in BENCHMARKS
    assert f" | {regrets} | {with_errors(apart, 3, '+')}".rstrip() in BENCHMARKS


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
def test_the_losses_on_new_rows_are_the_saved_ones(name, title):
    entry = tables.load("new_rows/table")["groups"]["all"][name]
    *losses, at_end, share = (f"{mean:.0f}" for mean in entry["mean"][:5])
    apart = entry.get("minus_first", {"mean": [], "se": []})
    cells = [" / ".join(losses), at_end, f"{share}%", with_errors(apart, 3, "+")]
    assert row(title, *cells) in BENCHMARKS


def test_the_gains_of_more_trials_are_those_of_the_table():
    means = tables.load("new_rows/table")["groups"]["all"]["skbayes"]["mean"][:3]
    shares = [f"{100 * (1 - exp(mean / 1000)):.0f}%" for mean in means]
    sentence = "by {} after 10 trials, by {} after 25, and by {} after 50"
    assert sentence.format(*shares) in text_of(ROOT / "docs" / "how_long.rst")


def test_the_times_and_the_trials_are_the_saved_ones():
    times = tables.load("overhead/flat")["groups"]["100"]
    order = ("skbayes", "optuna-tpe", "optuna-gp", "skopt")
    cells = [f"{times[method]['mean'][0]:.0f}" for method in order]
    assert row("100", *cells) in BENCHMARKS
    groups = tables.load("nmt/bleu")["groups"].values()
    ours, tpe, gp, random = (
        f"{exp(sum(log(at[method]['mean'][0]) for at in groups) / 6):.0f}"
        for method in (*order[:3], "random")
    )
    means = f"{ours} (skbayes), {gp} (Optuna GP), {tpe} (Optuna TPE), and {random}"
    assert f"over the tables are {means} (random)." in text_of(
        ROOT / "benchmarks" / "README.md"
    )


def test_pages_have_the_figures_of_their_sentences():
    models, bayes = (text_of(ROOT / "docs" / f"{n}.rst") for n in ("models", "bayes"))
    ranks = {
        name: f"{entry['mean'][1]:.1f} ± {entry['se'][1]:.1f}"
        for name, entry in tables.load("automl/seconds_60")["groups"]["all"].items()
    }
    for sentence in (
        f'is {ranks["skbayes-ensemble"]} with ``refit="ensemble"`` and '
        f"{ranks['skbayes']} without it.",
        f"It is {ranks['autogluon-best']} for AutoGluon's ``best_quality``, "
        f"{ranks['autogluon']} for AutoGluon, {ranks['flaml-ensemble']} for FLAML's "
        f"ensemble, and {ranks['flaml']} for FLAML.",
    ):
        assert sentence in models
    apart = tables.load("judges/sklearn")["groups"]["linear"]["optuna-tpe"]
    mean, se = (apart["minus_first"][key][2] for key in ("mean", "se"))
    assert f"(difference −{-mean:.0f} ± {se:.0f})" in bayes
    times = tables.load("overhead/flat")["groups"]["100"]
    ours, tpe, gp, skopt = (
        f"{times[method]['mean'][0]:.0f}"
        for method in ("skbayes", "optuna-tpe", "optuna-gp", "skopt")
    )
    assert (
        f"a proposal takes {ours} ms. Optuna TPE takes {tpe} ms, Optuna GP {gp} ms, "
        f"and scikit-optimize {skopt} ms."
    ) in bayes


def test_figures_are_those_of_the_files():
    for name, row, figure in (
        ("overhead/flat", "100", "{mean[0]:.0f}"),
        ("nmt/bleu", "ru-en", "{mean[0]:.1f} ± {se[0]:.1f}"),
    ):
        table, entry = tables.table_of(name), tables.load(name)["groups"][row]
        (cells,) = (cells for cells in table.rows if cells[0] == row)
        cell = cells[table.header.index("skbayes")]
        assert cell == figure.format(**entry["skbayes"])


def test_a_method_without_results_has_an_empty_cell():
    """Results of other methods are supported, because they change."""
    results = tables.load("overhead/flat")
    del results["groups"]["500"]["skopt"]
    assert tables.table_of("overhead/flat", results).rows[-1][-1] == ""


def test_files_of_results_are_read():
    """Each file is JSON, and the results of studies name their columns."""
    for path in (ROOT / "benchmarks" / "results").glob("[!ahr]*/*.json"):
        results = json.loads(path.read_text(encoding="utf-8"))
        assert {"columns", "ms", "regrets"} & set(results), path
