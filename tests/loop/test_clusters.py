"""Searches on Ray and Spark, where they are installed."""

import os
import shutil
import signal
import sys
import warnings
from pathlib import Path

import joblib
import pytest
from grid_comparison import assert_same_tables
from scripted_estimators import Restless
from sklearn.base import clone
from sklearn.datasets import load_iris

from skbayes import BayesSearchCV

ROOT = Path(__file__).parents[2]
# The processes of the engines import from this path.
PATHS = os.pathsep.join(map(str, [ROOT, ROOT / "tests" / "helpers"]))
X, y = load_iris(return_X_y=True)


def assert_as_in_one_process(backend):
    search = BayesSearchCV(Restless(), {"quality": (0.0, 1.0)}, n_iter=4, cv=2)
    search.set_params(pre_dispatch=2, random_state=0)
    expected = clone(search).fit(X, y)
    with joblib.parallel_config(backend, n_jobs=2):
        assert_same_tables(search.fit(X, y).cv_results_, expected.cv_results_)


def test_ray():
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
        assert_as_in_one_process("ray")
    finally:
        ray.shutdown()


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_spark(monkeypatch):
    joblibspark = pytest.importorskip("joblibspark")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", PATHS)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    handler = signal.getsignal(signal.SIGINT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = SparkSession.builder.master("local[2]").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        joblibspark.register_spark()
        try:
            assert_as_in_one_process("spark")
        finally:
            session.stop()
            signal.signal(signal.SIGINT, handler)
