"""Journals: the trials of a search in an SQLite file, and their reader."""
