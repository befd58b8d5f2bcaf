"""Journal of a search, opened before its first trial."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from skbayes import compat
from skbayes.options.journal.identity import describe_search, search_metadata
from skbayes.options.journal.journal import recorded
from skbayes.search.parameters import SearchParameters
from skbayes.space import Space
from skbayes.trial.fold import Job
from skbayes.trial.plan import Header, NullJournal, Plan
from skbayes.trial.records import TrialState
from skbayes.trial.settings import Settings


def header_of(
    search: SearchParameters,
    settings: Settings,
    space: Space,
    job: Job,
    params: Mapping[str, Any],
    seed: int,
) -> Header:
    """Return the header of the journal of a search, which may have earlier runs.

    `params` are the arguments of `fit`. The seed and the splits were drawn.
    """
    if compat.is_in_cross_validation():
        raise ValueError(
            f"journal={search.journal!r}: the search is fitted "
            "inside cross-validation, once for each outer fold, and a journal "
            "contains one search. Set journal=None."
        )
    # Values for these data are left out, because they depend on these parameters.
    values = {**settings.params, "estimator": settings.estimator, "cv": settings.cv}
    kind, ignored = type(search), search._without_effect
    data, n_points = (job.X, job.y, params, job.splits), search.pre_dispatch
    header = Header(
        seed,
        job.splits,
        n_points=None if isinstance(n_points, str) else int(n_points),
        identity=describe_search(kind, values, ignored, space, *data),
        metadata=search_metadata(kind, values),
    )
    assert search.journal is not None
    is_seeded = isinstance(search.random_state, Integral)
    return recorded(search.journal, header, is_seeded)


def check_recorded_scores(plan: Plan, journal: NullJournal) -> None:
    """Check that the trials of the journal have the metric that guides the search."""
    for trial in journal.results.values():
        is_complete = trial.state == TrialState.COMPLETE and trial.error is None
        try:
            for fold in trial.folds:
                if fold.fit_error is None:
                    plan.objective.learn(fold.test_scores)
                if is_complete:
                    plan.objective(fold.test_scores)
                    train_metrics = (fold.train_scores or {}).keys()
                    is_same = train_metrics == fold.test_scores.keys()
                    if plan.job.options["return_train_score"] and not is_same:
                        raise ValueError("its training scores have other metrics")
        except (LookupError, TypeError, ValueError) as error:
            raise ValueError(
                f"journal: {plan.settings.params['journal']!r} has other metrics in "
                f"trial {trial.number} than this search: {error}."
            ) from error
