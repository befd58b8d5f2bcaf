"""Style checker of the documentation.

    python docs/prose.py [--counts] [FILE ...]

Checks the prose of the pages, of the docstrings and of the Markdown files with
proselint and with the rules of this file: long sentences, banned openings, and terms.
Prints one line per problem and exits with status 1 if there are any. Without files,
checks all of them; ``--counts`` prints the number of problems per rule.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from proselint.checks import __register__
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, types
from proselint.tools import LintFile

ROOT = Path(__file__).parents[1]
CHECKED = (
    "*.md",
    "benchmarks/*.md",
    "docs/*.rst",
    "docs/notebooks/*.rst",
    "examples/*.rst",
    "examples/**/*.py",
    "skbayes/**/*.py",
)

LONGEST_SENTENCE = 34  # words

# First words of a sentence that postpone its subject.
OPENINGS = (
    "And|But|Enough|How|Neither|Nor|Not|Or|So|Theirs|What|Where|Which|Who|Whoever|Whose"
)

# Terms that readers would have to guess, and the ones to use.
TERMS = {
    r"(?:is|are|was|were|been) told": "observed, passed",
    r"(?:is|are|was|were) there\.": "exists, is available",
    r"all the same": "nevertheless",
    r"aims? (?:was|were) missed": "target",
    r"all of (?:it|them) there": "available",
    r"at hand": "available",
    r"be(?:comes?|ing)? dear(?:er)?": "expensive",
    r"behaviour": "behavior",
    r"bring(?:s|ing)? along": "include, provide",
    r"but for": "except for",
    r"by itself": "automatically, alone",
    r"colour(?:s|ed)?": "color",
    r"crews?": "workers",
    r"dear(?:er|est)?": "expensive",
    r"for want of": "without",
    r"from now on": "in later trials",
    r"go(?:es|ing)? without saying": "(delete)",
    r"hand(?:s|ed|ing)? (?:out|over)": "return, pass",
    r"house": "package",
    r"hyperparameters?": "hyper-parameter",
    r"lessons?": "result, knowledge",
    r"lie(?:s)? (?:beside|in|there|where)": "is in",
    r"look(?:s|ed|ing)? (?:at it|after)": "inspect, manage",
    r"nowhere": "(rewrite)",
    r"of (?:its|your|our|one's|their) own": "custom, separate, its own X",
    r"on (?:its|their|your) own": "alone, directly",
    r"once more": "again",
    r"optimis(?:e|es|ed|ing|ation|er|ers)": "optimize",
    r"pictures?": "plot, figure, image",
    r"private to": "specific to",
    r"rooms?": "subpackage",
    r"shel(?:f|ves)": "(rewrite)",
    r"shipments?": "data transfer",
    r"stand(?:s|ing)? (?:beside|in|there|where)": "is in",
    r"tames?|tamed": "limit",
    r"the like": "similar ...",
    r"thing": "(name it)",
    r"things": "(name them)",
    r"whatever": "any, regardless of",
    r"whichever": "the one that",
    r"worth (?:it|a)": "(rewrite)",
}

# Rules of proselint that take technical terms and notation for faults.
DISABLED = (
    "annotations",
    "dates_times",
    "hedging",
    "misc.but",
    "misc.composition",
    "misc.phrasal_adjectives",
    "misc.scare_quotes",
    "needless_variants",
    "skunked_terms",
    "typography",
    "uncomparables",
    "weasel_words",
)

# Directives whose content is prose; the content of all others is not checked.
PROSE_DIRECTIVES = (
    "admonition card caution definition dropdown figure glossary grid grid-item "
    "grid-item-card important list-table note seealso tab-item tab-set tip topic "
    "warning"
).split()

ABBREVIATIONS = re.compile(
    r"\b(?:e\.g|i\.e|et al|cf|vs|Eq|Eqs|Fig|Sec|No|pp|approx)\.$"
)


class Paragraph(NamedTuple):
    """Paragraph without markup, and the line where it begins (from 1)."""

    line: int
    text: str


class Problem(NamedTuple):
    """Violation of a rule."""

    line: int
    rule: str
    message: str


# -- extraction -----------------------------------------------------------------------


def _without_markup(text: str) -> str:
    text = re.sub(r"``.+?``", "X", text)
    text = re.sub(r":[\w:.+-]+:`([^`<]*?)\s*<[^>`]*>`", r"\1", text)
    text = re.sub(r":[\w:.+-]+:`~?[^`]*`", "X", text)
    text = re.sub(r"`([^`<]+?)\s*<[^>`]*>`_{1,2}", r"\1", text)
    text = re.sub(r"`[^`]*`_?", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[[\w#]+\]_", "", text)
    return re.sub(r"\*{1,2}(\S[^*]*?)\*{1,2}", r"\1", text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


MARKER = re.compile(r"^(\s*)((?:\* )?(?:[-*+]|\d+\.|#\.) +)")


def rst_paragraphs(lines: list[str], first: int = 1) -> Iterator[Paragraph]:
    """Yield the paragraphs of reStructuredText, list items and headings included."""
    block: list[str] = []
    start, depth, skip = 0, 0, None

    def flush() -> Iterator[Paragraph]:
        if block:
            text = _without_markup(" ".join(map(str.strip, block)))
            if re.search(r"[a-z]{2}", text):
                yield Paragraph(first + start, text)
        block.clear()

    for number, line in enumerate(lines):
        if skip is not None:
            if not line.strip() or _indent(line) > skip:
                continue
            skip = None
        directive = re.match(r"^(\s*)\.\.(?: ([\w:-]+)::)?(?:\s|$)", line)
        if directive:
            yield from flush()
            if directive[2] not in PROSE_DIRECTIVES:
                skip = len(directive[1])
            continue
        if not line.strip() or re.match(r"^\s*([=~^\"*+#-])\1{2,}[\s=]*$", line):
            literal = bool(block) and block[-1].rstrip().endswith("::")
            yield from flush()
            if literal:
                skip = depth
            continue
        if re.match(r"^\s*(?::[\w -]+:(?!`)|>>>|\.\. |\|)", line):
            yield from flush()
            if ">>>" in line:
                skip = _indent(line) - 1
            continue
        marker = MARKER.match(line)
        indent = marker.end() if marker else _indent(line)
        while marker and (inner := MARKER.match(line[indent:])):
            indent += inner.end()
        if marker or (block and indent != depth):
            yield from flush()
        if not block:
            start, depth = number, indent
        block.append(line[indent:] if marker else line)
    yield from flush()


def markdown_paragraphs(text: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of Markdown without code, tables and comments."""
    text = re.sub(
        r"^```.*?^```$|<!--.*?-->",
        lambda match: "\n" * match[0].count("\n"),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    lines = [
        ""
        if re.match(r"\s*(\||    \S|\[[^\]]+\]: )", line)
        else re.sub("^#+ ", "", line)
        for line in text.splitlines()
    ]
    yield from rst_paragraphs(lines)


def docstring_paragraphs(source: str) -> Iterator[Paragraph]:
    """Yield the paragraphs of the docstrings of a module."""
    for node in ast.walk(ast.parse(source)):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if not isinstance(node, kinds) or ast.get_docstring(node) is None:
            continue
        text = ast.get_docstring(node) or ""
        text = re.sub(
            r"^References\n-+\n.*?(?=^\w+\n---|\Z)", "", text, flags=re.M | re.S
        )
        lines = [
            "" if re.match(r"\s*[\w*, .\"']+ : \S", line) else line
            for line in text.splitlines()
        ]
        yield from rst_paragraphs(lines, node.body[0].lineno)


def paragraphs_of(path: Path) -> Iterator[Paragraph]:
    """Yield the paragraphs of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from docstring_paragraphs(text)
    elif path.suffix == ".md":
        yield from markdown_paragraphs(text)
    else:
        yield from rst_paragraphs(text.splitlines())


# -- rules ----------------------------------------------------------------------------


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a paragraph."""
    sentence = ""
    for part in re.split(r"(?<=[.!?])\s+(?=[\"(]?[A-Z])", text):
        sentence = f"{sentence} {part}".strip()
        if not ABBREVIATIONS.search(sentence):
            yield sentence
            sentence = ""
    if sentence:
        yield sentence


def _own_problems(paragraph: Paragraph) -> Iterator[Problem]:
    for sentence in _sentences(paragraph.text):
        n_words = len(sentence.split())
        shown = " ".join(sentence.split()[:8])
        if n_words > LONGEST_SENTENCE:
            yield Problem(
                paragraph.line, "skbayes.length", f"{n_words} words: {shown} ..."
            )
        if re.match(rf"(?:{OPENINGS})\b", sentence) and not sentence.endswith("?"):
            yield Problem(paragraph.line, "skbayes.opening", f"{shown} ...")


def _register() -> None:
    """Add the rules of proselint and our terms to its registry, once."""
    registry = CheckRegistry()
    if not registry.checks:
        registry.register_many(__register__)
        registry.register_many(
            tuple(
                Check(
                    check_type=types.Existence(items=(term,)),
                    path=f"skbayes.terms.{place}",
                    message=f"'{{}}': use {better}",
                )
                for place, (term, better) in enumerate(TERMS.items())
            )
        )


def _proselint_problems(paragraphs: list[Paragraph]) -> Iterator[Problem]:
    """Run proselint on all paragraphs of a file, one on every other line."""
    text = "\n|\n".join(paragraph.text for paragraph in paragraphs)
    disabled = dict.fromkeys(DISABLED, False)
    # The first prefix that matches decides.
    checks = disabled | DEFAULT["checks"] | {"skbayes": True} | disabled
    _register()
    for match in LintFile("prose", text).lint({"max_errors": 10_000, "checks": checks}):
        path = match.check_result.check_path
        rule = "skbayes.terms" if path.startswith("skbayes.terms") else path
        # proselint prepends a line.
        line = paragraphs[max(match.pos[0] - 2, 0) // 2].line
        yield Problem(line, rule, match.check_result.message)


def problems_of(path: Path) -> list[Problem]:
    """Return the problems of a file, sorted by line."""
    paragraphs = list(paragraphs_of(path))
    problems = [p for paragraph in paragraphs for p in _own_problems(paragraph)]
    if paragraphs:
        problems += _proselint_problems(paragraphs)
    return sorted(problems)


def main() -> int:
    """Check the files of the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Check the prose of the documentation."
    )
    parser.add_argument("files", nargs="*", type=Path, help="default: all")
    parser.add_argument("--counts", action="store_true", help="problems per rule")
    options = parser.parse_args()
    files = options.files or [p for g in CHECKED for p in sorted(ROOT.glob(g))]
    counts: Counter[str] = Counter()
    for path in files:
        for problem in problems_of(path):
            counts[problem.rule] += 1
            if not options.counts:
                print(f"{path}:{problem.line}: {problem.rule}: {problem.message}")
    if options.counts:
        for rule, count in counts.most_common():
            print(f"{count:6} {rule}")
    print(f"{len(files)} files: {counts.total()} problems")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
