"""Command-line check of a journal."""

import sqlite3

from journal_samples import exact, execute, open_journal, record, trial_of

from skbayes.journal import file
from skbayes.journal.__main__ import main
from skbayes.journal.reader import read_journal


def test_a_whole_journal(written, tmp_path, capsys):
    before = written.read_bytes()
    copy = tmp_path / "copy"
    assert main(["check", str(written)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [written.name]
    assert main(["check", str(written), "--save", str(copy)]) == 0
    out = capsys.readouterr().out
    assert f"{written}: undamaged: 3 trials, 3 of them finished." in out
    assert f"Saved to {copy}." in out
    assert written.read_bytes() == before
    assert read_journal(copy) == read_journal(written)


def test_what_comes_before_the_damage_is_saved(written, tmp_path, capsys):
    execute(
        written,
        "UPDATE journal SET content = replace(content, '0.1', '9') WHERE place = 4",
    )
    before = written.read_bytes()
    assert main(["check", str(written)]) == 1
    assert "row 4 (result) does not match its checksum" in capsys.readouterr().out
    copy = tmp_path / "copy"
    assert main(["check", str(written), "--save", str(copy)]) == 1
    assert "2 trials, 1 of them finished" in capsys.readouterr().out
    assert written.read_bytes() == before
    with open_journal(copy) as journal:
        assert len(journal.proposals) == 2
        assert journal.results.keys() == {0}
        assert exact(journal.results[0]) == exact(trial_of(0))
        journal.record_result(trial_of(1))
        record(journal, [2])
    assert main(["check", str(copy)]) == 0


def test_what_comes_before_an_unreadable_place_of_the_disk_is_saved(
    written, tmp_path, capsys, monkeypatch
):
    def checked(stored):
        for place, row in enumerate(checked_rows(stored)):
            if place == 4:
                raise sqlite3.OperationalError("disk I/O error")
            yield row

    checked_rows, copy = file._checked, tmp_path / "copy"
    monkeypatch.setattr(file, "_checked", checked)
    assert main(["check", str(written), "--save", str(copy)]) == 1
    out = capsys.readouterr().out
    assert f"{written}: damaged: disk I/O error.\nUndamaged before that: " in out
    assert f"Saved to {copy}." in out
    assert main(["check", str(copy)]) == 0


def test_pages_that_are_lost_are_told(written, tmp_path, capsys):
    """With a page of zeros, SQLite reads no rows after it."""
    with open_journal(written) as journal:
        record(journal, range(3, 30))
    data = bytearray(written.read_bytes())
    data[-4096:] = bytes(4096)
    written.write_bytes(data)
    copy = tmp_path / "copy"
    assert main(["check", str(written), "--save", str(copy)]) == 1
    assert "Undamaged before that: " in capsys.readouterr().out
    with open_journal(copy) as journal:
        assert 0 < len(journal.proposals) < 30


def test_without_its_header_nothing_is_saved(written, tmp_path, capsys):
    # As of a search that was killed at its very beginning.
    execute(written, "DELETE FROM journal WHERE place > 0")
    assert main(["check", str(written)]) == 0
    assert "undamaged: 0 trials" in capsys.readouterr().out
    execute(written, "UPDATE journal SET digest = 'x' WHERE place = 0")
    copy = tmp_path / "copy"
    assert main(["check", str(written), "--save", str(copy)]) == 1
    assert "No trial can be saved" in capsys.readouterr().out
    assert not copy.exists()


def test_a_file_that_exists_is_not_replaced(written, capsys):
    before = written.read_bytes()
    assert main(["check", str(written), "--save", str(written)]) == 1
    assert "already exists and was not changed" in capsys.readouterr().out
    assert written.read_bytes() == before


def test_what_is_no_journal(tmp_path, capsys):
    path = tmp_path / "thesis"
    assert main(["check", str(path)]) == 1
    path.write_text("thesis")
    assert main(["check", str(path)]) == 1
    assert "is not a journal of skbayes" in capsys.readouterr().out
