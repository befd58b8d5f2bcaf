"""Names, imports and docstrings of the package."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import RandomizedSearchCV
from sklearn.svm import SVC

import skbayes

MODULES = skbayes._PACKAGES


def test_the_package_shows_only_what_users_need():
    assert dir(skbayes) == sorted([*skbayes.__all__, "__version__"])
    assert all(hasattr(skbayes, name) for name in [*dir(skbayes), *MODULES])
    for name in MODULES:
        module = importlib.import_module(f"skbayes.{name}")
        assert dir(module) == sorted(module.__all__), name
    # What an editor shows is what the module defines.
    code = "import skbayes; print([n for n in vars(skbayes) if n[0] != '_'])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_modules_are_there_without_being_imported():
    code = "import skbayes, sys; print(skbayes.space.Real(0, 1), skbayes.loop.__name__)"
    code += "; skbayes.text; print('liblinear' in sys.modules)"
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output.split() == ["Real(0.0,", "1.0)", "skbayes.loop", "False"]


@pytest.mark.parametrize("fitted", [False, True])
def test_a_search_shows_what_is_documented(fitted):
    search = skbayes.BayesSearchCV(SVC(), {"C": [1, 2]}, cv=2, random_state=0)
    theirs = RandomizedSearchCV(SVC(), {"C": [1, 2]}, n_iter=2, cv=2, random_state=0)
    if fitted:
        search, theirs = (s.fit(*load_iris(return_X_y=True)) for s in (search, theirs))
    added = {name for name in set(dir(search)) - set(dir(theirs)) if name[0] != "_"}
    doc = skbayes.BayesSearchCV.__doc__
    undocumented = {name for name in added if f"    {name} : " not in doc}
    # Methods of this package, each with a separate page.
    assert "results_frame" in undocumented
    for name in undocumented:
        assert inspect.getdoc(getattr(skbayes.BayesSearchCV, name)), name


@pytest.fixture(scope="module")
def trees():
    """Return the syntax trees of the modules of the package by name."""
    package = Path(skbayes.__file__).parent
    trees_by_name = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        trees_by_name[name] = ast.parse(path.read_text(encoding="utf-8"))
    return trees_by_name


QUESTIONS = ("What", "How", "Which", "Where", "When", "Whether")


def test_module_docstrings_begin_with_a_noun_phrase(trees):
    docs = {name: ast.get_docstring(tree) or "No" for name, tree in trees.items()}
    assert not {n: doc for n, doc in docs.items() if doc.split()[0] in QUESTIONS}


# Words of four capitals and more that docstrings may hold: names and abbreviations.
ABBREVIATIONS = {"ANOVA", "BFGS", "BLEU", "EHVI", "EMNLP", "HTML", "ICML", "JSON"}
ABBREVIATIONS |= {"LIBLINEAR", "TACL", "WCAG"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def test_docstrings_hold_no_placeholders(trees):
    # Code and values of users may be in capitals.
    code = r"`+[^`]*`+|\"[^\"\n]*\"|default=\w+|^ *(>>>|\.\.\.) .*$"
    for name, tree in trees.items():
        for node in ast.walk(tree):
            doc = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            text = re.sub(code, "", doc or "", flags=re.M)
            words = set(re.findall(r"\b[A-Z]{4,}\b", text)) - ABBREVIATIONS
            assert not words, (name, getattr(node, "name", "the module"))
