"""Spaces printed as code, and changes of default spaces."""

import copy
import pickle

import numpy as np
import pytest
from default_spaces import estimators
from sklearn import linear_model, preprocessing, svm
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayes.defaults import EditableSpace, default_space
from skbayes.defaults.catalog import DataFacts
from skbayes.defaults.parts import parts_of, space_of
from skbayes.space import Choice, Ordinal, Space
from skbayes.space.lists import same
from skbayes.space.notation import pairs_of

NAMES = {"Choice": Choice, "Ordinal": Ordinal}
for module in (preprocessing, svm, linear_model):
    NAMES |= {name: getattr(module, name) for name in module.__all__}


def _plain(notation):
    """Return the part of a notation that is compared."""
    if isinstance(notation, dict):
        return {name: _plain(one) for name, one in notation.items()}
    if isinstance(notation, Choice):
        return [(option, _plain(sub)) for option, sub in pairs_of(notation)]
    if isinstance(notation, Ordinal):
        return ("Ordinal", notation.scale, notation.values)
    return notation


def assert_printed(space):
    again = eval(repr(space), NAMES)
    assert list(again) == list(space)
    assert same(_plain(again), _plain(dict(space)))


@pytest.mark.filterwarnings("ignore:Class PassiveAggressive:FutureWarning")
def test_the_printed_code_is_the_space():
    X, y = np.arange(80.0).reshape(20, 4), np.arange(20) % 3
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    for one in (SVC(gamma=0.3, C=1e5), pipeline, *dict(estimators()).values()):
        assert_printed(EditableSpace(space_of(parts_of(one, DataFacts.of(X, y)))))
    # Options that cannot be keys, and names that need escapes.
    odd = {"f": Ordinal([0.0, 1.0], scale="rank")}
    odd['a"b\\c'] = Choice([([1], {"d": ("x",)}), ("e\n", {})])
    assert_printed(EditableSpace(odd))


def test_copies_and_pickles_are_equal_editable_spaces():
    space = default_space(SVC())
    for again in (copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert type(again) is EditableSpace
        assert repr(again) == repr(space)


KERNELS = {"rbf": {"gamma": [1, 2]}, "poly": {"gamma": [1, 2], "degree": [3]}}
SPACE = EditableSpace({"C": (0.1, 10.0), "kernel": Choice(KERNELS)})


def _options(space, name="kernel"):
    return dict(pairs_of(space[name]))


def test_an_entry_takes_the_place_of_another():
    changed = SPACE | {"C": [1], "new": [2]}
    assert type(changed) is EditableSpace
    assert (changed["C"], changed["new"]) == ([1], [2])
    assert SPACE["C"] == (0.1, 10.0)
    with pytest.raises(TypeError):
        _ = SPACE | [1]
    options = _options(SPACE | {"gamma": (5, 6)})
    assert [options[one]["gamma"] for one in ("rbf", "poly")] == [(5, 6), (5, 6)]
    # A list for a choice keeps what its options open.
    options = _options(SPACE | {"kernel": ["rbf", "linear"]})
    assert options == {"rbf": {"gamma": [1, 2]}, "linear": {}}
    assert (SPACE | {"kernel": ["linear"]})["kernel"] == ["linear"]
    # A choice of the user stands for itself.
    changed = SPACE | {"kernel": Choice({"rbf": {"C": [1]}})}
    assert set(changed) == {"kernel"} and _options(changed) == {"rbf": {"C": [1]}}


def test_an_option_may_have_alternative_sub_spaces():
    alternatives = [{"gamma": [1]}, {"gamma": [2], "degree": [3]}]
    space = SPACE | {"kernel": Choice({"rbf": alternatives, "linear": {}})}
    assert _options(space)["rbf"] == alternatives
    changed = _options(space | {"degree": [4, 5]} | {"gamma": None})
    assert changed == {"rbf": [{}, {"degree": [4, 5]}], "linear": {}}


def test_none_removes_an_entry():
    assert set(SPACE | {"C": None}) == {"kernel"}
    options = _options(SPACE | {"gamma": None})
    assert options == {"rbf": {}, "poly": {"degree": [3]}}
    with pytest.raises(ValueError, match="so none is tuned"):
        _ = SPACE | {"C": None, "kernel": None}


@pytest.mark.parametrize("swap", [False, True])
def test_contradictory_entries_are_an_error(swap):
    changes = {"kernel": ["rbf"], "degree": [2, 3]}
    if swap:
        changes = dict(reversed(changes.items()))
    with pytest.raises(ValueError, match="'degree' has an effect only") as error:
        _ = SPACE | changes
    assert "Choice({'poly': {'degree': [2, 3]}})" in str(error.value)


def test_estimators_for_a_step_bring_their_own_spaces():
    steps = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    models = [SVC(), LogisticRegression(), GaussianNB()]
    space = default_space(steps) | {"model": models, "model__C": (1.0, 2.0)}
    options = pairs_of(space["model"])
    assert [option for option, _ in options] == models
    margins = [opened.get("model__C") for _, opened in options]
    assert margins == [(1.0, 2.0), (1.0, 2.0), None]
    assert list(space) == ["scale", "model"]
    for params in Space.from_notation(space).covering_sample():
        steps.set_params(**params)
