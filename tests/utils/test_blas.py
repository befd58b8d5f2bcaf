import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np  # noqa: F401  (brings the linear algebra library)
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skbayes.utils.blas import one_blas_thread


def blas_threads():
    return [
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
    ]


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_one_thread_inside_and_as_many_as_before_outside():
    before = blas_threads()
    with one_blas_thread():
        for _ in range(2):
            assert set(blas_threads()) == {1}
            with one_blas_thread():
                assert set(blas_threads()) == {1}
    assert blas_threads() == before
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert blas_threads() == before


def test_overlapping_threads_restore_what_was_there():
    before = blas_threads()
    first_in, second_in, first_out = (threading.Event() for _ in range(3))

    def first():
        with one_blas_thread():
            first_in.set()
            assert second_in.wait(600)
        first_out.set()

    def second():
        assert first_in.wait(600)
        with one_blas_thread():
            second_in.set()
            assert first_out.wait(600)

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(first), pool.submit(second)]:
            future.result()
    assert blas_threads() == before
