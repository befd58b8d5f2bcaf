"""Journals that several test modules of this folder begin with."""

import pytest
from journal_samples import open_journal, record


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.journal"


@pytest.fixture
def written(path):
    """A journal that was ended after three trials."""
    with open_journal(path) as journal:
        record(journal, range(3))
    return path
