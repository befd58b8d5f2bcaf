"""Checksums of rows: errors that name the row."""

import contextlib
import sqlite3

import numpy as np
import pytest
from journal_samples import exact, open_journal, params_of, record, trial_of

from skbayes.journal.reader import load_history, read_journal, read_trials
from skbayes.journal.rows import Chain

pytest.importorskip("pandas")


@pytest.fixture
def written(tmp_path):
    """Return a journal of two runs, with two trials in flight."""
    path = tmp_path / "search.journal"
    with open_journal(path) as journal:
        record(journal, range(3))
    with open_journal(path) as journal:
        for number in (3, 4):
            journal.record_proposal(number, params_of(number), 0.25)
        for number in (4, 3):
            journal.record_result(trial_of(number))
        journal.record_stage(1, 5)
    return path


def execute(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(statement).fetchall()
        connection.commit()
    return rows


def test_rows_are_chained_in_the_order_of_writing(written):
    tables = ("search", "identity", "splits", "proposals", "results")
    columns = {"search": "name, value", "identity": "part, text"}
    columns["splits"] = "number, train, test"
    columns["proposals"] = "number, params, expected_improvement, asked"
    columns["results"] = "number, state, score, details, finished"
    rows = [
        (place, digest, table, values)
        for table in tables
        for *values, place, digest in execute(
            written, f"SELECT {columns[table]}, place, digest FROM {table}"
        )
    ]
    chain = Chain()
    for place, digest, table, values in sorted(rows):
        row = chain.link(table, values)
        assert (row.place, row.digest) == (place, digest)
        chain.append(row)
    places = dict(execute(written, "SELECT number, place FROM results"))
    assert places[4] == places[3] - 1


@pytest.mark.parametrize(
    "row, change",
    [
        ("results 1", "UPDATE results SET score = 0.5 WHERE number = 1"),
        ("results 1", "UPDATE results SET finished = 1e9 WHERE number = 1"),
        ("results 1", "UPDATE results SET digest = 'x' WHERE number = 1"),
        (
            "results 1",
            "UPDATE results SET details = replace(details, '0.25', '0.26') "
            "WHERE number = 1",
        ),
        (
            "proposals 2",
            "UPDATE proposals SET params = replace(params, '3', '4') WHERE number = 2",
        ),
        (
            "proposals 4",
            "UPDATE proposals SET expected_improvement = NULL WHERE number = 4",
        ),
        ("search 'seed'", "UPDATE search SET value = '8' WHERE name = 'seed'"),
        ("search 'n_points'", "UPDATE search SET value = 2.0 WHERE name = 'n_points'"),
        ("search 'stage 1'", "UPDATE search SET value = 6 WHERE name = 'stage 1'"),
        ("identity 'X'", "UPDATE identity SET text = 'list' WHERE part = 'X'"),
        ("splits 1", "UPDATE splits SET test = train WHERE number = 1"),
        ("row 10 is missing", "DELETE FROM proposals WHERE number = 0"),
        ("row 11 is missing", "DELETE FROM results WHERE number = 0"),
        ("row 0 is missing", "UPDATE search SET place = 99 WHERE place = 0"),
    ],
)
def test_the_row_that_was_changed_is_named(written, row, change):
    execute(written, change)
    before = written.read_bytes()
    expected = row if "missing" in row else rf"row \d+ \({row}\) does not match"
    for read in (load_history, read_journal, open_journal):
        with pytest.raises(ValueError, match=f"journal: .* is damaged: {expected}"):
            read(written)
    with pytest.raises(ValueError, match=expected):
        read_trials(written, None)
    assert written.read_bytes() == before


def test_rows_that_changed_places_are_refused(written):
    execute(written, "UPDATE results SET number = 99 - number WHERE number < 2")
    execute(written, "UPDATE results SET number = number - 98 WHERE number > 90")
    with pytest.raises(ValueError, match="does not match its checksum"):
        load_history(written)


def test_a_flipped_bit_is_noticed_or_does_not_matter(written):
    def content():
        facts, trials = read_journal(written)
        with open_journal(written) as journal:
            results = sorted(journal.results.items())
            shown = [(number, exact(trial)) for number, trial in results]
            return repr((facts, trials, journal.proposals, journal.splits, shown))

    data = written.read_bytes()
    right = content()
    refused = 0
    for bit in np.random.default_rng(0).choice(8 * len(data), 100, replace=False):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        written.write_bytes(flipped)
        try:
            assert content() == right
        except ValueError as error:
            assert str(written) in str(error)
            refused += 1
    assert refused


def test_numbers_come_back_as_they_were_hashed(tmp_path):
    """SQLite has no NaN, only one zero, and stores whole numbers as integers."""
    path = tmp_path / "journal"
    scores = [float("nan"), -0.0, 1.0, float("inf"), 2.0**70, 5e-324]
    with open_journal(path) as journal:
        for number, score in enumerate(scores):
            journal.record_proposal(number, params_of(number), score)
            journal.record_result(trial_of(number, score=score))
    with open_journal(path) as journal:
        found = [journal.results[number].score for number in range(len(scores))]
    np.testing.assert_array_equal(found, scores)
