"""Configurations and their encoding."""

import numpy as np
import pytest

from skbayes.space import Space
from skbayes.space.candidates import Configuration

SPACE = Space.from_notation({"C": (0.1, 10.0), "n": (1, 9), "kernel": ["rbf", "poly"]})
PARAMS = {"n": 3.0, "kernel": "rbf", "C": 0.3}


def test_parameters_become_those_of_the_space():
    found = Configuration.of(SPACE, PARAMS)
    assert found.params == SPACE.canonicalize(PARAMS)
    assert list(found.params) == ["C", "kernel", "n"]
    assert type(found.params["n"]) is int
    assert found.params["C"] == 0.3
    np.testing.assert_array_equal(found.row, SPACE.encode([PARAMS])[0])
    assert Configuration.of(SPACE, found) is found
    with pytest.raises(ValueError, match="'kernel' is missing"):
        Configuration.of(SPACE, {"C": 1.0, "n": 2})
