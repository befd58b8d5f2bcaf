import csv
from importlib.resources import files

import numpy as np
import pandas
import pytest

from skbayes import Optimizer
from skbayes.benchmark import LookupTable, load_nmt
from skbayes.benchmark.tables import NMT_PAIRS
from skbayes.optimizer import SpaceExhausted

# Rows, best BLEU and rows of the front, as the authors state them.
STATED = {
    "zh-en": (118, 14.66, 3),
    "ru-en": (176, 20.23, 4),
    "ja-en": (150, 16.41, 5),
    "en-ja": (168, 20.74, 8),
    "sw-en": (767, 26.09, 14),
    "so-en": (604, 11.23, 7),
}

# The paper's scaling of the inputs.
SCALED = {
    "bpe": lambda v: (v - 10_000) / 40_000,
    "num_embed": lambda v: (np.log2(v) - 8) / 2,
    "num_hidden": lambda v: (v - 1024) / 1024,
    "num_heads": lambda v: (v - 8) / 8,
    "init_lr": lambda v: (v - 0.0003) / 0.0007,
}


@pytest.fixture
def table():
    return LookupTable(
        [
            {"rate": 0.1, "kind": "a", "width": 4},
            {"rate": 0.001, "kind": "b", "width": 4},
            {"rate": 0.01, "kind": "c", "width": 8},
            {"rate": 0.1, "kind": "c", "width": 2},
        ],
        {"error": [3.0, 1.0, 2.0, 5.0], "gain": [1, 2, 3, 4]},
        {"error": "min", "gain": "max"},
        scales={"rate": "log"},
    )


@pytest.mark.parametrize("pair", NMT_PAIRS)
def test_each_table_has_the_published_size_and_front(pair):
    table = load_nmt(pair)
    n_rows, best, n_front = STATED[pair]
    assert (len(table), table.scores[:, 0].max()) == (n_rows, best)
    assert len(table.front) == n_front
    with (files("skbayes.benchmark") / "data" / f"{pair}.csv").open() as file:
        marked = [row["is_pareto"] == "1" for row in csv.DictReader(file)]
    np.testing.assert_array_equal(table.front, np.flatnonzero(marked))
    for name, scaled in SCALED.items():
        values = np.array([row[name] for row in table.params])
        is_log = name == "bpe" and pair in ("sw-en", "so-en")
        expected = np.log2(values / 1000) / 5 if is_log else scaled(values)
        column = table.X[:, table.columns.index(name)]
        np.testing.assert_allclose(column, expected, atol=1e-12)


def test_data_come_with_source_and_license():
    data = files("skbayes.benchmark") / "data"
    with pytest.raises(ValueError, match="pair must be one of"):
        load_nmt("en-zh")
    # The first of equal rows is the best.
    table = load_nmt("zh-en")
    ties = np.flatnonzero(table.scores[:, 0] == table.scores[:, 0].max())
    assert len(ties) == 3 and table.best == ties[0]
    assert "MIT License" in (data / "LICENSE").read_text()
    assert "github.com/Este1le/hpo_nmt" in (data / "README.md").read_text()


def test_objectives_are_maximized(table):
    np.testing.assert_array_equal(table.scores, [[-3, 1], [-1, 2], [-2, 3], [-5, 4]])
    assert table.best == 1
    np.testing.assert_array_equal(table.front, [1, 2, 3])
    one = table.first(1)
    assert (one.n_objectives, one.objectives) == (1, ("error",))
    np.testing.assert_array_equal(one.front, [1])
    assert table.n_objectives == 2
    assert table.digest == table.first(2).digest != one.digest
    assert table.space.n_configurations == len(table)
    assert all(map(table.space.allows, table.params))
    assert not table.space.allows({"rate": 0.1, "kind": "b", "width": 8})


