"""The examples run, with budgets cut down through their own options."""

import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

# Options that keep each example short.
OPTIONS = {
    "ask_and_tell.py": ["--n-iter", "8"],
    "conditional_pipeline.py": ["--n-iter", "5", "--n-jobs", "1"],
    "hypertune.py": ["--n-iter", "16", "--n-jobs", "1", "--rows", "300"],
    "many_workers.py": [],
    "model.py": [],
    "multi_stage.py": ["--n-iter", "8", "--rows", "200", "--max-iter", "2"],
    "other_libraries.py": ["--n-iter", "1"],
    "own_method.py": ["--seeds", "3"],
    "pareto.py": ["--n-iter", "6", "--n-jobs", "1", "--rows", "300"],
    "tradeoff.py": ["--n-iter", "8", "--n-jobs", "1", "--rows", "300"],
    "quickstart.py": ["--n-iter", "5", "--n-jobs", "1", "--rows", "120"],
    "text.py": [],
}


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Run an example as a script in an empty directory; return what it prints."""

    def run_example(name):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *OPTIONS[name]])
        run_example.names = runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run_example


def test_every_example_is_run():
    assert sorted(OPTIONS) == sorted(path.name for path in EXAMPLES.glob("*.py"))


def test_quickstart(run, tmp_path):
    rows = [line.split() for line in run("quickstart.py").splitlines()]
    lines = {" ".join(row[:-2]): row[-2:] for row in rows}
    assert lines["candidates"] == ["64", "5"]
    assert lines["fits"] == ["320", "25"]
    for row in ("svr__C", "svr__epsilon", "svr__gamma", "error (RMSE)"):
        assert all(float(cell) > 0 for cell in lines[row])

    from matplotlib.image import imread

    picture = imread(tmp_path / "quickstart.png")
    # Lines, text and background: a picture with something in it.
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20

    # What it expects of a grid is what the orders of a grid give.
    rng = np.random.default_rng(0)
    scores = rng.normal(size=7)
    orders = [np.maximum.accumulate(rng.permutation(scores)) for _ in range(20_000)]
    expected = run.names["expected_best"](scores)
    np.testing.assert_allclose(expected, np.mean(orders, axis=0), atol=0.03)
    assert expected[-1] == pytest.approx(scores.max())


def test_ask_and_tell(run):
    printed = run("ask_and_tell.py")
    assert "best of 8" in printed
    assert "evaluations: " in printed


def test_model(run, tmp_path):
    best, truth = (
        float(line.split("x = ")[1]) for line in run("model.py").splitlines()
    )
    assert abs(best - truth) < 0.1
    from matplotlib.image import imread

    picture = imread(tmp_path / "model.png")
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20


def test_many_workers(run):
    # It compares the trials itself.
    lines = run("many_workers.py").splitlines()
    assert sum("same trials: True" in line for line in lines) >= 4
    assert lines[-1].endswith("of 60 trials: no_improvement")


def test_conditional_pipeline(run):
    printed = run("conditional_pipeline.py")
    assert "SVC: " in printed
    assert "of 5 candidates" in printed
    assert "model = " in printed


def test_own_method(run):
    lines = dict(line.split(": ") for line in run("own_method.py").splitlines())
    assert list(lines) == ["near the best", "random", "random, exact"]
    assert lines["random, exact"] == "88.5"


def test_other_libraries(run):
    names = ["TunedThresholdClassifierCV", "CalibratedClassifierCV"]
    names.append("StackingClassifier")
    more = {"xgboost": "XGBClassifier", "catboost": "CatBoostClassifier"}
    names += [name for library, name in more.items() if find_spec(library)]
    names += ["Pipeline"] if find_spec("skorch") and find_spec("torch") else []
    lines = dict(line.split(": ") for line in run("other_libraries.py").splitlines())
    assert list(lines) == names
    del lines["CalibratedClassifierCV"]  # negative log loss
    assert all(float(line.split()[0]) > 0.6 for line in lines.values())


def test_pareto(run, tmp_path):
    printed = run("pareto.py")
    assert "of 6 forests are on the front" in printed
    assert "knee: " in printed
    from matplotlib.image import imread

    picture = imread(tmp_path / "pareto.png")
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20


def test_hypertune(run):
    lines = run("hypertune.py").splitlines()
    assert sum(line.startswith("best on a small sample") for line in lines) == 5
    assert "signs: {'C': 1, 'gamma': 1}" in "\n".join(lines)
    scores = [line.split()[2] for line in lines[-10:]]
    assert float(scores[-1]) > 0.8


def test_multi_stage(run, tmp_path):
    lines = run("multi_stage.py").splitlines()
    for line, name in zip(lines, ("all rows", "in stages"), strict=False):
        assert line.startswith(f"{name}: 8 trials in ")
    assert -1 <= float(lines[3].split(": ")[1]) <= 1
    from matplotlib.image import imread

    picture = imread(tmp_path / "multi_stage.png")
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20


def test_tradeoff(run, tmp_path):
    printed = run("tradeoff.py")
    assert "tradeoff 0.0: " in printed and "tradeoff 0.1: " in printed
    from matplotlib.image import imread

    picture = imread(tmp_path / "tradeoff.png")
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20


def test_text(run):
    lines = run("text.py").splitlines()
    alone, searched = (float(line.split(": ")[1][:5]) for line in lines[:2])
    assert searched > alone + 0.1
