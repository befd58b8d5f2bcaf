"""Command-line check of a journal."""

from journal_samples import exact, execute, open_journal, record, trial_of

from skbayes.journal.__main__ import main
from skbayes.journal.journal import Content


def test_a_whole_journal(written, tmp_path, capsys):
    before = written.read_bytes()
    copy = tmp_path / "copy"
    assert main(["check", str(written)]) == 0
    assert not (tmp_path / "copy").exists()
    assert main(["check", str(written), "--save", str(copy)]) == 0
    out = capsys.readouterr().out
    assert f"{written}: undamaged: 3 trials, 3 of them finished." in out
    assert f"Saved to {copy}." in out
    assert written.read_bytes() == before
    assert Content.read(copy) == Content.read(written)


def test_what_comes_before_the_damage_is_saved(written, tmp_path, capsys):
    execute(
        written,
        "UPDATE journal SET content = replace(content, '0.1', '9') WHERE place = 4",
    )
    before = written.read_bytes()
    copy = tmp_path / "copy"
    assert main(["check", str(written), "--save", str(copy)]) == 1
    out = capsys.readouterr().out
    assert "row 4 (result) does not match its checksum" in out
    assert "2 trials, 1 of them finished" in out
    assert written.read_bytes() == before
    with open_journal(copy) as journal:
        assert len(journal.proposals) == 2
        assert journal.results.keys() == {0}
        assert exact(journal.results[0]) == exact(trial_of(0))
        journal.record_result(trial_of(1))
        record(journal, [2])
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


def test_what_cannot_be_saved(written, tmp_path, capsys):
    before = written.read_bytes()
    assert main(["check", str(written), "--save", str(written)]) == 1
    assert "already exists and was not changed" in capsys.readouterr().out
    assert written.read_bytes() == before
    execute(written, "UPDATE journal SET checksum = 0 WHERE place = 0")
    copy = tmp_path / "copy"
    assert main(["check", str(written), "--save", str(copy)]) == 1
    assert "No trial can be saved" in capsys.readouterr().out
    assert not copy.exists()
    assert main(["check", str(copy)]) == 1
    copy.write_text("thesis")
    assert main(["check", str(copy)]) == 1
    assert "is not a journal of skbayes" in capsys.readouterr().out
