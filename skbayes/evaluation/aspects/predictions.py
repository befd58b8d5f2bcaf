"""Out-of-fold predictions of the trials, for ensembles."""

from __future__ import annotations

import io
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skbayes.evaluation.aspect import Aspect, FoldAspect
from skbayes.evaluation.fold import FoldCall, FoldOutcome
from skbayes.evaluation.responses import Response, Target, respond
from skbayes.evaluation.trial import FoldResult, History, Trial, TrialState

if TYPE_CHECKING:
    from skbayes.evaluation.evaluator import Evaluation
    from skbayes.evaluation.run import SearchRun


logger = logging.getLogger("skbayes")

# Maximum size of the predictions in bytes, and number of trials whose fitted estimators
# are kept. The folds of other members of an ensemble are fitted again.
MEMORY_LIMIT, N_FITS = 1e9, 25


class KeptPredictions:
    """Predictions and fitted estimators of the best trials of a search.

    The predictions on the test sets have at most `limit` bytes, and are also stored in
    a file for each trial in `folder`, beside the journal. Trials without predictions,
    because of the limit or a missing file, are in `dropped`. The fitted estimators of
    `n_fits` trials are kept.
    """

    def __init__(self, limit: float, n_fits: int, folder: Path | None = None) -> None:
        self.limit, self.n_fits, self.folder = limit, n_fits, folder
        self.responses: dict[int, list[Response]] = {}
        self.fits: dict[int, list[Any]] = {}
        self.dropped: list[int] = []
        self._trials = History()

    @property
    def size(self) -> int:
        """Size of the predictions in bytes."""
        parts = self.responses.values()
        return sum(part.values.nbytes for parts_ in parts for part in parts_)

    def add(self, trial: Trial, sizes: Sequence[int]) -> None:
        """Add a finished trial; drop those that are not among the best."""
        number = trial.number
        if trial.state != TrialState.COMPLETE or trial.error is not None:
            self.responses.pop(number, None)
            self.fits.pop(number, None)
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
            self._drop(other)
        for other in ordered[self.n_fits :]:
            self.fits.pop(other, None)
        for other in reversed(ordered[1:]):
            if self.size <= self.limit:
                break
            if other in self.responses:
                self._drop(other)
                self.dropped.append(other)

    def _drop(self, number: int) -> None:
        self.responses.pop(number, None)
        self.fits.pop(number, None)

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number}.npz"

    def _write(self, trial: Trial) -> None:
        """Write the predictions of a trial; without them, its folds can be refitted."""
        parts = self.responses[trial.number]
        arrays: dict[str, Any] = {
            f"values{k}": part.values for k, part in enumerate(parts)
        }
        arrays |= {
            "methods": np.array([part.method for part in parts]),
            "seconds": np.array([part.seconds for part in parts]),
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
                    Response(str(method), file[f"values{k}"], float(seconds))
                    for k, (method, seconds) in enumerate(
                        zip(file["methods"], file["seconds"], strict=True)
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
    """Predictions on the test set for the target, and the fitted estimator."""

    needs_estimator = True
    affects_errors = False

    def __init__(self, target: Target, keeps_fits: bool) -> None:
        self.target, self.keeps_fits = target, keeps_fits

    def measure(self, call: FoldCall, outcome: FoldOutcome) -> None:
        """Add the predictions to the outcome."""
        if outcome.result is None or outcome.result.fit_error is not None:
            return
        X, _ = call.test_set()
        begin = time.perf_counter()
        try:
            response = respond(call.estimator, X, self.target)
        except Exception:  # such as the error for which scoring failed, too
            if call.raises:
                raise
            return
        response.seconds = time.perf_counter() - begin
        outcome.response = response
        if self.keeps_fits:
            outcome.estimator = call.estimator


class Predictions(Aspect):
    """Out-of-fold predictions of complete trials, within a memory limit."""

    name = "predictions"
    condition = "keeps_predictions"

    def __init__(self, run: SearchRun) -> None:
        super().__init__(run)
        options = run.refit.options
        keeps_fits = options.get("members", "auto") != "refit"
        self.keeps_fits = keeps_fits
        journal = run.settings.get("journal")
        folder = None if journal is None else Path(f"{os.fspath(journal)}.predictions")
        limit = options.get("memory_limit", MEMORY_LIMIT)
        # All stages share the predictions.
        self.store: KeptPredictions = run.notes.setdefault(
            self.name, KeptPredictions(limit, N_FITS if keeps_fits else 0, folder)
        )

    def fold_aspect(self) -> FoldAspect:
        """Return the part that predicts the test set."""
        target = Target.of(self.run.estimator, self.run.y)
        return _FoldPredictions(target, self.keeps_fits)

    def conclude(
        self, plan: Evaluation, folds: Sequence[FoldResult], state: TrialState
    ) -> dict[str, Any]:
        """Keep the predictions of a trial, if all of its folds were fitted."""
        parts = [outcome.response for outcome in plan.outcomes]
        if len(parts) == plan.n_folds and all(part is not None for part in parts):
            self.store.responses[plan.number] = parts
            if self.keeps_fits:
                fits = [outcome.estimator for outcome in plan.outcomes]
                self.store.fits[plan.number] = fits
        return {}

    def learn(self, trial: Trial) -> None:
        """Drop the predictions of the worst trials if they exceed the limit."""
        self.store.add(trial, self.run.test_sizes)
