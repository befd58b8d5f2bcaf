"""Random pairs of options that meet in the final model of a search.

    python benchmarks/attacks/final_models.py before|after [--cases 1000]

Each case is a small search with a value of `refit` and of `return_folds`, a learner, a
kind of splits, and up to three further options. It passes if the final model satisfies
what was promised and equals an independent computation, or if the options are refused
by name before the first fit. The figure "refused" counts the latter, "ensembles" the
final models with several members, and "modeled" the searches with a model as surrogate.
"""

from __future__ import annotations

from collections.abc import Iterator

import tally
from final_cases import Case


def holds(seed: int) -> tally.Figures:
    """Fit and check one search."""
    case = Case(seed)
    try:
        refused = case.check()
    except Exception as error:
        raise AssertionError(f"{case!r}: {type(error).__name__}: {error}") from error
    return {
        "held": 1,
        "refused": int(refused),
        "ensembles": int(not refused and case.is_ensemble),
        "modeled": int(not refused and case.is_modeled),
    }


def cases(n_cases: int, seed: int) -> Iterator[tuple]:
    """Yield the cases by value of `refit`."""
    for number in range(n_cases):
        yield Case(seed + number).refit, holds, seed + number


if __name__ == "__main__":
    tally.main(cases, 1000)
