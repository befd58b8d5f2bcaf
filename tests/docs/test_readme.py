"""Sentences of README.md that state a behavior, with the tests that hold them.

A sentence that is added to README.md needs an entry here: the test that fails if the
sentence becomes false, or a file and a text in it.
The sections Benchmarks, Documentation and License contain measurements and links.
"""

import re
from pathlib import Path

SENTENCE_END = r"(?<=[.!?]) (?=[A-Z`\[])"
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")

# Sentences that describe a figure, the reader or other libraries.
NO_BEHAVIOR = ()
SAME_TRIALS = (
    "test_workers_make_the_same_trials",
    "test_as_many_trials_in_flight_as_keep_the_workers_busy",
)

SENTENCES = {
    "Bayesian hyper-parameter search for scikit-learn.": NO_BEHAVIOR,
    "`BayesSearchCV` replaces `GridSearchCV` and `RandomizedSearchCV` in scripts, "
    "notebooks and pipelines.": (
        "test_every_behavior_holds",
        "test_nested_in_a_pipeline",
        "test_runs_from_top_to_bottom",
    ),
    "It has the same interface, and it chooses each configuration from the scores of "
    "the previous ones.": (
        "test_every_behavior_holds",
        "test_it_beats_random_search_on_average",
    ),
    "It is written for data scientists who know scikit-learn.": NO_BEHAVIOR,
    "No knowledge of Bayesian optimization is required.": NO_BEHAVIOR,
    "*Tuning `C` and `gamma` of a support vector machine on 900 handwritten digits.": (
        "docs/draw_search.py::900"
    ),
    "Left: the trials of the search.": NO_BEHAVIOR,
    "The background is the cross-validated accuracy of a grid of 169 configurations.": (
        "docs/draw_search.py::13"
    ),
    "Right: the best accuracy so far, compared with the mean of grid searches in "
    "random order (`docs/draw_search.py`).*": NO_BEHAVIOR,
    "Run these commands in a clone of the repository.": (
        ".ci/run::run_readme_command main-job"
    ),
    "They need Python 3.11 or newer.": 'pyproject.toml::requires-python = ">=3.11"',
    "The first command installs skbayes in `.venv` and compares a grid search with "
    "`BayesSearchCV` on real data.": (
        ".ci/run::run_readme_command main-job",
        "test_quickstart",
    ),
    "It prints the results and the costs of both searches, and saves a plot as "
    "`quickstart.png`:": "test_quickstart",
    "The second command installs the test dependencies and runs the tests.": (
        ".ci/run::run_readme_command tests"
    ),
    "The tests take about 15 minutes of processor time.": NO_BEHAVIOR,
    "The command needs a C++ compiler, because pip compiles LIBLINEAR:": (
        "test_nothing_that_pip_must_compile_is_required"
    ),
    '[`refit="ensemble"`] averages the best configurations with '
    "weights, usually without further fits.": (
        "test_no_model_is_fitted_after_the_search",
        "test_the_score_is_that_of_members_that_are_fitted_again",
    ),
    '[`refit="corrected"`] keeps the current parameters of the '
    "estimator unless the corrected score of another configuration is better.": (
        "test_own_values_win_unless_the_corrected_score_is_better"
    ),
    "[`skbayes.Optimizer`] maximizes any Python function with "
    '`ask` and `tell`, or minimizes it with `direction="minimize"`.': (
        "test_the_minimum_of_branin_is_found",
        "test_it_finds_the_optimum_of_a_mixed_space",
    ),
    "[`skbayes.benchmark`] compares search methods in seconds, on "
    "tables of the results of trained systems.": "test_quick_and_both_objectives",
    "✓ yes, ~ partly, – no, ? not verified.": NO_BEHAVIOR,
    "The marks were determined by running these releases and reading their source "
    "code.": NO_BEHAVIOR,
    "Optuna, FLAML and Hyperopt offer more of these features to programs that call "
    "their own interfaces.": NO_BEHAVIOR,
    "Trials are the same for any number of cores if `pre_dispatch` is an int, because "
    "its default depends on the number of workers.": SAME_TRIALS,
}

