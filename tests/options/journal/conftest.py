"""Journals that are shared by the test modules of this folder."""

import pytest
from journal_samples import open_journal, record


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.journal"


@pytest.fixture
def written(path):
    """Return a journal that was closed after three trials."""
    with open_journal(path) as journal:
        record(journal, range(3))
    return path
