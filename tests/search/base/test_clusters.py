"""Searches on Dask: what is sent to the workers."""

import os

import joblib
import pytest
from grid_comparison import assert_same_tables
from processes import SentRows, local_cluster, noted
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from skbayes import BayesSearchCV

X, y = load_iris(return_X_y=True)

pytestmark = pytest.mark.usefixtures("forked_dask")


@pytest.fixture
def three_workers():
    with (
        local_cluster(n_workers=3, threads_per_worker=1) as (_, client),
        joblib.parallel_config("dask", client=client),
    ):
        yield


def test_rows_reach_each_worker_once(three_workers, tmp_path):
    rows = SentRows.of(X.copy(), tmp_path)
    search = BayesSearchCV(SVC(), {"C": (0.1, 10.0)}, n_iter=6, random_state=0)
    search.set_params(cv=3, refit=False, pre_dispatch=3).fit(rows, y)
    with joblib.parallel_config("sequential"):
        alone = search.__sklearn_clone__().fit(X, y)
    assert_same_tables(search.cv_results_, alone.cv_results_)
    workers = noted(tmp_path, "received")
    assert len(workers) == len(set(workers)) > 0
    # A worker of Dask passes them on to the others.
    assert len(noted(tmp_path, "sent")) <= len(workers)
    assert noted(tmp_path, "sent").count(os.getpid()) == 1
