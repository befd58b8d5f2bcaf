"""Nested subsets of the training rows."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, StratifiedKFold

from skbayes.trial.subsets import ALL_ROWS, Sample, Subsets, check_train_size

RNG = np.random.default_rng(0)
X = RNG.random((200, 3))
LABELS = np.repeat([0, 1, 2], [140, 50, 10])
SPLITS = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, LABELS))
SIZES = [0.05, 0.1, 0.3, 0.5, 0.8, 20, 149]


def checked(splits, samples, **kwargs):
    """Draw subsets, or raise an error for a sample that is too small or too large."""
    subsets = Subsets.draw(splits, samples, **kwargs)
    for sample in samples:
        subsets.check(sample, "stages")
    return subsets


def sized(sizes, subset=0):
    return [Sample(train_size=size, subset=subset) for size in sizes]


def of_one(train, size, **kwargs):
    """Return a subset of one training set."""
    subsets = Subsets.draw([(train, [])], sized([size]), **kwargs)
    return subsets.rows(0, train, *sized([size]))


@pytest.mark.parametrize("labels", [None, LABELS])
def test_subsets_are_nested_sorted_and_of_the_requested_size(labels):
    subsets = Subsets.draw(SPLITS, sized(SIZES), labels=labels)
    for split, (train, _) in enumerate(SPLITS):
        before = set()
        for size in (0.05, 0.1, 20, 0.3, 0.5, 0.8, 149):
            chosen = subsets.rows(split, train, *sized([size]))
            n_rows = size if isinstance(size, int) else round(size * len(train))
            assert len(chosen) == n_rows
            # In the order of the training set, and among its rows.
            np.testing.assert_array_equal(chosen, train[np.isin(train, chosen)])
            assert before <= set(chosen)
            before = set(chosen)


def test_the_whole_is_the_training_set_itself():
    subsets = Subsets.draw(SPLITS, [Sample(train_size=0.5)])
    train = SPLITS[0][0]
    for sample in (ALL_ROWS, Sample(train_size=10**6), Sample(train_size=0.999)):
        assert subsets.rows(0, train, sample) is train
    assert Subsets.draw(SPLITS, [ALL_ROWS]).ranks == {}


@settings(max_examples=50, deadline=None)
@given(
    counts=st.lists(st.integers(1, 60), min_size=2, max_size=5),
    size=st.floats(0.05, 0.999),
    seed=st.integers(0, 9),
)
def test_each_class_has_its_share(counts, size, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    train = np.arange(len(labels))
    n_rows = int(np.floor(size * len(labels) + 0.5))
    if n_rows < len(counts):
        with pytest.raises(ValueError, match=rf"\({len(counts)} rows\)"):
            checked([(train, [])], sized([size]), labels=labels, seed=seed)
        return
    chosen = of_one(train, size, labels=labels, seed=seed)
    counts_chosen = np.bincount(labels[chosen], minlength=len(counts))
    # The first row of each class comes first, at the expense of other rows.
    due = np.array(counts) * n_rows / len(labels)
    assert np.all(counts_chosen >= 1)
    assert np.all(np.abs(counts_chosen - due) <= len(counts))


def test_a_subset_has_whole_groups():
    groups = np.repeat(np.arange(20), 10)
    splits = list(GroupKFold(4).split(X, groups=groups))
    subsets = Subsets.draw(splits, sized([0.3, 0.5, 74]), groups=groups)
    for split, (train, _) in enumerate(splits):
        for size, n_rows in ((0.3, (40, 50)), (0.5, (70, 80)), (74, (70,))):
            chosen = subsets.rows(split, train, *sized([size]))
            assert len(chosen) in n_rows
            of_group = np.bincount(groups[chosen], minlength=20)
            assert set(of_group) == {0, 10}
        assert set(groups[train]) > set(groups[chosen])


def test_groups_of_one_class_each_are_stratified():
    groups = np.repeat(np.arange(40), 5)
    labels = (groups >= 30).astype(int)
    train = np.arange(200)
    chosen = of_one(train, 0.2, labels=labels, groups=groups)
    np.testing.assert_array_equal(np.bincount(labels[chosen]), [30, 10])
    # Targets without classes are not stratified.
    for labels in (RNG.random(200), RNG.integers(0, 2, (200, 3))):
        assert len(of_one(train, 1, labels=labels)) == 1


def test_a_seed_draws_the_same_again_and_each_subset_is_another():
    samples, train = [*sized([0.3]), *sized([0.3], 1)], SPLITS[0][0]
    one, same, other = (
        Subsets.draw(SPLITS, samples, labels=LABELS, seed=seed) for seed in (3, 3, 4)
    )
    first = one.rows(0, train, samples[0])
    for equal in (same, pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(equal.rows(0, train, samples[0]), first)
    for subsets, sample in ((one, samples[1]), (other, samples[0])):
        assert set(subsets.rows(0, train, sample)) != set(first)


@pytest.mark.parametrize(
    "size, kwargs, smallest",
    [
        (2, {"labels": LABELS}, "one row of each class.* at least 3"),
        (0.01, {"labels": LABELS}, r"of each class.* at least 0.0167 \(3 rows\)"),
        (0.01, {"groups": np.repeat([0, 1], 100)}, r"one whole group.* rows\)"),
        (151, {}, "more than any training set has; the largest has 150"),
    ],
)
def test_sizes_that_are_too_small_are_refused(size, kwargs, smallest):
    with pytest.raises(ValueError, match=f"^stages: .*{smallest}"):
        checked(SPLITS, sized([size]), **kwargs)


@pytest.mark.parametrize("kwargs", [{"labels": LABELS}, {"groups": LABELS}])
def test_the_size_that_the_error_names_is_accepted(kwargs):
    with pytest.raises(ValueError, match="Use at least") as error:
        checked(SPLITS, sized([1e-3]), **kwargs)
    words = str(error.value).split("Use at least ")[1]
    share, n_rows = words.split(" ")[0], words.split("(")[1].split(" ")[0]
    checked(SPLITS, sized([float(share), int(n_rows)]), **kwargs)


def test_counts_are_converted_to_shares():
    splits = [(np.arange(10), []), (np.arange(20), [])]
    subsets = Subsets.draw(splits, sized([5, 0.3]))
    assert subsets.fraction(Sample(train_size=5)) == pytest.approx(0.375)
    assert subsets.fraction(Sample(train_size=0.3)) == 0.3
    assert subsets.fraction(ALL_ROWS) == 1.0


@pytest.mark.parametrize("size", [0.0, 1.1, -1, 0, np.nan, "0.3", None, True], ids=repr)
def test_other_sizes_are_refused(size):
    is_number = isinstance(size, int | float) and size is not True
    with pytest.raises(ValueError if is_number else TypeError, match="stages"):
        check_train_size(size, "stages")
    assert isinstance(check_train_size(np.int64(3), "stages"), int)
    assert isinstance(check_train_size(np.float32(0.5), "stages"), float)
