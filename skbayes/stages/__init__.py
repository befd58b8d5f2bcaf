"""Stages of a search, first with fewer rows or folds, and then with all of them."""
