"""Completeness of the documentation, and execution of its code.

The blocks of one page of docs/ run in one session: ``python`` blocks, ``pycon`` blocks
(whose output is compared), and ``diff`` blocks, of which both sides must run. Comments
that begin with ``check`` contain assertions that are not rendered.
"""

import ast
import doctest
import html
import importlib.util
import inspect
import re
import subprocess
import sys
import textwrap
from importlib import import_module as _module
from pathlib import Path
from typing import NamedTuple

import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import skbayes

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.rst"))
SEARCHES = [name for name in skbayes.__all__ if name.endswith("SearchCV")]
API_PAGE = ROOT / "docs" / "api.rst"
DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

PACKAGE = Path(skbayes.__file__).parent
SOURCES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
SOURCES = {name.removesuffix(".__init__"): path for name, path in SOURCES.items()}
# Without private modules.
MODULES = [name for name in SOURCES if "._" not in name]

# numpydoc's checks that this package does not follow.
NOT_REQUIRED = {
    "GL01": "the summary stands on the line of the opening quotes",
    "ES01": "not everything needs more than a summary",
    "SA01": "not everything has something to see also",
    "EX01": "required of the entry points below",
    "RT02": "a returned value has a name, as in scikit-learn",
    "SS02": "a summary may begin with a symbol or a formula",
    "SS05": "takes every first word that ends in s for a verb",
    "YD01": "a context manager may yield nothing",
}

# Errors for methods, and for abstract classes, whose subclasses describe the
# parameters.
OF_OTHERS = {"PR01", "RT01"}


DOCUMENTED = [
    f"skbayes.{name}"
    for name in re.findall(r"^   ~([\w.]+)$", API_PAGE.read_text("utf-8"), re.M)
]
# Public names without a page: the guide describes them.
WITHOUT_PAGE = {
    "skbayes.benchmark.LookupTable",
    "skbayes.benchmark.make_factory",
    "skbayes.inspection.RunningTrial",
    "skbayes.search.BaseBayesSearchCV",
    "skbayes.search.EnsembleResult",
    "skbayes.search.WeightedEnsembleClassifier",
    "skbayes.search.WeightedEnsembleRegressor",
}
HOMES = {name.rpartition(".")[0] for name in (*DOCUMENTED, *WITHOUT_PAGE)}


def _resolve(name):
    """Return the object of a dotted name; a function may be named like its module."""
    module, _, public = name.rpartition(".")
    return getattr(_module(module), public)


# Classes and functions of the reference, by the module that defines them.
OBJECTS = {
    f"{thing.__module__}.{thing.__qualname__}": thing
    for thing in map(_resolve, DOCUMENTED)
    if inspect.isclass(thing) or inspect.isroutine(thing)
}
# The public methods and properties of the classes.
MEMBERS = {
    f"{class_name}.{name}": getattr(cls, name)
    for class_name, cls in OBJECTS.items()
    if inspect.isclass(cls)
    for name, member in vars(cls).items()
    if name[0] != "_" and (inspect.isroutine(member) or isinstance(member, property))
}


# Packages that users do not import from.
WITHOUT_PUBLIC_NAMES = {
    *("skbayes.hypertune", "skbayes.multi_stage", "skbayes.pareto", "skbayes.tradeoff"),
    *("skbayes.stages", "skbayes.surrogates.gp", "skbayes.utils"),
}


def test_modules_say_what_is_public():
    for name in MODULES:
        module = _module(name)
        assert inspect.getdoc(module), name
        public = getattr(module, "__all__", [])
        if hasattr(module, "__path__") or name in HOMES:
            is_internal = name in WITHOUT_PUBLIC_NAMES or "skbayes.options" in name
            assert public or is_internal, name
        assert len(set(public)) == len(public), name
        for each in public:
            assert not each.startswith("_"), name
            assert hasattr(module, each), name


def test_the_guide_has_at_most_45000_words():
    assert sum(len(page.read_text("utf-8").split()) for page in PAGES) <= 45_000


