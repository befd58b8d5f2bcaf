"""HTML report in a browser, if one is installed."""

import warnings

import pytest
from chromium import BINARY, Browser
from contrast import contrast, luminance
from sklearn.datasets import load_iris
from text_parameters import IMAGE, SCRIPT, Odd

from skbayes import BayesSearchCV

STYLE = "getComputedStyle(document.querySelector"

pytestmark = [
    pytest.mark.documentation,
    pytest.mark.skipif(BINARY is None, reason="no Chromium on the PATH"),
]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    X, y = load_iris(return_X_y=True)
    search = BayesSearchCV(
        Odd(),
        {
            "text": ["plain", SCRIPT, IMAGE, "long " * 60],
            "smoothing": (1e-9, 1e2, "log-uniform"),
        },
        n_iter=9,
        cv=2,
        random_state=0,
        initial_points=[{"text": t, "smoothing": 0.1} for t in (SCRIPT, IMAGE)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y)
    folder = tmp_path_factory.mktemp("report")
    return search.report(folder / "report.html", title=f"{SCRIPT} & more")


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module", params=[1280, 390])
def page(request, browser, path):
    """Return the page at the widths of a desktop and of a phone; read-only."""
    return browser.open(path, request.param)


def width_of(page):
    return page.evaluate("window.innerWidth")


def test_it_loads_by_itself_and_complains_of_nothing(page, path):
    assert page.complaints == []
    outside = [
        url for url in page.requests if not url.startswith(("file:", "data:", "about:"))
    ]
    assert outside == []
    assert page.requests.count(path.as_uri()) == 1


def test_nothing_sticks_out(page):
    width = width_of(page)
    assert width in (1280, 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The table has its own box, in which it can be scrolled.
    box = "document.querySelector('.scroll')"
    assert page.evaluate(f"{box}.getBoundingClientRect().right") <= width
    if width == 390:
        assert page.evaluate(f"{box}.scrollWidth > {box}.clientWidth")


def test_all_pictures_are_seen(page):
    shown = page.evaluate(
        "[...document.images].map(i => i.complete && i.naturalWidth > 100 "
        "&& i.alt.length > 20 && i.getBoundingClientRect().width > 150)"
    )
    assert len(shown) >= 2 and all(shown)


def test_texts_of_the_user_sorting_and_errors(browser, path):
    page = browser.open(path)
    assert page.evaluate("typeof window.pwned") == "undefined"
    title = page.evaluate("document.querySelector('h1').textContent")
    assert title == f"{SCRIPT} & more"
    assert page.evaluate("document.scripts.length") == 1
    assert SCRIPT in page.evaluate("document.querySelector('pre').textContent") + (
        page.evaluate("document.querySelector('table').textContent")
    )
    cells = (
        "[...document.querySelectorAll('table.sortable tbody tr')]"
        ".map(row => row.cells[0].textContent).map(Number)"
    )
    head = "document.querySelector('table.sortable th button').click()"
    assert page.evaluate(cells) == list(range(9))
    page.evaluate(f"{head}; {head}")
    assert page.evaluate(cells) == list(range(9))[::-1]
    sorted_by = "document.querySelector('th[aria-sort]').getAttribute('aria-sort')"
    assert page.evaluate(sorted_by) == "descending"
    assert page.evaluate("document.querySelector('details').open") is False
    page.evaluate("document.querySelector('details summary').click()")
    assert page.evaluate("document.querySelector('details').open") is True
    assert "Traceback" in page.evaluate("document.querySelector('details').innerText")


@pytest.mark.parametrize("dark", [False, True])
def test_it_can_be_read_in_light_and_dark(browser, path, dark):
    page = browser.open(path, dark=dark)
    colors = (
        "['body', 'td', 'dt', 'pre'].map(name => {"
        " let one = document.querySelector(name), ink = getComputedStyle(one).color,"
        " paper = 'rgba(0, 0, 0, 0)';"
        " while (paper === 'rgba(0, 0, 0, 0)' && one) {"
        " paper = getComputedStyle(one).backgroundColor; one = one.parentElement; }"
        " return [ink, paper]; })"
    )
    for ink, paper in page.evaluate(colors):
        assert contrast(_rgb(ink), _rgb(paper)) >= 4.5  # the minimum of WCAG for texts
    body = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert bool(luminance(_rgb(body)) < 0.1) is dark
    behind = page.evaluate(f"{STYLE}('figure')).backgroundColor")
    inverted = page.evaluate(f"{STYLE}('figure img')).filter") != "none"
    assert bool(luminance(_rgb(behind)) < 0.1) is dark is inverted


def _rgb(color):
    return [int(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
