"""Derivatives by central differences."""

import numpy as np


def assert_gradient(function, X, gradient, step=1e-6, rtol=1e-4, atol=1e-5):
    """Compare a gradient (..., m, D) of a function of rows (m, D) with differences."""
    for column, shift in enumerate(step * np.eye(X.shape[1])):
        numeric = (function(X + shift) - function(X - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[..., column], numeric, rtol=rtol, atol=atol)


def by_differences(function, point, place, step=1e-6):
    """Differentiate a function of several arguments with respect to one of them."""
    up, down = list(point), list(point)
    up[place], down[place] = point[place] + step, point[place] - step
    return (function(*up) - function(*down)) / (2 * step)


def assert_slopes(function, theta, rtol=1e-5, atol=1e-5):
    """Check the gradient that a function returns with its value, at one vector."""
    step = 1e-5 * np.eye(len(theta))
    numeric = [(function(theta + s)[0] - function(theta - s)[0]) / 2e-5 for s in step]
    np.testing.assert_allclose(function(theta)[1], numeric, rtol=rtol, atol=atol)
