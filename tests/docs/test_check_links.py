"""Checker of internal links of the documentation."""

import subprocess
import sys
from pathlib import Path

import check_links as checker
import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "check_links.py"


GOOD = """
<a href="other.html#there">1</a> <a href="#here">2</a> <h1 id="here">3</h1>
<a href="https://example.org/nothing">4</a> <a href="mailto:a@example.org">5</a>
<img src="sub/a%20picture.png"> <a href="sub/">6</a> <a href="other.html?x=1">7</a>
<a href="#">8</a> <a>9</a>
"""

BROKEN = ['<a href="nowhere.html">', '<a href="other.html#not-there">']
BROKEN += ['<a href="#not-here">', '<img src="sub/no.png">', '<link href="no.css">']
BROKEN += ['<script src="no.js"></script>']


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a picture.png").touch()
    (tmp_path / "sub" / "index.html").write_text('<a href="../index.html#here">')
    (tmp_path / "other.html").write_text('<p id="there">')
    (tmp_path / "index.html").write_text(GOOD)
    return tmp_path


def test_good_links_are_left_alone(pages):
    assert list(checker.broken_in_html(pages)) == []


def test_broken_links_are_found(pages):
    (pages / "sub" / "more.html").write_text("<p>")
    for element in BROKEN:
        (pages / "bad.html").write_text(GOOD + element)
        (message,) = checker.broken_in_html(pages)
        assert message.startswith("bad.html: ")


def test_broken_links_of_markdown_files_are_reported(tmp_path):
    (tmp_path / "there.md").write_text("# A `good` place, isn't it?\n")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](there.md) [b](there.md#a-good-place-isnt-it) [c](#here)\n"
        "[d](https://example.org) `[e](not/a/link)`\n```\n[f](nor/this)\n```\n"
        "![g](no.png) [h](#nowhere) [i](there.md#no)\n"
    )
    targets = [line.split(": ")[1] for line in checker.broken_in_markdown(page)]
    assert targets == ["no.png", "#nowhere", "there.md#no"]


def test_published_files_must_exist(tmp_path):
    page = tmp_path / "page.md"
    files = {"https://skbayes.github.io/skbayes/dev/": ("faq.html", "no.html")}
    files["https://github.com/skbayes/skbayes/blob/main/"] = ("LICENSE", "no.md")
    raw = "https://raw.githubusercontent.com/skbayes/skbayes/main/docs/images/"
    files[raw] = ("search.png", "no.png")
    for good, bad in (map(a.__add__, names) for a, names in files.items()):
        page.write_text(f"[a]({good}) ![b]({bad})")
        messages = list(checker.broken_in_markdown(page))
        assert messages == [f"page.md: {bad}: no such file"]


def test_no_page_of_the_repository_has_a_broken_link():
    for name in checker.MARKDOWN:
        assert list(checker.broken_in_markdown(checker.ROOT / name)) == []


def test_the_command_prints_broken_links_and_fails(pages):
    def run():
        command = [sys.executable, str(SCRIPT), str(pages)]
        return subprocess.run(command, capture_output=True, text=True)

    process = run()
    assert process.returncode == 0 and "3 pages: 0 broken links" in process.stdout
    (pages / "bad.html").write_text(BROKEN[0])
    process = run()
    assert process.returncode == 1 and "nowhere.html: no such file" in process.stderr
    (pages / "index.html").unlink()
    assert run().returncode == 2
