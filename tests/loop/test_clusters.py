"""Searches on Ray and Spark, where they are installed."""

import os
import shutil
import signal
import sys
import warnings
from pathlib import Path

import joblib
import pytest
from scripted_estimators import Fatal, Restless
from sklearn.datasets import load_iris

from skbayes import BayesSearchCV

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")
ROOT = Path(__file__).parents[2]
# The processes of the engines import from this path.
PATHS = os.pathsep.join(map(str, [ROOT, ROOT / "tests" / "helpers"]))
X, y = load_iris(return_X_y=True)


def search_of(model):
    space = {"quality": (0.0, 1.0)}
    search = BayesSearchCV(model, space, n_iter=4, cv=2, pre_dispatch=2, random_state=0)
    return search.fit(X, y)


def scores(search):
    return [(trial.params, trial.score) for trial in search.trials_]


def assert_as_in_one_process(backend, tmp_path):
    expected = search_of(Restless())
    fatal = expected.trials_[1].params["quality"]
    with joblib.parallel_config(backend, n_jobs=2):
        assert scores(search_of(Restless())) == scores(expected)
        # A worker that is killed once costs no trial.
        mark = str(tmp_path / "killed")
        search = search_of(Fatal(fatal=fatal, end="kill", mark=mark))
    assert os.path.exists(mark)
    assert scores(search) == scores(expected)


def test_ray(tmp_path):
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": PATHS}},
    )
    register_ray()
    try:
        assert_as_in_one_process("ray", tmp_path)
    finally:
        ray.shutdown()


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_spark(tmp_path, monkeypatch):
    joblibspark = pytest.importorskip("joblibspark")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", PATHS)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    handler = signal.getsignal(signal.SIGINT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Two threads; a task is repeated once.
        session = SparkSession.builder.master("local[2, 2]").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        joblibspark.register_spark()
        try:
            assert_as_in_one_process("spark", tmp_path)
        finally:
            session.stop()
            signal.signal(signal.SIGINT, handler)
