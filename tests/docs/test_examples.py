"""The examples run from top to bottom, print results and draw figures."""

import runpy
import tokenize
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import datasets, ensemble

pytestmark = pytest.mark.documentation

EXAMPLES = Path(__file__).parents[2] / "examples"
PATHS = sorted(EXAMPLES.rglob("*.py"))


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Run an example in an empty folder; return its output and its variables."""

    def run_example(name):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
        plt.switch_backend("agg")
        plt.close("all")
        path, names = EXAMPLES / f"{name}.py", {"__name__": "__main__"}
        # Workers would run again what runpy runs as the main module.
        exec(compile(path.read_text("utf-8"), str(path), "exec"), names)
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert figures
        for figure in figures:
            # Sphinx-Gallery uses the titles as alternative texts.
            assert figure._suptitle or any(ax.get_title() for ax in figure.axes)
            figure.canvas.draw()
            pixels = np.asarray(figure.canvas.buffer_rgba()).reshape(-1, 4)
            # Lines, text and background.
            assert len(np.unique(pixels, axis=0)) > 20
        plt.close("all")
        output = capsys.readouterr()
        assert output.err == ""
        return output.out, names

    return run_example


@pytest.fixture
def fewer_rows(monkeypatch):
    """Reduce the data; the gallery of the documentation has all of them."""

    def fewer(load, step):
        return lambda **options: [part[::step] for part in load(**options)]

    for name, step in {"load_breast_cancer": 6, "load_digits": 3}.items():
        monkeypatch.setattr(datasets, name, fewer(getattr(datasets, name), step))


@pytest.fixture
def fewer_trees(monkeypatch):
    """Reduce the trees of the estimators to a tenth."""

    def fewer(kind):
        return lambda n_estimators, **kwargs: kind(
            n_estimators=n_estimators // 10, **kwargs
        )

    for name in ("GradientBoostingClassifier", "RandomForestClassifier"):
        monkeypatch.setattr(ensemble, name, fewer(getattr(ensemble, name)))


def number(text, label):
    """Return the number that follows a label in the output."""
    return float(text.split(label)[1].split()[0].strip(",:"))


def test_each_is_short_and_in_the_gallery():
    for path in PATHS:
        with open(path, "rb") as file:
            tokens = [*tokenize.tokenize(file.readline)]
        code = {t.start[0] for t in tokens if t.type in (tokenize.NAME, tokenize.OP)}
        source = path.read_text(encoding="utf-8")
        assert len(code) <= 40, path
        assert source.count("\n") <= 85, path
        assert "argparse" not in source, path
        assert "# %%\n" in source, path
        assert (path.parent / "GALLERY_HEADER.rst").is_file()
    extensions = pytest.importorskip("extensions")  # needs the extra docs
    assert sorted(extensions.EXAMPLES) == sorted(path.stem for path in PATHS)


def test_quickstart_compares_three_searches(run, fewer_rows, tmp_path):
    printed, names = run("quickstart")
    assert len(printed.splitlines()) == 3
    assert number(printed, "grid              : ") == 16
    assert number(printed, "ranges of the grid: ") == 8
    assert (tmp_path / "quickstart.png").stat().st_size > 10_000
    # All lines lie within the axes.
    low, high = names["axes"].get_ylim()
    best = [search.best_score_ for search in names["searches"].values()]
    assert low < min(best) <= max(best) < high


def test_conditional_pipeline_tries_each_model(run, fewer_rows, fewer_trees):
    printed, names = run("basics/conditional_pipeline")
    assert number(printed, "accuracy ") > 0.9
    assert len(names["best"]) == 3
    params = names["search"].cv_results_["params"]
    assert len({type(params["model"]) for params in params}) == 3
    assert all(map(names["allowed"], params))


def test_which_model_counts_trials_by_model(run):
    printed, names = run("basics/which_model")
    assert printed.startswith("log loss 0.")
    assert names["by_model"]["count"].sum() == 12
    assert len(names["by_model"]) > 3


def test_one_minute_stops_at_a_limit(run, fewer_rows):
    printed, names = run("basics/one_minute")
    assert printed.startswith("accuracy 0.")
    assert names["search"].stop_reason_ in ("no_improvement", "timeout")


def test_resuming_tries_the_same_configurations(run, fewer_rows):
    printed, names = run("basics/resuming")
    assert "same configurations as without the interruption: True" in printed
    assert number(printed, "best accuracy: ") > 0.9
    assert len(names["history"]) == 6


def test_mixed_columns_tries_two_encoders(run):
    np.random.seed(4)  # of TargetEncoder, whose own seed is deprecated
    frame, search = map(run("data/mixed_columns")[1].get, ("frame", "search"))
    assert search.best_score_ > 0.7  # R2
    assert len({type(p["columns__encode"]) for p in search.cv_results_["params"]}) >= 2
    assert search.best_params_["model__n_estimators"] > 1
    assert frame["temperature"].isna().any()


def test_groups_lower_the_estimated_score(run, fewer_trees):
    printed, names = run("data/groups")
    with_groups = number(printed, "AUC with groups: ")
    assert with_groups < number(printed, "AUC with random splits: ")
    assert names["display"].ax_.get_title()


def test_time_series_splits_predict_the_error_on_later_data(run):
    printed, names = run("data/time_series")
    random, ordered = printed.split("TimeSeriesSplit: ")
    # Random splits underestimate the error on later data.
    later = number(random, "later data ")
    assert number(random, "KFold: cross-validated ") < 0.95 * later
    assert number(ordered, "cross-validated ") > 0.95 * number(ordered, "later data ")
    assert "'columntransformer__day': 'passthrough'" in random
    assert names["search"].best_params_["columntransformer__day"] == "drop"


def test_text_representations_improve_the_accuracy(run):
    printed, _ = run("data/text")
    tuned = number(printed, "with the tuned representation: ")
    assert tuned >= number(printed, "with counts of words: ") + 0.02
    assert "vectorizer__ngram_range = (" in printed
    assert "['sklearn.ensemble']" in printed


def test_imbalanced_keeps_the_bound_on_recall(run):
    printed, names = run("data/imbalanced")
    assert names["recall"][names["search"].best_index_] >= 0.75
    assert "precision" in printed


def test_neural_network_stops_early(run, fewer_rows):
    printed, names = run("data/neural_network")
    assert number(printed, "log loss ") < 0.4
    assert 1 < names["search"].best_params_["max_iter"] <= 40


def test_model_finds_the_maximum_of_the_function(run):
    printed, names = run("methods/model")
    best = number(printed, "best of 9 trials: x = ")
    assert abs(best - number(printed, "true function: x = ")) < 0.1
    assert list(names["predictions"]) == [3, 5, 9]


def test_multi_stage_runs_most_trials_on_small_samples(run, fewer_rows):
    printed, names = run("methods/multi_stage")
    assert printed.count("24 trials in ") == 2
    assert names["staged"].score(names["X_test"], names["y_test"]) > 0.96
    assert [trial.fidelity.stage for trial in names["staged"].trials_].count(0) == 18


def test_hypertune_derives_the_signs(run, fewer_rows):
    printed, names = run("methods/hypertune")
    assert "signs: {'C': 1, 'gamma': 1}" in printed
    assert len(names["small"]) == 5
    assert names["search"].best_score_ > 0.95


def test_tradeoff_chooses_a_smaller_model(run, fewer_rows):
    printed, _ = run("methods/tradeoff")
    assert number(printed, "tradeoff 0.0: accuracy ") > 0.94
    sizes = [int(part.split()[-1]) for part in printed.split(" kB")[:-1]]
    assert sizes[1] < sizes[0]


def test_pareto_refits_models_of_the_front(run, fewer_rows):
    printed, names = run("methods/pareto")
    accuracies = [
        number(printed, f"{choice}: accuracy ")
        for choice in ("{'accuracy': 1, 'model_size': 3}", "knee", "accuracy")
    ]
    assert accuracies == sorted(accuracies)
    front = names["search"].pareto_front_
    assert front["accuracy"].min() >= 0.8
    row = number(printed, "row 3: accuracy ")
    assert row == pytest.approx(front.loc[3, "accuracy"], abs=1e-3)


def test_ask_and_tell_reaches_a_small_error(run):
    printed, names = run("methods/ask_and_tell")
    assert number(printed, "error ") < 1e-5
    assert names["n_evaluations"] < 5000
    assert "'method': " in printed


def test_own_method_needs_fewer_rows_than_random_search(run):
    printed, _ = run("methods/own_method")
    near = number(printed, "near the best: ")
    assert near < number(printed, "\nrandom: ")
    assert number(printed, "random, exact: ") == 88.5


def test_own_method_is_imported_without_a_run(capsys):
    names = runpy.run_path(str(EXAMPLES / "methods/own_method.py"), run_name="imported")
    assert "±" not in capsys.readouterr().out
    assert names["NearTheBest"]


def test_many_workers_try_the_same_configurations(run, fewer_rows):
    printed, names = run("deployment/many_workers")
    assert "same configurations: True" in printed
    assert len(names["search"].trials_) == 9


def test_other_libraries_reach_good_scores(run):
    printed, _ = run("deployment/other_libraries")
    kinds = {"xgboost": "XGBClassifier", "catboost": "CatBoostClassifier"}
    expected = ["StackingClassifier"]
    expected += [name for library, name in kinds.items() if find_spec(library)]
    expected += ["Pipeline"] if find_spec("skorch") and find_spec("torch") else []
    lines = dict(line.split(": ", 1) for line in printed.splitlines())
    assert list(lines) == expected
    assert all(float(line.split()[0]) > 0.85 for line in lines.values())


def test_service_returns_the_predictions_of_the_model(run):
    printed, names = run("deployment/service")
    assert "1600 predictions" in printed
    expected = names["search"].predict_proba(names["rows"])[:, 1]
    np.testing.assert_allclose(names["probabilities"], expected)
    assert names["server"].socket.fileno() == -1  # closed
