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

The output is the processor time relative to "final", the maximum additional memory of
the process, and bytes on disk. The scores of all ways must be equal.

All of them run in one thread, after a small search of the same kind, so that imports do
not count. Each result is saved immediately and replaces an earlier one.

With --count, the output is the number of fits of the PCA in a search of 12 trials with
3 folds on the digits, including the refit, for each value of `cache`.

Examples: python benchmarks/waste.py --trials 30 --save
          python benchmarks/waste.py --count --save
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import copy
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
from unittest import mock

import numpy as np
from common import HERE, save_results
from shared import load
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
RESULTS = HERE / "results" / "waste" / "waste.json"
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


def task(name: str) -> tuple[Pipeline, dict[str, Any], Any, Any]:
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
    lists = [{key: [v] for key, v in one.items()} for one in candidates]
    search: Any
    if mode in ("grid", "memory"):
        search = GridSearchCV(estimator, lists, cv=cv, refit=False)
    elif mode == "dask-ml":
        from dask_ml.model_selection import GridSearchCV as DaskSearchCV

        search = DaskSearchCV(estimator, lists, cv=cv, refit=False, scheduler="sync")
    else:
        search = BayesSearchCV(
            estimator, space, n_iter=len(candidates), cv=cv, refit=False,
            random_state=0, surrogate="random", n_initial_points=0,
            initial_points=candidates, cache=mode == "shared",
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


def run(name: str, mode: str, n_trials: int) -> dict[str, Any]:
    """Run one task in one way; called in a separate process."""
    estimator, space, X, y = task(name)
    candidates = draw(space, n_trials)
    cv = KFold(N_FOLDS) if name == "knn-ridge" else StratifiedKFold(N_FOLDS)
    warm_up(mode)
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder, Disk(folder) as disk:
        os.environ["JOBLIB_TEMP_FOLDER"] = folder
        if mode == "memory":
            estimator.set_params(memory=folder)
        begin = processor_time()
        if mode == "final":
            scores = fit_final(estimator, candidates, X, y, cv)
        else:
            scores = searched(mode, estimator, space, candidates, (X, y), cv)
        seconds = processor_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "megabytes": (memory - baseline) / 1024.0,
        "disk": disk.most / 1e6,
        "n_rows": len(y),
        "n_trials": n_trials,
        "scores": scores,
    }


class Disk:
    """Greatest number of bytes in a folder, measured twice a second."""

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


def measured(name: str, mode: str, n_trials: int) -> dict[str, Any]:
    """Run one task in one way, in a new process."""
    command = [sys.executable, __file__, "--trials", str(n_trials), "--one", name, mode]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(name: str, modes: list[str], n_trials: int) -> dict[str, Any]:
    """Run one task in several ways, and compare the scores with those of the first."""
    results: dict[str, Any] = {}
    expected = None
    for mode in modes:
        one = results[mode] = measured(name, mode, n_trials)
        if "error" in one:
            print(f"{name:16s} {mode:8s} {one['error']}", flush=True)
            continue
        scores = np.array(one.pop("scores"))
        expected = scores if expected is None else expected
        one["largest_difference"] = float(np.max(np.abs(scores - expected)))
        print(
            f"{name:16s} {mode:8s} {one['seconds']:8.1f} s"
            f" {one['megabytes']:6.0f} MB {one['disk']:6.0f} MB on disk"
            f"  difference of scores {one['largest_difference']:.0e}",
            flush=True,
        )
    return results


def save(name: str, results: dict[str, Any]) -> None:
    """Replace the saved results of one task, and compute the ratios again."""
    saved = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known = saved.setdefault(name, {})
    known.update(results)
    for one in known.values():
        if "error" not in one:
            one["ratio"] = one["seconds"] / known["final"]["seconds"]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(saved, indent=1) + "\n")


def count_fits() -> dict[str, dict[str, float]]:
    """Return the fits of a PCA in a small search, and the best score, by `cache`."""
    counts: dict[str, dict[str, float]] = {}
    fit_transform = PCA.fit_transform
    for cache in ("auto", True, False):
        fitted = mock.patch.object(
            PCA, "fit_transform", autospec=True, side_effect=fit_transform
        )
        search = BayesSearchCV(
            pipeline(PCA(20, random_state=0), SVC()),
            {"model__C": (0.1, 100.0, "log-uniform")},
            n_iter=12, cv=3, random_state=0, cache=cache,
        )  # fmt: skip
        with fitted as calls:
            search.fit(*load_digits(return_X_y=True))
        counts[f"cache={cache!r}"] = {
            "fits": calls.call_count,
            "best_score": search.best_score_,
        }
    return counts


LABELS = {
    "plain": "cache=False",
    "grid": "GridSearchCV",
    "memory": "Pipeline(memory=)",
    "dask-ml": "dask-ml",
    "shared": "cache=True",
}
TITLES = {
    "target-lightgbm": "target encoding,\nLightGBM",
    "pca-svm": "PCA,\nSVM",
    "tfidf-logistic": "TF-IDF,\nlogistic regression",
    "select-sgd": "forest selection,\nSGD",
    "knn-ridge": "KNN imputer,\nsplines, ridge",
}


def draw_bars(path: Path) -> None:
    """Plot the saved ratios."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    saved = json.loads(RESULTS.read_text())
    figure, axes = plt.subplots(1, len(TITLES), figsize=(10.5, 2.6), sharey=True)
    for ax, (name, title) in zip(axes, TITLES.items(), strict=True):
        ratios = [saved[name].get(mode, {}).get("ratio", np.nan) for mode in LABELS]
        colors = ["#1f77b4" if m == "shared" else "#b8c4ce" for m in LABELS]
        bars = ax.barh(list(LABELS.values()), ratios, color=colors)
        ax.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
        ax.set_xlim(0.0, 1.3 * np.nanmax(ratios))
        ax.axvline(1.0, color="black", linewidth=0.8, linestyle=":")
        ax.set_title(title, fontsize=9)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    figure.supxlabel("processor time / least possible time", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--tasks", nargs="*", default=TASKS, choices=TASKS)
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--draw", action="store_true", help="plot to docs/images")
    parser.add_argument("--count", action="store_true", help="count fits of a PCA")
    args = parser.parse_args()
    if args.count:
        counts = count_fits()
        for name, figures in counts.items():
            print(name, figures)
        if args.save:
            save_results("waste/counts", counts)
        return
    if args.one:
        warnings.simplefilter("ignore")
        print(json.dumps(run(*args.one, args.trials)))
        return
    for name in args.tasks:
        results = compare(name, list(args.modes), args.trials)
        if args.save:
            save(name, results)
    if args.draw:
        draw_bars(HERE.parent / "docs" / "images" / "shared_steps.png")


if __name__ == "__main__":
    main()
