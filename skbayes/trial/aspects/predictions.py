"""Out-of-fold predictions of the trials, for ensembles."""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.trial.aspect import Aspect, FoldAspect
from skbayes.trial.fold import FoldCall
from skbayes.trial.measure import model_size
from skbayes.trial.records import FoldResult, History, Trial, TrialState
from skbayes.trial.responses import Response, Target, respond_and_vote

if TYPE_CHECKING:
    from skbayes.trial.evaluator import Evaluation
    from skbayes.trial.plan import Plan


logger = logging.getLogger("skbayes")

# Maximum size of the predictions in bytes.
MEMORY_LIMIT = 1e9


class KeptPredictions:
    """Predictions of the best trials of a search.

    The predictions on the test sets have at most `MEMORY_LIMIT` bytes, and are also
    stored in a file for each trial in `folder`, beside the journal. Trials without
    predictions, because of the limit or a missing file, are in `dropped`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.responses: dict[int, list[Response]] = {}
        self.dropped: list[int] = []
        self._trials = History()

    @property
    def size(self) -> int:
        """Size of the predictions in bytes."""
        every = [part for parts in self.responses.values() for part in parts]
        votes = [part.votes for part in every if part.votes is not None]
        return sum(values.nbytes for values in (*votes, *(p.values for p in every)))

    def add(self, trial: Trial, sizes: Sequence[int]) -> None:
        """Add a finished trial; drop those that are not among the best."""
        number = trial.number
        is_complete = trial.state == TrialState.COMPLETE and trial.fitted.all()
        if not is_complete or trial.error is not None:
            self.responses.pop(number, None)
            return
        if self.folder is not None:
            if number in self.responses:
                self._write(trial)
            else:
                self._read(trial, sizes)
        if number not in self.responses:
            self.dropped.append(number)
        self._trials = History([*self._trials, trial])
        ordered = [other.number for other in self._trials.best_first()]
        # Trials of earlier stages. Trials that were concluded but not added yet remain.
        for other in {other.number for other in self._trials}.difference(ordered):
            self.responses.pop(other, None)
        for other in reversed(ordered[1:]):
            if self.size <= MEMORY_LIMIT:
                break
            if self.responses.pop(other, None) is not None:
                self.dropped.append(other)

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number}.npz"

    def _write(self, trial: Trial) -> None:
        """Write the predictions of a trial; without them, its folds can be refitted."""
        parts = self.responses[trial.number]
        arrays: dict[str, Any] = {
            f"values{k}": part.values for k, part in enumerate(parts)
        }
        for k, part in enumerate(parts):
            if part.votes is not None:
                arrays[f"votes{k}"] = part.votes
        arrays |= {
            "methods": np.array([part.method for part in parts]),
            "costs": np.array([(part.seconds, part.size) for part in parts]),
            "scores": _scores(trial),
        }
        content = io.BytesIO()
        np.savez(content, **arrays)
        path = self._path(trial.number)
        unfinished = path.with_suffix(".tmp")
        try:
            path.parent.mkdir(exist_ok=True)
            unfinished.write_bytes(content.getbuffer())
            os.replace(unfinished, path)
        except OSError as error:
            logger.warning("predictions of trial %d: %s", trial.number, error)

    def _read(self, trial: Trial, sizes: Sequence[int]) -> None:
        """Read the predictions of a trial of the journal, if its file is intact."""
        try:
            content = io.BytesIO(self._path(trial.number).read_bytes())
            with np.load(content, allow_pickle=False) as file:
                if not np.array_equal(file["scores"], _scores(trial), equal_nan=True):
                    raise ValueError("the file belongs to another search")
                parts = [
                    Response(
                        *(str(method), file[f"values{k}"], file.get(f"votes{k}")),
                        *map(float, costs),
                    )
                    for k, (method, costs) in enumerate(
                        zip(file["methods"], file["costs"], strict=True)
                    )
                ]
            if [len(part.values) for part in parts] != list(sizes):
                raise ValueError("the numbers of rows differ")
        except Exception as error:  # damaged files raise errors of many kinds
            logger.warning("predictions of trial %d: %s", trial.number, error)
        else:
            self.responses[trial.number] = parts


def _scores(trial: Trial) -> np.ndarray:
    rows = [list(fold.test_scores.values()) for fold in trial.folds]
    return np.array(rows, dtype=float)


class _FoldPredictions(FoldAspect):
    """Predictions on the test set for the target."""

    needs_estimator = True
    affects_errors = False

    def __init__(self, target: Target) -> None:
        self.target = target

    def measure(self, call: FoldCall, result: FoldResult) -> FoldResult:
        """Keep the predictions."""
        if result.fit_error is not None:
            return result
        X, _ = call.test_set()
        try:
            response = measured_response(call.estimator, X, self.target)
        except Exception:  # such as the error for which scoring failed, too
            if call.raises:
                raise
            return result
        return result.keeping(response=response)


def measured_response(estimator: Any, X: Any, target: Target) -> Response:
    """Return the predictions of a fitted estimator, with its votes and its size."""
    response = respond_and_vote(estimator, X, target)
    with contextlib.suppress(Exception):  # it may be impossible to pickle
        response.size = float(model_size(estimator))
    return response


class Predictions(Aspect):
    """Out-of-fold predictions of complete trials, within a memory limit."""

    name = "predictions"

    def __init__(self, plan: Plan) -> None:
        journal = plan.settings.get("journal")
        folder = None if journal is None else Path(f"{os.fspath(journal)}.predictions")
        # All stages share the predictions.
        self.store: KeptPredictions = plan.notes.setdefault(
            self.name, KeptPredictions(folder)
        )

    @classmethod
    def is_on(cls, plan: Plan) -> bool:
        """Return whether the predictions are kept.

        With early stopping, a fit has more rounds than its score, and predictions are
        made after the search.
        """
        return not plan.scores_rounds

    def fold_aspect(self) -> FoldAspect:
        """Return the part that predicts the test set."""
        return _FoldPredictions(Target.of(self.plan.model, self.plan.y))

    def close(self, evaluation: Evaluation, trial: Trial) -> Trial:
        """Keep the predictions of a trial, if all of its folds were fitted."""
        found = [fold.kept.get("response") for fold in trial.folds]
        parts = [part for part in found if part is not None]
        if len(parts) == len(found):
            self.store.responses[trial.number] = parts
        return trial

    def observe(self, trial: Trial) -> dict[str, Any]:
        """Drop the predictions of the worst trials if they exceed the limit."""
        self.store.add(trial, self.plan.test_sizes)
        return {}
