"""Smallest case of each benchmark, and the harness that runs them."""

import json
import time

import categories
import first_seconds
import grids
import harness
import judges
import methods
import minutes
import new_rows
import nmt
import numpy as np
import overhead
import pytest
import tasks
from harness import Study

STUDIES = {
    f"{module.__name__} {name}": (module, name)
    for module in (judges, overhead)
    for name, study in module.STUDIES.items()
    if study.smallest
} | {
    module.__name__: (module, "run")
    for module in (categories, grids, minutes, new_rows, nmt)
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SKBAYES_BENCHMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("label", STUDIES)
def test_each_study_runs_its_smallest_case(label, capsys):
    needs_data = label in ("categories", "grids", "minutes")
    if needs_data and not (harness.HERE.parents[1] / "shared" / "data").exists():
        pytest.skip("the data sets are expected in ../shared/data")
    module, name = STUDIES[label]
    studies = getattr(module, "STUDIES", None) or {name: module.STUDY}
    summary = harness.main(studies, module.__doc__, [name, *studies[name].smallest])
    assert summary["groups"] and all(summary["groups"].values())
    assert capsys.readouterr().out
    json.dumps(summary)


CALLS = []


def _run(method, task, seed, options):
    CALLS.append((method, task, seed))
    return {"figures": [float(seed), len(method) * options["factor"]]}


def _study(**changes):
    return Study(
        **{
            "name": "example",
            "tasks": lambda: ["a", "b"],
            "methods": ("x", "long"),
            "run": _run,
            "columns": lambda options: ["seed", "length"],
            "options": {"factor": 1.0},
            "seeds": 3,
        }
        | changes
    )


def _main(*arguments, **changes):
    CALLS.clear()
    return harness.main(_study(**changes), "Example.", ["run", *arguments])


def test_differences_are_paired():
    groups = _main()["groups"]
    assert list(groups) == ["all", "a", "b"]
    assert groups["a"]["x"] == {"runs": 3, "mean": [1.0, 1.0], "se": [0.6, 0.0]}
    apart = groups["all"]["long"]["minus_first"]
    assert apart == {"mean": [0.0, 3.0], "se": [0.0, 0.0]}
    assert groups["all"]["x"]["runs"] == 6


def test_finished_runs_are_not_repeated():
    every = [(method, task, 0) for method in ("x", "long") for task in "ab"]
    for arguments, repeated in (
        ("--seeds 1", every),
        ("--seeds 2 --tasks a", [("x", "a", 1), ("long", "a", 1)]),
        ("--seeds 1 --factor 2", every),  # other options are other runs
        ("--seeds 1 --methods x --fresh", [("x", "a", 0), ("x", "b", 0)]),
        ("--seeds 9 --finished", []),
    ):
        _main(*arguments.split())
        assert sorted(CALLS) == sorted(repeated)


def test_incomplete_lines_are_repeated(tmp_path):
    _main("--seeds", "1", "--methods", "x")
    (path,) = (tmp_path / "cache" / "example").glob("*.jsonl")
    path.write_text(path.read_text()[:-9])
    _main("--seeds", "1", "--methods", "x")
    assert CALLS == [("x", "b", 0)]


def test_versions_are_compared_by_label():
    _main("--methods", "x", "--label", "before")
    entries = _main("--methods", "x", "--also", "x.before")["groups"]["all"]
    assert list(entries) == ["x", "x.before"]
    assert entries["x.before"]["minus_first"]["mean"] == [0.0, 0.0]


def test_methods_with_fewer_runs_are_compared_on_these():
    _main("--methods", "long", "--seeds", "1")
    entries = _main("--methods", "x", "--seeds", "3", "--also", "long")["groups"]["all"]
    assert entries["x"]["runs"] == 6
    assert entries["long"]["runs"] == 2
    assert entries["long"]["minus_first"]["mean"] == [0.0, 3.0]


def test_figures_may_add_rows():
    def figures(runs, options):
        return {"rule": harness.single(runs, options)["x"]}

    groups = _main("--methods", "x", figures=figures)["groups"]
    assert list(groups["all"]) == ["rule"] and groups["all"]["rule"]["runs"] == 6


def test_results_are_saved_with_versions(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "HERE", tmp_path / "benchmarks")
    summary = _main("--save", "saved")
    path = tmp_path / "benchmarks" / "results" / "example" / "saved.json"
    saved = json.loads(path.read_text())
    assert "numpy" in saved.pop("versions")
    assert saved == summary


def test_a_method_runs_on_the_tasks_that_it_applies_to():
    _main("--seeds", "1", applies=lambda method, task: (method, task) != ("x", "a"))
    assert [call[:2] for call in CALLS] == [("long", "a"), ("x", "b"), ("long", "b")]


@pytest.mark.parametrize("wrong", ["--methods=other", "--tasks=other"])
def test_unknown_names_are_refused(wrong):
    with pytest.raises(SystemExit, match="other"):
        _main(wrong)
    assert not CALLS


def test_random_method_draws_from_the_space():
    space = tasks.MLP
    method = methods.make_method("random", space, 0)
    drawn = [method.ask() for _ in range(200)]
    for name, dim in space.items():
        values = {params[name] for params in drawn}
        if isinstance(dim, methods.Categories):
            assert values == set(dim.options)
        else:
            assert dim.low <= min(values) < max(values) <= dim.high


def test_a_space_is_written_in_the_notation_of_searches():
    assert methods.as_notation(tasks.SVM)["C"] == (1e-2, 1e4, "log-uniform")
    assert methods.as_notation(tasks.CRITERION) == {"criterion": ["gini", "entropy"]}


def test_score_of_a_task_is_that_of_its_folds():
    params = {"C": 10.0, "gamma": 0.01}
    score = tasks.make_task("sklearn:wine-svm").score(params)
    assert score == pytest.approx(np.mean(tasks.fold_scores("wine-svm", params)))
    assert score > 0.95


def test_grid_has_the_scores_of_its_file():
    task = tasks.make_task("tables:digits-svm")
    assert task.space is None
    assert task.score({"C": 1.0, "gamma": 0.01}) > task.score({"C": 0.01, "gamma": 1.0})


def test_regret_is_that_of_the_best_observed_trial():
    runs = {
        judges.REFERENCE: {("t", 0): {"scores": [0.0, 0.5, 1.0]}},
        "x": {("t", 0): {"scores": [0.5, 0.75, 2.0], "told": [0.5, 0.4, 0.9]}},
    }
    (regret,) = judges.regrets(runs)["x"].values()
    assert regret.tolist() == [1000.0, 1000.0, 0.0]


def test_the_saved_gains_of_the_first_seconds_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(first_seconds, "PICTURE", tmp_path / "gains.png")
    first_seconds.draw()
    assert first_seconds.PICTURE.stat().st_size > 5000


def test_methods_of_the_judges_have_options_and_trials_in_flight():
    method = "skbayes:surrogate=random;n_initial_points=2@3"
    judges.check_method(method)
    record = judges.run(method, "tables:wine-mlp", 0, {"trials": 5, "noisy": True})
    assert len(record["scores"]) == len(record["think"]) == 5
    assert record["scores"] != record["told"]
    with pytest.raises(ValueError, match="other"):
        judges.check_method("other@3")


def test_each_task_has_other_seeds():
    assert judges.seed_of("a", 0) != judges.seed_of("b", 0)
    assert judges.seed_of("xgboost-tree:1", 0) != judges.seed_of("xgboost-tree:1", 1)


def test_means_over_tables_are_geometric():
    groups = {"t": {"x": {"mean": [4.0]}}, "u": {"x": {"mean": [9.0]}}}
    assert nmt.geometric_means({"groups": groups}) == {"x": pytest.approx(6.0)}


def _minutes_runs(*ends):
    run = {"own": 1.0, "has_model": True, "seconds": [0.5, 1.0], "size": [2.0, 3.0]}
    run["trials"] = 9
    return {
        ("judge:t: SVM", seed): run | {"losses": [1.0, 1.0, end]}
        for seed, end in enumerate(ends)
    }


def test_limits_of_minutes_are_compared_by_task(capsys):
    runs = {"stages": _minutes_runs(0.5, 0.5), "optuna": _minutes_runs(1.0, 1.02)}
    runs["optuna"]["judge:t: SVM", 1]["has_model"] = False
    results = minutes.figures(runs, {})
    groups = minutes.summarize(minutes.STUDY, results, minutes.COLUMNS)["groups"]
    assert list(groups) == ["judge"] and capsys.readouterr().out
    stages, optuna = groups["judge"]["stages"], groups["judge"]["optuna"]
    assert stages["mean"] == [0.0, 0.0, -693.1, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 9.0]
    assert stages["runs"] == 2 and stages["tasks"] == 1
    assert optuna["mean"][3:5] == [50.0, 50.0]
    assert optuna["minus_first"]["mean"] == [0.0, 0.0, 703.0]
    assert (stages["first"], optuna["first"]) == ([100, 100, 100], [100, 100, 0])


def test_a_search_of_minutes_is_interrupted_at_its_limit():
    assert minutes._until(time.time() + 60, lambda: None)
    begin = time.time()
    assert not minutes._until(begin + 0.01, lambda: time.sleep(60))
    assert not minutes._until(begin, lambda: pytest.fail("was called"))


def test_each_kind_of_learner_of_minutes_is_in_both_groups():
    kinds = {
        group: {t.split(": ")[1] for t in minutes.TASKS if t.startswith(group)}
        for group in ("choose", "judge")
    }
    assert kinds["choose"] == kinds["judge"] == {*minutes.LEARNERS} - {"documents"}
    assert all(minutes.applies("stages", task) for task in minutes.TASKS)
    assert not minutes.applies("flaml", "judge:mnist: SVM")
