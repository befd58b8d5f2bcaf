"""Program that runs searches as in a browser: without processes, threads and callbacks.

It prints one JSON line per search: its name, and its best score or its error, with the
messages of all warnings.
"""

import ctypes
import json
import multiprocessing.connection  # which exists in browsers
import os
import sys
import tempfile
import threading
import warnings


def fail(kind, message):
    def refuse(*args, **kwargs):
        raise kind(message)

    return refuse


for name in ("_multiprocessing", "_posixshmem", "liblinear", "resource"):
    sys.modules[name] = None
threading.Thread.start = fail(RuntimeError, "can't start new thread")
multiprocessing.Pipe = fail(OSError, "Not supported")

with warnings.catch_warnings(record=True) as of_import:
    warnings.simplefilter("always")
    from sklearn.datasets import load_iris
    from sklearn.svm import SVC

    # SciPy's builds for processors make a callback when they are imported.
    ctypes.CFUNCTYPE = fail(OSError, "ctypes is unavailable")
    from skbayes import BayesSearchCV, TextRepresentationSearchCV

X, y = load_iris(return_X_y=True)
texts = ["good film", "bad film", "nice plot", "awful plot"] * 6
# Not beside this module, so that the journal does not compare its code.
journal = os.path.join(tempfile.mkdtemp(), "search.journal")


def search(n_jobs=None, **options):
    space = {"C": (0.01, 100.0, "log-uniform")}
    options |= {"n_iter": 4, "cv": 3, "random_state": 0, "n_jobs": n_jobs}
    return BayesSearchCV(SVC(), space, **options).fit(X, y)


SEARCHES = {
    "plain": search,
    "n_jobs": lambda: search(n_jobs=2),
    "ensemble": lambda: search(refit="ensemble"),
    "journal": lambda: search(journal=journal),
    "resumed": lambda: search(journal=journal),
    "timeout": lambda: search(timeout="1 h"),
    "trial_limits": lambda: search(trial_limits={"time": "1 h"}),
    "text": lambda: TextRepresentationSearchCV(n_iter=3, cv=2, random_state=0).fit(
        texts, [0, 1] * 12
    ),
}

print(json.dumps({"name": "import", "warnings": [str(w.message) for w in of_import]}))
for name, run in SEARCHES.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            row = {"score": run().best_score_}
        except Exception as error:
            row = {"error": f"{type(error).__name__}: {error}"}
    print(
        json.dumps({"name": name, **row, "warnings": [str(w.message) for w in caught]})
    )
