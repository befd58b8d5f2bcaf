"""Journal: content that comes back, and refused searches and rows."""

import base64
import io
import json
import math
import pickle
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_samples import (
    CLASSIFIERS,
    IDENTITY,
    exact,
    execute,
    fold,
    open_journal,
    params_of,
    record,
    seal,
    set_fields,
    trial_of,
)
from sklearn.model_selection import ShuffleSplit

from skbayes.options.journal.journal import ResultRow, recorded, to_text
from skbayes.options.journal.json_space import pack_split, unpack_split
from skbayes.options.journal.store import APPLICATION_ID
from skbayes.trial.plan import Header, StageStart
from skbayes.trial.records import FoldResult, FoldStatus, Trial

NUMBERS = st.one_of(st.floats(), st.integers(-(2**70), 2**70))
TEXTS = st.one_of(st.none(), st.just("\ud800\0"), st.text())


@st.composite
def lists_of_trials(draw):
    """Return trials with the same metrics."""
    names = draw(st.lists(st.text(), max_size=3, unique=True))
    scores = st.fixed_dictionaries(dict.fromkeys(names, NUMBERS))
    folds = st.builds(
        FoldResult,
        test_scores=scores,
        fit_time=st.floats(),
        score_time=st.floats(),
        train_scores=scores if draw(st.booleans()) else st.none(),
        fit_error=TEXTS,
        status=st.sampled_from(FoldStatus),
        extras=st.sampled_from(
            [
                {},
                {"own": 0.5, "shared_time": math.inf},
                {"costs": {"a": math.nan}, "warm_up": True, "outcomes": {"b": 2}},
                {"curves": {"a": [0.5, math.nan]}, "max_rounds": 2},
            ]
        ),
    )
    pairs = st.lists(folds, min_size=2, max_size=2)
    return draw(st.lists(trials_with(pairs), min_size=1, max_size=4))


def trials_with(folds):
    return st.builds(
        Trial,
        number=st.just(0),
        params=st.just(params_of(0)),
        folds=folds,
        score=st.floats(),
        duration=st.floats(),
        state=st.sampled_from(["complete", "failed", "timed_out", "pruned"]),
        expected_improvement=st.none() | st.floats(),
        noise=st.none() | st.floats(),
        started=st.none() | st.floats(0.0, 9e9),
        extras=st.sampled_from([{}, {"violation": math.inf}, {"rounds": 3, "own": 1}]),
    )


@settings(max_examples=10)
@given(lists_of_trials())
def test_trials_come_back_exactly(trials):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        with open_journal(path) as journal:
            for number, trial in enumerate(trials):
                journal.record_proposal(number, trial.params, None)
                journal.record_result(replace(trial, number=number))
        with open_journal(path) as journal:
            for number, trial in enumerate(trials):
                again = journal.results[number]
                assert exact(again) == exact(replace(trial, number=number))


def test_proposals_come_back_in_order_and_results_by_number(path):
    # NumPy's numbers are kept as numbers.
    folds = [replace(fold(np.float32(0.1)), fit_time=np.int64(3)), fold(np.True_)]
    trials = [trial_of(number) for number in range(4)]
    trials[2] = trial_of(2, folds=folds, score=np.float64(0.1))
    expected = [None, np.float32(0.25), 1e-300]
    with open_journal(path) as journal:
        assert journal.proposals == []
        assert journal.results == {}
        for number, improvement in enumerate(expected):
            journal.record_proposal(number, params_of(number), improvement)
        # Threads may record, in any order.
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(journal.record_result, (trials[2], trials[0])))
    with open_journal(path) as journal:
        assert journal.proposals == [params_of(number) for number in range(3)]
        assert journal.proposals[0]["clf"] is CLASSIFIERS[0]
        assert journal.expected_improvements == expected
        assert journal.results.keys() == {0, 2}
        # A search that continues fills the gap, and adds trials.
        journal.record_result(trials[1])
        record(journal, [3])
    with open_journal(path) as journal:
        assert len(journal.proposals) == 4
        assert [journal.results[number] for number in range(4)] == trials


def test_values_that_cannot_be_recorded_are_refused(path):
    with open_journal(path) as journal:
        with pytest.raises(ValueError, match="'n'"):
            journal.record_proposal(0, params_of(0) | {"n": 1000}, None)
        journal.record_proposal(0, params_of(0), None)
        with pytest.raises(TypeError, match="journal.*object"):
            journal.record_result(trial_of(0, folds=[fold(object()), fold(1)]))
        folds = [fold(0.5, extras={"own": object()}), fold(1)]
        with pytest.raises(TypeError, match="journal.*object"):
            journal.record_result(trial_of(0, folds=folds))
        journal.record_result(trial_of(0))


def test_a_number_is_recorded_once(written):
    with open_journal(written) as journal:
        for number in (0, 4):
            with pytest.raises(ValueError, match="journal.*out of order"):
                journal.record_proposal(number, params_of(number), None)
        for trial in (trial_of(0, score=9.0), trial_of(3)):
            with pytest.raises(ValueError, match="journal.*not proposed, or has a"):
                journal.record_result(trial)
    with open_journal(written) as journal:
        assert exact(journal.results[0]) == exact(trial_of(0))


