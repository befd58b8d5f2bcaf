"""What shared first steps of pipelines save.

The same trials, drawn at random, of five pipelines whose first steps are not searched:
each in a process of its own, with the steps shared (`cache=True`), without
(`cache=False`), with scikit-learn's ``Pipeline(memory=)``, and by GridSearchCV with the
same configurations in a list. "final" is the least that can be spent: the first steps
fitted once per fold, and the final step in each trial. Shown for each: processor time
as a ratio to "final", greatest resident size, and bytes on disk. The scores of all of
them must be equal.

Example: python benchmarks/waste.py --trials 30 --save
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE
from shared import load
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
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
MODES = ("final", "shared", "plain", "memory", "grid")
RESULTS = HERE / "results" / "waste" / "waste.json"
N_FOLDS = 4


def task(name: str) -> tuple[Pipeline, dict[str, Any], Any, Any]:
    """Return a pipeline, its space, and the data."""
    data = load()
    if name == "target-lightgbm":
        import lightgbm

        X, y = data.load_adult("object")["train"]
        X, y = X[:8000], y[:8000]
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
        return pipeline(*steps), space, np.asarray(X[:5000], float) / 255.0, y[:5000]
    if name == "tfidf-logistic":
        loaded = data.load_newsgroups20()
        X, y = loaded["train"]
        # A problem of two classes, which LIBLINEAR solves.
        computers = np.array([loaded["categories"][i][:5] == "comp." for i in y[:6000]])
        steps = [TfidfVectorizer(), LogisticRegression(solver="liblinear")]
        space = {"model__C": (0.1, 100.0, "log-uniform")}
        return pipeline(*steps), space, list(X[:6000]), computers
    if name == "select-sgd":
        X, y = data.load_letter()["train"]
        forest = RandomForestClassifier(100, random_state=0)
        steps = [
            StandardScaler(),
            SelectFromModel(forest),
            SGDClassifier(random_state=0),
        ]
        space = {"model__alpha": (1e-6, 1e-2, "log-uniform")}
        return pipeline(*steps), space, np.asarray(X[:6000], float), y[:6000]
    X, y = data.load_letter()["train"]
    X, y = np.asarray(X[:3000], float), np.unique(y[:3000], return_inverse=True)[1]
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
            fitted = clone(model).set_params(**own).fit(known, y[train])
            scores[i] += fitted.score(unknown, y[test]) / N_FOLDS
    return list(scores)


def run(name: str, mode: str, n_trials: int) -> dict[str, Any]:
    """Run one task in one way; in a process of its own."""
    estimator, space, X, y = task(name)
    candidates = draw(space, n_trials)
    regression = name == "knn-ridge"
    cv = KFold(N_FOLDS) if regression else StratifiedKFold(N_FOLDS)
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder, Disk(folder) as disk:
        if mode == "memory":
            estimator.set_params(memory=folder)
        begin = time.process_time()
        if mode == "final":
            scores = fit_final(estimator, candidates, X, y, cv)
        elif mode in ("grid", "memory"):
            lists = [{key: [v] for key, v in one.items()} for one in candidates]
            search = GridSearchCV(estimator, lists, cv=cv, refit=False).fit(X, y)
            scores = list(search.cv_results_["mean_test_score"])
        else:
            search = BayesSearchCV(
                estimator, space, n_iter=n_trials, cv=cv, refit=False, random_state=0,
                surrogate="random", n_initial_points=0, initial_points=candidates,
                cache=mode == "shared",
            )  # fmt: skip
            os.environ["JOBLIB_TEMP_FOLDER"] = folder
            search.fit(X, y)
            scores = list(search.cv_results_["mean_test_score"])
        seconds = time.process_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "megabytes": (memory - baseline) / 1024.0,
        "disk": disk.most / 1e6,
        "scores": scores,
    }


class Disk:
    """Greatest number of bytes in a folder, looked at twice a second."""

    def __init__(self, folder: str) -> None:
        self._folder, self._done, self.most = Path(folder), threading.Event(), 0
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Disk:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.5):
            size = 0
            for path in self._folder.rglob("*"):
                try:
                    size += path.stat().st_size
                except OSError:
                    continue
            self.most = max(self.most, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    if args.one:
        warnings.simplefilter("ignore")
        print(json.dumps(run(*args.one, args.trials)))
        return
    results: dict[str, Any] = {}
    print(f"{'':18s}" + "".join(f"{mode:>20s}" for mode in MODES))
    for name in args.tasks:
        results[name] = {}
        line = f"{name:18s}"
        for mode in MODES:
            command = [sys.executable, __file__, "--trials", str(args.trials)]
            done = subprocess.run(
                [*command, "--one", name, mode],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            one = json.loads(done.stdout.splitlines()[-1])
            scores = one.pop("scores")
            expected = results[name].setdefault("scores", scores)
            one["largest_difference"] = float(
                np.max(np.abs(np.subtract(scores, expected)))
            )
            results[name][mode] = one
            ratio = one["seconds"] / results[name]["final"]["seconds"]
            line += f"{ratio:7.2f} {one['megabytes']:5.0f}M{one['disk']:5.0f}M"
        del results[name]["scores"]
        largest = max(one["largest_difference"] for one in results[name].values())
        print(f"{line}  largest difference of scores {largest:.0e}", flush=True)
    if args.save:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
