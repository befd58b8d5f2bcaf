"""Searches on clusters: what is sent to the workers."""

import contextlib
import os
import sys

import joblib
import pytest
from grid_comparison import assert_same_tables
from sent_rows import SentRows, noted
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)
N_FOLDS = 3

# joblib-spark, PySpark and Ray issue warnings.
pytestmark = [
    pytest.mark.usefixtures("forked_dask"),
    pytest.mark.filterwarnings("ignore"),
]


@contextlib.contextmanager
def dask(folders):
    """Start two workers for the first folder, which stands for a machine, and one."""
    distributed = pytest.importorskip("distributed")
    spec = {
        i: {
            "cls": distributed.Nanny,
            "options": {"nthreads": 1, "env": {"TMPDIR": str(folders[i % 2])}},
        }
        for i in range(3)
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": ":0"}}
    with (
        distributed.SpecCluster(spec, scheduler, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield {"backend": "dask", "client": client}


@contextlib.contextmanager
def ray(folders):
    """Start four workers of two machines."""
    pytest.importorskip("ray")
    from ray import init, shutdown
    from ray.cluster_utils import Cluster
    from ray.util.joblib import register_ray

    cluster = Cluster()
    for folder in folders:
        path = {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder)}
        cluster.add_node(num_cpus=2, include_dashboard=False, env_vars=path)
    init(address=cluster.address, log_to_driver=False)
    register_ray()
    yield {"backend": "ray", "n_jobs": 4}
    shutdown()
    cluster.shutdown()


@contextlib.contextmanager
def spark(folders):
    """Start two workers of one machine."""
    pytest.importorskip("joblibspark").register_spark()
    from pyspark.sql import SparkSession

    build = SparkSession.builder.master("local-cluster[2,1,1024]")
    more = {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folders[0])}
    for name, value in more.items():
        build = build.config(f"spark.executorEnv.{name}", value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = build.config("spark.ui.enabled", "false").getOrCreate()
    yield {"backend": "spark", "n_jobs": 2}
    session.stop()


@pytest.fixture(scope="module", params=[dask, ray, spark], ids=lambda e: e.__name__)
def engine(request, tmp_path_factory):
    """Run the test on an engine; yield its settings and the folders of its machines."""
    folders = [tmp_path_factory.mktemp("machine") for _ in range(2)]
    with request.param(folders) as settings:
        yield settings, folders


@pytest.fixture
def machines(engine):
    settings, folders = engine
    with joblib.parallel_config(**settings):
        yield folders


def test_rows_reach_each_worker_once(machines, tmp_path):
    rows = SentRows.of(X.copy(), tmp_path)
    search = BayesSearchCV(SVC(), {"C": (0.1, 10.0)}, n_iter=6, random_state=0)
    search.set_params(cv=N_FOLDS, refit=False, pre_dispatch=3).fit(rows, y)
    with joblib.parallel_config("sequential"):
        alone = search.__sklearn_clone__().fit(X, y)
    assert_same_tables(search.cv_results_, alone.cv_results_)
    workers = noted(tmp_path, "received")
    assert len(workers) == len(set(workers)) > 0
    # A worker of Dask passes them on to the others.
    assert len(noted(tmp_path, "sent")) <= len(workers)
    assert noted(tmp_path, "sent").count(os.getpid()) == 1
