import json

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.benchmark import (
    LookupTable,
    benchmark,
    load_nmt,
    make_factory,
    protocol,
    run_method,
)
from skbayes.benchmark.methods import RandomSearch
from skbayes.benchmark.protocol import RunFolder


@pytest.fixture(scope="module")
def table():
    return load_nmt("zh-en").first(1)


@pytest.fixture(scope="module")
def small():
    params = [{"a": i, "b": j} for i in range(4) for j in range(4)]
    y = [-((p["a"] - 2) ** 2) - (p["b"] - 1) ** 2 for p in params]
    z = [p["b"] for p in params]
    return LookupTable(params, {"y": y, "z": z}, dict.fromkeys("yz", "max"))


class Recorder(RandomSearch):
    """Method that records its observations and whether `ask` was called too early."""

    told: list = []

    def __init__(self, table, seed):
        super().__init__(table, seed)
        type(self).told = []

    def ask(self):
        assert len(self.told) >= 3
        return super().ask()

    def tell(self, params, score):
        self.told.append((params, score))
        super().tell(params, score)


class Stubborn(RandomSearch):
    """Method that always proposes the same point, which is not a row."""

    def ask(self):
        return {"a": 1.4, "b": 2.2}


def test_all_methods_start_from_the_same_rows(table):
    starts = {
        tuple(run_method(method, table, seed=5, cap=4).rows[:3])
        for method in ("random", "graph", "skbayes", Recorder)
    }
    assert len(starts) == 1
    assert len(set(*starts)) == 3
    assert run_method("random", table, seed=6, cap=3).rows != list(*starts)


def test_each_row_is_taken_once_and_each_score_is_passed(small):
    for table in (small.first(1), small):
        run = run_method(Recorder, table, seed=0)
        assert len(run.rows) == len(set(run.rows))
        scores = table.scores[run.rows].tolist()
        if table is not small:
            scores = [score for (score,) in scores]
        params = [table.params[row] for row in run.rows]
        assert Recorder.told == [*zip(params, scores, strict=True)]


def test_runs_end_at_their_cap_or_when_nothing_is_left_to_measure(table, small):
    run = run_method("random", table, seed=0)
    assert run.finished
    assert table.best in run.rows
    assert run.rows[-1] == table.best or len(run.rows) == 20
    several = load_nmt("zh-en")
    run = run_method("random", several, seed=0)
    assert set(several.front) <= set(run.rows)
    assert run.rows[-1] in several.front or len(run.rows) == several.front_budget
    run = run_method("skbayes", small.first(1), seed=0)
    assert sorted(run.rows) == list(range(16)) and run.finished
    run = run_method("random", table, seed=0, cap=10)
    assert (len(run.rows), run.finished, run.n_snapped) == (10, False, 0)
    with pytest.raises(ValueError, match="cap must be at least 3"):
        run_method("random", table, seed=0, cap=2)
    with pytest.raises(ValueError, match="cap must be at least 3"):
        benchmark(["random"], [table], seeds=1, cap=0)


def test_proposals_that_are_no_free_rows_become_the_nearest(small):
    run = run_method(Stubborn, small.first(1), seed=0, cap=8)
    assert run.n_snapped == 5
    free = np.ones(16, dtype=bool)
    free[run.rows[:3]] = False
    for row in run.rows[3:]:
        assert row == small.nearest({"a": 1.4, "b": 2.2}, free)
        free[row] = False


def test_runs_are_the_same_however_many_at_a_time(small):
    methods, tables = ["random", "graph"], [small.first(1)]
    one, two = (benchmark(methods, tables, seeds=4, n_jobs=n) for n in (1, 2))
    assert [run.rows for run in one] == [run.rows for run in two]
    runs = [(run.method, run.seed) for run in one]
    assert runs == [(method, seed) for method in methods for seed in range(4)]


def test_an_interrupted_benchmark_continues(small, tmp_path, monkeypatch):
    options = {"tables": [small.first(1)], "folder": tmp_path}
    first = benchmark(["random"], seeds=3, **options)
    calls = []

    def counted(*args, **options):
        if "label" in options:  # not the trial run
            calls.append((options["label"], args[2]))
        return run_method(*args, **options)

    monkeypatch.setattr(protocol, "run_method", counted)
    runs = benchmark(["random"], seeds=5, **options)
    assert calls == [("random", 3), ("random", 4)]
    assert runs[:3] == first


def test_torn_line_costs_one_run(small, tmp_path):
    table = small.first(1)
    runs = benchmark(["random"], [table], seeds=3, folder=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    whole = path.read_text()
    assert json.loads(next(filter(None, whole.splitlines())))["n_objectives"] == 1
    path.write_text(whole[: len(whole) - 40])
    again = benchmark(["random"], [table], seeds=3, folder=tmp_path)
    assert [run.rows for run in again] == [run.rows for run in runs]
    assert len(RunFolder(tmp_path).load("random")) == 3


def test_longer_runs_serve_for_shorter_ones_and_not_the_reverse(table, tmp_path):
    long = benchmark(["random"], [table], seeds=2, folder=tmp_path, cap=30)
    (path,) = tmp_path.glob("*")
    content = path.read_text()
    short = benchmark(["random"], [table], seeds=2, folder=tmp_path, cap=12)
    assert [run.rows for run in short] == [run.rows[:12] for run in long]
    assert not any(run.finished for run in short)
    assert path.read_text() == content
    longer = benchmark(["random"], [table], seeds=2, folder=tmp_path, cap=40)
    assert [run.rows[:30] for run in longer] == [run.rows for run in long]


def test_runs_of_another_table_of_that_name_are_not_taken(small, tmp_path):
    y = {"y": -small.scores[:, 0]}
    other = LookupTable(small.params, y, {"y": "max"}, name=small.name)
    benchmark(["random"], [small.first(1)], seeds=2, folder=tmp_path)
    runs = benchmark(["random"], [other], seeds=2, folder=tmp_path)
    assert all(run.digest == other.digest for run in runs)


def test_methods_can_share_a_file(small, tmp_path):
    methods = {"a/b": "random", "a:b": "random"}
    benchmark(methods, [small.first(1)], seeds=2, folder=tmp_path)
    folder = RunFolder(tmp_path)
    assert len(folder.load("a/b")) == len(folder.load("a:b")) == 2
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "method, message",
    [
        ("no such thing", "'no such thing' on 'zh-en'.*surrogate"),
        ("gp+no", "acquisition"),
        ("no/such/file.py:Thing", "cannot be loaded"),
        ("no.such:Thing", "cannot be loaded"),
    ],
)
def test_wrong_method_is_refused_before_any_run(table, tmp_path, method, message):
    with pytest.raises(ValueError, match=message):
        benchmark(["random", method], [table], seeds=1, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_named_surrogates_are_the_optimizers(table):
    method = make_factory("gp+ucb")(table, 0)
    options = {"surrogate": "gp", "acquisition": "ucb", "n_initial_points": 0}
    optimizer = Optimizer(table.space, **options, random_state=0)
    for row in (3, 50, 100):
        for one in (method, optimizer):
            one.tell(table.params[row], float(table.scores[row, 0]))
    assert method.ask() == optimizer.ask()
    rows = [run_method("random", table, seed, cap=20).rows for seed in (0, 0, 1)]
    assert rows[0] == rows[1] != rows[2]
    name = "skbayes.benchmark.methods:RandomSearch"
    assert make_factory(RandomSearch) is make_factory("random") is make_factory(name)