def test_docstrings_are_complete():
    from numpydoc.validate import validate

    errors_by_name = {}
    for name, thing in (OBJECTS | MEMBERS).items():
        doc, allowed = inspect.getdoc(thing), set(NOT_REQUIRED)
        if name in MEMBERS:
            assert doc, name
            allowed.add("GL08")  # inherited: checked where it was written
            # A summary may be enough; begun, the list of parameters is complete.
            elsewhere = "Parameters\n---" not in doc
        else:
            elsewhere = inspect.isabstract(thing) or getattr(thing, "_is_protocol", 0)
        allowed |= OF_OTHERS if elsewhere else set()
        errors = [
            error for error in validate(name)["errors"] if error[0] not in allowed
        ]
        if errors:
            errors_by_name[name] = errors
    assert not errors_by_name


def test_the_reference_lists_what_the_packages_hand_out():
    documented = {id(_resolve(name)) for name in DOCUMENTED}
    for home in HOMES:
        module = _module(home)
        listed = {name for name in DOCUMENTED if name.rpartition(".")[0] == home}
        public = {f"{home}.{name}" for name in module.__all__}
        assert listed <= public
        if hasattr(module, "__path__"):
            listed = {id(_resolve(name)) for name in public - WITHOUT_PAGE}
            assert listed <= documented, home
    modules = {f"skbayes.{name}" for name in skbayes._PACKAGES}
    assert modules <= HOMES


def test_entry_points_have_examples():
    for name in {*SEARCHES, "Optimizer"} - {"MultiStageSearchCV"}:
        doctests = doctest.DocTestFinder().find(getattr(skbayes, name))
        assert any(test.examples for test in doctests)


# What a page without the settings of docs/conf.py needs, which imports more packages.
SPHINX_SETTINGS = {
    "extensions": "sphinx.ext.autodoc,sphinx.ext.autosummary,numpydoc",
    "autodoc_typehints": "none",
    "templates_path": str(ROOT / "docs" / "_templates"),
    "numpydoc_show_class_members": "0",
    "html_theme": "basic",
}


@pytest.mark.documentation
def test_pages_show_the_parameters_and_the_methods(tmp_path):
    """The pages of the searches, built with Sphinx."""
    import numpydoc  # noqa: F401

    index = [".. currentmodule:: skbayes", ".. autosummary::", "   :toctree: .", ""]
    index += [f"   {name}" for name in SEARCHES]
    (tmp_path / "index.rst").write_text("Reference\n=========\n\n" + "\n".join(index))
    command = [sys.executable, "-m", "sphinx", "-C", "-q"]
    command += [f"-D{name}={value}" for name, value in SPHINX_SETTINGS.items()]
    command += [str(tmp_path), str(tmp_path / "html")]
    subprocess.run(command, check=True, capture_output=True)
    for name in SEARCHES:
        page = (tmp_path / "html" / f"skbayes.{name}.html").read_text(encoding="utf-8")
        signature = re.search(rf'<dt [^>]*id="skbayes.{name}">.*?</dt>', page, re.S)
        signature_text = html.unescape(re.sub(r"<[^>]*>", "", signature[0]))
        n_iter = inspect.signature(getattr(skbayes, name)).parameters["n_iter"].default
        assert f"n_iter={n_iter}" in signature_text
        assert "*args" not in signature_text
        for method in ("fit", "predict", "score", "set_params"):
            assert f'id="skbayes.{name}.{method}"' in page


def _run_examples(tests):
    """Run examples of the interactive interpreter, and compare their outputs."""
    report = []
    runner = doctest.DocTestRunner(ApproximateOutput(), optionflags=DOCTEST_FLAGS)
    for test in tests:
        runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


WITH_EXAMPLES = [name for name in MODULES if ">>>" in SOURCES[name].read_text("utf-8")]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_docstrings_run(name):
    _run_examples(doctest.DocTestFinder().find(_module(name)))


class Block(NamedTuple):
    """Code block of a page."""

    line: int  # of its first line of code, from 0
    language: str
    code: str


BLOCK = re.compile(
    r"^\.\. (?:code-block:: |(?=check))(?P<language>\w+)\n"
    r"(?: +:.*\n)*\n(?P<code>(?:(?: {3}.*)?\n)+)",
    re.MULTILINE,
)

# A number with a decimal point, which depends on the releases of the libraries.
FLOAT = re.compile(r"(?<![\w.])[-+]?\d+\.\d*(?:e[-+]?\d+)?(?!\.\.)")
TOLERANCE = 0.1


