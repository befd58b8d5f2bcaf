"""Content of a journal: rows with checksums, and rejected input."""

import base64
import json
import math
import random
import zlib

import numpy as np
import pytest
from attacks import flips, hostile
from journal_samples import execute, open_journal, params_of, record, trial_of

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
from skbayes.journal.file import digest_of
from skbayes.journal.reader import load_history, read_journal, read_trials


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


def test_rows_are_chained_in_the_order_of_writing(written):
    digest = ""
    rows = execute(written, "SELECT kind, content, digest FROM journal ORDER BY place")
    assert [row[0][0] for row in rows] == list("sprprprpprrs")
    for place, (kind, content, stored) in enumerate(rows):
        digest = digest_of(digest, place, (kind, content))
        assert digest == stored


def swap(one, other):
    """Return the statement that exchanges the content of two rows."""
    return (
        "UPDATE journal SET (kind, content, digest) = (SELECT kind, content, digest "
        f"FROM journal AS j WHERE j.place = {one + other} - journal.place) "
        f"WHERE place IN ({one}, {other})"
    )


@pytest.mark.parametrize(
    "fault, change",
    [
        (
            r"row 4 \(result\) does not match its checksum",
            "SET content = replace(content, '0.25', '0.26') WHERE place = 4",
        ),
        (r"row 4 \(result\) does not match", "SET digest = 'x' WHERE place = 4"),
        (
            r"row 0 \(search\) does not match",
            "SET content = replace(content, 'SVC', 'SVR') WHERE place = 0",
        ),
        (r"row 4 \(proposal\) does not match", "SET kind = 'proposal' WHERE place = 4"),
        ("row 5 contains no text", "SET content = x'00' WHERE place = 5"),
        ("row 3 is missing", "DELETE FROM journal WHERE place = 3"),
        ("row 0 is missing", "SET place = 99 WHERE place = 0"),
        ("row 4 .* does not match its checksum", swap(4, 6)),
    ],
)
def test_the_row_that_was_changed_is_named(written, fault, change):
    execute(written, f"UPDATE journal {change}" if change.startswith("SET") else change)
    before = written.read_bytes()
    for read in (load_history, read_journal, open_journal):
        with pytest.raises(ValueError, match=f"journal: .* is damaged: {fault}"):
            read(written)
    with pytest.raises(ValueError, match=fault):
        read_trials(written, None)
    assert written.read_bytes() == before


def test_damage_is_noticed_or_does_not_matter():
    refused = {}
    for category, check, *arguments in flips.cases(24, 0):
        found = check(*arguments)
        assert found["held"], category
        refused[category] = refused.get(category, 0) + found["refused"]
    assert all(refused.values()) and len(refused) == 4


@pytest.fixture(scope="module")
def journals(tmp_path_factory):
    return hostile.base_journals(str(tmp_path_factory.mktemp("base")))


@pytest.mark.parametrize("reader", hostile.READERS)
def test_a_hostile_journal_is_read_or_refused_by_name(journals, tmp_path, reader):
    for kind, file in enumerate(journals):
        path = tmp_path / f"{kind}"
        path.write_bytes(file)
        assert hostile.outcome(str(path), reader, kind) == "read"
        path.unlink()
    path = tmp_path / "hostile.journal"
    outcomes = []
    for case in range(3 if reader == "whole search" else 40):
        rng = random.Random(f"{reader} {case}")
        _, kind, file = hostile.hostile_journal(journals, rng)
        path.write_bytes(file)
        outcomes.append(hostile.outcome(str(path), reader, kind))
        for left in tmp_path.iterdir():
            left.unlink()
    assert set(outcomes) <= {"read", "refused"}, outcomes
    assert "refused" in outcomes


def result(**changes):
    folds = [FoldResult({"a": 0.5}), FoldResult({"a": 0.25})]
    text = result_row(Trial(0, {}, folds, 0.5), 1.0)[1]
    return "result", json.dumps(json.loads(text) | changes)


def fold(**changes):
    return json.loads(result()[1])["folds"][0] | changes


def refused(make, values):
    """Return the values that are accepted although they are wrong."""
    accepted = []
    for value in values:
        try:
            parse_row(make(value))
            accepted.append(value)
        except ValueError as error:
            assert len(str(error)) < 300
    return accepted


