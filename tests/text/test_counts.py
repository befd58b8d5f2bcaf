import numpy as np

from skbayes.text.counts import count_ngrams
from skbayes.text.tokens import TokenStream


def test_values_are_repeated_by_integers_of_numpys_size(monkeypatch):
    """NumPy on 32 bits refuses counts of 64 bits."""
    repeat = np.repeat

    def strict(values, counts):
        assert counts.dtype == np.int32
        return repeat(values, counts)

    monkeypatch.setattr(np, "intp", np.int32)
    monkeypatch.setattr(np, "repeat", strict)
    ids = np.array([0, 1, 0, 1, 2], dtype=np.int32)
    stream = TokenStream(ids, np.array([0, 3, 5]), list("abc"))
    table, _ = count_ngrams(stream, (0, 1), ids, np.arange(3, dtype=np.int32)[:, None])
    assert list(table.rows(np.array([1, 0])).counts) == [1, 1, 1]
