"""Searches with short time limits on Adult, and histogram boosting without a search.

    python benchmarks/adult_limits.py --seconds 15 40 60 --seeds 2

All methods tune HistGradientBoostingClassifier(categorical_features="from_dtype") over
the same ranges, with five folds and two workers, on the 32,561 training rows. The
columns are the accuracy and the log loss on the 16,281 test rows, the seconds of `fit`
with the refit, the number of trials, and the rows and folds of the choice.
"""

from __future__ import annotations

import one_thread  # noqa: F401

# isort: split
import argparse
import time
import warnings
from typing import Any

import optuna
import pandas as pd
from harness import load
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, log_loss

from skbayes import BayesSearchCV, MultiStageSearchCV

N_JOBS = 2
RANGES: dict[str, tuple[Any, ...]] = {
    "learning_rate": (0.01, 0.5, "log-uniform"),
    "max_leaf_nodes": (4, 256, "log-uniform"),
    "min_samples_leaf": (2, 200, "log-uniform"),
    "l2_regularization": (1e-6, 100.0, "log-uniform"),
    "max_iter": (50, 500, "log-uniform"),
}


def search_of(name: str, model: Any, seconds: float, seed: int) -> Any:
    """Return a search, or the model itself."""
    options = {"cv": 5, "n_jobs": N_JOBS, "random_state": seed, "timeout": seconds}
    if name == "plain":
        return model
    if name == "optuna":
        from optuna_integration import OptunaSearchCV

        space = {
            n: (FloatDistribution if isinstance(low, float) else IntDistribution)(
                low, high, log=True
            )
            for n, (low, high, _) in RANGES.items()
        }
        return OptunaSearchCV(model, space, n_trials=None, **options)
    kind = {"stages": MultiStageSearchCV, "bayes": BayesSearchCV}[name]
    return kind(model, RANGES, n_iter=None, **options)


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, nargs="+", default=[15, 40, 60])
    parser.add_argument("--seeds", type=int, default=2)
    names = ["plain", "stages", "bayes", "optuna"]
    parser.add_argument("--methods", nargs="+", choices=names, default=names)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    data = load().load_adult(encode="object")
    frames = {}
    for part in ("train", "test"):
        frame = pd.DataFrame(data[part][0], columns=data["feature_names"])
        frames[part] = frame.infer_objects()
    for column in data["categorical"]:
        values = sorted({v for frame in frames.values() for v in frame[column]})
        for frame in frames.values():
            frame[column] = pd.Categorical(frame[column], categories=values)
    y, y_test = data["train"][1], data["test"][1]
    print(f"{'limit':>6} {'method':8} seed accuracy log loss seconds trials choice")
    for seconds in args.seconds:
        for seed in range(args.seeds):
            for name in args.methods:
                model = HistGradientBoostingClassifier(
                    categorical_features="from_dtype", random_state=seed
                )
                begin = time.perf_counter()
                search = search_of(name, model, seconds, seed)
                search.fit(frames["train"], y)
                taken = time.perf_counter() - begin
                proba = search.predict_proba(frames["test"])
                accuracy = accuracy_score(y_test, proba[:, 1] > 0.5)
                loss, n_trials = log_loss(y_test, proba), len(_trials(search))
                choice = getattr(search, "best_fidelity_", "")
                print(
                    f"{seconds:6g} {name:8} {seed:4} {accuracy:8.4f} {loss:8.4f} "
                    f"{taken:7.1f} {n_trials:6} {choice}",
                    flush=True,
                )


def _trials(search: Any) -> Any:
    return getattr(search, "trials_", [])


if __name__ == "__main__":
    main()