class ApproximateOutput(doctest.OutputChecker):
    """Comparison of outputs with a relative tolerance for decimal numbers."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        left, right = (list(map(float, FLOAT.findall(text))) for text in (want, got))
        if not left or len(left) != len(right):
            return False
        parts = (FLOAT.sub("#", text) for text in (want, got))
        return super().check_output(*parts, optionflags) and all(
            abs(a - b) <= TOLERANCE * abs(a) for a, b in zip(left, right, strict=True)
        )


def _blocks(page):
    """Return the code blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            line=text.count("\n", 0, match.start("code")),
            language=match["language"],
            code=textwrap.dedent(match["code"]).rstrip("\n"),
        )
        for match in BLOCK.finditer(text)
    ]


def _run_block(block, page, namespace):
    if block.language in ("python", "check"):
        # The blank lines give the traceback the line numbers of the page.
        code = compile("\n" * block.line + block.code, str(page), "exec")
        exec(code, namespace)
    elif block.language == "pycon":
        parser = doctest.DocTestParser()
        location = (namespace, page.name, str(page), block.line)
        test = parser.get_doctest(block.code + "\n", *location)
        _run_examples([test])
        namespace.update(test.globs)


def _run_page(page):
    """Run the blocks of a page; return the names that they define."""
    namespace = {"__name__": "__main__"}
    for block in _blocks(page):
        _run_block(block, page, namespace)
    return namespace


@pytest.mark.documentation
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_each_page_runs(page):
    languages = {block.language for block in _blocks(page)}
    assert (len(_run_page(page)) > 1) == bool(languages & {"python", "pycon", "check"})


@pytest.mark.documentation
def test_the_snippet_with_a_cluster_is_a_script(tmp_path):
    page = ROOT / "docs" / "parallel.rst"
    setup, *others = [b.code for b in _blocks(page) if b.language.startswith("python")]
    (snippet,) = [code for code in others if "LocalCluster(" in code]
    # A process that imports the script does not run it again.
    assert "n_workers=2" in snippet
    snippet = snippet.replace("n_workers=2", "n_workers=1")
    script = tmp_path / "script.py"
    script.write_text(f"{setup}\n\n{snippet}\n", encoding="utf-8")
    process = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    assert set(ast.literal_eval(process.stdout)) == {"svc__C", "svc__gamma"}


def _sides(block):
    """Return the code before and after a diff."""
    lines = block.code.splitlines()
    return {
        side: "\n".join(line[1:] for line in lines if not line.startswith(other))
        for side, other in (("before", "+"), ("after", "-"))
    }


DIFFS = [
    pytest.param(page, block, side, id=f"{page.name}-{block.line + 1}-{side}")
    for page in PAGES
    for block in _blocks(page)
    if block.language == "diff"
    for side in ("before", "after")
]


# Warnings of the other libraries.
@pytest.mark.documentation
@pytest.mark.filterwarnings("ignore:OptunaSearchCV is experimental")
@pytest.mark.filterwarnings("ignore:.*optuna.terminator:FutureWarning")
@pytest.mark.parametrize("page, block, side", DIFFS)
def test_both_sides_of_a_change_run(page, block, side):
    code = _sides(block)[side]
    packages = set(re.findall(r"^from (\w+)", code, re.M))
    assert packages
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"shows another library, which is not installed: {missing}")
    X, y = load_iris(return_X_y=True)
    namespace = {"X": X, "y": y, "SVC": SVC}
    exec(compile("\n" * block.line + code, str(page), "exec"), namespace)
    assert namespace["search"].best_score_ > 0.9


def test_output_is_compared_with_a_tolerance():
    def equal(want, got):
        checker = ApproximateOutput()
        return checker.check_output(want + "\n", got + "\n", DOCTEST_FLAGS)

    assert equal("0.95", "0.9482") and not equal("0.95", "0.8")
    assert equal("{'C': 1.5, 'n': 3}", "{'C': 1.55, 'n': 3}")
    assert not equal("{'C': 1.5, 'n': 3}", "{'C': 1.5, 'n': 4}")
    assert equal("{'C': 1.5, 'n': ...}", "{'C': 1.6, 'n': 4}")
    assert not equal("1.6.1", "1.6.2") and not equal("True", "False")


def test_hidden_checks_are_run(tmp_path):
    page = tmp_path / "page.rst"
    page.write_text("Text.\n\n.. check\n\n   assert False\n")
    with pytest.raises(AssertionError):
        _run_page(page)


def test_pages_have_code():
    languages = {block.language for page in PAGES for block in _blocks(page)}
    assert {"python", "pycon", "diff"} <= languages
