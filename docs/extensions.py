"""Sphinx extensions of this documentation.

Tables of what was measured, the table of the API reference, the order of the gallery,
line breaks in long names, and formulas as MathML.

Formulas are converted to MathML when the pages are built. Browsers display MathML
without a script, whereas MathJax would be loaded from a server each time a page is
read. Building the pages requires no LaTeX.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from benchmark_tables import BENCHMARKS, Table, command_of, table_of
from docutils import nodes
from docutils.parsers.rst import directives
from known_classes import HEADER, PRIORS_HEADER, known_classes, learned_priors
from latex2mathml.converter import convert
from sphinx.util.docutils import SphinxDirective
from trial_way import figure, way_of_a_trial


def _inline(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _display(translator, node):
    # Wide formulas scroll within their box, rather than the page.
    translator.body.append(
        f'<div class="math">{convert(node.astext(), display="block")}</div>'
    )
    raise nodes.SkipNode


class Measured(SphinxDirective):
    """Directive ``.. measured:: NAME`` for the table of benchmarks/results/NAME.json.

    The option ``:command:`` also shows the command of the benchmark.
    """

    required_arguments = 1
    option_spec = {"command": directives.flag}

    def run(self):
        name = self.arguments[0]
        for source in (
            BENCHMARKS / "results" / f"{name}.json",
            BENCHMARKS / "README.md",
        ):
            self.env.note_dependency(str(source))
        lines = _as_rst(table_of(name))
        if "command" in self.options:
            code = textwrap.indent(command_of(name), "   ")
            lines += [".. code-block:: bash", "", *code.splitlines(), ""]
        return self.parse_text_to_nodes("\n".join(lines))


class WayOfATrial(SphinxDirective):
    """Directive ``.. way-of-a-trial::`` for a figure of the records of a trial."""

    def run(self):
        return [nodes.raw("", figure(way_of_a_trial()), format="html")]


class KnownClasses(SphinxDirective):
    """Directive ``.. known-classes::`` for the classes with a default search space."""

    def run(self):
        lines = []
        for package, rows in known_classes().items():
            lines += [f".. list-table:: {package}", "   :header-rows: 1", ""]
            for first, second in [HEADER, *rows]:
                lines += [f"   * - {first}", f"     - {second}"]
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines))


class LearnedPriors(SphinxDirective):
    """Directive ``.. learned-priors::`` for the classes with a learned prior."""

    def run(self):
        lines = [".. list-table::", "   :header-rows: 1", ""]
        for first, *others in [PRIORS_HEADER, *learned_priors()]:
            lines += [f"   * - {first}", *(f"     - {cell}" for cell in others)]
        return self.parse_text_to_nodes("\n".join(lines))


def _as_rst(table: Table) -> list[str]:
    """Return a table as the directive ``list-table``."""
    # Not the table's own caption, which is as wide as the table, and cut off with it.
    lines = [
        ".. rst-class:: measured-caption",
        "",
        table.caption,
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :class: measured",
        "",
    ]
    for row in [table.header, *table.rows]:
        cells = (cell.replace("*", r"\*") for cell in row)
        starts = ["   * -", *["     -"] * (len(row) - 1)]
        lines += [
            f"{start} {cell}".rstrip()
            for start, cell in zip(starts, cells, strict=True)
        ]
    return [*lines, ""]


# -- the API reference ----------------------------------------------------------------


def _merge_tables(app, doctree, docname):
    """Merge the tables of the API reference into one with a heading for each group."""
    if docname != "api":
        return
    page = doctree[0]
    names = nodes.row(
        "", *(nodes.entry("", nodes.Text(t)) for t in ("Name", "Summary"))
    )
    group = nodes.tgroup("", nodes.colspec(), nodes.colspec(), nodes.thead("", names))
    for section in [node for node in page if isinstance(node, nodes.section)]:
        page.remove(section)
        (table,) = section.findall(nodes.table)
        title, *notes = (n for n in section if table not in n.findall())
        heading = nodes.rubric("", title.astext(), **{"heading-level": 2})
        cell = nodes.entry("", heading, *notes, morecols=1, ids=section["ids"])
        (*_, body) = table[0]
        body.insert(0, nodes.row("", cell))
        group += body
    page += nodes.table("", group, classes=["autosummary"])


# -- the gallery ----------------------------------------------------------------------

# Order of the pages within the sections of the gallery.
EXAMPLES = (
    "quickstart which_model one_minute conditional_pipeline resuming "
    "mixed_columns groups time_series text imbalanced neural_network "
    "model multi_stage hypertune tradeoff pareto ask_and_tell own_method "
    "other_libraries many_workers service"
).split()


class ExampleOrder:
    """Key that sorts the pages of a section of the gallery."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, filename):
        return EXAMPLES.index(filename.removesuffix(".py"))


def remove_files_of_examples(gallery_conf, filename):
    """Remove the files that the examples write to their folders."""
    journal = "basics/search.journal"
    for name in ("quickstart.png", journal, f"{journal}-lock"):
        file = Path(__file__).parents[1] / "examples" / name
        file.unlink(missing_ok=True)


def _skip_fields(app, what, name, obj, skip, options):
    """Leave out fields of named tuples, which the section Parameters describes."""
    return True if type(obj).__name__ == "_tuplegetter" else None


# -- notebooks ------------------------------------------------------------------------

# Console message of the script in scikit-learn's diagrams, about a button that
# scikit-learn 1.9 itself adds without a neighbor.
DIAGRAM_MESSAGE = (
    "console.warn('Expected copy-paste icon is missing from the DOM structure');"
)


def _silence_diagrams(app, pagename, templatename, context, doctree):
    """Remove a message of scikit-learn's diagrams from a page."""
    context["body"] = context.get("body", "").replace(DIAGRAM_MESSAGE, "")


# -- line breaks in long names --------------------------------------------------------

# Length of a name that may be wider than its box.
LONG_NAME = 14

# Text of inline code, and of the links in the navigation.
_CODE = re.compile(r'(?<=<span class="pre">)[^<]+(?=</span>)')
_LINK = re.compile(r'(?<=">)[^<]+(?=</a>)')

# Between names, and between the words of a name.
_NAMES = re.compile(r"(?<=[.(\[{=,/])(?=[A-Za-z'\"&])")
_WORDS = re.compile(r"(?<=_)(?=\w)|(?<=[a-z])(?=[A-Z][a-z])")


def _breakable(match):
    names = _NAMES.split(match[0])
    return "<wbr>".join(
        name if len(name) < LONG_NAME else _WORDS.sub("<wbr>", name) for name in names
    )


def _allow_breaks(app, pagename, templatename, context, doctree):
    """Allow line breaks between the words of long names."""
    if "body" in context:
        context["body"] = _CODE.sub(_breakable, context["body"])
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = _LINK.sub(
            _breakable, context["furo_navigation_tree"]
        )


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-skip-member", _skip_fields)
    app.add_directive("measured", Measured)
    app.add_directive("known-classes", KnownClasses)
    app.add_directive("way-of-a-trial", WayOfATrial)
    app.add_directive("learned-priors", LearnedPriors)
    app.connect("html-page-context", _silence_diagrams)
    app.connect("doctree-resolved", _merge_tables)
    # After the theme has written the navigation.
    app.connect("html-page-context", _allow_breaks, priority=900)
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
