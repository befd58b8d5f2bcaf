"""Sample journal: its space, splits and trials, and programs that use it."""

import contextlib
import json
import os
import sqlite3
from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from skbayes.space import Choice, Space
from skbayes.trial.plan import Header
from skbayes.trial.records import FoldResult, Trial

CLASSIFIERS = [SVC(), LogisticRegression()]
SPACE = Space.from_notation(
    {
        "C": (1e-3, 1e3, "log-uniform"),
        "n": (1, 100),
        "kernel": Choice({"rbf": {"gamma": (0.0, 1.0)}, "linear": {}}),
        "clf": CLASSIFIERS,
    }
)
SPLITS = [(np.arange(10, 30), np.arange(10)), (np.arange(20), np.arange(20, 30))]
IDENTITY = {"estimator": "SVC()", "X": "array", "settings: surrogate": "'gp'"}
METADATA = {"search": "BayesSearchCV", "objectives": {}, "settings": {"tradeoff": 0.5}}


def open_journal(path, space=SPACE, **changes):
    from skbayes.options.journal.journal import Journal, recorded

    header = replace(Header(7, SPLITS, (), 2, IDENTITY, METADATA), **changes)
    return Journal(path, space, recorded(path, header, is_seeded=True))


def params_of(number):
    params = {"C": 0.1 + number / 7, "n": 1 + number % 100, "clf": CLASSIFIERS[0]}
    if number % 2:
        params |= {"kernel": "linear"}
    else:
        params |= {"kernel": "rbf", "gamma": (number % 17) / 17}
    return dict(sorted(params.items()))


def fold(score, error=None, **kwargs):
    scores = score if isinstance(score, dict) else {"score": score}
    return FoldResult(scores, 0.5, 0.25, fit_error=error, **kwargs)


def trial_of(number, **changes):
    arguments = {
        "params": params_of(number),
        "folds": [fold(number / 3), fold(number / 7)],
        "score": number / 10,
        "duration": 1.5,
    }
    return Trial(number, **(arguments | changes))


def record(journal, numbers):
    for number in numbers:
        journal.record_proposal(number, params_of(number), None)
        journal.record_result(trial_of(number))


def execute(path, *statements):
    """Run statements of SQL on the file of a journal; return the rows of the last."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        connection.commit()
    return rows


def seal(path):
    """Set the checksums of all rows, as a person could who edits a journal."""
    from skbayes.options.journal.store import checksum

    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.create_function("seal", 3, checksum)
        with contextlib.suppress(sqlite3.Error):
            connection.execute(
                "UPDATE journal SET checksum = seal(place, kind, content)"
            )
        connection.commit()


def set_fields(path, kind, changes, number=1):
    """Change fields in the row of a trial, or in the header."""
    rows = execute(path, "SELECT place, kind, content FROM journal")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for place, its_kind, content in rows:
            fields = json.loads(content)
            if its_kind == kind and fields.get("number", number) == number:
                values = json.dumps(fields | changes), place
                connection.execute(
                    "UPDATE journal SET content = ? WHERE place = ?", values
                )
        connection.commit()
    seal(path)


def exact(trial):
    """Return a trial as text, in which NaN equals NaN and 0.0 differs from -0.0."""
    return repr(asdict(trial))


def in_child(function, *args):
    """Run a function in a forked process; return its exit code or minus its signal."""
    child = os.fork()
    if not child:
        code = 1
        try:
            function(*args)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
