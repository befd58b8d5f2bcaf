"""Content of a journal: rows with checksums, and rejected input."""

import base64
import contextlib
import json
import random
import sqlite3
import zlib

import numpy as np
import pytest
from attacks import hostile
from journal_samples import exact, open_journal, params_of, record, trial_of

from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.journal.content import (
    MAX_METRICS,
    Content,
    make_row,
    pack_split,
    parse_row,
    result_row,
    unpack_split,
)
from skbayes.journal.reader import load_history, read_journal, read_trials
from skbayes.journal.sqlite_file import digest_of

pytest.importorskip("pandas")

# -- checksums --------------------------------------------------------------------


@pytest.fixture
def written(path):
    """Return a journal of two runs, with two trials in flight."""
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
    digest = ""
    rows = execute(written, "SELECT kind, content, digest FROM journal ORDER BY place")
    assert [row[0][0] for row in rows] == list("sprprprpprrs")
    for place, (kind, content, stored) in enumerate(rows):
        digest = digest_of(digest, place, (kind, content))
        assert digest == stored


@pytest.mark.parametrize(
    "fault, change",
    [
        (
            r"row 4 \(result\) does not match its checksum",
            "UPDATE journal SET content = replace(content, '0.25', '0.26') "
            "WHERE place = 4",
        ),
        (
            r"row 4 \(result\) does not match",
            "UPDATE journal SET digest = 'x' WHERE place = 4",
        ),
        (
            r"row 0 \(search\) does not match",
            "UPDATE journal SET content = replace(content, 'SVC', 'SVR') "
            "WHERE place = 0",
        ),
        (
            r"row 4 \(proposal\) does not match",
            "UPDATE journal SET kind = 'proposal' WHERE place = 4",
        ),
        (
            "row 5 contains no text",
            "UPDATE journal SET content = x'00' WHERE place = 5",
        ),
        ("row 3 is missing", "DELETE FROM journal WHERE place = 3"),
        ("row 0 is missing", "UPDATE journal SET place = 99 WHERE place = 0"),
    ],
)
def test_the_row_that_was_changed_is_named(written, fault, change):
    execute(written, change)
    before = written.read_bytes()
    for read in (load_history, read_journal, open_journal):
        with pytest.raises(ValueError, match=f"journal: .* is damaged: {fault}"):
            read(written)
    with pytest.raises(ValueError, match=fault):
        read_trials(written, None)
    assert written.read_bytes() == before


def test_rows_that_changed_places_are_refused(written):
    execute(written, "UPDATE journal SET place = 99 - place WHERE place IN (4, 6)")
    execute(written, "UPDATE journal SET place = 6 WHERE place = 95")
    execute(written, "UPDATE journal SET place = 4 WHERE place = 93")
    with pytest.raises(ValueError, match="row 4 .* does not match its checksum"):
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


def test_numbers_come_back_exactly(path):
    scores = [float("nan"), -0.0, 1.0, float("inf"), 2.0**70, 5e-324]
    with open_journal(path) as journal:
        for number, score in enumerate(scores):
            journal.record_proposal(number, params_of(number), score)
            journal.record_result(trial_of(number, score=score))
    with open_journal(path) as journal:
        found = [journal.results[number].score for number in range(len(scores))]
    assert list(map(repr, found)) == list(map(repr, scores))


# -- schema -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def journals(tmp_path_factory):
    return hostile.base_journals(str(tmp_path_factory.mktemp("base")))


@pytest.mark.parametrize("reader", hostile.READERS)
def test_a_hostile_journal_is_read_or_refused_by_name(journals, tmp_path, reader):
    path = tmp_path / "hostile.journal"
    outcomes = []
    for case in range(5 if reader == "whole search" else 40):
        rng = random.Random(f"{reader} {case}")
        _, kind, file = hostile.hostile_journal(journals, rng)
        path.write_bytes(file)
        outcomes.append(hostile.outcome(str(path), reader, kind))
        for left in tmp_path.iterdir():
            left.unlink()
    assert set(outcomes) <= {"read", "refused"}, outcomes
    assert "refused" in outcomes


