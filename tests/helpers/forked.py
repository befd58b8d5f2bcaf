"""Processes of joblib that fork from one process, and import nothing anew."""

import contextlib
import multiprocessing

CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()


@contextlib.contextmanager
def forked_workers(*modules):
    """Fork the processes of joblib from one that has imported modules."""
    if not CAN_FORK:
        yield
        return
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.backend import context

    multiprocessing.set_forkserver_preload([*modules])
    before = context.get_start_method()
    context.set_start_method("forkserver", force=True)
    yield
    context.set_start_method(before, force=True)
    get_reusable_executor(max_workers=2).shutdown(wait=True)
