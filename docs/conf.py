"""Sphinx configuration."""

import logging
import os
import sys
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path

# extensions.py and what it imports lie beside this file.
sys.path.insert(0, str(Path(__file__).parent))

# One thread for each fit, as in our measurements: threads of gradient boosting that
# wait for a busy processor can take minutes for what takes a second.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A package of the theme's switches on the messages of all loggers.
logging.getLogger("skbayes").setLevel(logging.WARNING)

project = "skbayes"
author = "The skbayes developers"
copyright = "2026, " + author
version = release = installed_version("skbayes")

extensions = [
    "extensions",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "myst_nb",  # notebooks and the changelog
    "sphinx_design",
    "sphinx_copybutton",
]
root_doc = "index"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "auto_examples/**.ipynb"]

# Each public name that api.rst lists has its own page, written by autosummary.
autosummary_generate = True
numpydoc_show_class_members = False
maximum_signature_line_length = 88  # longer ones have a line for each parameter
default_role = "literal"  # `name` in docstrings, as in scikit-learn
smartquotes_action = "De"  # "auto" is a Python string, so quotes stay straight
autodoc_typehints = "none"  # numpydoc's Parameters section states the types
# Docstrings that BayesSearchCV inherits refer to scikit-learn's glossary, and gallery
# pages are not pickled with the function that orders them.
suppress_warnings = ["ref.term", "config.cache"]

# -- examples -------------------------------------------------------------------------

# Examples that need packages that are not required to build this documentation. Without
# the package, the page of the example shows only the code.
EXAMPLE_PACKAGES = {"many_workers": "distributed", "mixed_columns": "lightgbm"}
NOT_RUN = "|".join(
    name for name, package in EXAMPLE_PACKAGES.items() if find_spec(package) is None
)

# The messages of a Dask cluster are not part of the output.
os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "warning")

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": rf"/(?!({NOT_RUN})\.py)\w+\.py$",
    "subsection_order": [
        f"../examples/{name}" for name in ("basics", "data", "methods", "deployment")
    ],
    "within_subsection_order": "extensions.ExampleOrder",
    "reset_modules": ("matplotlib", "extensions.remove_files_of_examples"),
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    # Artists of matplotlib, lists of them, and displays.
    "ignore_repr_types": r"matplotlib|skbayes\.inspection|<class 'list'>",
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
}

# -- notebooks ------------------------------------------------------------------------

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_output_stderr = "warn"
suppress_warnings += ["mystnb.unknown_mime_type"]
# Prompts are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# -- references -----------------------------------------------------------------------

# Inventories are kept here, because building the pages must not need the network;
# inventories/update.py writes them.
SITES = {
    "numpy": "https://numpy.org/doc/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "python": "https://docs.python.org/3/",
    "scikit-learn": "https://scikit-learn.org/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
}
intersphinx_mapping = {
    name: (site, f"inventories/{name}.inv") for name, site in SITES.items()
}

# Names of libraries without an inventory here, and private names.
nitpick_ignore_regex = [
    (r"py:.*", r"(sklearn|joblib|numpy|scipy|lightgbm|optuna|pandas|polars)(\..*)?"),
    # In docstrings that are inherited from scikit-learn.
    (r"py:obj", r"(classes_|n_features_in_)"),
]
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    "ndarray": "numpy.ndarray",
    "RandomState": "numpy.random.RandomState",
    "Generator": "numpy.random.Generator",
    "DataFrame": "pandas.DataFrame",
    "Pipeline": "sklearn.pipeline.Pipeline",
    "GridSearchCV": "sklearn.model_selection.GridSearchCV",
    # Words without links: the inventories have no glossary terms.
    "array-like": "array-like",
    "array_like": "array-like",
    "callable": "callable",
    "generator": "generator",
    "iterable": "iterable",
    "sequence": "sequence",
}

# -- pages ----------------------------------------------------------------------------

html_math_renderer = "mathml"  # of extensions.py
html_theme = "furo"
html_title = f"skbayes {release}"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["skbayes.css"]
html_search_scorer = str(Path(__file__).parent / "search_scorer.js")
html_show_sourcelink = False
html_copy_source = False