def test_journals_that_were_not_changed_are_read(journals, tmp_path):
    for kind, file in enumerate(journals):
        for reader in hostile.READERS:
            path = tmp_path / f"{kind} {reader}"
            path.write_bytes(file)
            assert hostile.outcome(str(path), reader, kind) == "read"


def result(**changes):
    folds = [FoldResult({"a": 0.5}), FoldResult({"a": 0.25})]
    text = result_row(Trial(0, {}, folds, 0.5), 1.0)[1]
    return "result", json.dumps(json.loads(text) | changes)


def fold(**changes):
    return json.loads(result()[1])["folds"][0] | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"score": "1"},
        {"score": 10**400},
        {"score": True},
        {"state": "running"},
        {"state": ["complete"]},
        {"duration": None},
        {"started": -1.0},
        {"started": 1e300},
        {"stage": -1},
        {"stage": 1.5},
        {"train_fraction": 0.0},
        {"train_fraction": 2},
        {"stop_requested": 1},
        {"error": 5},
        {"noise": "x"},
        {"import": "os"},
        {"folds": {}},
        {"folds": [1, 2]},
        {"folds": [{}]},
        {"folds": [fold(test_scores=None)]},
        {"folds": [fold(test_scores=1.0)]},
        {"folds": [fold(test_scores=[1])]},
        {"folds": [fold(test_scores={"a": "x"})]},
        {"folds": [fold(test_scores={str(i): i for i in range(2000)})]},
        {"folds": [fold(n_test_samples=-1)]},
        {"folds": [fold(n_test_samples=2**63)]},
        {"folds": [fold(fit_time="1")]},
        {"folds": [fold(status="done")]},
        {"folds": [fold(train_scores={"a": 1.0}), fold()]},
        {"folds": [fold(more=1)]},
        {"folds": [fold(**{"!": ["test_scores"]})]},
        {"folds": [fold(**{"*": 1})]},
        {"folds": [fold(extras=1)]},
        {"folds": [fold(extras={"own": "text"})]},
        {"folds": [fold(extras={"own": [1.0]})]},
        {"folds": [fold(extras={"warm_up": 1})]},
        {"folds": [fold(extras={"costs": {"a": "1"}})]},
        {"folds": [fold(extras={"curves": {"a": [1.0]}})]},
        {"folds": [fold(extras={"curves": {}})]},
        {"folds": [fold(extras={"outcome_curves": {"a": [1.0]}})]},
        {"folds": [fold(extras={"curves": {"a": []}, "max_rounds": 3})]},
        {"folds": [fold(extras={"curves": {"a": 1}, "max_rounds": 3})]},
        {"folds": [fold(extras={"max_rounds": -1})]},
        {"extras": None},
        {"extras": {"violation": "x"}},
        {"extras": {"rounds": 1.5}},
    ],
)
def test_details_of_a_trial(changes):
    assert parse_row(result())["score"] == 0.5
    with pytest.raises(ValueError) as caught:
        parse_row(result(**changes))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["", "[]", "1", "{", '{"x": 9' + "9" * 5000])
@pytest.mark.parametrize("kind", ["search", "proposal", "result", "stage", "x"])
def test_texts_that_are_no_dict(kind, text):
    with pytest.raises(ValueError):
        parse_row((kind, text))


@pytest.mark.parametrize(
    "entry",
    [
        "SVC()",
        True,
        None,
        [1],
        10**400,
        {},
        {"column": 0, "value": 1},
        {"column": 0, "option": 0},
        {"column": 0, "option": 0, "value": 1, "text": "1"},
        {"column": 0, "option": 0, "position": 0.5, "value": 1},
        {"column": -1, "option": 0, "value": 1},
        {"column": 0, "option": 1.0, "value": 1},
        {"column": 0, "position": 1.5, "value": 1},
        {"column": 0, "position": float("nan"), "value": 1},
        {"column": 0, "option": 0, "value": [1]},
        {"column": 0, "option": 0, "text": "x" * 121},
        {"column": 0, "option": 0, "text": "x", "more": 1},
    ],
)
def test_parameters(entry):
    row = {"number": 0, "expected_improvement": None, "asked": 0.0}
    assert parse_row(make_row("proposal", row | {"params": {"C": 1.0}}))
    with pytest.raises(ValueError):
        parse_row(make_row("proposal", row | {"params": {"C": entry}}))


