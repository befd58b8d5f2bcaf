import pytest

from skbayes import Optimizer
from skbayes.benchmark import load_nmt, make_factory, run_method
from skbayes.benchmark.methods import NAMED, RandomSearch, SkbayesMethod, find_object


@pytest.fixture(scope="module")
def table():
    return load_nmt("ru-en").first(1)


def test_named_surrogates_are_the_optimizers(table):
    method = make_factory("gp+ucb")(table, 0)
    own = Optimizer(
        table.space,
        surrogate="gp",
        acquisition="ucb",
        n_initial_points=0,
        random_state=0,
    )
    for row in (3, 50, 100):
        method.tell(table.params[row], float(table.scores[row, 0]))
        own.tell(table.params[row], float(table.scores[row, 0]))
    assert method.ask() == own.ask()
    rows = [run_method("random", table, seed, cap=20).rows for seed in (0, 0, 1)]
    assert rows[0] == rows[1] != rows[2]


def test_factories():
    assert make_factory("random") is NAMED["random"]
    assert make_factory(RandomSearch) is RandomSearch
    name = "skbayes.benchmark.methods:SkbayesMethod"
    assert make_factory(name) is SkbayesMethod


def test_object_of_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("answer = 42\n")
    assert find_object(f"{path}:answer") == 42
    for name in (f"{path}:question", f"{tmp_path}/other.py:answer", "no.such:thing"):
        with pytest.raises(ValueError, match="cannot be loaded"):
            find_object(name)
