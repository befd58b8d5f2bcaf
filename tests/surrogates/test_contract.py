"""Contract of every surrogate, alone and in a search."""

import copy
import math
import pickle

import numpy as np
import pytest

from skbayes import Optimizer
from skbayes.optimizer import SpaceExhausted
from skbayes.space import Choice, Space
from skbayes.space.candidates import Candidates
from skbayes.stages.fidelity import MultiFidelity
from skbayes.surrogates import GaussianProcess, MonotonicGP
from skbayes.surrogates.registry import capability, make_surrogate, names_with, registry
from skbayes.surrogates.surrogate import Surrogate, posterior_of_mean

# In an enumerated space, "gp" is "gp-additive"; in others, it is "gp-warped".
CHOICES = [(name, "ei") for name in registry if name != "gp-additive"] + [
    (name, acquisition)
    for name in names_with("has_graph")
    for acquisition in ("eif", "ucb")
]
TREE = {
    "a": [1, 2, 3, 4],
    "kind": Choice({"u": {"c": [0.1, 1.0, 10.0]}, "v": {"d": ["x", "y"]}, "w": {}}),
}
N_CELLS, N_TOLD = 4 * (3 + 2 + 1), 9


FINITE = Space.from_notation(
    {"a": [1, 2, 3, 4, 5], "x": [0.0, 0.5, 1.0], "k": ["u", "v"]}
)
MIXED = Space.from_notation(
    {"x": (0.0, 1.0), "n": (1, 10_000), "k": Choice({"u": {"c": (0.1, 1.0)}, "v": {}})}
)


