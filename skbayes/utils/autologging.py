"""State of MLflow's autologging, without an import of MLflow."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


def active_autologging() -> Any:
    """Return MLflow's module if fits of scikit-learn's estimators are logged, or None.

    MLflow logs nothing within the fit of an object that it logs, such as a pipeline.
    """
    module: Any = sys.modules.get("mlflow.utils.autologging_utils")
    if module is None:
        return None
    is_off = (
        getattr(module, "_AUTOLOGGING_GLOBALLY_DISABLED", False)
        or getattr(module, "_has_active_training_session", bool)()
        or module.autologging_is_disabled("sklearn")
    )
    return None if is_off else module


@contextlib.contextmanager
def without_autologging() -> Iterator[None]:
    """Keep fits that are not fits of the user out of MLflow."""
    autologging = active_autologging()
    # `disable_autologging` cannot be nested: the inner block ends the outer one.
    with contextlib.ExitStack() as stack:
        if autologging is not None:
            # For all threads, and for processes forked from this one. Fits in other
            # processes are not logged, because MLflow is not imported there.
            stack.enter_context(autologging.disable_autologging())
        yield
