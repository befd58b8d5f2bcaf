"""Summary figure and HTML page of a fitted search."""

import html.parser
import os
import pickle
import sys

import drawn_searches as drawn
import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
import pytest
from every_search import small_search
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skbayes import BayesSearchCV
from skbayes.inspection import read_record
from skbayes.inspection.report import MAX_AXES, _panels
from skbayes.trial.records import History

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)
SPACES = {"max_depth": (1, 6), "min_samples_leaf": (1, 30)}
VOID = {"meta", "img"}
TITLES = ["Convergence", "Importance of the hyper-parameters", "All trials"]
# Texts that would break a page without escapes.
SCRIPT = "<script>window.pwned = 1</script>"
IMAGE = "\"><img src=x onerror='window.pwned = 2'>"


class Odd(GaussianNB):
    """Classifier with a text as a parameter, one of which it refuses."""

    def __init__(self, text="plain"):
        super().__init__()
        self.text = text

    def fit(self, X, y):
        if self.text == IMAGE:
            raise ValueError(f"no fit for {self.text} & <b>bold</b>")
        return super().fit(X, y)


class Page(html.parser.HTMLParser):
    """Parser of a page that checks whether all elements are closed."""

    def __init__(self, path):
        super().__init__()
        self.open, self.tags, self.texts = [], [], {}
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


@pytest.fixture(scope="module")
def search():
    return small_search(TREE, SPACES, n_iter=6).fit(X, y)


def test_the_page_has_the_result_the_figure_and_all_trials(search, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    assert search.report(path) == path
    page = Page(path)
    assert page.texts["h1"] == ["BayesSearchCV: DecisionTreeClassifier"]
    cells = page.texts["td"]
    for name, value in search.best_params_.items():
        assert f"{name} = {value}" in cells
    assert cells.count("complete") == 6 and "n_iter" in cells
    for score in search.cv_results_["mean_test_score"]:
        assert f"{score:.5g}" in cells
    (image,) = [attrs for tag, attrs in page.tags if tag == "img"]
    assert image["alt"] == ", ".join(TITLES)
    # Nothing is loaded from elsewhere, and nothing appears on the screen.
    assert image["src"].startswith("data:image/png;base64,")
    assert not {"script", "link"} & {tag for tag, _ in page.tags}
    assert plt.get_fignums() == []


@pytest.mark.parametrize("kind", drawn.KINDS)
def test_searches_of_all_kinds_have_a_page(kind, tmp_path):
    fitted = drawn.search(kind)
    page = Page(fitted.report(tmp_path / "report.html"))
    assert page.texts["td"].count("complete") >= 2


def test_a_page_needs_a_fitted_search_and_a_folder(search, tmp_path):
    unfitted, page = BayesSearchCV(TREE, SPACES), tmp_path / "nowhere" / "report.html"
    for refused, path, error in (
        (unfitted.report, page.parent, NotFittedError),
        (unfitted.plot, None, NotFittedError),
        (search.report, page, FileNotFoundError),
        (search.report, 3, TypeError),
    ):
        with pytest.raises(error):
            refused(path)


def test_texts_of_the_user_are_escaped(tmp_path):
    spaces = {"text": [SCRIPT, IMAGE, "\x00\x1b[31m", "$x_$"]}
    search = small_search(Odd(), spaces, n_iter=4, error_score=0.0)
    with pytest.warns(match="1 of the 4|fits failed"):
        search.fit(X, y)
    page = Page(search.report(tmp_path / "report.html"))
    assert not {"script", "b"} & {tag for tag, _ in page.tags}
    assert len([tag for tag, _ in page.tags if tag == "img"]) == 1
    assert f"ValueError: no fit for {IMAGE} & <b>bold</b>" in page.texts["td"]


def test_without_matplotlib_the_page_has_no_figure(search, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(search.report(tmp_path / "report.html"))
    assert "The plots require matplotlib." in page.texts["p"]


def test_the_summary_figure_contains_the_main_plots(search, tmp_path):
    with matplotlib.style.context("dark_background"):
        figure = search.plot()
        assert figure is plt.gcf() and pickle.loads(pickle.dumps(figure)).axes
        parts = [part for row in figure.subfigs for part in row.subfigs]
        titles = [part._suptitle.get_text() for part in parts]
        assert titles == TITLES
        # Effects are not drawn from few trials.
        (reason,) = figure.axes[1].texts
        assert "only 6 trials with a score" in reason.get_text().replace("\n", " ")
        plt.close("all")  # also the copy, which is opened too
    assert search.plot(tmp_path / "search.png") == tmp_path / "search.png"
    assert (tmp_path / "search.png").stat().st_size > 10_000
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("path", "error", "match"),
    [
        ("convergence", ValueError, "'search.png', got 'convergence'.* a display of"),
        ("search.html", ValueError, "path must be an image file such as"),
        (3, ValueError, "path must be an image file such as 'search.png', got 3"),
        ("nowhere/search.png", FileNotFoundError, "path: there is no folder 'nowhere'"),
    ],
)
def test_paths_without_an_image_type_are_refused_before_drawing(
    search, tmp_path, monkeypatch, path, error, match
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=match):
        search.plot(path)
    assert os.listdir(tmp_path) == [] and not plt.get_fignums()


def test_parallel_coordinates_have_room_for_their_axes():
    rng, names = np.random.default_rng(0), [f"model__parameter{k}" for k in range(30)]
    history = History(
        drawn.trial(k, rng.random(), {"model": "ab"[k % 2]} | dict.fromkeys(some, k))
        for k in range(6)
        for some in [names[k % 2 :: 2]]
    )
    panels = {panel.title: panel for panel in _panels(read_record(history))}
    display = panels["All trials"].draw(ax=plt.figure().subplots())
    drawn_names = [scale.name for scale in display.scales]
    assert len(drawn_names) == MAX_AXES and drawn_names[0] == "model"
