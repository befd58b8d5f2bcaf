"""Sentences of README.md that state a behavior, with the tests that hold them.

A sentence that is added to README.md needs an entry here: the test that fails if the
sentence becomes false, or a file and a text in it.
The section Benchmarks contains measurements, and the last lines are links.
"""

import re
from pathlib import Path

import pytest

SENTENCE_END = r"(?<=[.!?]) (?=[A-Z`\[])"
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")

# Sentences that describe a figure, the reader or other libraries.
NO_BEHAVIOR = ()
SENTENCES = {
    "Bayesian hyper-parameter search for scikit-learn: `BayesSearchCV` takes the place "
    "of `GridSearchCV` in scripts, notebooks and pipelines.": (
        "test_the_tests_of_scikit_learn_pass",
        "test_a_search_in_a_pipeline_has_the_same_trials",
        "test_notebooks_have_one_title_and_no_outputs",
    ),
    "- **Fewer fits.** With half of the fits, a search is usually as good as a grid "
    "search, and clearly better than a random search.": (
        ".ci/run::benchmarks/comparisons.py quickstart --check",
        "benchmarks/README.md::| BayesSearchCV, half of the configurations | 100 | 69 ",
    ),
    "- **Gains beyond chance.** The report of a search says if tuning did not visibly "
    "improve the score.": "test_a_gain_within_chance_is_no_gain",
    "- **No grid to write.** Without a search space, the default space of the "
    "estimator is used.": (
        "test_auto_is_the_space_of_the_estimator_which_is_tried_first"
    ),
    '- **A reliable time limit.** `timeout="5 min"` stops fits that are still running, '
    "and reserves time for the refit.": (
        "test_fits_that_run_at_the_timeout_are_dropped",
        "test_every_search_ends_in_time_without_a_number_of_trials",
    ),
    "- **The same interface.** It has the parameters, methods and results of "
    "`GridSearchCV`.": (
        "test_the_tests_of_scikit_learn_pass",
        "test_same_results_as_grid_search",
    ),
    "- **Cheaper pipelines.** Steps with equal parameters are fitted once per fold.": (
        "test_equal_steps_are_fitted_once_per_fold"
    ),
    "- **Which model?** `models(X, y)` compares models with the preprocessing that a "
    "table needs.": "test_the_printed_code_gives_an_equal_pipeline_and_space",
    "*A support vector machine on handwritten digits: the trials of one search, and "
    "the mean of 30 searches (`docs/draw_search.py`).*": (
        "docs/draw_search.py::N_TRIALS, SEEDS = 25, 30"
    ),
    "Your estimator or pipeline, without a search space:": NO_BEHAVIOR,
    "A script with `GridSearchCV`:": NO_BEHAVIOR,
    "LightGBM, XGBoost and CatBoost, with the number of trees chosen by early "
    "stopping:": ("test_scores_and_outcomes_are_those_of_plain_fits"),
    "A table, without choosing a model:": NO_BEHAVIOR,
    "✓ yes, ~ partly, – no, for optuna-integration 5.0, scikit-optimize 0.10.2, "
    "scikit-learn 1.9.1 and FLAML 2.7.0.": NO_BEHAVIOR,
    "These commands need a clone and Python 3.11 or newer.": (
        'pyproject.toml::requires-python = ">=3.11"'
    ),
    "The first one compares a grid search with `BayesSearchCV` on real data:": (
        ".ci/run::run_readme_command main-job",
        "test_quickstart_compares_three_searches",
    ),
    "The second one runs the tests.": ".ci/run::run_readme_command tests",
    "It needs a C++ compiler, and takes about six minutes on two cores:": (
        "test_no_required_package_needs_a_compiler"
    ),
}

