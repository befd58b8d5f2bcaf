"""Checker of internal links of the documentation.

    python docs/check_links.py docs/_build/html

In the built pages, every link, anchor, image, style sheet and script that is not on
another host must exist. The files and headings that the Markdown pages of the
repository refer to must exist, too. The script prints broken links, and exits with
status 1 if there are any.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
MARKDOWN = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")

# Files of the repository by the address under which they are published.
REPOSITORY = "skbayes/skbayes"
ADDRESSES = {
    f"https://github.com/{REPOSITORY}/blob/main/": "",
    f"https://raw.githubusercontent.com/{REPOSITORY}/main/": "",
    "https://skbayes.github.io/skbayes/dev/": "docs/",
}

# Attribute with the reference, by element.
REFERENCES = {
    "a": "href",
    "area": "href",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "script": "src",
    "source": "src",
}


class _Page(HTMLParser):
    """References and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.anchors.update(
            value for name in ("id", "name") if (value := attributes.get(name))
        )
        reference = attributes.get(REFERENCES.get(tag, ""))
        if reference:
            self.references.append(reference)


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _problem(reference: str, page: Path, root: Path) -> str | None:
    """Return the problem with a reference of a page; None if there is none."""
    parts = urlsplit(reference)
    if parts.scheme or parts.netloc:
        return None
    start = root if parts.path.startswith("/") else page.parent
    target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
    if target.is_dir() and page.suffix == ".html":
        target = target / "index.html"
    if not target.exists():
        return "no such file"
    anchor = unquote(parts.fragment)
    if not anchor or target.suffix not in (".html", ".md"):
        return None
    anchors = (
        _read(target).anchors if target.suffix == ".html" else set(_headings(target))
    )
    return None if anchor in anchors else "no such anchor"


def broken_in_html(folder: Path) -> Iterator[str]:
    """Yield the broken links of the pages in a folder."""
    for page in sorted(folder.rglob("*.html")):
        for reference in dict.fromkeys(_read(page).references):
            problem = _problem(reference, page, folder)
            if problem:
                yield f"{page.relative_to(folder)}: {reference}: {problem}"


# -- Markdown -------------------------------------------------------------------------


def _prose(path: Path) -> str:
    """Return the text of a Markdown page without its code."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def _headings(path: Path) -> Iterator[str]:
    """Yield the anchors that repository hosts generate for headings."""
    for title in re.findall(
        r"^#+ +(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE
    ):
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _file_of(reference: str) -> str:
    """Return the path of a published file, from the root, or the reference itself."""
    for address, folder in ADDRESSES.items():
        if reference.startswith(address):
            path = "/" + folder + reference.removeprefix(address)
            path = path.replace("/docs/auto_examples/index.html", "/examples")
            page = path.removesuffix(".html")
            sources = [page + suffix for suffix in (".rst", ".md", ".ipynb")]
            return next((s for s in sources if Path(f"{ROOT}{s}").exists()), path)
    return reference


def broken_in_markdown(path: Path) -> Iterator[str]:
    """Yield the broken links of a Markdown page."""
    prose = _prose(path)
    links = re.findall(r"\]\(\s*<?([^)\s>]+)", prose)
    links += re.findall(r"^\[[^\]]+\]:\s*(\S+)", prose, re.MULTILINE)
    for reference in dict.fromkeys(links):
        problem = _problem(_file_of(reference), path, ROOT)
        if problem:
            yield f"{path.name}: {reference}: {problem}"


def main() -> int:
    """Check the pages given on the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description="Check the internal links of the documentation."
    )
    parser.add_argument("folder", type=Path, help="folder of built pages")
    folder = parser.parse_args().folder.resolve()
    if not (folder / "index.html").exists():
        parser.error(f"{folder} has no index.html")
    messages = list(broken_in_html(folder))
    for name in MARKDOWN:
        messages += broken_in_markdown(ROOT / name)
    for line in messages:
        print(line, file=sys.stderr)
    n_pages = len(list(folder.rglob("*.html")))
    print(f"{n_pages} pages: {len(messages)} broken links")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
