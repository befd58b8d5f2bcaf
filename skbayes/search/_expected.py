"""Descriptions of the valid values of parameters, for errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from skbayes.defaults.model_choice import ModelChoice

# Values of the parameters that scikit-learn describes by the names of classes.
EXPECTED = {
    "complexity": "'auto', or a dict of signs such as {'C': 1}",
    "constraints": "a dict of bounds such as {'recall': '>= 0.7'}, a function of the "
    "configuration, a list of both, or None",
    "cost": "'fit_time', another measure, or a callable of the fitted estimator",
    "cv": "an int of at least 2 such as 5, a splitter such as KFold(5), a list of "
    "splits, or None",
    "dev": "None, or a pair such as (texts, labels)",
    "error_score": "'raise' or a number, such as np.nan",
    "estimator": "an estimator with a method fit, such as SVC()",
    "initial_points": "'default', a list of configurations such as [{'C': 1.0}], an "
    "int, or None",
    "journal": "the path of a file such as 'search.journal', or None",
    "language": "the name of a language such as 'en', or None",
    "n_iter": "an int, such as 50; with stages also one for each, such as (30, 10)",
    "n_jobs": "an int such as 2, -1 for all processors, or None",
    "objectives": "a dict such as {'roc_auc': 'max', 'fit_time': 'min'}",
    "pre_dispatch": "an int of at least 1, or a str such as '2*n_jobs'",
    "random_state": "an int of at least 0, such as 42, a RandomState, or None",
    "refit": "True, False, 'ensemble', 'corrected', the name of a metric, a dict of "
    "options, or a callable",
    "return_folds": "None, 'estimators', a method such as 'predict_proba', or a list",
    "score_range": "a pair of numbers such as (0, 1), or None",
    "scoring": "the name of a metric such as 'accuracy', a scorer, a list or dict of "
    "these, or None",
    "search_spaces": "'auto', a dict such as {'C': (0.1, 10.0)}, or a list of dicts",
    "stages": "a list of training sizes, such as (0.3, 1.0)",
    "subset_fraction": "a number between 0 and 1, such as 0.1",
    "surrogate": "a name such as 'gp', 'trees', 'tpe', 'graph', 'random' or 'sobol', a "
    "surrogate object, or a tuple such as ('gp', 'ei')",
    "timeout": "a number of seconds, a string such as '5 min', or None",
    "train_sizes": "a list of training sizes, such as (0.1, 0.3, 1.0)",
    "trial_limits": "a dict such as {'time': '5 min', 'memory': '2 GB'}, or None",
}


def check_order(search: Any) -> None:
    """Raise TypeError for arguments that were exchanged or not unpacked."""
    estimator, kind = search.estimator, type(search).__name__
    if isinstance(estimator, ModelChoice):
        raise TypeError(f"Unpack the models: {kind}(*models(X, y), ...).")
    if not hasattr(estimator, "fit") and hasattr(search.search_spaces, "fit"):
        raise TypeError(
            f"{kind}: the estimator is the first argument, and search_spaces the "
            f"second one; write {kind}(estimator, search_spaces)."
        )


@contextlib.contextmanager
def plain_words(search: Any) -> Iterator[None]:
    """Replace the names of Python's classes in scikit-learn's error for a parameter."""
    try:
        yield
    except ValueError as error:
        # The words between them and the name in NumPy depend on the releases.
        booleans = r"an instance of 'bool'(,| or) an instance of 'numpy\.bool_?'"
        text = re.sub(booleans, "True or False", str(error))
        name = text.partition("'")[2].partition("'")[0]
        if name in EXPECTED and ("instance of" in text or "implementing" in text):
            text = (
                f"The {name!r} parameter of {type(search).__name__} must be "
                f"{EXPECTED[name]}. Got {getattr(search, name)!r} instead."
            )
        if text == str(error):
            raise
        raise type(error)(text) from None