# First cells of the tables: the searches, and the features with a mark for skbayes.
ROWS = {
    "[`BayesSearchCV`]": "test_the_tests_of_scikit_learn_pass",
    "[`MultiStageSearchCV`]": "test_a_stage_begins_with_the_best_of_the_one_before",
    "[`HyperTuneSearchCV`]": "test_the_small_optimum_is_tried_first_on_all_data",
    "[`TextRepresentationSearchCV`]": "test_trials_score_as_the_plain_pipeline",
    "[`TradeoffSearchCV`]": (
        "test_the_best_tradeoff_is_found",
        "test_named_costs_are_finite_and_not_negative",
    ),
    "[`ParetoSearchCV`]": "test_the_front_holds_what_nothing_dominates",
    "Interface and results of `GridSearchCV`": (
        "test_the_tests_of_scikit_learn_pass",
        "test_same_results_as_grid_search",
    ),
    "Any estimator or pipeline": (
        "test_the_tests_of_scikit_learn_pass",
        "test_no_estimator_check_fails_that_grid_search_passes",
    ),
    "Default search spaces": (
        "test_auto_is_the_space_of_the_estimator_which_is_tried_first"
    ),
    "Conditional search spaces": "test_conditional_parameters_of_an_option",
    "Time limit of the search": "test_fits_that_run_at_the_timeout_are_dropped",
    "Resume after a crash": "test_a_killed_search_ends_as_the_uninterrupted_one",
    "Says when tuning did not help": "test_a_gain_within_chance_is_no_gain",
    "Several metrics": "test_same_results_as_grid_search",
}


def sections():
    """Return README.md without the measurements, code and targets of links."""
    text, n_replaced = re.subn(r"\n## Benchmarks\n.*?(?=\n## )", "", README, flags=re.S)
    assert n_replaced
    text = text.partition("\n[Documentation](")[0]
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.M | re.S)
    return re.sub(r"(?<=\])\(https:[^)\s]+\)", "", text)


def sentences():
    """Return the sentences of the paragraphs, without headings, tables and pictures."""
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", sections()):
        if not re.match(r"\s*(#|\||!?\[!?\[?[^`]|$)", paragraph):
            yield from re.split(SENTENCE_END, " ".join(paragraph.split()))


def rows():
    """Return the first cells of the table of searches, and of features marked ✓."""
    for line in re.findall(r"^\|(.+)\|$", sections(), flags=re.M):
        first, second, *others = (cell.strip() for cell in line.split("|"))
        if first.startswith("[`") or (others and second == "✓"):
            yield first


def test_every_sentence_and_mark_has_an_entry():
    assert set(sentences()) == set(SENTENCES)
    assert set(rows()) == set(ROWS)


def test_tests_of_the_claims_exist():
    tests = "".join(p.read_text("utf-8") for p in (ROOT / "tests").rglob("test_*.py"))
    for held in [*SENTENCES.values(), *ROWS.values()]:
        for entry in (held,) if isinstance(held, str) else held:
            file, separator, text = entry.partition("::")
            if separator:
                assert text in (ROOT / file).read_text("utf-8")
            else:
                assert f"def {entry}(" in tests


def test_every_link_is_absolute():
    """The package index shows this page too."""
    targets = re.findall(r"\]\(([^)]*)\)|(?:src|href)=\"([^\"]*)\"", README)
    assert len(targets) > 15
    for target in map("".join, targets):
        assert target.startswith("https://")
        assert "/skbayes/dev/" not in target or target.endswith((".html", "/"))
        assert not target.endswith(".rst")


def test_the_readme_has_at_most_800_words():
    assert len(README.split()) <= 800


EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, flags=re.M | re.S)
(CHANGE,) = re.findall(r"^```diff\n(.*?)^```", README, flags=re.M | re.S)
EXAMPLES += [re.sub(rf"^[{s}].*\n|^.", "", CHANGE, flags=re.M) for s in "+-"]


@pytest.mark.documentation
@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_runs_alone_and_shows_its_result(example, capsys):
    exec(example, {"__name__": "__main__"})
    shown = float(example.rpartition("\n# ")[2].split()[0])
    assert float(capsys.readouterr().out.split()[0]) == pytest.approx(shown, abs=0.02)
