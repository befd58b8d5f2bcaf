"""Version of skbayes in pickles, and a warning if it is another one."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning

import skbayes

__all__ = ["PickledVersion", "SkbayesVersionWarning"]

_KEY = "_skbayes_version"


class SkbayesVersionWarning(InconsistentVersionWarning):
    """A pickle was made by another version of skbayes."""

    def __str__(self) -> str:
        return (
            f"{self.estimator_name} was pickled with skbayes "
            f"{self.original_sklearn_version}, and this is skbayes "
            f"{self.current_sklearn_version}: it may not work, or give wrong results. "
            "Load it with the version that made it, or fit it anew."
        )


class PickledVersion:
    """Mix-in for classes whose pickles hold the version of skbayes."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**(state or {}), _KEY: skbayes.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        version = state.pop(_KEY, "of an unknown version")
        if version != skbayes.__version__:
            warnings.warn(
                SkbayesVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=skbayes.__version__,
                    original_sklearn_version=version,
                ),
                stacklevel=2,
            )
        if hasattr(super(), "__setstate__"):
            super().__setstate__(state)  # type: ignore[misc]
        else:
            self.__dict__.update(state)
