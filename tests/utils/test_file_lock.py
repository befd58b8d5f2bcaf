import sqlite3

import pytest

from skbayes.utils.file_lock import file_lock, is_busy


def test_a_lock_has_one_holder(tmp_path):
    path = str(tmp_path / "lock")
    with file_lock(path, patience=0.0):
        with pytest.raises(sqlite3.Error) as raised, file_lock(path, patience=0.0):
            pass
        assert is_busy(raised.value)
    with file_lock(path, patience=0.0):
        pass
    with pytest.raises(sqlite3.Error) as raised:
        with file_lock(str(tmp_path), patience=0.0):
            pass
    assert not is_busy(raised.value)