HEADER = {"seed": 1, "n_points": 1, "splits": [["", ""]], "identity": {}, "facts": {}}


@pytest.mark.parametrize(
    "facts",
    [
        {"search": 1},
        {"scoring": ["f1", "f2"]},
        {"objectives": {"a": "least"}},
        {"settings": {"tradeoff": {}}},
        {"chooses_train_size": 1},
        {"space": {}},
        {"space": [[hostile.nested(200)]]},
        {"more": 1},
    ],
)
def test_facts(facts):
    assert parse_row(make_row("search", HEADER)) == HEADER
    with pytest.raises(ValueError):
        parse_row(make_row("search", HEADER | {"facts": facts}))


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": "1"},
        {"seed": 10**400},
        {"n_points": 0},
        {"splits": [[""]]},
        {"splits": [["", 1]]},
        {"identity": {"X": 1}},
        {"more": 1},
    ],
)
def test_headers(changes):
    with pytest.raises(ValueError):
        parse_row(make_row("search", HEADER | changes))


def test_tables_that_are_nearly_empty_are_refused():
    def proposal(number, names):
        params = dict.fromkeys(names, 1.0)
        row = {"number": number, "params": params, "asked": 0.0}
        return make_row("proposal", {**row, "expected_improvement": None})

    header = make_row("search", HEADER)
    few = [proposal(i, [f"p{i % 50}"]) for i in range(200)]
    assert len(Content([header, *few]).trials) == 200
    many = [proposal(i, [f"p{i}"]) for i in range(3000)]
    with pytest.raises(ValueError, match="most of its 3000 'params' are missing"):
        Content([header, *many])
    names = [f"m{i}" for i in range(MAX_METRICS)]
    scores = [dict.fromkeys(names, 1.0), *[{}] * 6000]
    asked = [proposal(i, []) for i in range(6001)]
    told = [
        result_row(Trial(i, {}, [FoldResult(score)], 1.0), 0.0)
        for i, score in enumerate(scores)
    ]
    with pytest.raises(ValueError, match="most of its 1000 'test_scores' are missing"):
        Content([header, *asked, *told])


# -- splits -----------------------------------------------------------------------


def test_a_bomb_in_a_split_takes_no_memory():
    for data in (bytes(2**26), b"\1" * 2**24):
        bomb = base64.b85encode(zlib.compress(zlib.compress(data))).decode()
        with pytest.raises(ValueError):
            unpack_split(bomb, 1000)
        bomb = base64.b85encode(zlib.compress(data)).decode()
        with pytest.raises(ValueError, match="more than 1000 items"):
            unpack_split(bomb, 1000)


@pytest.mark.parametrize(
    "split", [[0, 30], [-31], [False] * 30 + [True], list(range(9)) * 500]
)
def test_splits_must_fit_the_data(tmp_path, split):
    path = tmp_path / "journal"
    splits = [(split, [0])]
    with open_journal(path, splits=splits, reproducible_splits=False):
        pass
    given = [(np.arange(10), np.arange(10, 20))]
    with pytest.raises(ValueError, match=r"journal: .* is damaged: a split "):
        open_journal(path, splits=given, reproducible_splits=False, n_samples=30)


def test_what_fits_the_data_comes_back():
    for split in ([0, 29, -30], np.arange(30), []):
        again = unpack_split(pack_split(split), 30, 30)
        np.testing.assert_array_equal(again, split)


def test_a_trial_that_could_not_be_read_again_is_not_written(tmp_path):
    path = tmp_path / "journal"
    with open_journal(path) as journal:
        record(journal, [0])
        journal.record_proposal(1, params_of(1), None)
        with pytest.raises(
            ValueError, match="journal: trial 1 cannot be stored: 'score'"
        ):
            journal.record_result(trial_of(1, score=10**200 * 10**200))
        journal.record_result(trial_of(1))
    with open_journal(path) as journal:
        assert len(journal.results) == 2
