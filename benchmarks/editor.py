"""Comparison of what an editor shows for GridSearchCV and for the searches.

Usage: ``python benchmarks/editor.py``

For each class, the table contains the keywords that Jedi completes, the parameters with
an entry in the docstring that Jedi shows on hovering, and the wrong calls in which mypy
and basedpyright find an error. The tools read the source code and import nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from inspect import signature
from pathlib import Path

import jedi
from sklearn.model_selection import GridSearchCV

import skbayes

SEARCHES = [
    GridSearchCV,
    skbayes.BayesSearchCV,
    skbayes.MultiStageSearchCV,
    skbayes.HyperTuneSearchCV,
    skbayes.TradeoffSearchCV,
    skbayes.ParetoSearchCV,
    skbayes.TextRepresentationSearchCV,
]
# Arguments after the estimator, and attributes. All are wrong for every class.
WRONG = (
    *("n_itr=5", "refti=True", "cvv=3", "scorng='f1'"),
    *("n_jobs='all'", "refit=3", "cv='5'", "verbose='loud'", "error_score='ignore'"),
    *("return_train_score='yes'", "pre_dispatch=None"),
)
ATTRIBUTES = ("best_parms_", "cv_result_", "predct", "n_split_")


def _head(kind: type) -> str:
    module = "skbayes" if kind.__module__.startswith("skbayes") else kind.__module__
    return f"from sklearn.svm import SVC\nfrom {module} import {kind.__name__}\n"


def _program(kind: type) -> tuple[str, int]:
    """Return a program with one wrong statement per line, and their number."""
    space = ", {}" if kind is GridSearchCV else ""
    call = f"{kind.__name__}(SVC(){space}"
    lines = [f"{call}, {wrong})" for wrong in WRONG]
    lines += [f"print({call}).{name})" for name in ATTRIBUTES]
    return _head(kind) + "\n".join(lines) + "\n", len(lines)


def _lines_with_errors(command: list[str], path: Path) -> int:
    done = subprocess.run(
        [sys.executable, "-m", *command, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return len(set(re.findall(rf"{path.name}:(\d+).*error", done.stdout)))


def row(kind: type, folder: Path) -> list[str]:
    """Return the cells of a class."""
    known = list(signature(kind).parameters)
    code = _head(kind) + f"{kind.__name__}("
    script = jedi.Script(code)
    completed = {name.name.removesuffix("=") for name in script.complete()}
    (shown,) = script.get_signatures()
    documented = re.findall(r"^ *(\w+) : ", shown.docstring(), re.MULTILINE)
    program, n_wrong = _program(kind)
    path = folder / f"{kind.__name__.lower()}.py"
    path.write_text(program)
    mypy = ["mypy", "--ignore-missing-imports", "--no-error-summary"]
    pyright = ["basedpyright", "--level", "error"]
    return [
        kind.__name__,
        f"{len(completed & set(known))} of {len(known)}",
        f"{len(set(documented) & set(known))} of {len(known)}",
        f"{_lines_with_errors(mypy, path)} of {n_wrong}",
        f"{_lines_with_errors(pyright, path)} of {n_wrong}",
        shown.to_string()[:72],
    ]


def main() -> None:
    """Print the table."""
    print("class | completed | in the docstring | mypy | basedpyright | hover")
    with tempfile.TemporaryDirectory() as folder:
        for kind in SEARCHES:
            print(" | ".join(row(kind, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
