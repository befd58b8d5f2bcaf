from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from skbayes import (
    BayesSearchCV,
    MultiStageSearchCV,
    Optimizer,
    TextRepresentationSearchCV,
)
from skbayes.search.parameters import SurrogateName
from skbayes.space import Space
from skbayes.space.candidates import Candidates
from skbayes.surrogates import (
    AdditiveGaussianProcess,
    GaussianProcess,
    GraphField,
    ParzenEstimator,
    WarpedGaussianProcess,
)
from skbayes.surrogates.registry import capability, make_surrogate, names_with, registry

SMALL = Candidates(
    Space.from_notation(
        {"a": [1, 2, 3], "b": ["u", "v", "w"]}, lambda p: p["a"] < 3 or p["b"] == "u"
    )
)


ENDLESS = Candidates(Space.from_notation({"a": (0.0, 1.0), "b": [1, 2]}))


@pytest.mark.parametrize(
    ("name", "candidates", "kind", "kernel"),
    [
        ("gp-matern52", SMALL, GaussianProcess, "matern52"),
        ("gp-rbf", SMALL, GaussianProcess, "rbf"),
        ("gp-matern32", SMALL, GaussianProcess, "matern32"),
        # The default is additive on grids only.
        ("gp", ENDLESS, WarpedGaussianProcess, "matern52"),
        ("gp-warped", SMALL, WarpedGaussianProcess, "matern52"),
        ("gp", SMALL, AdditiveGaussianProcess, "matern32"),
        ("gp-additive", ENDLESS, AdditiveGaussianProcess, "matern32"),
    ],
)
def test_gaussian_processes_by_their_names(name, candidates, kind, kernel):
    model = make_surrogate(name, candidates, seed=7)
    assert type(model) is kind
    assert (model.kernel, model.random_state) == (kernel, 7)


def test_an_instance_is_copied_and_receives_the_space():
    for surrogate in (GaussianProcess("rbf", random_state=3), GraphField("matern52")):
        model = make_surrogate(surrogate, SMALL, seed=7)
        assert surrogate.n_options is None and model.n_options == [0, 3]
        assert model.kernel == surrogate.kernel
    assert make_surrogate(GaussianProcess(n_options=[0, 0]), SMALL, 7).n_options == [
        0,
        0,
    ]


def test_the_nodes_of_a_graph_are_what_is_allowed():
    np.testing.assert_array_equal(make_surrogate("graph", SMALL, 0).nodes, SMALL.rows)
    assert len(SMALL.rows) == 7


@pytest.mark.parametrize(
    ("space", "size"),
    [
        ({"x": (0.0, 1.0)}, "infinitely many"),
        ({"a": (1, 50), "b": (1, 50)}, "2,500"),
        ({"a": (1, 500), "b": (1, 500)}, "250,000"),
    ],
)
def test_a_graph_of_too_many_configurations_is_refused(space, size):
    candidates = Candidates(Space.from_notation(space))
    for surrogate in ("graph", GraphField()):
        with pytest.raises(ValueError, match=f"finite space.*2,000.*has {size}"):
            make_surrogate(surrogate, candidates, 0)


@pytest.mark.parametrize("name", registry)
def test_a_name_is_typed_and_documented(name):
    assert name in get_args(SurrogateName)
    for kind in (BayesSearchCV, MultiStageSearchCV, TextRepresentationSearchCV):
        assert f'"{name}"' in kind.__doc__
    assert f'"{name}"' in Optimizer.__doc__
    page = Path(__file__).parents[2] / "docs/surrogates.rst"
    assert f'``"{name}"``' in page.read_text(encoding="utf-8")


def test_samplers_predict_no_scores():
    samplers = sorted(set(registry) - set(names_with("predicts_scores")))
    assert samplers == ["random", "sobol", "tpe"]
    for name in [*samplers, ParzenEstimator()]:
        assert not capability(name, "predicts_scores")
        with pytest.raises(ValueError, match="does not predict scores"):
            make_surrogate(name, SMALL, 0).predict(SMALL.unseen())


class Foreign:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros((1, len(X))), np.ones((1, len(X)))

    def condition(self, X):
        return self


class ForeignWithNoise(Foreign):
    has_gradients = False

    def fit(self, X, y, **details):
        return self


def test_capabilities_of_other_objects_are_inferred():
    assert capability(Foreign(), "predicts_scores")
    assert capability(Foreign(), "has_gradients")
    assert not capability(ForeignWithNoise(), "has_gradients")
    assert not capability(Foreign(), "takes_noise")
    assert capability(ForeignWithNoise(), "takes_noise")
    assert capability(Foreign(), "takes_fidelity") is None
    assert capability(Foreign(), "needs_scores")
    assert capability(Foreign(), "n_initial_points") is None
    assert not capability(Foreign(), "has_graph")
    assert not capability(object(), "predicts_scores")
