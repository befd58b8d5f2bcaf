"""Sphinx configuration."""

import logging
import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

# extensions.py and what it imports lie beside this file.
sys.path.insert(0, str(Path(__file__).parent))

from extensions import ExampleOptions  # noqa: E402

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
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]

# Each public name that api.rst lists has its own page, written by autosummary.
autosummary_generate = True
numpydoc_show_class_members = False
maximum_signature_line_length = 88  # longer ones have a line for each parameter
autodoc_typehints = "none"  # numpydoc's Parameters section states the types
# Docstrings that BayesSearchCV inherits refer to scikit-learn's glossary, and gallery
# pages are not pickled with the function that orders them.
suppress_warnings = ["ref.term", "config.cache"]

# -- examples -------------------------------------------------------------------------

# What keeps each example short here; none of them writes its picture to a file.
EXAMPLE_OPTIONS = {
    "quickstart.py": ["--n-jobs", "1", "--output", ""],
    "hypertune.py": ["--n-iter", "60", "--n-jobs", "1", "--rows", "600"],
    "multi_stage.py": ["--n-iter", "24", "--rows", "900", "--max-iter", "5"],
    "pareto.py": ["--n-iter", "20", "--n-jobs", "1", "--rows", "600"],
    "tradeoff.py": ["--n-iter", "25", "--n-jobs", "1", "--rows", "900"],
    "conditional_pipeline.py": ["--n-iter", "12", "--n-jobs", "1"],
    "own_method.py": ["--seeds", "10"],
}
WITH_PICTURES = ("model.py", "multi_stage.py", "pareto.py", "tradeoff.py")
EXAMPLE_OPTIONS |= {
    name: [*EXAMPLE_OPTIONS.get(name, []), "--output", ""] for name in WITH_PICTURES
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    # It starts a cluster, and is only shown.
    "filename_pattern": r"/(?!many_workers)\w+\.py$",
    "within_subsection_order": "extensions.ExampleOrder",
    "reset_argv": ExampleOptions(EXAMPLE_OPTIONS),
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
}

# -- references -----------------------------------------------------------------------

# What other libraries define is not looked up: that would need the network.
nitpick_ignore_regex = [
    (r"py:.*", r"(sklearn|joblib|numpy|scipy|lightgbm|optuna|pandas|polars)(\..*)?"),
    # In docstrings that are inherited from scikit-learn.
    (r"py:obj", r"(classes_|n_features_in_)"),
]

# -- pages ----------------------------------------------------------------------------

html_math_renderer = "mathml"  # of extensions.py
html_theme = "furo"
html_title = f"skbayes {release}"
html_static_path = ["_static"]
html_css_files = ["skbayes.css"]
html_show_sourcelink = False
html_copy_source = False