def test_csv_and_frame_give_the_same_table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("depth,kind,loss\n2,x,0.5\n4,y,0.25\n8,x,1e-3\n")
    read = LookupTable.from_csv(path, ["depth", "kind"], {"loss": "min"})
    assert read.name == "mine"
    assert read.params[1] == {"depth": 4, "kind": "y"}
    frame = LookupTable.from_frame(
        pandas.read_csv(path), ["depth", "kind"], {"loss": "min"}, name="mine"
    )
    assert frame.params == read.params
    assert {type(value) for row in frame.params for value in row.values()} == {int, str}
    assert frame.digest == read.digest
    scaled = LookupTable.from_csv(
        path, {"depth": "rank", "kind": "categorical"}, {"loss": "min"}
    )
    np.testing.assert_allclose(scaled.X[:, 0], [0, 0.5, 1])
    with pytest.raises(ValueError, match=r"no columns \['c'\]"):
        LookupTable.from_frame({"a": [1, 2], "b": [1, 2]}, ["a", "c"], {"b": "max"})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"params": []}, "no configurations"),
        ({"params": [{"a": 1}, {"b": 1}]}, "same hyper-parameters"),
        ({"params": [{"a": 1}, {"a": 1}]}, "occurs twice"),
        ({"objectives": {"y": [1.0, np.nan]}}, "finite number for each of the 2"),
        ({"objectives": {"y": [1.0]}}, "finite number for each of the 2"),
        ({"objectives": {"y": ["high", "low"]}}, "objectives: 'y'"),
        ({"objectives": {}}, "there is no 'y'"),
        ({"directions": {}}, "at least one objective"),
        ({"directions": {"y": "up"}}, "'max' or 'min'"),
        ({"scales": {"b": "log"}}, "are not hyper-parameters"),
        ({"scales": {"a": "cubic"}}, "the scale of 'a' must be one of"),
        ({"params": [{"a": 0}, {"a": 1}], "scales": {"a": "log"}}, "'a'.*values > 0"),
    ],
)
def test_wrong_tables_are_refused_by_name(change, message):
    arguments = {
        "params": [{"a": 1}, {"a": 2}],
        "objectives": {"y": [1.0, 2.0]},
        "directions": {"y": "max"},
        "scales": None,
    }
    with pytest.raises(ValueError, match=message):
        LookupTable(**(arguments | change))


def test_optimizer_proposes_every_row_once_and_nothing_else(table):
    optimizer = Optimizer(table.space, n_initial_points=0, random_state=0)
    rows = [0]
    for number in range(len(table)):
        optimizer.tell(table.params[rows[-1]], float(number))
        if number < 3:
            rows.append(table.params.index(optimizer.ask()))
    assert sorted(rows) == [0, 1, 2, 3]
    with pytest.raises(SpaceExhausted):
        optimizer.ask()
    # The order of the cells is not that of the file.
    rows = load_nmt("ru-en").params[::-1]
    space = LookupTable(rows, {"y": np.zeros(len(rows))}, {"y": "max"}).space
    assert space.decode(space.enumerate(np.arange(len(rows)))) != rows


def test_position_of_rows_is_their_encoding(table):
    positions = [table.position(params) for params in table.params]
    np.testing.assert_allclose(positions, table.X, atol=1e-12)
    far = {"rate": 50.0, "kind": "a", "width": -3}
    assert table.position(far)[[0, 2]].tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="missing"):
        table.position({"rate": 0.1})
    with pytest.raises(ValueError, match="'d'"):
        table.position({"rate": 0.1, "kind": "d", "width": 2})


def test_position_and_configuration_are_inverse(table):
    numbers = [not table.dimensions[name].is_categorical for name in table.columns]
    for x in np.random.default_rng(0).random((20, 3)):
        params = table.at(x)
        np.testing.assert_allclose(table.position(params)[numbers], x[numbers])
        assert params["kind"] in ("a", "b", "c")
        assert 0.001 <= params["rate"] <= 0.1
    assert table.at(np.array([0.5, 0.0, 0.5]))["rate"] == pytest.approx(0.01)


def test_nearest_row_by_brute_force(table):
    free = np.array([True, False, True, True])
    kinds = np.array([p["kind"] for p in table.params])
    for x in np.random.default_rng(1).random((50, 3)):
        params = table.at(x)
        squares = (table.X - table.position(params)) ** 2
        distances = squares[:, 0] + (kinds != params["kind"]) + squares[:, 2]
        expected = min(np.flatnonzero(free), key=distances.__getitem__)
        assert table.nearest(params, free) == expected
