"""
Processes, threads and a cluster; an interrupted search
=======================================================

``n_jobs`` and joblib decide where the fits run, ``n_points`` how many trials run
at a time. The configurations depend on neither backend nor timing, so that all searches
below try the same ones. The last search keeps a journal, is stopped halfway, and gives
the same result as an uninterrupted one.

The cluster is a Dask cluster on this machine; without Dask it is left out. The
documentation shows the script without running it.
"""

import tempfile
from pathlib import Path

import joblib
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import skbayes
from skbayes import BayesSearchCV
from skbayes.loop import NoImprovement

SPACE = {
    "svc__C": (1e-2, 1e3, "log-uniform"),
    "svc__gamma": (1e-5, 1e-1, "log-uniform"),
}


def make_search(**kwargs):
    """Return a search with three trials under way at a time."""
    model = make_pipeline(StandardScaler(), SVC())
    arguments = {"n_iter": 10, "cv": 3, "n_points": 3, "random_state": 0, **kwargs}
    return BayesSearchCV(model, SPACE, **arguments)


def on_a_cluster(X, y):
    """Fit on a Dask cluster of two processes; None without Dask."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return None
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster), joblib.parallel_config(backend="dask"):
        return make_search().fit(X, y)


def main():
    """Fit everywhere, and compare."""
    X, y = load_breast_cancer(return_X_y=True)
    searches = {"this thread": make_search().fit(X, y)}
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            searches[backend] = make_search().fit(X, y)
    searches["dask"] = on_a_cluster(X, y)

    tried = searches["this thread"].cv_results_["params"]
    for name, search in searches.items():
        if search is None:
            print(f"{name:12} not installed")
            continue
        same = search.cv_results_["params"] == tried
        print(f"{name:12} best {search.best_score_:.4f}, same trials: {same}")
        assert same

    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "search.db"
        # A crash would do as well; here it is given half of its trials only.
        make_search(journal=journal, n_iter=5).fit(X, y)
        resumed = make_search(journal=journal).fit(X, y)
        print(f"resumed      best {resumed.best_score_:.4f}, ", end="")
        print(f"same trials: {resumed.cv_results_['params'] == tried}")
        assert resumed.cv_results_["params"] == tried
        try:
            history = skbayes.load_history(journal)
        except ImportError:  # the data frame is pandas'
            pass
        else:
            print(history[["number", "score", "duration"]].head(3).to_string())

    patient = make_search(n_iter=60, stopper=NoImprovement(8)).fit(X, y)
    print(f"{len(patient.trials_)} of 60 trials: {patient.stop_reason_}")


if __name__ == "__main__":
    main()
