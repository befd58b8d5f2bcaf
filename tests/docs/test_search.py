"""The search field of the documentation, and the titles that it shows."""

import re
from pathlib import Path

import check_search
import pytest

import skbayes

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = {
    query: page for query, page in check_search.FIRST.items() if "generated" not in page
}


def _entries(page):
    """Return the main index entries of a page of the guide."""
    text = (DOCS / f"{page}.rst").read_text(encoding="utf-8")
    lines = re.findall(r"^\.\. index:: (.*)$", text, re.M)
    return {entry for line in lines for entry in re.findall(r"! ([^,]+)", line)}


@pytest.mark.parametrize("query", GUIDE)
def test_the_first_result_has_an_index_entry(query):
    # Sphinx ranks these entries first; all other pages with the word are equal to it.
    assert query in _entries(GUIDE[query])


def test_no_two_pages_have_an_entry():
    pages = [page.stem for page in DOCS.glob("*.rst")]
    entries = [entry.lower() for page in pages for entry in _entries(page)]
    assert len(entries) > 50
    assert sorted(entries) == sorted(set(entries))


def test_titles_differ_from_each_other_and_from_class_names():
    titles = [
        re.search(r"^(.+)\n=+$", page.read_text(encoding="utf-8"), re.M)[1]
        for page in DOCS.glob("*.rst")
    ]
    assert sorted(titles) == sorted(set(titles))
    assert not set(titles) & set(skbayes.__all__)