def scores_of(X):
    return np.sin(4 * X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2


# Scores of smaller samples, and signs of the ordered columns.
EARLIER = MIXED.from_uniform(np.random.default_rng(1).random((25, MIXED.n_columns)))
SIGNS = np.where(MIXED.categorical | np.isnan(EARLIER[:6]), 0.0, 1.0)
# Surrogates that are not in the registry.
OTHERS = {
    "multi-fidelity": MultiFidelity(
        GaussianProcess(n_options=MIXED.n_options),
        EARLIER[:12],
        scores_of(EARLIER[:12]),
        np.full(12, 0.4),
        1.0,
    ),
    "monotonic": MonotonicGP(sign_points=EARLIER[:6], signs=SIGNS),
}


def made(name, space=None, seed=3):
    """Return a surrogate by name, and rows of a space that it supports."""
    finite = capability(OTHERS.get(name, name), "needs_finite_space")
    space = space or (FINITE if finite else MIXED)
    model = make_surrogate(OTHERS.get(name, name), Candidates(space), seed)
    rng = np.random.default_rng(0)
    X = np.unique(space.from_uniform(rng.random((40, space.n_columns))), axis=0)
    return model, rng.permutation(X)[:18]


every = pytest.mark.parametrize("name", [*registry, *OTHERS])
models = pytest.mark.parametrize("name", [*names_with("predicts_scores"), *OTHERS])


@every
def test_each_surrogate_declares_its_capabilities(name):
    model, _ = made(name)
    assert isinstance(model, Surrogate)
    flags = [one for one, kind in Surrogate.__annotations__.items() if kind == "bool"]
    assert len(flags) >= 7
    for flag in flags:
        assert type(capability(model, flag)) is bool
        if name in registry:
            assert capability(model, flag) == capability(name, flag)


@models
def test_predictions_have_the_shapes_of_the_interface(name):
    model, X = made(name)
    assert model.fit(X[:12], scores_of(X[:12])) is model
    for rows in (X, X[:1], X[:0]):
        mean, sd = model.predict(rows)
        assert mean.shape == sd.shape == (len(mean), len(rows))
        assert np.all(np.isfinite(mean)) and np.all(sd > 0)
    weights = np.full(len(X), 1 / len(X))
    averages = posterior_of_mean(model, X, weights)
    mean, sd = model.predict(X)
    assert averages[0].shape == averages[1].shape == (len(mean),)
    np.testing.assert_allclose(averages[0], mean @ weights, rtol=1e-9, atol=1e-12)
    assert np.all(averages[1] <= sd @ weights * (1 + 1e-9))


@models
def test_gradients_agree_with_finite_differences(name):
    model, X = made(name)
    if not capability(model, "has_gradients"):
        with pytest.raises(TypeError, match="gradient"):
            model.predict(MIXED.from_uniform(np.zeros((1, 4))), gradient=True)
        return
    model = model.fit(X[:12], scores_of(X[:12])).condition(X[5:7])
    *_, d_mean, d_sd = model.predict(X[12:], gradient=True)
    ordered = np.flatnonzero(~MIXED.categorical)
    for column in range(X.shape[1]):
        step = 1e-6 * np.eye(X.shape[1])[column] * (column in ordered)
        ahead, behind = (model.predict(X[12:] + sign * step) for sign in (1, -1))
        for slope, after, before in zip((d_mean, d_sd), ahead, behind, strict=True):
            numeric = (after - before) / 2e-6
            # Inactive columns cannot move.
            active = ~np.isnan(X[12:, column])
            np.testing.assert_allclose(
                slope[:, active, column], numeric[:, active], rtol=1e-4, atol=1e-5
            )


@models
def test_conditioning_keeps_means_and_lowers_uncertainty(name):
    model, X = made(name)
    model.fit(X[:12], scores_of(X[:12]))
    before = model.predict(X)
    conditioned = model.condition(X[12:15])
    for one, other in zip(before, model.predict(X), strict=True):
        np.testing.assert_array_equal(one, other)
    mean, sd = conditioned.predict(X[12:15])
    assert np.all(sd.mean(axis=0) < before[1][:, 12:15].mean(axis=0) + 1e-12)
    if capability(model, "has_gradients") or capability(model, "has_graph"):
        # The joint posterior, given the values that are predicted anyway.
        np.testing.assert_allclose(conditioned.predict(X)[0], before[0], atol=1e-6)
        one_by_one = model
        for row in X[12:15]:
            one_by_one = one_by_one.condition(row[None])
        for one, other in zip(
            one_by_one.predict(X), conditioned.predict(X), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


@every
def test_inputs_are_not_modified_and_copies_are_alike(name):
    model, X = made(name)
    y = scores_of(X)
    originals = X.copy(), y.copy()
    fitted = model.fit(X[:12], y[:12]).condition(X[12:14])
    twins = [pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)]
    # Earlier fits have no effect.
    for used in (made(name)[0], made(name)[0].fit(X, y)):
        twins.append(used.fit(X[:12], y[:12]).condition(X[12:14]))
    for array, original in zip((X, y), originals, strict=True):
        np.testing.assert_array_equal(array, original)
    for twin in twins:
        if capability(model, "predicts_scores"):
            pairs = zip(fitted.predict(X), twin.predict(X), strict=True)
        else:
            candidates = Candidates(MIXED)
            pairs = [
                [
                    one.draw(candidates, np.random.default_rng(1))
                    for one in (fitted, twin)
                ]
            ]
        # The fit depends on the number of threads of BLAS by about 1e-8.
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("unit", [2.0**-498, 1024.0, 2.0**498])
@pytest.mark.parametrize("name", names_with("predicts_scores"))
def test_scores_count_in_their_units(name, unit):
    model, X = made(name)
    mean, sd = model.fit(X[:12], scores_of(X[:12])).predict(X)
    other, _ = made(name)
    scaled = other.fit(X[:12], unit * scores_of(X[:12])).predict(X)
    np.testing.assert_allclose(scaled[0], unit * mean, rtol=1e-6)
    np.testing.assert_allclose(scaled[1], unit * sd, rtol=1e-6)


@every
def test_noise_counts_where_it_is_declared(name):
    model, X = made(name)
    noise = np.full(12, 4.0)
    if capability(model, "takes_noise"):
        exact = made(name)[0].fit(X[:12], scores_of(X[:12]))
        model.fit(X[:12], scores_of(X[:12]), noise=noise)
        if capability(model, "has_gradients"):
            sure, unsure = (np.mean(one.predict(X)[1]) for one in (exact, model))
            assert unsure > 1.2 * sure
    else:
        with pytest.raises(TypeError, match="noise"):
            model.fit(X[:12], scores_of(X[:12]), noise=noise)


@pytest.mark.parametrize("name", registry)
def test_a_finite_space_is_demanded_where_it_is_declared(name):
    if capability(name, "needs_finite_space"):
        with pytest.raises(ValueError, match=f"'{name}' needs a finite space"):
            made(name, MIXED)
    else:
        made(name, MIXED)


@pytest.mark.parametrize("name", names_with("takes_fidelity"))
def test_the_fidelity_may_be_one_more_column(name):
    model, X = made(name)
    wide = np.column_stack([X, np.linspace(0.0, 1.0, len(X))])
    model.n_options = [*model.n_options, 0]
    assert model.fit(wide, scores_of(X)).predict(wide)[0].shape[1] == len(X)


@pytest.fixture(params=CHOICES, ids="-".join, scope="module")
def make(request):
    surrogate, acquisition = request.param

    def optimizer(space=TREE, **arguments):
        arguments = {"random_state": 0} | arguments
        return Optimizer(
            space, surrogate=surrogate, acquisition=acquisition, **arguments
        )

    return optimizer


def score(params):
    return -abs(params["a"] - 3) - abs(math.log10(params.get("c", 100.0)))


def run(optimizer, n, objective=score):
    proposals = []
    for _ in range(n):
        params = optimizer.ask()
        optimizer.tell(params, objective(params))
        proposals.append(params)
    return proposals


@pytest.fixture(scope="module")
def trained(make):
    """Return an optimizer with some trials, of which only copies are used."""
    optimizer = make()
    return optimizer, run(optimizer, N_TOLD)


@pytest.fixture
def optimizers(trained):
    return [copy.deepcopy(trained[0]) for _ in range(2)]


def n_different(configurations):
    return len({repr(params) for params in configurations})


def test_a_finite_space_is_exhausted_in_exactly_its_size(optimizers, trained):
    proposals = trained[1] + run(optimizers[0], N_CELLS - N_TOLD)
    assert n_different(proposals) == N_CELLS
    with pytest.raises(SpaceExhausted, match=f"All {N_CELLS} configurations"):
        optimizers[0].ask()


def test_another_seed_gives_other_trials(make, optimizers, trained):
    proposals = trained[1] + run(optimizers[0], 4)
    assert run(make(random_state=2), N_TOLD + 4) != proposals


def test_all_configurations_are_tried_despite_failures(make):
    def objective(params):
        return math.nan if params["kind"] == "v" else score(params)

    assert n_different(run(make(), N_CELLS, objective)) == N_CELLS
    assert len(run(make(), N_TOLD, lambda params: math.nan)) == N_TOLD


@pytest.mark.parametrize("value", [0.0, -1e250])
def test_equal_scores_do_not_stop_proposals(make, value):
    assert len(run(make(), N_TOLD, lambda params: value)) == N_TOLD


def test_pending_configurations_are_not_proposed_again(optimizers):
    batch = optimizers[0].ask(N_CELLS)
    assert n_different(batch) == len(batch) == N_CELLS - N_TOLD


def test_a_batch_of_proposals_equals_single_proposals(optimizers):
    one, other = optimizers
    assert one.ask(4) == [other.ask() for _ in range(4)]


def test_proposals_depend_on_observations_and_not_on_earlier_calls(
    make, optimizers, trained
):
    replayed = make()
    for params in trained[1]:
        replayed.tell(params, score(params))
    assert replayed.ask(3) == optimizers[0].ask(3)


def test_forgotten_configurations_have_no_effect(optimizers):
    one, other = optimizers
    for params in one.ask(3):
        one.forget(params)
    assert run(one, 3) == run(other, 3)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_copy_made_on_the_way_continues_alike(make, optimizers, is_new):
    optimizer = make() if is_new else optimizers[0]
    optimizer.ask()
    again = pickle.loads(pickle.dumps(optimizer))
    assert run(again, 3) == run(copy.deepcopy(optimizer), 3) == run(optimizer, 3)


def test_repeated_and_learned_observations_are_accepted(make):
    optimizer = make(n_initial_points=0)
    cells = optimizer.space.decode(optimizer.space.enumerate(np.arange(N_CELLS)))
    for params in cells[::4]:
        optimizer.learn(params, score(params))
    optimizer.tell(cells[1], 1.0)
    optimizer.tell(cells[1], -1.0)
    optimizer.tell(cells[2], math.nan)
    assert len(run(optimizer, 5)) == 5


def test_observations_may_violate_the_constraint_that_proposals_satisfy(make):
    def constraint(params):
        return params["a"] <= 2 or params["kind"] == "w"

    optimizer = make(constraint=constraint)
    outside = {"a": 4, "kind": "u", "c": 1.0}
    optimizer.tell(outside, score(outside))
    proposals = run(optimizer, 14)
    assert all(map(constraint, proposals)) and n_different(proposals) == 14
    with pytest.raises(SpaceExhausted):
        optimizer.ask()


@pytest.mark.parametrize("space", [{}, {"a": [1]}, {"a": ["x", "y"]}])
def test_the_smallest_spaces_are_exhausted(make, space):
    optimizer = make(space, n_initial_points=0)
    optimizer.learn({name: values[0] for name, values in space.items()}, 1.0)
    size = int(optimizer.n_configurations)
    assert len(run(optimizer, size, lambda params: 0.0)) == size
    with pytest.raises(SpaceExhausted):
        optimizer.ask()


@pytest.mark.parametrize(
    "name", sorted({*registry} - {"gp-warped", *names_with("needs_finite_space")})
)
def test_an_infinite_space_with_conditional_parameters(name):
    space = {
        "x": (0.0, 1.0),
        "n": (1, 10_000, "log-uniform"),
        "kind": Choice({"u": {"c": (0.1, 10.0, "log-uniform")}, "v": {}}),
    }
    optimizer = Optimizer(space, surrogate=name, random_state=0)
    proposals = run(optimizer, 13, lambda p: p["x"] * p["n"] + p.get("c", 0.0))
    assert all(params in optimizer.space for params in proposals)
    assert n_different(proposals) == 13
    assert {"u", "v"} == {params["kind"] for params in proposals}
