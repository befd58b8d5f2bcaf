"""Rounds of boosting, trees of forests, and epochs: one fit gives the whole curve."""
