"""HTML report of a search; test_report_browser.py opens it in a browser."""

import ast
import base64
import html.parser
import os
import pickle
import sys
import warnings

import drawn_searches as drawn
import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
import pytest
import sklearn
from journal_samples import open_journal, record
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from text_parameters import IMAGE, SCRIPT, Odd

from skbayes import BayesSearchCV, load_history
from skbayes.inspection import (
    ConvergenceDisplay,
    read_record,
    report_history,
    write_report,
)
from skbayes.inspection.report_plots import MOST_AXES, Plot, _plots, drawn_plots
from skbayes.journal import reader
from skbayes.trial.records import FoldResult, History, Trial

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)
SPACES = {"max_depth": (1, 6), "min_samples_leaf": (1, 30)}
OPTIONS = {"n_iter": 6, "cv": 2, "random_state": 0}
GAIN = "gain over the estimator's own values"
VOID = {"meta", "link", "img", "br"}


class Reader(html.parser.HTMLParser):
    """Parser of a page that checks whether all elements are closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts = [], [], {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def read(path):
    return Reader(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "search.journal"
    return BayesSearchCV(TREE, SPACES, journal=str(path), **OPTIONS).fit(X, y)


@pytest.fixture(scope="module")
def page(search, tmp_path_factory):
    return read(search.report(tmp_path_factory.mktemp("report") / "report.html"))


@pytest.fixture
def undrawn(monkeypatch):
    """Report without figures, which take most of the time."""
    monkeypatch.setattr("skbayes.inspection.report.drawn_plots", lambda *_: [])


def test_it_says_what_was_found(page, search):
    assert page.texts["h1"] == ["BayesSearchCV: DecisionTreeClassifier"]
    best = ast.literal_eval("".join(page.texts["code"][:1]))
    assert best == search.best_params_
    words = " ".join(page.texts["p"])
    assert f"{search.best_score_:.6g}" in words and "higher is better" in words
    facts = dict(zip(page.texts["dt"], page.texts["dd"], strict=True))
    found = facts["trials"], facts["fits"], facts["stop reason"]
    assert found == ("6", "12", "n_iter")
    assert facts["scikit-learn"] == sklearn.__version__
    assert GAIN not in facts  # the own values are not in the space
    titles = page.texts["b"]
    assert titles == ["Convergence", "All trials"] and len(page.all("img")) == 2
    not_drawn = [text for text in page.texts["p"] if text.startswith("Not drawn: ")]
    assert len(not_drawn) == 2
    assert all("only 6 trials with a score" in text for text in not_drawn)
    assert {"time of all fits", "time of the refit", "total time"} <= facts.keys()
    assert plt.get_fignums() == []  # nothing appears on the screen


def test_the_gain_over_the_own_values(undrawn):
    search = BayesSearchCV(SVC(), {"C": (0.01, 10.0)}, **OPTIONS).fit(X, y)
    page = Reader(search.report().page)
    facts = dict(zip(page.texts["dt"], page.texts["dd"], strict=True))
    assert facts[GAIN] == f"{search.best_gain_:.2g} ± {search.best_gain_std_:.2g}"


def test_every_trial_has_a_row(page, search):
    heads = page.texts["th"]
    assert {"trial", "state", "score", "max_depth", "min_samples_leaf"} <= set(heads)
    cells = np.reshape(page.texts["td"], (6, len(heads)))
    assert list(cells[:, 0]) == list("012345")
    scores = cells[:, heads.index("score")].astype(float)
    np.testing.assert_allclose(scores, search.cv_results_["mean_test_score"], rtol=1e-4)


def test_it_needs_nothing_from_outside(page):
    for tag, attrs in page.tags:
        for name in ("src", "href", "action", "data"):
            assert attrs.get(name, "data:").startswith("data:"), tag
    assert len(page.all("script")) == 1
    assert all(len(image["alt"]) > 20 for image in page.all("img"))
    assert len(page.all("img")) >= 2


@pytest.fixture(scope="module")
def odd():
    spaces = {"text": ["plain", SCRIPT, IMAGE, "\x00\ud800"], "smoothing": (0.1, 1.0)}
    points = [{"text": t, "smoothing": 0.5} for t in spaces["text"]]
    search = BayesSearchCV(Odd(), spaces, initial_points=points, **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.fit(X, y)


def test_texts_of_the_user_are_texts(odd, tmp_path, undrawn):
    page = read(odd.report(tmp_path / "report.html", title=f"{SCRIPT}{IMAGE}"))
    assert page.texts["h1"] == page.texts["title"] == [f"{SCRIPT}{IMAGE}"]
    assert len(page.all("script")) == 1
    assert not any("onerror" in attrs for _, attrs in page.tags)
    assert "bold" not in page.texts.get("b", [])
    assert repr(SCRIPT) in page.texts["td"]
    # The error of a failed trial: the last line, and the rest on request.
    assert f"ValueError: no fit for {IMAGE} & <b>bold</b>" in page.texts["summary"]
    assert any("Traceback" in source for source in page.texts["code"])


def test_a_picture_that_fails_does_not_take_the_page_with_it(
    search, tmp_path, monkeypatch
):
    def fails(*args, **kwargs):
        raise RuntimeError("<i>no</i>")

    plans = [Plot("Good", ConvergenceDisplay(read_record(search)).plot)]
    plans = [*plans, Plot("Bad", fails), *plans]
    monkeypatch.setattr("skbayes.inspection.report_plots._plots", lambda *_: plans)
    page = read(search.report(tmp_path / "report.html"))
    assert "Not drawn: Bad (RuntimeError: <i>no</i>)" in page.texts["p"]
    assert len(page.all("img")) == 2


def test_values_of_any_text_in_a_table(tmp_path, undrawn):
    class Shy:
        def __repr__(self):
            raise RuntimeError

    values = [Shy(), "x" * 99, 0.1234567, np.nan, True, (8, 8), (SCRIPT, IMAGE)]
    folds = [FoldResult({"score": 0.7}, 0.1, 0.0)]
    history = History(
        Trial(k, {"layers": value, "state": "liquid", "trial": 7}, folds, score=0.7)
        for k, value in enumerate(values)
    )
    page = read(report_history(history, tmp_path / "report.html"))
    rows = np.reshape(page.texts["td"], (len(values), -1))
    # A parameter may have the name of a column.
    assert rows[0, :2].tolist() == ["0", "complete"]
    row = dict(zip(page.texts["th"][2:], rows[0, 2:], strict=True))
    assert (row["state"], row["trial"]) == ("'liquid'", "7")
    shown = rows[:, page.texts["th"].index("layers")].tolist()
    assert shown[:1] + shown[2:6] == ["<Shy>", "0.12346", "nan", "True", "(8, 8)"]
    assert len(shown[1]) == 48
    assert len(page.all("script")) == 1
    assert not any("onerror" in attrs for _, attrs in page.tags)


@pytest.mark.parametrize("source", ["path", "frame", "trials"])
def test_a_search_that_runs(search, tmp_path, source, undrawn):
    sources = {
        "path": search.journal,
        "frame": load_history(search.journal),
        "trials": search.trials_,
    }
    found = report_history(
        sources[source], tmp_path / "page.html", search_spaces=SPACES, title="mine"
    )
    page = read(found)
    assert page.texts["h1"] == ["mine"]
    assert ast.literal_eval(page.texts["code"][0]) == search.best_params_
    assert page.texts["td"].count("complete") == 6


def test_before_the_first_score(tmp_path):
    page = read(report_history(History([]), tmp_path / "none.html"))
    assert "No trial has a score yet." in page.texts["p"]
    folds = [FoldResult({"score": np.nan}, 0.1, 0.0, fit_error="a\nE: b")]
    failed = Trial(0, {"C": 1}, folds, np.nan, state="failed")
    page = read(report_history(History([failed]), tmp_path / "failed.html"))
    assert page.texts["summary"] == ["E: b"]


@pytest.mark.parametrize(
    "kind, title",
    [
        ("tradeoff", "Score against cost"),
        ("pareto", "Evolution of the front"),
    ],
)
def test_searches_of_all_kinds(kind, title, search, tmp_path, undrawn):
    own = drawn.search(kind)
    plans = {plan.title: plan for plan in _plots(own, read_record(own))}
    for plan in plans.values():
        assert plan.draw(ax=plt.figure().subplots())._alt
    assert title not in {plan.title for plan in _plots(search, read_record(search))}
    page = read(write_report(own, tmp_path / "report.html"))
    assert ("Pareto front" in page.texts["h2"]) == (kind == "pareto")


def test_a_loss_is_shown_as_one_and_other_metrics_beside_it(tmp_path, undrawn):
    search = BayesSearchCV(
        TREE, SPACES, scoring=["neg_log_loss", "accuracy"], refit=False, **OPTIONS
    ).fit(X, y)
    page = read(search.report(tmp_path / "report.html"))
    heads = page.texts["th"]
    assert "accuracy" in heads
    losses = np.reshape(page.texts["td"], (6, len(heads)))[:, heads.index("log loss")]
    np.testing.assert_allclose(
        losses.astype(float), -search.cv_results_["mean_test_neg_log_loss"], rtol=1e-4
    )


def test_a_search_of_scikit_learn_and_a_pickled_one(search, page, tmp_path, undrawn):
    grid = GridSearchCV(TREE, {"max_depth": [1, 2, 3]}, cv=2).fit(X, y)
    path = write_report(grid, tmp_path / "report.html")
    assert read(path).texts["td"].count("complete") == 3
    again = pickle.loads(pickle.dumps(search))
    assert read(again.report(path)).texts["td"] == page.texts["td"]


def test_pictures_look_the_same_in_every_style(search, page):
    record = read_record(search)
    own = {"svg.fonttype": "none", "lines.linewidth": 9.0, "savefig.facecolor": "red"}
    with matplotlib.style.context(["ggplot", "dark_background", own]):
        before = dict(matplotlib.rcParams)
        made = []
        for one in drawn_plots(search, record):
            assert dict(matplotlib.rcParams) == before
            made.append(one)
        assert dict(matplotlib.rcParams) == before
    shown = [image["src"].partition(",")[2] for image in page.all("img")]
    drawn_ones = [one["svg"] for one in made if one["svg"] is not None]
    assert drawn_ones == list(map(base64.b64decode, shown))


def test_without_matplotlib_or_jinja(search, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        page = read(search.report(tmp_path / "report.html"))
    assert not page.all("img")
    assert 'pip install "skbayes[plot]"' in " ".join(page.texts["p"])
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "skbayes\[plot\]"'):
        search.report(tmp_path / "other.html")
    assert os.listdir(tmp_path) == ["report.html"]


def test_without_a_path_a_notebook_shows_the_report(
    search, tmp_path, monkeypatch, undrawn
):
    monkeypatch.chdir(tmp_path)
    report = search.report(title=f"{SCRIPT} & more")
    assert os.listdir(tmp_path) == []
    frame = Reader(report._repr_html_())
    ((tag, attrs),) = frame.tags
    # The frame isolates the page, whose script runs there.
    assert (tag, attrs["sandbox"]) == ("iframe", "allow-scripts")
    page = Reader(attrs["srcdoc"])
    assert page.texts["h1"] == [f"{SCRIPT} & more"] == [report.title]
    assert page.texts["td"].count("complete") == 6
    assert report.title in repr(report) and "<html" not in repr(report)
    assert pickle.loads(pickle.dumps(report)).page == report.page


def test_the_summary_figure_contains_the_main_plots(search, tmp_path):
    with matplotlib.style.context("dark_background"):
        figure = search.plot()
        assert figure is plt.gcf() and pickle.loads(pickle.dumps(figure)).axes
        parts = [part for row in figure.subfigs for part in row.subfigs]
        titles = [part._suptitle.get_text() for part in parts]
        assert titles == [
            "Convergence",
            "Importance of the hyper-parameters",
            "All trials",
        ]
        # Effects are not drawn from few trials.
        (reason,) = figure.axes[1].texts
        assert "only 6 trials with a score" in reason.get_text().replace("\n", " ")
        plt.close("all")  # also the copy, which is opened too
    assert search.plot(tmp_path / "search.png") == tmp_path / "search.png"
    assert (tmp_path / "search.png").stat().st_size > 10_000
    assert not plt.get_fignums()
    with pytest.raises(NotFittedError):
        BayesSearchCV(TREE, SPACES).plot()


@pytest.mark.parametrize(
    ("path", "error", "match"),
    [
        ("convergence", ValueError, "'search.png', got 'convergence'.* a display of"),
        ("search.html", ValueError, "path must be an image file such as"),
        (3, ValueError, "path must be an image file such as 'search.png', got 3"),
        ("nowhere/search.png", FileNotFoundError, "path: there is no folder 'nowhere'"),
    ],
)
def test_what_is_no_image_is_refused_before_anything_is_drawn(
    search, tmp_path, monkeypatch, path, error, match
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=match):
        search.plot(path)
    assert os.listdir(tmp_path) == [] and not plt.get_fignums()


def test_the_file_is_replaced_at_once(search, tmp_path, monkeypatch, undrawn):
    path = tmp_path / "report.html"
    path.write_text("old")
    assert search.report(str(path)) == path
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    path.write_text("old")
    monkeypatch.setattr("skbayes.inspection.report._contents", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        search.report(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_path_that_cannot_be_written(search, tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("drawn in vain")

    monkeypatch.setattr("skbayes.inspection.report.drawn_plots", never)
    with pytest.raises(FileNotFoundError, match="path: there is no folder '.*nowhere'"):
        search.report(tmp_path / "nowhere" / "report.html")
    with pytest.raises(TypeError, match="path must be"):
        search.report(3)
    for target in (tmp_path / "report.html", None):
        with pytest.raises(TypeError, match="title must be"):
            search.report(target, title=3)
        with pytest.raises(NotFittedError):
            BayesSearchCV(TREE, SPACES).report(target)
    assert os.listdir(tmp_path) == []


def test_the_best_trial_of_each_model_has_a_row(tmp_path, undrawn):
    models = [DecisionTreeClassifier(max_depth=1), GaussianNB()]
    search = BayesSearchCV(
        Pipeline([("model", models[0])]),
        {"model": [*models, DecisionTreeClassifier(min_samples_leaf=60)]},
        n_iter=3,
        cv=2,
        random_state=0,
    ).fit(X, y)
    page = read(search.report(tmp_path / "report.html"))
    assert "Best of each model" in page.texts["h2"]
    width = page.texts["th"].index("trial", page.texts["th"].index("trial") + 1)
    rows = np.reshape(page.texts["td"][: 3 * width], (3, width))
    assert rows[0, 0] == "GaussianNB()" and set(rows[:, 1]) == {"1"}
    scores = [float(score) for score in rows[:, 2]]
    assert scores == sorted(scores, reverse=True)
    assert np.isclose(scores[0], search.best_score_, atol=1e-4)


def test_parallel_coordinates_have_room_for_their_axes():
    rng, names = np.random.default_rng(0), [f"model__parameter{k}" for k in range(30)]
    history = History(
        Trial(
            k,
            {"model": "ab"[k % 2]} | dict.fromkeys(names[k % 2 :: 2], rng.random()),
            [FoldResult({"score": 0.7}, 0.1, 0.0)],
            score=rng.random(),
        )
        for k in range(6)
    )
    plans = {plan.title: plan for plan in _plots(None, read_record(history))}
    display = plans["All trials"].draw(ax=plt.figure().subplots())
    shown = [scale.name for scale in display.scales]
    assert len(shown) == MOST_AXES and shown[0] == "model"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")
def test_only_regular_files_are_replaced(search, tmp_path, undrawn):
    victim, link, pipe = (tmp_path / name for name in ("victim", "link", "pipe"))
    victim.write_text("precious")
    link.symlink_to(victim)
    os.mkfifo(pipe)
    for path in (link, pipe, os.devnull, tmp_path):
        with pytest.raises(ValueError, match="path must be a regular or a new file"):
            write_report(search, path)
    assert victim.read_text() == "precious" and link.is_symlink() and pipe.is_fifo()
    for name in ("x" * 300, "a\0b"):
        with pytest.raises((OSError, ValueError)):
            write_report(search, tmp_path / name)
    write_report(search, tmp_path / ("x" * 250))
    assert len(list(tmp_path.iterdir())) == 4


def test_a_file_keeps_its_mode(search, tmp_path, undrawn):
    path = tmp_path / "r.html"
    path.write_text("old")
    for mode in (0o600, 0o640):
        path.chmod(mode)
        write_report(search, path)
        assert path.stat().st_mode & 0o777 == mode
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    path.unlink()
    before = os.umask(0o027)
    try:
        write_report(search, path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_texts_of_all_pictures_are_no_formulas():
    """Names and options of a search are not interpreted, whatever they contain."""
    names = [r"$x_$", r"\frac{", "\x1b[31m<b>"]
    folds = [FoldResult({"score": 0.5}, 0.1, 0.0)]
    values = [(k, "$y_$", f"\n{k % 2}") for k in range(10)]
    params = [dict(zip(names, row, strict=True)) for row in values]
    history = History(Trial(k, one, folds, score=k / 9) for k, one in enumerate(params))
    made = list(drawn_plots(history, read_record(history, name="$n_$")))
    assert all(one["svg"] for one in made) and len(made) >= 4


def test_a_page_refreshes_itself_until_the_search_ends(tmp_path, monkeypatch, undrawn):
    journal = open_journal(tmp_path / "a.journal")
    pages = []

    def sleep(seconds):
        assert seconds == 2.5
        record(journal, [len(pages)])
        pages.append((tmp_path / "page.html").read_text(encoding="utf-8"))
        if len(pages) == 2:
            journal.close()

    monkeypatch.setattr(reader.time, "sleep", sleep)
    path = report_history(tmp_path / "a.journal", tmp_path / "page.html", refresh=2.5)
    pages.append(path.read_text(encoding="utf-8"))
    refreshed = ("meta", {"http-equiv": "refresh", "content": "3"})
    assert [refreshed in Reader(page).tags for page in pages] == [True, True, False]
    assert pages[2].count("<td") > pages[1].count("<td") > pages[0].count("<td")


def test_a_page_of_a_finished_search_does_not_refresh_itself(tmp_path, undrawn):
    with open_journal(tmp_path / "a.journal") as journal:
        record(journal, [0])
    path = report_history(tmp_path / "a.journal", tmp_path / "page.html", refresh=1)
    assert 'http-equiv="refresh"' not in path.read_text(encoding="utf-8")
    with pytest.raises(TypeError, match="refresh needs the path of the journal"):
        report_history(load_history(tmp_path / "a.journal"), path, refresh=1)


def test_the_best_configuration_has_its_rounds():
    model = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
    space = {"learning_rate": [0.1, 0.5]}
    search = BayesSearchCV(
        model, space, n_iter=2, cv=2, early_stopping=5, random_state=0
    )
    search.fit(X, y)
    assert "max_iter" in search.best_params_
    assert "max_iter" in search.report().page