@pytest.mark.parametrize("is_empty", [False, True])
def test_the_journal_stores_the_drawn_seed_and_splits(path, is_empty):
    if is_empty:
        path.touch()
    first, second = (list(ShuffleSplit(3).split(np.zeros(30))) for _ in range(2))
    drawn = Header(2**80, first, (), 2, IDENTITY)
    assert recorded(path, drawn, is_seeded=False) is drawn
    with open_journal(path, seed=2**80, splits=first) as journal:
        journal.record_stage(StageStart(0))
    later = replace(drawn, seed=3, splits=second, n_points=None)
    header = recorded(path, later, is_seeded=False)
    assert header.seed == 2**80
    np.testing.assert_equal(header.splits, first)
    assert header.stages == [StageStart(0)]


def test_a_journal_can_be_read_with_sqlite_alone(written):
    rows = execute(written, "SELECT kind, content FROM journal")
    assert execute(written, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert [kind for kind, _ in rows] == ["search"] + ["proposal", "result"] * 3
    for number in range(3):
        params = json.loads(rows[1 + 2 * number][1])["params"]
        expected = params_of(number) | {"clf": {"text": "SVC()"}}
        assert params == expected
        assert json.loads(rows[2 + 2 * number][1])["trial"]["score"] == number / 10


@given(
    st.lists(st.integers(-(2**40), 2**40)).map(lambda x: np.array(x, dtype=np.int64))
    | st.lists(st.integers(0, 2**16 - 1)).map(lambda x: np.array(x, dtype=np.uint16))
)
def test_indices_come_back_exactly(indices):
    again = unpack_split(pack_split(indices))
    np.testing.assert_array_equal(again, indices)
    assert again.dtype == np.intp


@pytest.mark.parametrize("bad", [[0.5], ["a"], [[1, 2]], slice(3), [None], 3])
def test_splits_without_indices_are_refused(path, bad):
    with pytest.raises(TypeError, match="journal: each split"):
        open_journal(path, splits=[(bad, [1])])
    assert not path.exists()


def test_all_parts_that_differ_are_named(written):
    before = written.read_bytes()
    with pytest.raises(ValueError) as caught:
        open_journal(written, identity={"X": "list", "y": "f"}, seed=8, n_points=3)
    first, *lines = str(caught.value).splitlines()
    assert str(written) in first
    assert lines == [
        "- pre_dispatch: 2 in the journal, 3 now",
        "- random_state: 7 in the journal, 8 now",
        "- X: array in the journal, list now",
        "- estimator: SVC() in the journal, nothing now",
        "- settings: surrogate: 'gp' in the journal, nothing now",
        "- y: nothing in the journal, f now",
    ]
    assert written.read_bytes() == before


def test_long_descriptions_are_cut_to_the_difference(path):
    begin, end = "begin " * 1000, " end" * 1000
    with open_journal(path, identity={"X": f"{begin}C=1{end}"}):
        pass
    with pytest.raises(
        ValueError, match=r"….*C=1 .*… in the.*, ….*C=2 .*… now"
    ) as caught:
        open_journal(path, identity={"X": f"{begin}C=2{end}"})
    assert len(str(caught.value)) < 1000


class Bomb:
    """Object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_pickles_are_not_opened(written, tmp_path):
    bomb, array = tmp_path / "exploded", io.BytesIO()
    np.save(array, np.array([Bomb(bomb)], dtype=object), allow_pickle=True)
    for payload in (pickle.dumps(Bomb(bomb)), array.getvalue()):
        # Indices have 8 bytes each.
        payload += b"." * (1 + (len(payload) % 8 == 7))
        packed = base64.b85encode(zlib.compress(payload)).decode()
        for text in (packed, base64.b85encode(payload).decode(), "no split"):
            set_fields(written, "search", {"splits": [[text, text]] * 2})
            with pytest.raises(ValueError, match="journal: .* is damaged"):
                open_journal(written)
    assert not bomb.exists()


STORED = json.loads(to_text(ResultRow.of(trial_of(1), 0.0))[1])["trial"]


@pytest.mark.parametrize(
    "kind, change",
    [
        ("search", {"more": 1}),
        ("search", {"splits": []}),
        ("proposal", {"number": 7}),
        ("proposal", {"params": {"C": "__import__('os')"}}),
        ("proposal", {"row": "x"}),
        ("result", {"number": 7}),
        ("result", {"number": 0}),
        ("result", {"trial": {"score": 1.0}}),
        ("result", {"trial": {"folds": [{"status": "x"}] * 2, "score": 1.0}}),
        ("result", {"trial": None}),
        ("search", {"n_points": "2"}),
        ("search", {"seed": None}),
        ("result", {"trial": STORED | {"score": "0.5"}}),
        ("first", {}),
    ],
)
def test_rows_that_do_not_fit_are_damage(written, kind, change):
    set_fields(written, kind, change)
    if kind == "first":
        execute(written, "UPDATE journal SET kind = 'stage' WHERE place = 0")
        seal(written)
    before = written.read_bytes()
    with pytest.raises(ValueError, match="journal: .* is damaged"):
        open_journal(written)
    assert written.read_bytes() == before