WRONG = {
    "score": ["1", 10**400, True],
    "state": ["running", ["complete"]],
    "duration": [None],
    "started": [-1.0, 1e300],
    "stage": [-1, 1.5],
    "train_fraction": [0.0, 2],
    "stop_requested": [1],
    "error": [5],
    "noise": ["x"],
    "import": ["os"],
    "folds": [{}, [1, 2], [{}], [fold(train_scores={"a": 1.0}), fold()]],
    "extras": [None, {"violation": "x"}, {"rounds": 1.5}],
}
WRONG_IN_FOLDS = {
    "test_scores": [None, 1.0, [1], {"a": "x"}, {str(i): i for i in range(2000)}],
    "n_test_samples": [-1, 2**63],
    "fit_time": ["1"],
    "status": ["done"],
    "more": [1],
    "*": [1],
    "extras": [1, {"own": "text"}, {"own": [1.0]}, {"warm_up": 1}]
    + [{"costs": {"a": "1"}}, {"curves": {"a": [1.0]}}, {"curves": {}}]
    + [{"outcome_curves": {"a": [1.0]}}, {"curves": {"a": []}, "max_rounds": 3}]
    + [{"curves": {"a": 1}, "max_rounds": 3}, {"max_rounds": -1}],
}


def test_details_of_a_trial():
    assert parse_row(result())["score"] == 0.5
    for name, values in WRONG.items():
        assert refused(lambda value, name=name: result(**{name: value}), values) == []
    for name, values in WRONG_IN_FOLDS.items():
        folds = [[fold(**{name: value})] for value in values]
        assert refused(lambda value: result(folds=value), folds) == []


def test_texts_that_are_no_dict():
    for kind in ("search", "proposal", "result", "stage", "x"):
        texts = ["", "[]", "1", "{", '{"x": 9' + "9" * 5000]
        assert refused(lambda text, kind=kind: (kind, text), texts) == []


def test_parameters():
    fields = {"number": 0, "expected_improvement": None, "asked": 0.0}

    def make(entry=1.0, row=(None, 0.5)):
        more = {"params": {"C": entry}, "row": row}
        return make_row("proposal", fields | more)

    entries = [[1], 10**400, "x" * 121, {}, {"value": 1}, {"text": "x" * 121}]
    entries += [{"text": 1}, {"text": "x", "more": 1}]
    rows = [None, 1.0, [-0.5], [1.5], [math.nan], ["0.5"], [True]]
    for entry in (1.0, "SVC()", True, None, {"text": "SVC()"}):
        assert parse_row(make(entry))["params"] == {"C": entry}
    assert refused(make, entries) == []
    assert refused(lambda row: make(row=row), rows) == []


HEADER = {"seed": 1, "n_points": 1, "splits": [["", ""]], "identity": {}, "facts": {}}


def test_headers_and_facts():
    wrong = [{"seed": "1"}, {"seed": 10**400}, {"n_points": 0}, {"splits": [[""]]}]
    wrong += [{"splits": [["", 1]]}, {"identity": {"X": 1}}, {"more": 1}]
    facts = [{"search": 1}, {"scoring": ["f1", "f2"]}, {"objectives": {"a": "least"}}]
    facts += [{"settings": {"tradeoff": {}}}, {"chooses_train_size": 1}, {"more": 1}]
    facts += [{"space": {}}, {"space": [[hostile.nested(200)]]}]
    wrong += [{"facts": one} for one in facts]
    assert parse_row(make_row("search", HEADER)) == HEADER
    assert refused(lambda one: make_row("search", HEADER | one), wrong) == []


def test_tables_that_are_nearly_empty_are_refused(monkeypatch):
    def proposal(number, names):
        params = dict.fromkeys(names, 1.0)
        row = {"number": number, "params": params, "row": [], "asked": 0.0}
        return make_row("proposal", {**row, "expected_improvement": None})

    def result(number, scores):
        return result_row(Trial(number, {}, [FoldResult(scores)], 1.0), 0.0)

    monkeypatch.setattr("skbayes.journal.content.MAX_CELLS", 1000)
    header = make_row("search", HEADER)
    few = [proposal(i, [f"p{i % 50}"]) for i in range(200)]
    assert len(Content([header, *few]).trials) == 200
    many = [proposal(i, [f"p{i}"]) for i in range(150)]
    with pytest.raises(ValueError, match="most of its 150 'params' are missing"):
        Content([header, *many])
    names = [f"m{i}" for i in range(MAX_METRICS)]
    scores = [dict.fromkeys(names, 1.0), *[{}] * 150]
    asked = [proposal(i, []) for i in range(151)]
    told = [result(number, score) for number, score in enumerate(scores)]
    with pytest.raises(ValueError, match="most of its 1000 'test_scores' are missing"):
        Content([header, *asked, *told])


def test_a_bomb_in_a_split_takes_no_memory():
    for data in (bytes(2**24), b"\1" * 2**22):
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
    with open_journal(path, splits=splits):
        pass
    given = [(np.arange(10), np.arange(10, 20))]
    with pytest.raises(ValueError, match=r"journal: .* is damaged: a split "):
        open_journal(path, splits=given, n_samples=30)


def test_what_fits_the_data_comes_back():
    mask = np.arange(30) % 3 == 0
    for split in ([0, 29, -30], np.arange(30), [], mask):
        again = unpack_split(pack_split(split), 30, 30)
        expected = np.flatnonzero(mask) if split is mask else split
        np.testing.assert_array_equal(again, expected)


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
