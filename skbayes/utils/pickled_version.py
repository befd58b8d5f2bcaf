"""Version of skbayes in pickles, and a warning if it differs."""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning

import skbayes
from skbayes.utils.optional import warn_user

_KEY = "_skbayes_version"
_UNKNOWN = "of an unknown version"


@functools.cache
def _version() -> str:
    """Return the version of skbayes, or a placeholder if it is not installed."""
    try:
        return skbayes.__version__
    except PackageNotFoundError:
        return _UNKNOWN


class SkbayesVersionWarning(InconsistentVersionWarning):
    """Warning for pickles that were created by another version of skbayes."""

    def __str__(self) -> str:
        return (
            f"{self.estimator_name} was pickled with skbayes "
            f"{self.original_sklearn_version}, and this is skbayes "
            f"{self.current_sklearn_version}: it may fail or give wrong results. "
            "Load it with the version that pickled it, or fit it again."
        )


class PickledVersion:
    """Mix-in for classes that store the version of skbayes in their pickles."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**(state or {}), _KEY: _version()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        version, current = state.pop(_KEY, _UNKNOWN), _version()
        if version != current:
            warn_user(
                SkbayesVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=current,
                    original_sklearn_version=version,
                ),
            )
        if hasattr(super(), "__setstate__"):
            super().__setstate__(state)  # type: ignore[misc]
        else:
            self.__dict__.update(state)
