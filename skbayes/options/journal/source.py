"""Trials of a journal, as the source of displays and of warm starts."""

from __future__ import annotations

import os

from skbayes.options.journal.journal import Content
from skbayes.options.journal.json_space import adapt_record, readable
from skbayes.results.record import Source
from skbayes.space import Space


def source_of(path: str | os.PathLike[str], space: Space | None) -> Source:
    """Return the trials of a journal; values outside of `space` remain dicts."""
    content = Content.read(path)
    metadata = content.metadata
    objectives = metadata.get("objectives", {})
    trials, running = [], []
    for proposal in content.proposals:
        if space is None:
            params = {name: readable(entry) for name, entry in proposal.params.items()}
        else:
            params = adapt_record(space, proposal.params)
        # The size of a training set is no parameter of the estimator.
        has_size = space is not None and "train_size" in space.parameter_names
        if metadata.get("chooses_train_size") and not has_size:
            del params["train_size"]
        number = proposal.number
        if number in content.results:
            trials.append(content.results[number].trial_of(params))
        else:
            running.append((number, params, proposal.asked))
    return Source(
        trials,
        space,
        metadata.get("target_metric"),
        directions={n: 1 if d == "max" else -1 for n, d in objectives.items()},
        running=running,
        scoring=metadata.get("scoring"),
        name=os.path.splitext(os.path.basename(path))[0],
        method=metadata.get("search", ""),
        n_points=metadata.get("n_points"),
        settings=metadata.get("settings", {}),
    )
