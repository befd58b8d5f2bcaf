"""Sphinx configuration."""

from importlib.metadata import version as installed_version

project = "skbayes"
author = "The skbayes developers"
copyright = "2026, " + author
version = release = installed_version("skbayes")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
root_doc = "index"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]

# Each public name that api.rst lists has its own page, written by autosummary.
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"  # numpydoc's Parameters section states the types
# Docstrings that BayesSearchCV inherits refer to scikit-learn's glossary.
suppress_warnings = ["ref.term"]

html_theme = "alabaster"
html_theme_options = {
    "description": "Bayesian hyper-parameter search for scikit-learn",
    "fixed_sidebar": True,
    "page_width": "1040px",
}
html_show_sourcelink = False
