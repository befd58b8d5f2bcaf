"""Fronts of known shapes."""

import numpy as np


def shaped_front(shape, n, d, seed=0):
    """Return points of a front that is convex, flat or concave."""
    exponent = {"concave": 2.0, "linear": 1.0, "convex": 0.5}[shape]
    share = np.random.default_rng(seed).dirichlet(np.ones(d), n)
    return share ** (1.0 / exponent)
