"""Journal of a search, opened before its first trial."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from skbayes import compat
from skbayes.options.journal.identity import describe_search, search_metadata
from skbayes.options.journal.journal import Journal
from skbayes.search.parameters import SearchParameters
from skbayes.trial.plan import NullJournal, Plan
from skbayes.trial.records import TrialState


def journal_of(
    search: SearchParameters, plan: Plan, params: Mapping[str, Any], n_points: int
) -> Journal:
    """Return the journal of a search, with the default number of trials in flight."""
    if compat.is_in_cross_validation():
        raise ValueError(
            f"journal={search.journal!r}: the search is fitted "
            "inside cross-validation, once for each outer fold, and a journal "
            "contains one search. Set journal=None."
        )
    settings, pre_dispatch = plan.settings, plan.settings["pre_dispatch"]
    # Values for these data depend on parameters that may change.
    values = search._values().items()
    unchosen = {n: v for n, v in values if isinstance(v, str) and v == "auto"}
    return Journal(
        settings["journal"],
        space=plan.space,
        identity=describe_search(
            type(search),
            {**settings, **unchosen},
            search._without_effect,
            plan.space,
            plan.X,
            plan.y,
            compat.check_fit_params(plan.X, params),
            plan.splits,
        ),
        seed=plan.seed if isinstance(settings["random_state"], Integral) else None,
        drawn_seed=plan.seed,
        n_points=None if isinstance(pre_dispatch, str) else int(pre_dispatch),
        default_n_points=n_points,
        splits=list(plan.splits),
        metadata=search_metadata(type(search), settings),
    )


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
                f"journal: {plan.settings['journal']!r} has other metrics in trial "
                f"{trial.number} than this search: {error}."
            ) from error
