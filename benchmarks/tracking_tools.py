"""Searches with installed tracking libraries, which the test suite replaces.

The script prints one line per test. The first command requires MLflow, the second one
skore::

    python benchmarks/tracking_tools.py autolog
    python benchmarks/tracking_tools.py skore
"""

import argparse
import contextlib
import logging
import os
import tempfile
import warnings
from pathlib import Path

import joblib
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from skbayes import BayesSearchCV, TextRepresentationSearchCV
from skbayes.text import NGramVectorizer

X, y = load_iris(return_X_y=True)
TEXTS = [f"a {word} film, number {k}" for k in range(20) for word in ("good", "bad")]


def search(**more):
    options = {"n_iter": 6, "cv": 3, "random_state": 0, **more}
    return BayesSearchCV(SVC(), {"C": (0.1, 10.0)}, **options)


def in_threads():
    with joblib.parallel_config("threading"):
        search(n_jobs=2).fit(X, y)


def in_run(mlflow):
    with mlflow.start_run():
        search().fit(X, y)


def failing():
    with contextlib.suppress(ValueError):
        BayesSearchCV(SVC(C=-1), {"gamma": (0.1, 1.0)}, n_iter=2).fit(X, y)


def texts():
    space = {"classifier__C": (0.01, 100.0, "log-uniform")}
    options = {"space": None, "stages": (0.5, 1.0), "n_iter": 4, "cv": 2}
    TextRepresentationSearchCV(search_spaces=space, **options).fit(TEXTS, [0, 1] * 20)


def autolog():
    """Count the runs that `mlflow.sklearn.autolog` creates."""
    import mlflow

    mlflow.sklearn.autolog(log_models=False, silent=True)
    grid = GridSearchCV(SVC(), {"C": [1, 2, 3, 4, 5, 6]}, cv=3)
    tried = {
        "GridSearchCV": lambda: grid.fit(X, y),
        "BayesSearchCV": lambda: search().fit(X, y),
        "n_jobs=2": lambda: search(n_jobs=2).fit(X, y),
        "n_jobs=2, threads": in_threads,
        "in a run of the user": lambda: in_run(mlflow),
        "in a pipeline": lambda: make_pipeline(StandardScaler(), search()).fit(X, y),
        "in cross_val_score": lambda: cross_val_score(search(), X, y, cv=2),
        "a search that fails": failing,
        "texts": texts,
        "SVC, as before": lambda: SVC().fit(X, y),
    }
    for name, call in tried.items():
        mlflow.set_experiment(name)
        call()
        runs = mlflow.search_runs(output_format="list")
        parents = [r for r in runs if "mlflow.parentRunId" not in r.data.tags]
        states = {r.info.status for r in parents}
        children = len(runs) - len(parents)
        print(f"{name}: {len(parents)} runs {sorted(states)}, {children} children")


def skore():
    """Check each search with skore after a fit on a part of the data."""
    import sys

    import pandas as pd

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
    import every_search
    from skore import evaluate

    for kind in every_search.SEARCHES:
        data, labels = every_search.data(kind)
        search = every_search.make(kind)
        if kind is TextRepresentationSearchCV:
            # The checks support two-dimensional data only, read the parameters of the
            # pipeline, and fail for LogisticRegression if the greatest C is the best.
            steps = [("vectorizer", NGramVectorizer()), ("classifier", LinearSVC())]
            search.set_params(estimator=Pipeline(steps))
            data = pd.DataFrame({"text": data})
        try:
            report = evaluate(search, data, np.array(labels), splitter=0.3)
            frame = report.checks.summarize().frame()
            print(f"{kind.__name__}: {dict(frame['section'].value_counts())}")
        except Exception as error:
            print(f"{kind.__name__}: {error!r}")


TOOLS = {"autolog": autolog, "skore": skore}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", choices=TOOLS)
    tool = TOOLS[parser.parse_args().tool]
    warnings.simplefilter("ignore")
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["MLFLOW_TRACKING_URI"] = f"file://{folder}/runs"
        tool()


if __name__ == "__main__":
    main()
