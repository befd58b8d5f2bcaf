"""Arrays of other libraries and on other devices."""

import array_api_strict as strict
import numpy as np
import pandas as pd
import pytest

from skbayes import compat
from skbayes.defaults.catalog import DataFacts
from skbayes.trial.subsets import Sample, Subsets

copies_from_devices = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0",
    reason="NumPy before 2.1 does not copy from other devices",
)
X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 0])


def on_device(array):
    return strict.asarray(array, device=strict.Device("device1"))


class Refusing:
    """Array of shape (6, 2) that cannot be copied."""

    shape = X.shape

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("on another device")

    def __dlpack__(self, **kwargs):
        raise BufferError("on another device")


@copies_from_devices
@pytest.mark.parametrize("array", [X, y, X > 3], ids=["float", "int", "bool"])
def test_an_array_on_another_device_is_copied(array):
    with pytest.raises(RuntimeError):
        np.asarray(on_device(array))
    copied = compat.to_host(on_device(array))
    assert type(copied) is np.ndarray and copied.dtype == array.dtype
    np.testing.assert_array_equal(copied, array)


@pytest.mark.parametrize(
    "data",
    [None, [1, 2], ["a text"], X, np.ma.masked_less(X, 3), pd.DataFrame(X), Refusing()],
    ids=lambda data: type(data).__name__,
)
def test_other_data_are_unchanged(data):
    assert compat.to_host(data) is data


@copies_from_devices
def test_devices_change_neither_facts_nor_subsets():
    missing = np.where(X > 3, X, np.nan)
    for data in (X, missing):
        assert DataFacts.of(on_device(data), on_device(y)) == DataFacts.of(data, y)
    rows, sample = np.arange(6), Sample(train_size=0.5)
    plain, other = (
        Subsets.draw([(rows, rows)], [sample], labels=labels)
        for labels in (y, on_device(y))
    )
    np.testing.assert_array_equal(
        plain.rows(0, rows, sample), other.rows(0, rows, sample)
    )


@copies_from_devices
def test_devices_do_not_change_digests():
    from skbayes.options.journal.identity import data_text

    assert data_text(on_device(X), repr) == data_text(X, repr)


def test_data_that_cannot_be_copied_have_few_facts():
    facts = DataFacts.of(Refusing(), Refusing())
    assert facts == DataFacts(n_rows=6, n_features=2, fewest_features=2)