# First cells of the tables: the searches, and the features with a mark for skbayes.
ROWS = {
    "[`BayesSearchCV`]": (
        "test_every_behavior_holds",
        "test_r1_to_r7_r9_same_results_as_grid_search",
    ),
    "[`MultiStageSearchCV`]": ("test_a_stage_begins_with_the_best_of_the_one_before"),
    "[`HyperTuneSearchCV`]": ("test_the_small_optimum_is_tried_first_on_all_data"),
    "[`TextRepresentationSearchCV`]": ("test_trials_score_as_the_plain_pipeline"),
    "[`TradeoffSearchCV`]": (
        "test_it_finds_the_best_tradeoff",
        "test_costs_by_name",
    ),
    "[`ParetoSearchCV`]": ("test_the_front_holds_what_nothing_dominates"),
    "Interface and results of `GridSearchCV`": (
        "test_every_behavior_holds",
        "test_r1_to_r7_r9_same_results_as_grid_search",
    ),
    "Any estimator or pipeline": (
        "test_f3_minimal_estimator",
        "test_no_estimator_check_fails_that_grid_search_passes",
    ),
    "Learns from previous trials": "test_it_beats_random_search_on_average",
    "Search spaces of `GridSearchCV` without changes": (
        "test_r9_finite_space_is_visited_once_and_picks_what_grid_search_picks"
    ),
    "Conditional search spaces": "test_f6_conditional_parameters_of_an_option",
    "Constraints on configurations": (
        "test_a_constraint_is_kept_by_every_proposal",
        "test_a_space_and_a_constraint",
    ),
    "No configuration is tried twice": (
        "test_a_finite_space_is_exhausted_in_exactly_its_size"
    ),
    "Several metrics": "test_r1_to_r7_r9_same_results_as_grid_search",
    "Pareto front inside a scikit-learn search": (
        "test_it_finds_the_whole_range_of_a_tradeoff"
    ),
    "Groups, sample weights": (
        "test_f8_groups_go_to_the_splitter_only",
        "test_f10_weight_two_equals_a_repeated_row",
    ),
    "Metadata routing": "test_m2_same_results_as_grid_search",
    "joblib backends (processes, threads, Dask)": (
        "test_workers_make_the_same_trials",
        "test_the_snippet_with_a_cluster_is_a_script",
    ),
    "Resume after a crash": "test_a_killed_search_ends_as_the_uninterrupted_one",
    "Ctrl-C keeps the results": "test_ctrl_c_from_a_terminal",
    "Time limit of the search": "test_fits_that_run_at_the_timeout_are_dropped",
    "Time and memory limits of a trial": (
        "test_a_fit_that_takes_too_long_is_ended",
        "test_a_fit_that_takes_too_much_memory_is_ended",
    ),
    "Learns from small samples of the data": "test_small_samples_take_turns_and_count",
    "Plots": "test_every_search_can_be_drawn",
    "HTML report, also of a running search": (
        "test_it_says_what_was_found",
        "test_a_page_refreshes_itself_until_the_search_ends",
    ),
}


def sections():
    """Return README.md up to the measurements, without code and targets of links."""
    text, found, _ = README.partition("\n## Benchmarks\n")
    assert found
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.M | re.S)
    return re.sub(r"(?<=\])\(https:[^)\s]+\)", "", text)


def sentences():
    """Return the sentences of the paragraphs, without headings, tables and pictures."""
    for paragraph in re.split(r"\n\s*\n", sections()):
        if not re.match(r"\s*(#|\||!?\[!?\[?[^`]|$)", paragraph):
            yield from re.split(SENTENCE_END, " ".join(paragraph.split()))


def rows():
    """Return the first cells of the table of searches, and of features marked ✓."""
    for line in re.findall(r"^\|(.+)\|$", sections(), flags=re.M):
        first, second, *others = (cell.strip() for cell in line.split("|"))
        if first.startswith("[`") or (others and second == "✓"):
            yield first


def is_about_other_libraries(sentence):
    return bool(re.search(r"\d+\.\d+\.\d+|setuptools", sentence))


def test_every_sentence_and_mark_has_an_entry():
    stated = [one for one in sentences() if not is_about_other_libraries(one)]
    assert set(stated) == set(SENTENCES)
    assert set(rows()) == set(ROWS)


def test_what_an_entry_names_exists():
    tests = "".join(p.read_text("utf-8") for p in (ROOT / "tests").rglob("test_*.py"))
    for held in [*SENTENCES.values(), *ROWS.values()]:
        for entry in (held,) if isinstance(held, str) else held:
            file, found, text = entry.partition("::")
            if found:
                assert text in (ROOT / file).read_text("utf-8")
            else:
                assert f"def {entry}(" in tests


def test_every_link_is_absolute():
    """The package index shows this page too."""
    targets = re.findall(r"\]\(([^)]*)\)|(?:src|href)=\"([^\"]*)\"", README)
    assert len(targets) > 40
    for target in map("".join, targets):
        assert target.startswith("https://")
        assert "/skbayes/dev/" not in target or target.endswith(".html")
        assert not target.endswith(".rst")
