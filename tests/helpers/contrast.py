"""Contrast of colors as defined by WCAG 2."""

import numpy as np


def luminance(color):
    """Return the relative luminance of colors, whose last axis is red, green, blue."""
    color = np.asarray(color, dtype=float)
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(colors, background):
    """Return the contrast of colors with their background, from 1 to 21."""
    one, other = luminance(colors) + 0.05, luminance(background) + 0.05
    return np.maximum(one, other) / np.minimum(one, other)
