"""Searches with the private names of scikit-learn and joblib hidden, one at a time.

Run as a program, it prints a line of JSON for each name, for none and for all of them.
The line contains the location of the name, warnings of the import, missing names, and
the error or the scores of a search.
"""

import json
import sys
import warnings
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from types import ModuleType
from unittest.mock import patch

from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

X, y = load_iris(return_X_y=True)
PRIVATE_NAMES = "skbayes.compat.private_names"

# Modules are imported many times; their code is compiled once, even without .pyc files.
SourceFileLoader.get_code = cache(SourceFileLoader.get_code)


def dependents():
    """Return the names of the loaded modules that use private names."""
    hidden = {PRIVATE_NAMES, "skbayes.compat"}
    while True:
        importers = {
            name
            for name, module in list(sys.modules.items())
            if name.startswith("skbayes.") and name not in hidden
            for value in list(vars(module).values())
            if getattr(value, "__name__", None) in hidden
            or getattr(value, "__module__", None) in hidden
        }
        if not importers:
            return hidden
        hidden |= importers


def search_anew(modules):
    """Import some modules again; return warnings, missing names, and scores."""
    for name in modules:
        sys.modules.pop(name, None)
        package, _, last = name.rpartition(".")
        # `from package import module` finds the module here.
        vars(sys.modules.get(package, sys)).pop(last, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search_class = import_module("skbayes.search.bayes").BayesSearchCV
    space = {"var_smoothing": (1e-9, 1.0, "log-uniform")}
    params = {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"}
    params |= {"n_iter": 2, "cv": 2, "random_state": 0, "return_train_score": True}
    search, error, scores = search_class(GaussianNB(), space, **params), None, []
    try:
        search.fit(X, y, groups=None)
    except ImportError as problem:
        error = str(problem)
    else:
        columns = ("split1_test_accuracy", "mean_train_f1_macro")
        scores = [search.cv_results_[name].tolist() for name in columns]
    return {
        "warnings": [str(one.message) for one in caught],
        "missing": import_module(PRIVATE_NAMES).MISSING,
        "error": error,
        "scores": scores,
    }


def hide(stack, owner, name):
    """Hide a private name; return whether it exists in this release."""
    if isinstance(owner, str):
        # A copy, so that scikit-learn and joblib still have the name.
        module = sys.modules[owner]
        copy = ModuleType(owner)
        vars(copy).update(vars(module))
        stack.enter_context(patch.dict(sys.modules, {owner: copy}))
        return vars(copy).pop(name, None) is not None
    exists = hasattr(owner, name)
    for base in owner.__mro__:
        if name in vars(base):
            stack.callback(setattr, base, name, vars(base)[name])
            delattr(base, name)
    return exists


def main():
    import_module("skbayes.search.bayes")
    modules = dependents()
    names = list(import_module(PRIVATE_NAMES).LOOKED_UP)
    print(json.dumps({"hidden": [], **search_anew(modules)}))
    for pairs in [*([one] for one in names), names]:
        with ExitStack() as stack:
            if any([hide(stack, owner, name) for owner, name in pairs]):
                hidden = [name for _, name in pairs]
                print(json.dumps({"hidden": hidden, **search_anew(modules)}))


if __name__ == "__main__":
    main()
