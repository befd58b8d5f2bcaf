"""Style checker of the documentation."""

import subprocess
import sys
from pathlib import Path

import prose
import pytest

SCRIPT = Path(prose.__file__)
LONG = "The search fits " + ", ".join(f"model {i}" for i in range(20)) + "."


def _rules(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [(problem.line, problem.rule) for problem in prose.problems_of(path)]


RULES = {
    "The search fits the best configuration again.": None,
    LONG: "skbayes.length",
    "But the search ends.": "skbayes.opening",
    "What it costs is measured.": "skbayes.opening",
    "What does it cost?": None,
    "The score is told to the model, which is told more.": "skbayes.terms",
    "The hyperparameters are listed.": "skbayes.terms",
    "The ``hyperparameters`` are listed.": None,
    "The behaviour is the same.": "skbayes.terms",
    "A fit may take the the longest.": "lexical_illusions",
    "Compare e.g. Smith et al. But is no opening here.": None,
    "**A term.** The text after it.": None,
    # Neighbors are not repetitions.
    "Dask\n====\n\nDask is supported.": None,
}


@pytest.mark.parametrize("text", RULES)
def test_rules_report_their_sentences(tmp_path, text):
    rules = {rule for _, rule in _rules(tmp_path, "page.rst", text + "\n")}
    assert rules == {RULES[text]} - {None}


PAGE = """Title
=====

Good text.

.. code-block:: python

   # But this is code.
   x = 1

.. note::

   But this is a note.

- A list item
  that is good.
- But this is a bad one.

.. check

   # But this is hidden.

>>> # But this is code
"""

MARKDOWN = "Text.\n\n```python\n# But code\n```\n\n| But a cell |\n\nBut text.\n"

DOCSTRING = '''"""Module."""


def function(x):
    """But no.

    Parameters
    ----------
    x : But a type
        Which entry.

    References
    ----------
    .. [1] But a title.

    Examples
    --------
    >>> But
    """
    # But a comment.
'''


def test_problems_have_the_line_of_their_sentence(tmp_path):
    for name, text, lines in (
        ("page.rst", PAGE, [13, 17]),
        ("page.md", MARKDOWN, [9]),
        ("module.py", DOCSTRING, [5, 10]),
    ):
        problems = _rules(tmp_path, name, text)
        assert problems == [(line, "skbayes.opening") for line in lines]


def test_the_command_prints_problems_and_fails(tmp_path):
    good, bad = tmp_path / "good.rst", tmp_path / "bad.rst"
    good.write_text("Good text.\n")
    bad.write_text("But this.\n")

    def run(*arguments):
        command = [sys.executable, str(SCRIPT), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    assert run(good).returncode == 0
    process = run(good, bad)
    assert process.returncode == 1
    assert f"{bad}:1: skbayes.opening" in process.stdout
    assert "1 skbayes.opening" in run("--counts", bad).stdout
