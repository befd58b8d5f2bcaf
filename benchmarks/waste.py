"""Savings by shared first steps of pipelines.

The same random trials of five pipelines, whose first steps are not searched, are run in
several ways, each in a separate process:

- final: the minimum. The first steps are fitted once per fold, and the final step is
  fitted in each trial, on a copy of their output, because some final steps write into
  it.
- shared: BayesSearchCV with shared steps (`cache=True`).
- plain: BayesSearchCV without shared steps (`cache=False`).
- memory: scikit-learn's ``Pipeline(memory=)`` with GridSearchCV.
- grid, dask-ml: the GridSearchCV of scikit-learn and of dask-ml, with the same
  configurations in a list.

The figures are the processor time relative to "final", the maximum additional memory of
the process in MB, MB on disk, and the largest difference from the scores of "final",
which must be 0. The study "steps" therefore needs the runs of "final".

All of them run in one thread, after a small search of the same kind, so that imports do
not count.

The study "count" counts the fits of the PCA in a search of 12 trials with 3 folds on
the digits, including the refit, for each value of `cache`.

Examples: python benchmarks/waste.py steps --save steps
          python benchmarks/waste.py count --save counts
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import contextlib
import copy
import os
import resource
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from harness import Figures, Record, Runs, Study, load, main
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.space import Space

TASKS = ("target-lightgbm", "pca-svm", "tfidf-logistic", "select-sgd", "knn-ridge")
MODES = ("final", "shared", "plain", "memory", "grid", "dask-ml")
N_FOLDS = 4

# Number of rows of each task. The forest, the neighbors and the kernel are slow with
# more.
N_ROWS = {
    "target-lightgbm": 8000,
    "pca-svm": 3000,
    "tfidf-logistic": 2000,
    "select-sgd": 3000,
    "knn-ridge": 4000,
}


def pipeline_of(name: str) -> tuple[Pipeline, dict[str, Any], Any, Any]:
    """Return a pipeline, its space, and the data."""
    data, n = load(), N_ROWS[name]
    if name == "target-lightgbm":
        import lightgbm

        X, y = data.load_adult("object")["train"]
        X, y = X[:n], y[:n]
        texts = [i for i in range(X.shape[1]) if isinstance(X[0, i], str)]
        numbers = [i for i in range(X.shape[1]) if i not in texts]
        splits = StratifiedKFold(5, shuffle=True, random_state=0)
        encoder = Pipeline(
            [
                ("codes", OrdinalEncoder(handle_unknown="use_encoded_value",
                                         unknown_value=-1)),
                ("target", TargetEncoder(cv=splits)),
            ]
        )  # fmt: skip
        columns = [("text", encoder, texts), ("number", StandardScaler(), numbers)]
        model = lightgbm.LGBMClassifier(n_estimators=60, n_jobs=1, verbose=-1)
        space: dict[str, Any] = {
            "model__num_leaves": (4, 64, "log-uniform"),
            "model__learning_rate": (0.02, 0.5, "log-uniform"),
        }
        return pipeline(ColumnTransformer(columns), model), space, X, y
    if name == "pca-svm":
        X, y = data.load_mnist()["train"]
        steps = [PCA(40, random_state=0), SVC()]
        space = {"model__C": (0.1, 100.0, "log-uniform")}
        return pipeline(*steps), space, np.asarray(X[:n], float) / 255.0, y[:n]
    if name == "tfidf-logistic":
        loaded = data.load_newsgroups20()
        X, y = loaded["train"]
        # A binary problem, which LIBLINEAR can solve.
        computers = np.array([loaded["categories"][i][:5] == "comp." for i in y[:n]])
        steps = [TfidfVectorizer(), LogisticRegression(solver="liblinear")]
        space = {"model__C": (0.1, 100.0, "log-uniform")}
        return pipeline(*steps), space, list(X[:n]), computers
    if name == "select-sgd":
        X, y = data.load_letter()["train"]
        forest = RandomForestClassifier(100, random_state=0)
        steps = [
            StandardScaler(),
            SelectFromModel(forest),
            SGDClassifier(random_state=0),
        ]
        space = {"model__alpha": (1e-6, 1e-2, "log-uniform")}
        return pipeline(*steps), space, np.asarray(X[:n], float), y[:n]
    X, y = data.load_letter()["train"]
    X, y = np.asarray(X[:n], float), np.unique(y[:n], return_inverse=True)[1]
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    steps = [KNNImputer(), SplineTransformer(), Ridge()]
    return pipeline(*steps), {"model__alpha": (1e-3, 1e3, "log-uniform")}, X, y * 1.0


def pipeline(*steps: Any) -> Pipeline:
    names = [f"first{i}" for i in range(len(steps) - 1)] + ["model"]
    return Pipeline(list(zip(names, steps, strict=True)))


def draw(space: dict[str, Any], n_trials: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    parsed = Space.from_notation(space)
    return parsed.decode(parsed.from_uniform(rng.random((n_trials, parsed.n_columns))))


def fit_final(estimator: Pipeline, candidates: list, X: Any, y: Any, cv: Any) -> list:
    """Fit the first steps once per fold; return the mean score of each candidate."""
    scores = np.zeros(len(candidates))
    rows = np.arange(len(y))
    for train, test in cv.split(rows, y):
        parts = [
            X[at] if isinstance(X, np.ndarray) else [X[i] for i in at]
            for at in (train, test)
        ]
        first, model = clone(estimator[:-1]), estimator[-1]
        known = first.fit_transform(parts[0], y[train])
        unknown = first.transform(parts[1])
        for i, params in enumerate(candidates):
            own = {name.removeprefix("model__"): v for name, v in params.items()}
            fitted = clone(model).set_params(**own).fit(copy.deepcopy(known), y[train])
            scores[i] += fitted.score(copy.deepcopy(unknown), y[test]) / N_FOLDS
    return list(scores)


def searched(
    mode: str, estimator: Any, space: Any, candidates: Any, data: Any, cv: Any
) -> list[float]:
    """Run one kind of search; return the mean score of each candidate."""
    lists = [{key: [v] for key, v in params.items()} for params in candidates]
    search: Any
    if mode in ("grid", "memory"):
        search = GridSearchCV(estimator, lists, cv=cv, refit=False)
    elif mode == "dask-ml":
        from dask_ml.model_selection import GridSearchCV as DaskSearchCV

        search = DaskSearchCV(estimator, lists, cv=cv, refit=False, scheduler="sync")
    else:
        search = BayesSearchCV(
            estimator, space, n_iter=len(candidates), cv=cv, refit=False,
            random_state=0, surrogate="random", initial_points=[*candidates, 0],
            cache=mode == "shared",
        )  # fmt: skip
    search.fit(*data)
    return [float(score) for score in search.cv_results_["mean_test_score"]]


def warm_up(mode: str) -> None:
    """Run a small search, so that all modules are imported."""
    small, space = pipeline(StandardScaler(), Ridge()), {"model__alpha": (0.1, 1.0)}
    if mode != "final":
        searched(mode, small, space, draw(space, 2), load_iris(return_X_y=True), 2)


def processor_time() -> float:
    """Return the processor time of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Run one task in one way; called in a separate process."""
    warnings.simplefilter("ignore")
    estimator, space, X, y = pipeline_of(task)
    candidates = draw(space, options["trials"])
    cv = KFold(N_FOLDS) if task == "knn-ridge" else StratifiedKFold(N_FOLDS)
    warm_up(method)
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder, disk_use(folder) as sizes:
        os.environ["JOBLIB_TEMP_FOLDER"] = folder
        if method == "memory":
            estimator.set_params(memory=folder)
        begin = processor_time()
        if method == "final":
            scores = fit_final(estimator, candidates, X, y, cv)
        else:
            scores = searched(method, estimator, space, candidates, (X, y), cv)
        seconds = processor_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    megabytes = (memory - baseline) / 1024.0, max(sizes) / 1e6
    return {"figures": [seconds, *megabytes], "scores": scores}


def ratios(runs: Runs, options: Mapping[str, Any]) -> Figures:
    """Return the figures, with times and scores relative to those of "final"."""
    found: Figures = {}
    for method, own in runs.items():
        found[method] = {}
        for key, record in own.items():
            least = runs["final"][key]
            apart = np.max(np.abs(np.subtract(record["scores"], least["scores"])))
            seconds, *more = record["figures"]
            ratio = seconds / least["figures"][0]
            found[method][key] = np.array([ratio, *more, apart])
    return found


@contextlib.contextmanager
def disk_use(folder: str) -> Iterator[list[int]]:
    """Measure the number of bytes in a folder twice a second."""
    sizes, done = [0], threading.Event()

    def measure() -> None:
        while not done.wait(0.5):
            sizes.append(0)
            for path in Path(folder).rglob("*"):
                with contextlib.suppress(OSError):
                    sizes[-1] += path.stat().st_size

    thread = threading.Thread(target=measure)
    thread.start()
    try:
        yield sizes
    finally:
        done.set()
        thread.join()


def count_fits(method: str, task: str, seed: int, options: dict[str, Any]) -> Record:
    """Return the fits of a PCA in a small search, and the best score."""
    fit_transform = PCA.fit_transform
    fitted = mock.patch.object(
        PCA, "fit_transform", autospec=True, side_effect=fit_transform
    )
    search = BayesSearchCV(
        pipeline(PCA(20, random_state=0), SVC()),
        {"model__C": (0.1, 100.0, "log-uniform")},
        n_iter=options["trials"], cv=3, random_state=seed,
        cache={"auto": "auto", "True": True, "False": False}[method],
    )  # fmt: skip
    with fitted as calls:
        search.fit(*load_digits(return_X_y=True))
    return {"figures": [calls.call_count, search.best_score_]}


STUDIES = {
    "steps": Study(
        name="waste",
        tasks=lambda: TASKS,
        methods=MODES[:-1],
        known=MODES.index,
        run=run,
        figures=ratios,
        columns=lambda options: ["ratio", "MB", "MB on disk", "difference of scores"],
        overall=False,
        options={"trials": 30},
        seeds=1,
        digits=18,
        own_process=True,
    ),
    "count": Study(
        name="waste",
        tasks=lambda: ["PCA of the digits"],
        methods=("auto", "True", "False"),
        run=count_fits,
        columns=lambda options: ["fits", "best score"],
        options={"trials": 12},
        seeds=1,
        digits=4,
        smallest=("--trials", "2"),
    ),
}

if __name__ == "__main__":
    main(STUDIES, __doc__)
