"""Optional packages, and messages if they are missing."""

import logging
import math
import multiprocessing
import sys
import warnings

import pytest
from every_search import small_search
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from skbayes.utils.optional import import_optional, log_once, warn_or_log


@pytest.fixture(autouse=True)
def forget():
    log_once.cache_clear()
    yield
    log_once.cache_clear()


@pytest.mark.parametrize(
    "module, package",
    [
        ("liblinear.liblinear", "liblinear-official"),
        ("stop_words", "stop-words"),
        ("tqdm.auto", "tqdm"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(module, package, monkeypatch):
    assert import_optional("math", extra="text", purpose="this") is math
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError) as caught:
        import_optional(module, extra="some", purpose="this", instead=", or that")
    assert str(caught.value) == (
        f"this needs {package}, which is not installed: "
        'pip install "skbayes[some]", or that.'
    )


@pytest.mark.parametrize("line", ["import no_such_module", "from os import no_such"])
def test_a_broken_package_raises_its_own_error(line, tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text(line)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="no_such") as caught:
        import_optional("broken_package", extra="some", purpose="this")
    assert "not installed" not in str(caught.value)


def test_each_message_is_logged_once_and_not_by_workers(caplog, monkeypatch):
    for message in ("one", "other", "one"):
        log_once(message)
    assert caplog.record_tuples == [
        ("skbayes", logging.WARNING, "one"),
        ("skbayes", logging.WARNING, "other"),
    ]
    caplog.clear()
    monkeypatch.setattr(multiprocessing.current_process(), "name", "LokyProcess-1")
    log_once("of a worker")
    assert not caplog.records


def test_warnings_are_logged_if_they_are_errors(caplog):
    with pytest.warns(UserWarning, match="said") as caught:
        warn_or_log("said")
    assert caught[0].filename == __file__
    assert not caplog.records
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_or_log("said")
    assert "said" in caplog.text


def test_a_warning_of_a_search_names_the_call_of_fit():
    constraints = {"accuracy": ">= 2"}
    options = {"scoring": "accuracy", "constraints": constraints, "n_iter": 10}
    search = small_search(SVC(), {"C": (0.1, 10.0)}, **options)
    with pytest.warns(UserWarning) as caught:
        search.fit(*load_iris(return_X_y=True))
    (warning,) = [one for one in caught if "no trial satisfies" in str(one.message)]
    assert warning.filename == __file__
