import itertools

import numpy as np
import pytest

from skbayes.utils.random_streams import Stream, make_generator, make_seeds


def first_number(stream, *indices, seed=7):
    return make_generator(seed, stream, *indices).random()


def test_a_stream_is_a_spawn_key_of_the_seed():
    keys = {
        (Stream.PROPOSAL, 4): (4,),
        (Stream.SUBSET, 2, 3): (2, 3),
        (Stream.TRADEOFF, 4): (4, 1),
        (Stream.MONOTONICITY,): (0, 0, 0),
    }
    for use, key in keys.items():
        sequence = np.random.SeedSequence(7, spawn_key=key)
        assert first_number(*use) == np.random.default_rng(sequence).random()
    assert first_number(Stream.DESIGN) == np.random.default_rng(7).random()


def test_streams_differ_but_for_the_two_that_share_their_keys():
    uses = [
        (Stream.DESIGN,),
        (Stream.MONOTONICITY,),
        *((Stream.PROPOSAL, k) for k in range(3)),
        *((Stream.TRADEOFF, k) for k in range(3)),
        *((Stream.SUBSET, k, i) for k in range(3) for i in range(3)),
    ]
    same = [
        {one[0], other[0]}
        for one, other in itertools.combinations(uses, 2)
        if first_number(*one) == first_number(*other)
    ]
    assert same == [{Stream.TRADEOFF, Stream.SUBSET}] * 3


def test_seeds_follow_from_the_seed():
    with pytest.raises(ValueError, match="PROPOSAL has 1 indices"):
        make_generator(0, Stream.PROPOSAL)
    assert len(set(make_seeds(3, 5).tolist())) == 5
    np.testing.assert_array_equal(make_seeds(3, 5)[:2], make_seeds(3, 2))
