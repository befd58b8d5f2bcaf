"""Parameters of the searches: types, accepted values, and the base constructor."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

import numpy as np
from sklearn.base import clone

from skbayes import compat
from skbayes.acquisition.improvement import Acquisition
from skbayes.optimizer.optimizer import Optimizer
from skbayes.results.frame import FrameAttribute
from skbayes.space import Space
from skbayes.surrogates.registry import registry
from skbayes.surrogates.surrogate import Surrogate
from skbayes.trial.option_table import COUNT
from skbayes.trial.option_table import parameters as option_parameters
from skbayes.trial.records import History
from skbayes.utils.did_you_mean import NameHints, name_elsewhere
from skbayes.utils.optional import is_enabled
from skbayes.utils.pickled_version import PickledVersion

if TYPE_CHECKING:
    from skbayes.options.ensembles.combination import EnsembleResult

# -- types ----------------------------------------------------------------------------


class Estimator(Protocol):
    """Object with the parameters of an estimator of scikit-learn."""

    def get_params(self, deep: bool = True) -> Any:
        """Return the parameters."""

    def set_params(self, **params: Any) -> Any:
        """Set parameters."""


class Splitter(Protocol):
    """Object that splits data, such as KFold."""

    @property
    def split(self) -> Callable[..., Any]:
        """Method that yields pairs of training and test rows."""

    @property
    def get_n_splits(self) -> Callable[..., Any]:
        """Method that returns the number of splits."""


class CustomSurrogate(Protocol):
    """Object with the methods of a surrogate."""

    @property
    def fit(self) -> Callable[..., Any]:
        """Method that fits the model to scores."""

    @property
    def predict(self) -> Callable[..., Any]:
        """Method that predicts scores."""

    @property
    def condition(self) -> Callable[..., Any]:
        """Method that adds pending configurations."""


SearchSpaces = (
    Literal["auto"] | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Space | None
)
InitialPoints = (
    Literal["default"]
    | int
    | Sequence[Mapping[str, Any] | int]
    | Mapping[str, Any]
    | None
)
Scoring = str | Callable[..., Any] | Sequence[str] | Mapping[str, Any] | None
Refit = bool | str | Mapping[str, Any] | Callable[..., Any]
CrossValidation = int | Splitter | Iterable[tuple[Any, Any] | list[Any]] | None
Constraints = (
    Callable[..., Any]
    | Mapping[str, Any]
    | Sequence[Callable[..., Any] | Mapping[str, Any]]
    | None
)
Stopper = Callable[..., Any] | Sequence[Callable[..., Any]] | None

SurrogateName = Literal[
    "gp",
    "gp-additive",
    "gp-warped",
    "gp-matern52",
    "gp-matern32",
    "gp-rbf",
    "graph",
    "trees",
    "tpe",
    "random",
    "sobol",
]
AcquisitionName = Literal["ei", "ei-per-second", "pi", "ucb", "eif"]
SignedName = Literal["gp", "gp-matern52", "gp-rbf"]

_Model = SurrogateName | CustomSurrogate | Surrogate
AnySurrogate = _Model | tuple[_Model, AcquisitionName | Acquisition]
SignedSurrogate = (
    SignedName | tuple[SignedName, Literal["ei", "pi", "ucb"] | Acquisition]
)
TradeoffSurrogate = _Model | tuple[_Model, Literal["ei-tradeoff", "paper"]]


# -- accepted values, in scikit-learn's format ----------------------------------------

FROM_0 = compat.Interval(Integral, 0, None, closed="left")

# Surrogates by name, and user-defined ones.
ANY_SURROGATE = [
    compat.StrOptions(set(registry)),
    compat.HasMethods(["fit", "predict", "condition"]),
]


class _Off(compat.HasMethods):
    """Value of a parameter whose option is not in the table of the options."""

    def __init__(self) -> None:
        super().__init__([])

    def is_satisfied_by(self, val: Any) -> bool:
        return not is_enabled(val)

    def __str__(self) -> str:
        return "None or False"


class _WithAcquisition(compat.HasMethods):
    """Tuples of a surrogate and an acquisition function, given by name or class.

    Its error lists the acquisition functions.
    """

    def __init__(
        self, surrogates: list[Any], names: Collection[str], kinds: tuple[type, ...]
    ) -> None:
        super().__init__([])
        self.surrogates, self.names, self.kinds = surrogates, names, kinds

    def is_satisfied_by(self, val: Any) -> bool:
        is_pair = isinstance(val, tuple) and len(val) == 2
        surrogate, acquisition = val if is_pair else (val, None)
        if not is_pair:
            return False
        is_name = isinstance(acquisition, str) and acquisition in self.names
        if not is_name and not isinstance(acquisition, self.kinds):
            listed = ", ".join(map(repr, sorted(self.names)))
            raise ValueError(
                f"surrogate: {acquisition!r} is not an acquisition function. It must "
                f"be one of {listed}{' or an acquisition object' * bool(self.kinds)}."
            )
        return any(
            isinstance(surrogate, accepted)
            if isinstance(accepted, type)
            else accepted.is_satisfied_by(surrogate)
            for accepted in self.surrogates
        )

    def __str__(self) -> str:
        return "a tuple of a surrogate and an acquisition function"


def with_acquisition(
    surrogates: list[Any], names: Collection[str], kinds: tuple[type, ...] = ()
) -> list[Any]:
    """Return the accepted values: a surrogate, or a tuple with an acquisition."""
    return [*surrogates, _WithAcquisition(surrogates, names, kinds)]


def _takes_booleans(accepted: Any) -> bool:
    return not isinstance(accepted, list) or any(
        one in ("boolean", "verbose") if isinstance(one, str) else isinstance(one, _Off)
        for one in accepted
    )


# -- errors ---------------------------------------------------------------------------

# Accepted values, where scikit-learn would list the names of classes.
EXPECTED = {
    "all_tradeoffs": "True or False",
    "complexity": "'auto', or a dict of signs such as {'C': 1}",
    "constraints": "a dict of bounds such as {'recall': '>= 0.7'}, a function of the "
    "configuration, a list of both, or None",
    "cost": "'fit_time', another measure, or a callable of the fitted estimator",
    "cv": "an int of at least 2 such as 5, a splitter such as KFold(5), a list of "
    "splits, or None",
    "dev": "None, or a pair such as (texts, labels)",
    "early_stopping": "an int, 'auto' or None",
    "error_score": "'raise' or a number, such as np.nan",
    "estimator": "an estimator with a method fit, such as SVC()",
    "initial_points": "'default', a list of configurations such as [{'C': 1.0}], an "
    "int of at least 0, or None",
    "journal": "the path of a file such as 'search.journal', or None",
    "language": "the name of a language such as 'english', or None",
    "multi_fidelity": "True, False or 'auto'",
    "n_iter": "an int such as 50, or None; with stages also one int for each, such as "
    "(30, 10)",
    "n_jobs": "an int such as 2, -1 for all processors, or None",
    "objectives": "a dict such as {'roc_auc': 'max', 'fit_time': 'min'}",
    "pre_dispatch": "an int of at least 1, or a str such as '2*n_jobs'",
    "pruning": "True, False, or a number between 0 and 0.5, such as 0.1",
    "random_state": "an int of at least 0, such as 42, a RandomState, or None",
    "refit": "True, False, 'ensemble', 'corrected', the name of a metric, a dict of "
    "options, or a callable",
    "return_folds": "False, 'estimators', a method such as 'predict_proba', or a list",
    "return_train_score": "True or False",
    "score_range": "a pair of numbers such as (0, 1), or None",
    "scoring": "the name of a metric such as 'accuracy', a scorer, a list or dict of "
    "these, or None",
    "search_spaces": "'auto', a dict such as {'C': (0.1, 10.0, 'log-uniform')}, a list "
    "of dicts, or None",
    "stages": "'auto', or a list of training sizes, such as (0.3, 1.0)",
    "subset_fraction": "a number between 0 and 1, such as 0.1",
    "surrogate": "the name of a surrogate such as 'gp', a surrogate object, or a tuple "
    "such as ('gp', 'ei')",
    "timeout": "a number of seconds above 0, a string such as '5 min', or None",
    "train_sizes": "a list of training sizes, such as (0.1, 0.3, 1.0)",
    "trial_limits": "a dict such as {'time': '5 min', 'memory': '2 GB'}, or None",
    "verbose": "an int of at least 0, True, False, or 'progress'",
}


# -- base class -----------------------------------------------------------------------


class SearchParameters(NameHints, PickledVersion, compat.BaseSearchCV):
    """Constructor and attributes that all searches have.

    A subclass sets its own parameters and calls this constructor with the others, as
    in scikit-learn. :class:`~skbayes.BayesSearchCV` describes them.
    """

    # Own entries, which docs/door.py does not write:
    # surrogate

    learning_curves_ = FrameAttribute()

    # Parameters whose types differ among the searches.
    estimator: Any
    n_iter: Any

    # Attributes that `fit` sets.
    best_estimator_: Any
    best_index_: int
    best_params_: dict[str, Any]
    best_score_: float
    cv_results_: dict[str, Any]
    ensemble_: EnsembleResult
    feature_names_in_: np.ndarray
    fold_estimators_: list[Any]
    all_fold_estimators_: list[list[Any] | None]
    oof_predictions_: np.ndarray
    all_oof_predictions_: list[np.ndarray | None]
    initial_points_: list[dict[str, Any]]
    multimetric_: bool
    n_points_: int
    n_splits_: int
    optimizer_: Optimizer
    refit_time_: float
    scorer_: Any
    search_spaces_: Any
    stop_reason_: str
    target_metric_: str
    total_time_: float
    trials_: History
    untuned_: list[str]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [compat.HasMethods(["fit"])],
        "n_jobs": [Integral, None],
        "cv": ["cv_object"],
        "error_score": [compat.StrOptions({"raise"}), Real],
        "return_train_score": ["boolean"],
        # `fit` checks some parameters with more detailed messages.
        "search_spaces": "no_validation",
        "n_iter": [COUNT, None],
        "surrogate": ANY_SURROGATE,
        "initial_points": [
            compat.StrOptions({"default"}),
            *(FROM_0, list, tuple, Mapping, None),
        ],
        "scoring": [str, callable, list, tuple, dict, None],
        "refit": ["boolean", str, Mapping, callable],
        "verbose": ["verbose", compat.StrOptions({"progress"})],
        "pre_dispatch": [COUNT, str],
        "random_state": ["random_state"],
        "stopper": "no_validation",
        "warm_start_from": "no_validation",
        "journal": [str, PathLike, None],
        **dict.fromkeys(
            ("timeout", "trial_limits", "early_stopping", "constraints")
            + ("return_folds", "pruning"),
            [_Off()],
        ),
        **option_parameters(),
    }

    # Parameters that do not change the trials, so that the identity of a journal does
    # not contain them. A subclass extends this set, and the next one.
    _without_effect: ClassVar[frozenset[str]] = frozenset(
        {
            *("n_iter", "timeout", "n_jobs", "refit", "verbose", "pre_dispatch"),
            *("random_state", "stopper", "journal", "return_folds"),
        }
    )

    # Attributes that are not sent to workers: locks, generators, or large data.
    _not_sent: ClassVar[frozenset[str]] = frozenset(
        {"cv", "stopper", "warm_start_from", "constraints", "_prior"}
    )

    # Name of the parameter with the sizes of training subsets.
    _subset_parameter: ClassVar[str] = "train_size"

    # Maximum size in bytes of the temporary files that trials share.
    _cache_limit: ClassVar[float] = 1e9

    # Whether the refit uses the fraction of the rows of the best trial.
    _refits_samples: ClassVar[bool] = False

    @abstractmethod
    def __init__(
        self,
        estimator: Estimator,
        search_spaces: SearchSpaces = "auto",
        *,
        n_iter: int | None = 50,
        timeout: float | str | None = None,
        stopper: Stopper = None,
        scoring: Scoring = None,
        cv: CrossValidation = None,
        refit: Refit = True,
        constraints: Constraints = None,
        pruning: bool | float = False,
        early_stopping: int | Literal["auto"] | None = None,
        surrogate: AnySurrogate | TradeoffSurrogate = "gp",
        initial_points: InitialPoints = "default",
        warm_start_from: Any = None,
        journal: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        pre_dispatch: int | str = "2*n_jobs",
        trial_limits: Mapping[str, float | str | None] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int | Literal["progress"] = 0,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        return_folds: Literal[False] | str | Sequence[str] = False,
    ) -> None:
        self.estimator = estimator
        self.search_spaces = search_spaces
        self.n_iter = n_iter
        self.timeout = timeout
        self.stopper = stopper
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.constraints = constraints
        self.pruning = pruning
        self.early_stopping = early_stopping
        self.surrogate = surrogate
        self.initial_points = initial_points
        self.warm_start_from = warm_start_from
        self.journal = journal
        self.n_jobs = n_jobs
        self.pre_dispatch = pre_dispatch
        self.trial_limits = trial_limits
        self.random_state = random_state
        self.verbose = verbose
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.return_folds = return_folds

    def _values(self) -> dict[str, Any]:
        """Return the values of all parameters, even if a subclass lacks some."""
        values = {name: getattr(self, name) for name in self._accepted_values()}
        return values | self.get_params(deep=False)

    @classmethod
    def _accepted_values(cls) -> dict[str, Any]:
        """Return the accepted values of the parameters, including inherited ones."""
        accepted: dict[str, Any] = {}
        for kind in reversed(cls.__mro__):
            accepted |= vars(kind).get("_parameter_constraints", {})
        return accepted

    def __sklearn_clone__(self) -> Self:
        copied: Self = super().__sklearn_clone__()  # type: ignore[misc]
        parameters = inspect.signature(type(self).__init__).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            # `get_params` does not list what a subclass accepts as **kwargs.
            for name in vars(self).keys() - self.get_params(deep=False):
                if not name.startswith("_") and not name.endswith("_"):
                    setattr(copied, name, clone(getattr(self, name), safe=False))
        return copied

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as for every estimator.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self : object
            This search.

        Raises
        ------
        ValueError
            If a name is unknown, or if `warm_start_from` is this search.
        """
        accepted = self.get_params(deep=False)
        for name in params:
            if name not in accepted and (hint := name_elsewhere(name, accepted)):
                kind = type(self).__name__
                raise ValueError(f"{kind} has no parameter {name!r}.{hint}")
        self._check_source(params.get("warm_start_from"))
        return super().set_params(**params)

    def _validate_params(self) -> None:
        estimator, kind = self.estimator, type(self).__name__
        if type(estimator).__name__ == "ModelChoice":  # of skbayes.defaults.models
            raise TypeError(f"Unpack the models: {kind}(*models(X, y), ...).")
        if not hasattr(estimator, "fit") and hasattr(self.search_spaces, "fit"):
            raise TypeError(
                f"{kind}: the estimator is the first argument, and search_spaces the "
                f"second one; write {kind}(estimator, search_spaces)."
            )
        accepted = self._accepted_values()
        attributes = {*vars(self), *dir(type(self))}
        if missing := [name for name in accepted if name not in attributes]:
            raise TypeError(
                f"{kind}.__init__ must call super().__init__, which sets "
                f"{', '.join(missing)}."
            )
        # Properties in place of parameters may depend on the others.
        for name in {**self.get_params(deep=False), **accepted}:
            self._check_value(name, accepted.get(name, "no_validation"))

    def _check_value(self, name: str, accepted: Any) -> None:
        """Raise an error for a value that is not among the accepted ones."""
        kind, value = type(self).__name__, getattr(self, name)
        error = compat.invalid_value(kind, name, value, accepted)
        # For Python, True is a number.
        is_number = isinstance(value, bool) and not _takes_booleans(accepted)
        if error is None and not is_number:
            return
        listed = (compat.Interval, compat.StrOptions, type(None), _Off)
        if error is not None and all(isinstance(one, listed) for one in accepted):
            raise error
        names = {o for one in accepted for o in getattr(one, "options", ())}
        hint = f" The names are {', '.join(map(repr, sorted(names)))}." if names else ""
        raise compat.InvalidParameterError(
            f"The {name!r} parameter of {kind} must be "
            f"{EXPECTED.get(name, 'a number')}. Got {value!r} instead."
            f"{hint * isinstance(value, str)}"
        )

    def _check_source(self, source: Any) -> None:
        if source is self:
            raise ValueError(
                "warm_start_from is the search itself. Use warm_start_from="
                "search.cv_results_, the results of its last fit."
            )
