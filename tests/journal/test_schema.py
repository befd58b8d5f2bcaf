"""Schema of a journal: rejected input."""

import json
import random
import zlib

import numpy as np
import pytest
from attacks import hostile
from journal_samples import open_journal, params_of, record, trial_of

from skbayes.evaluation.trial import FoldResult, Trial
from skbayes.journal import schema
from skbayes.journal.rows import pack_split, trial_row

pytest.importorskip("pandas")


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


def details(**changes):
    folds = [FoldResult({"score": 0.5}), FoldResult({"score": 0.25})]
    text = trial_row(Trial(0, {}, folds, 0.5))[3]
    return json.dumps(json.loads(text) | changes)


def fold(**changes):
    return json.loads(details())["folds"][0] | changes


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
        {"folds": [fold(skipped=0)]},
        {"folds": [fold(train_scores={"score": 1.0}), fold()]},
        {"folds": [fold(more=1)]},
        {"folds": [fold(extras=1)]},
        {"folds": [fold(extras={"own": "text"})]},
        {"folds": [fold(extras={"own": [1.0]})]},
        {"folds": [fold(extras={"warm_up": 1})]},
        {"folds": [fold(extras={"costs": {"a": "1"}})]},
        {"folds": [fold(extras={"curves": {"a": [1.0]}})]},
        {"folds": [fold(extras={"outcome_curves": {"a": [1.0]}})]},
        {"folds": [fold(extras={"curves": {"a": 1}, "max_rounds": 3})]},
        {"folds": [fold(extras={"max_rounds": -1})]},
        {"extras": None},
        {"extras": {"violation": "x"}},
        {"extras": {"rounds": 1.5}},
    ],
)
def test_details_of_a_trial(changes):
    assert schema.parse_details(details())["score"] == 0.5
    with pytest.raises(ValueError) as caught:
        schema.parse_details(details(**changes))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "{", "[" * 10**5, '{"x": 9' + "9" * 5000]
)
def test_texts_that_are_no_dict(text):
    for parse in (schema.parse_details, schema.parse_params, schema.parse_facts):
        with pytest.raises(ValueError):
            parse(text)


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
    with pytest.raises(ValueError):
        schema.parse_params(json.dumps({"C": entry}))


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
    with pytest.raises(ValueError):
        schema.parse_facts(json.dumps(facts))


def test_tables_that_are_nearly_empty_are_refused():
    schema.check_parameters([{"a": 1, "b": 2}] * 10_000)
    schema.check_parameters([{f"p{i % 50}": 1} for i in range(200_000)])
    with pytest.raises(ValueError, match="its trials have too many parameters: 9000"):
        schema.check_parameters([{f"p{i}": 1} for i in range(9000)])
    many = {"folds": [{"test_scores": dict.fromkeys(map(str, range(1000)), 1.0)}]}
    few = {"folds": [{"test_scores": {}}]}
    schema.check_metrics([many, few])
    with pytest.raises(ValueError, match="most of its folds have no scores"):
        schema.check_metrics([many, *[few] * 6000])


def test_a_bomb_in_a_split_takes_no_memory():
    bombs = [
        zlib.compress(bytes(2**24)),
        hostile.array_file("'|b1'", f"({2**24},)", bytes(2**24)),
        hostile.array_file("'<i8'", "(1000000000000,)"),
    ]
    for bomb in bombs:
        assert len(bomb) < 2**16
        with pytest.raises(ValueError):
            schema.unpack_split(bomb, 1000)


@pytest.mark.parametrize("split", [[0, 30], [-31], [True] * 29, list(range(9)) * 500])
def test_splits_must_fit_the_data(tmp_path, split):
    path = tmp_path / "journal"
    splits = [(split, [0])]
    with open_journal(path, splits=splits, reproducible_splits=False):
        pass
    given = [(np.arange(10), np.arange(10, 20))]
    with pytest.raises(ValueError, match=r"journal: .* is damaged: it "):
        open_journal(path, splits=given, reproducible_splits=False, n_samples=30)


def test_what_fits_the_data_comes_back():
    for split in ([0, 29, -30], np.arange(30) % 2 == 0, []):
        again = schema.unpack_split(pack_split(split), 30, 30)
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
