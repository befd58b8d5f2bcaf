"""Types of the searches, and the program that type checkers check."""

import inspect
import runpy
from pathlib import Path

import pytest

import skbayes

PROGRAM = Path(__file__).parent / "typing" / "user_code.py"
SEARCHES = [name for name in skbayes.__all__ if name.endswith("SearchCV")]
# Parameters with types of their own, which wrong_calls.py calls wrongly.
OWN_TYPES = {
    "HyperTuneSearchCV": {"surrogate"},
    "MultiStageSearchCV": {"n_iter"},
    "TextRepresentationSearchCV": {"estimator", "n_iter"},
    "TradeoffSearchCV": {"surrogate"},
}


def test_the_program_of_a_user_runs(capsys):
    runpy.run_path(str(PROGRAM), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", SEARCHES)
def test_shared_parameters_have_the_same_types(name):
    ours, theirs = (
        inspect.signature(getattr(skbayes, each)).parameters
        for each in (name, "BayesSearchCV")
    )
    assert all(p.annotation is not p.empty for p in ours.values())
    shared = ours.keys() & theirs
    other = {n for n in shared if ours[n].annotation != theirs[n].annotation}
    assert other == OWN_TYPES.get(name, set())


@pytest.mark.parametrize("name", skbayes.__all__)
def test_editors_complete_the_arguments(name):
    """Jedi only reads the source, of the package as it is installed."""
    jedi = pytest.importorskip("jedi")
    environment = jedi.InterpreterEnvironment()
    names = inspect.signature(getattr(skbayes, name)).parameters
    code = f"from skbayes import {name} as A\nA("
    in_subclass = [code[:-2] + "class B(A):\n    pass\nB("] if name in SEARCHES else []
    for each in [code, *in_subclass]:
        items = jedi.Script(each, environment=environment).complete()
        assert {i.name for i in items} >= {f"{n}=" for n in names}
