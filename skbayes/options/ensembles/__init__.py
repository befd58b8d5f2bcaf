"""Ensembles of the trials of a search: `refit="ensemble"`."""
