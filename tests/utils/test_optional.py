"""Packages that extras install: what is said where one is missing."""

import logging
import math
import multiprocessing
import sys

import pytest

from skbayes.utils.optional import import_optional, tell_once


@pytest.fixture(autouse=True)
def forget():
    tell_once.cache_clear()
    yield
    tell_once.cache_clear()


def test_what_is_installed_is_imported():
    assert import_optional("math", extra="text", purpose="this") is math


@pytest.mark.parametrize(
    "module, package",
    [
        ("liblinear.liblinear", "liblinear-official"),
        ("stop_words", "stop-words"),
        ("tqdm.auto", "tqdm"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(module, package, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError) as caught:
        import_optional(module, extra="some", purpose="this", instead=", or that")
    assert str(caught.value) == (
        f"this needs {package}, which is not installed: "
        'pip install "skbayes[some]", or that.'
    )


def test_each_message_is_told_once(caplog):
    for message in ("one", "other", "one"):
        tell_once(message)
    assert caplog.record_tuples == [
        ("skbayes", logging.WARNING, "one"),
        ("skbayes", logging.WARNING, "other"),
    ]


def test_workers_tell_nothing(caplog, monkeypatch):
    monkeypatch.setattr(multiprocessing.current_process(), "name", "LokyProcess-1")
    tell_once("one")
    assert not caplog.records
