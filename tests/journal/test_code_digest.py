"""Digests of code: changes that affect them, and changes that do not."""

import functools
import importlib.util
import itertools
import sys

import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import accuracy_score

from skbayes.journal.code_digest import code_of, same_but_for_code
from skbayes.journal.identity import describe

SOURCE = '''
import functools

WEIGHT = 2.0
CALLS = []
count = 0

def helper(x):
    return x + WEIGHT

def scorer(estimator, X, y=None, *, k=3):
    """Score."""
    # The negative error.
    return -helper(k) if y else 0.5

def counting(x):
    global count
    count += 1
    CALLS.append(count)
    return x

class Base:
    def fit(self, X):
        return self

class Mine(Base):
    alpha = 1.0
    n_fits = 0

    def fit(self, X):
        type(self).n_fits += 1
        return super().fit(X)

    @property
    def doubled(self):
        return 2 * self.alpha

    @staticmethod
    def loss(x):
        return helper(x)

def factory(factor):
    def scale(x):
        return factor * x
    return scale

scale = factory(2)
cached = functools.lru_cache(helper)
first, second = lambda x: x, lambda x: -x
nested = lambda x: (lambda y: x + y)
'''

numbers = itertools.count()


def module(folder, source=SOURCE):
    """Import a module with the given source code."""
    path = folder / f"code_of_a_user_{next(numbers)}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("code_of_a_user", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


NAMES = ["scorer", "Mine", "scale", "cached", "first", "second", "nested", "counting"]


@pytest.fixture
def before(tmp_path):
    made = module(tmp_path)
    return {name: describe(getattr(made, name)) for name in NAMES}


@pytest.mark.parametrize(
    "edit, changed",
    [
        (("return -helper", "return helper"), {"scorer"}),
        (("k=3", "k=4"), {"scorer"}),
        (("y=None", "y=()"), {"scorer"}),
        (("0.5", "0.25"), {"scorer"}),
        (("x + WEIGHT", "x - WEIGHT"), {"scorer", "Mine", "cached"}),
        (("WEIGHT = 2.0", "WEIGHT = 3.0"), {"scorer", "Mine", "cached"}),
        (("super().fit(X)", "super().fit(-X)"), {"Mine"}),
        (("        return self\n", "        return 1\n"), {"Mine"}),
        (("2 * self", "3 * self"), {"Mine"}),
        (("return helper(x)", "return 1 + helper(x)"), {"Mine"}),
        (("alpha = 1.0", "alpha = 2.0"), {"Mine"}),
        (("factory(2)", "factory(3)"), {"scale"}),
        (("factor * x", "factor / x"), {"scale"}),
        (("lambda x: x,", "lambda x: 2 * x,"), {"first"}),
        (("lambda x: -x", "lambda x: +x"), {"second"}),
        (("x + y", "x - y"), {"nested"}),
        # These change nothing.
        (("# The negative error.", "# Another remark."), set()),
        (('"""Score."""', '"""Return the score."""'), set()),
        (("x + WEIGHT", "(x\n            + WEIGHT)"), set()),
        (("import functools\n", "import functools\n\n\n"), set()),
        (("count = 0", "count = 7"), set()),
        (("CALLS = []", "CALLS = [1]"), set()),
        (("n_fits = 0", "n_fits = 7"), set()),
    ],
)
def test_an_edit_changes_what_it_is_about(tmp_path, before, edit, changed):
    assert edit[0] in SOURCE
    made = module(tmp_path, SOURCE.replace(*edit))
    after = {name: describe(getattr(made, name)) for name in NAMES}
    assert {name for name in NAMES if after[name] != before[name]} == changed


def test_source_that_was_edited_after_the_import_does_not_count(tmp_path):
    made = module(tmp_path)
    text = describe(made.scorer)
    with open(made.__file__, "w") as file:
        file.write(SOURCE.replace("return -helper", "return helper"))
    assert describe(made.scorer) == text


def test_the_code_of_packages_is_left_to_its_name(before):
    for thing in (accuracy_score, BaseEstimator, functools.reduce, int, describe):
        assert code_of(thing, repr) is None

    @functools.wraps(accuracy_score)
    def flipped(*args):
        return -accuracy_score(*args)

    assert describe(flipped) != describe(accuracy_score)
    # That of users is described with the release of Python.
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert before["scorer"].startswith(f"code_of_a_user.scorer [code {version}-")


def _digest(source):
    scope = {"__name__": "code_of_a_user"}
    exec(source, scope)
    return describe(scope["mine"])


@pytest.mark.parametrize(
    "source, edit",
    [
        # Another function of a library under the same name.
        (
            "from numpy import positive as sign\ndef mine(x): return sign(x)",
            ("positive", "negative"),
        ),
        # Functions in objects of libraries.
        (
            "import sklearn.metrics as m\ndef loss(y, p): return 1\n"
            "scorer = m.make_scorer(loss)\ndef mine(*args): return scorer(*args)",
            ("return 1", "return 2"),
        ),
        # Methods without a file, as under `python -c`.
        ("class mine:\n    def fit(self): return 1", ("return 1", "return 2")),
    ],
)
def test_what_a_name_stands_for_counts(source, edit):
    assert _digest(source) == _digest(source)
    assert _digest(source.replace(*edit)) != _digest(source)


def test_methods_that_a_package_wraps_count():
    class One(TransformerMixin, BaseEstimator):
        def transform(self, X):
            return X

    class Two(TransformerMixin, BaseEstimator):
        def transform(self, X):
            return -X

    one, two = (describe(cls()).replace("Two", "One") for cls in (One, Two))
    assert one != two


def test_a_function_in_its_own_closure_or_defaults_ends():
    def fact(n):
        return n * fact(n - 1) if n else 1

    table = {}

    def through(n):
        return table["f"](n)

    table["f"] = through
    assert describe(fact) != describe(through)


def test_a_declared_version_takes_the_place_of_the_code(tmp_path):
    made, other = module(tmp_path), module(tmp_path, SOURCE.replace("0.5", "0.25"))
    code = code_of(made.scorer, repr)
    other.scorer.__code_version__ = code
    assert describe(other.scorer) == describe(made.scorer)
    other.Mine.__code_version__ = "2"
    assert describe(other.Mine) == "code_of_a_user.Mine [code 2]"
    # It is not that of the classes that inherit from it.
    child = type("Child", (other.Mine,), {"__module__": "code_of_a_user"})
    assert "[code 2]" not in describe(child)


@pytest.mark.parametrize(
    "stored, given, same",
    [
        ("f [code 3.11-1a]", "f [code 3.11-2b]", False),
        ("f [code 3.11-1a]", "f [code 3.12-2b]", True),
        ("f [code 3.11-1a]", "g [code 3.12-2b]", False),
        ("f [code 3.11-1a](g [code 2])", "f [code 3.12-2b](g [code 2])", True),
        ("f [code 3.11-1a](g [code 2])", "f [code 3.12-2b](g [code 3])", False),
        ("f", "f [code 3.12-2b]", False),
        ("f [code 3.11-1a]", "f", False),
    ],
)
def test_which_digests_cannot_be_compared(stored, given, same):
    assert same_but_for_code(stored, given) is same
