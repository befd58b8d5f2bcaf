"""Checker of the search fields of the documentation.

    python docs/check_search.py docs/_build/html

For each query in `FIRST`, the first result must be the given page. Sphinx forgets index
entries of pages that it does not build again, so that a full build (``-E``) is needed.
The field of the API reference must show the names in `SHOWN`. The script runs the
searches in Chromium. It prints wrong results, and exits with status 1 if there are any.
Without Chromium, nothing is checked.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from chromium import BINARY, Browser

#: The page of the first result, by query.
FIRST = {
    "timeout": "budgets",
    "time limit": "budgets",
    "memory limit": "budgets",
    "pruning": "budgets",
    "progress": "budgets",
    "resume": "resuming",
    "journal": "resuming",
    "warm start": "resuming",
    "pipeline": "search_spaces",
    "text": "text",
    "n_jobs": "parallel",
    "random_state": "parallel",
    "dask": "parallel",
    "cache": "parallel",
    "constraint": "constraints",
    "pareto": "pareto",
    "groups": "faq",
    "sample_weight": "faq",
    "missing values": "faq",
    "early stopping": "early_stopping",
    "LightGBM": "boosting",
    "XGBoost": "boosting",
    "grid search": "migration",
    "save model": "quick_start",
    "how long": "how_long",
    "pickle": "quick_start",
    "report": "visualization",
    "default space": "default_spaces",
    "custom search space": "search_spaces",
    "feature selection": "search_spaces",
    "categorical columns": "models",
    "custom scorer": "scoring",
    "BayesSearchCV": "generated/skbayes.BayesSearchCV",
}

#: The names that the API reference shows, by query.
SHOWN = {
    "stopping target": "TargetScore",
    "skbayes.optimizer": "Optimizer SpaceExhausted",
    "no such name": "",
}

_NAMES = """field.value = {}; field.oninput();
[...document.querySelectorAll("table.autosummary code.xref.py-obj")]
    .filter((name) => name.offsetParent).map((name) => name.textContent).join(" ")"""
_RESULT = "Search._performSearch(...Search._parseQuery({})).at(-1)"


def results_of(folder: Path) -> dict[str, str]:
    """Return the page of the first result, or the names in the reference, by query."""
    if BINARY is None:
        print("check_search: Chromium is not installed; nothing is checked")
        return FIRST | SHOWN
    with Browser() as browser:
        page = browser.open(folder.resolve() / "search.html")
        while not page.evaluate("Search.hasIndex()"):
            time.sleep(0.05)
        results = {q: page.evaluate(_RESULT.format(json.dumps(q))) for q in FIRST}
        page = browser.open(folder.resolve() / "api.html")
        names = {q: page.evaluate(_NAMES.format(json.dumps(q))) for q in SHOWN}
    return {query: (result or [""])[0] for query, result in results.items()} | names


def main() -> int:
    """Print wrong results, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the built pages")
    results = results_of(parser.parse_args().folder)
    expected = FIRST | SHOWN
    wrong = {query: page for query, page in results.items() if page != expected[query]}
    for query, page in wrong.items():
        print(f"{query!r}: {page or 'nothing'} instead of {expected[query]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
