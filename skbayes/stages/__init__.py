"""Stages of a search: samples and folds first, then all of them for the best."""
