"""Parameters that the searches share, and their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from skbayes import compat
from skbayes.evaluation.aspect import REQUIRED, Parameter
from skbayes.evaluation.aspects import registry as aspects
from skbayes.surrogates.registry import registry
from skbayes.utils.did_you_mean import surrogate_elsewhere, with_hints

_Class = TypeVar("_Class", bound=type)

# An entry of a numpydoc section: a line "name : type" and the indented lines below it.
_ENTRY = re.compile(r"^(\w+) : .*(?:\n+ {4}.*)*", re.MULTILINE)

# Reference to an entry, as a line of a docstring.
_REFERENCE_LINE = re.compile(r"^(?P<indent> *)\{(?P<name>\w+)\}$", re.MULTILINE)


# Attributes that only searches for the best score have.
OF_BEST_SCORE = ("best_score_corrected_", "best_gain_", "best_gain_std_", "own_index_")


class SharedEntries:
    """Source of the docstring entries of the searches.

    Parameters
    ----------
    estimator : estimator object
        Estimator to tune. It needs a `score` method unless `scoring` is given.
    search_spaces : "auto", dict, list of dict, Space or None, default="auto"
        Search space. A dict maps the name of each hyper-parameter to its possible
        values: a list or array of values, a scipy distribution, a tuple ``(low, high)``
        or ``(low, high, "log-uniform")``, or a dimension of :mod:`skbayes.space`. A
        :class:`~skbayes.space.Choice` contains hyper-parameters that exist only for one
        of its options. A list of dicts is searched as a single space, with one
        surrogate and one budget.

        "auto" and None use the space that :func:`skbayes.spaces.default_space` returns
        for the estimator. ``{"auto": True, "svc__C": ...}`` replaces entries of this
        space.
    n_iter : int or None, default=50
        Maximum number of configurations to try. If the search space has at most
        `n_iter` configurations, each is tried once and the search ends. They are then
        tried in the order of GridSearchCV, unless `timeout` or `stopper` is set.

        With None, `timeout` or `stopper` ends the search. With `timeout`, the default
        acquisition function of Gaussian processes in BayesSearchCV is then
        "ei-per-second".
    surrogate : str, surrogate object or tuple, default="gp"
        Model of the scores, given by name or as an instance of a class of
        :mod:`skbayes.surrogates`, or a tuple of the model and the acquisition function,
        such as ``("gp", "ucb")``. The models are:

        - "gp": Gaussian process; "gp-additive" in small finite spaces, "gp-warped"
          otherwise;
        - "gp-additive", "gp-warped", "gp-matern52", "gp-matern32", "gp-rbf": Gaussian
          process with a specific kernel or with warped inputs;
        - "graph": Gaussian field on the graph of all configurations of a finite space;
        - "trees": ensemble of trees, requires LightGBM;
        - "tpe": tree-structured Parzen estimator;
        - "random", "sobol": random or quasi-random search without a model.

        The acquisition function ranks the configurations to try next. It is a name or
        an instance of a class of :mod:`skbayes.acquisition`:

        - "ei": expected improvement, the default;
        - "ei-per-second": expected improvement divided by the expected time;
        - "pi": probability of improvement;
        - "ucb": upper confidence bound;
        - "eif": expected influence, only with "graph".
    initial_points : "default", int, list or None, default="default"
        Configurations with which the search starts, before the surrogate is used:

        - "default": the current parameters of the estimator, if they are in the search
          space and `warm_start_from` has no results on the same data. For some classes
          of estimators, a few configurations that scored well on other data sets are
          added, and values that scored well there are proposed more often. In a choice
          among models, each model is tried once. Further configurations are spread over
          the space until there are 3 to 8 of them in total, depending on the number of
          ranges and options in the space, or 8 for "tpe"; see
          :class:`~skbayes.Optimizer`.
        - int: as "default", with this number of configurations in total. It does not
          limit those of "default".
        - a list of dicts, each with a value for every hyper-parameter that it needs. An
          int at the end of the list is the total number, as in ``[{"C": 1.0}, 5]``.
        - None: only configurations that are spread over the space.
    timeout : float, str or None, default=None
        Time limit of the search, without the refit: a number of seconds, or a string
        such as "90 s", "5 min" or "1h30m". The duration of each trial is predicted by a
        model. A trial that is expected to exceed the limit is not started. The search
        then looks for a trial that is expected to finish in time, and ends if there is
        none. Fits that are still running at the limit are aborted, and their trials are
        dropped. If no trial was finished, the current parameters of the estimator are
        the result, without a score, and a warning is issued.

        Each worker runs its fits in a separate process, even if there is only one
        worker. Running fits cannot be aborted on a cluster, with callbacks in the
        process of the search, or if they cannot be pickled (see :ref:`timeout`).
    scoring : str, callable, list, tuple, dict or None, default=None
        Metrics, as for GridSearchCV: one metric, several metrics, or a callable that
        returns either. None uses the `score` method of the estimator.
    n_jobs : int or None, default=None
        Number of fits that run at the same time. None means 1 unless in a
        :obj:`joblib.parallel_config` context, which also selects the backend
        (processes, threads, or a cluster). -1 means using all processors. If
        `pre_dispatch` is an int, the trials are the same for every `n_jobs`.
    refit : bool, str, dict or callable, default=True
        Whether to refit the best configuration on all data. With several metrics, pass
        the name of the metric that determines the best configuration, or False. A
        callable receives ``cv_results_`` and returns the index of the row to choose.
        The search is guided by the metric that is named, or else by the first one.

        "corrected" chooses the current parameters of the estimator, unless the best
        mean score is still better after the correction of its optimism
        (``best_score_corrected_``; see :ref:`choice`). With several metrics, pass
        ``{"rule": "corrected", "metric": "f1"}``.

        "ensemble" averages the predictions of several trials with weights (Caruana et
        al. 2004). Members are selected from the out-of-fold predictions of the complete
        trials by the metric of the search. A dict such as ``{"rule": "ensemble",
        "metric": "roc_auc", "max_members": 5}`` has these options:

        - "metric": metric for the selection, if there are several;
        - "max_members": maximum number of configurations, by default 10;
        - "members": "folds" averages the fits of the splits, "refit" fits each
          configuration on all rows. The default, "auto", is "folds" for three or more
          splits with each row in most training sets;
        - "min_gain": increase of the score that another member must exceed, by
          default 0;
        - "max_predict_cost": maximum time for predictions, as a multiple of that of the
          best configuration alone;
        - "memory_limit": maximum size of the predictions in bytes, by default 1e9. The
          predictions of the worst trials are dropped, with a warning.
    cv : int, splitter, iterable or None, default=None
        Cross-validation splits, as for GridSearchCV. They are drawn once and shared by
        all trials, even if the splitter shuffles without a seed.
    verbose : int or "progress", default=0
        Verbosity level. With 1 or more, one line is printed per trial: its score, the
        best score so far, the elapsed time and the estimated remaining time. With 2 or
        more, the configuration and the messages of GridSearchCV for each fit are
        printed too. With "progress", a progress bar is shown instead, which is a widget
        in notebooks; this requires tqdm. Regardless of `verbose`, each trial is logged
        by the logger ``skbayes``.
    pre_dispatch : int or str, default="2*n_jobs"
        Number of trials that are in progress at the same time. Trial k is proposed from
        the results of the trials up to k - ``n_points_``, so the trials depend on this
        number and not on timing. The number that was used is stored as ``n_points_``.

        A string is the number of fits that are dispatched in advance, as for
        GridSearchCV. The number of trials is then 1 with one worker. With more workers,
        it is ``ceil(1.5 * n_workers / n_splits_) + 1``, which keeps them busy.
    random_state : int, RandomState instance or None, default=None
        Seed for the choice of configurations. Pass an int for the same trials in every
        call of `fit`. With another number of workers, the trials are the same only if
        `pre_dispatch` is an int.
    error_score : "raise" or number, default=np.nan
        Score of a fit that fails. With "raise", the exception is raised. A trial counts
        as failed if its mean score is NaN, or if all of its fits fail. The search
        raises an exception only if every fit fails.
    return_train_score : bool, default=False
        Whether ``cv_results_`` includes scores on the training sets.
    stopper : callable, list of callable or None, default=None
        Stopping criteria. Each callable is called with the trials so far after every
        trial. The search ends when one of them returns True; running trials are
        completed. In a search with stages, it is called with the trials of the current
        stage, and ends this stage. See :mod:`skbayes.loop` for predefined criteria.
    warm_start_from : search, dict, data frame, study, path, list or None, default=None
        Results of an earlier search on the same data, scored by the same metric:

        - a fitted search (also a GridSearchCV), its ``cv_results_``, or a data frame of
          these;
        - the path of a journal;
        - an Optuna study with one objective, whose values are negated if it minimizes;
        - a result of scikit-optimize, whose values are negated.

        Failed trials of a study or of scikit-optimize are used too, and so are costs if
        they are known. The search spaces can differ; configurations outside the new
        space are ignored, with a warning. The best known configuration is tried first,
        or after the `initial_points` if they are given.

        A list contains searches on other data. Up to three of their best configurations
        are tried first. The surrogate of each search is weighted by the agreement
        between its ranking and the trials so far (Feurer et al. 2018).
    journal : path, URL or None, default=None
        File in which every finished trial is recorded. If a search is run again with
        the same journal, after a crash or with a larger `n_iter`, it continues after
        the recorded trials. The journal of a different search (estimator, space, data,
        splits, scoring, options) is rejected. See :func:`skbayes.load_history`.

        With the URL of a database, such as "postgresql://user@host/database#table",
        several processes or machines can work on the search at the same time: call
        `fit` in each of them (see :ref:`drivers`). `pre_dispatch` must then be an int,
        the number of trials that are in progress in all of them together. A URL cannot
        be combined with `timeout`, with callbacks, or with a `refit` that uses
        predictions of the trials.

    Attributes
    ----------
    best_estimator_ : estimator
        Estimator with the best configuration, fitted on all data. Available unless
        ``refit=False``.
    best_score_ : float
        Mean cross-validated score of the best configuration. Available unless `refit`
        is callable, or ``refit=False`` with several metrics.
    best_score_corrected_ : float
        ``best_score_``, corrected for the optimism that results from choosing the best
        of many trials. It is estimated from the scores of the folds; see
        :func:`skbayes.results.corrected_best_score`. Available whenever
        ``best_score_`` is.
    best_gain_ : float
        ``best_score_corrected_`` minus the score of the current parameters of the
        estimator on the same folds; 0 if these are chosen. NaN if they were not tried
        on the same training rows, or with one split. Available whenever
        ``best_score_`` is.
    best_gain_std_ : float
        Standard error of ``best_gain_``. It includes the overlap of the training sets
        (Nadeau and Bengio, 2003) and the correction for the selection.
    own_index_ : int or None
        Row of the current parameters of the estimator in ``cv_results_``, if they were
        tried.
    best_params_ : dict
        Best configuration. Available unless ``refit=False`` with several metrics.
    best_index_ : int
        Row of the best configuration in ``cv_results_``; the first one if several tie.
    scorer_ : callable or dict of str to callable
        Scorer of the fits; a dict with several metrics.
    n_splits_ : int
        Number of cross-validation splits.
    ensemble_ : EnsembleResult
        Members, weights and scores of the ensemble, with ``refit="ensemble"``; see
        :class:`skbayes.search.EnsembleResult`.
    refit_time_ : float
        Seconds used for the refit. Available unless ``refit=False``.
    total_time_ : float
        Wall time of `fit` in seconds, including the refit. If the search was continued
        from its journal, this is the time of the last call of `fit`.
    multimetric_ : bool
        Whether there are several metrics.
    classes_ : ndarray of shape (n_classes,)
        Class labels, if the best estimator has them.
    n_features_in_ : int
        Number of features seen during `fit`, if the best estimator has this attribute.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the best estimator has them.
    search_spaces_ : dict, list of dict, or Space
        Search space. With "auto", it is a dict whose representation is Python code that
        you can edit.
    untuned_ : list of str
        With "auto", the parts of the estimator that keep their parameters because their
        class is not known. Otherwise empty.
    initial_points_ : list of dict
        Configurations to try first: `initial_points`, or the current parameters of the
        estimator.
    trials_ : History
        All trials in the order in which they were proposed, as
        :class:`~skbayes.evaluation.Trial`.
    optimizer_ : Optimizer
        Optimizer that contains all observations of the search.
    stop_reason_ : str
        Reason for the end of the search: "n_iter", "timeout", "exhausted", "callback"
        (a callback returned True) or "interrupted" (Ctrl-C after at least one trial).
        The reason "exhausted" means that every configuration was tried, or that no
        other one that the constraints allow was found. If a stopper ended the search,
        it is the attribute `reason` of the stopper, or "stopper".
    n_points_ : int
        Number of trials that were in progress at the same time.
    target_metric_ : str
        Metric that guided the search; "score" if there is a single metric.
    """


class _WithAcquisition(compat.HasMethods):
    """Tuples of a surrogate and an acquisition function, given by name or class.

    It is the last constraint. Its errors translate the names of other libraries.
    """

    def __init__(
        self, surrogates: list[Any], names: Collection[str], kinds: tuple[type, ...]
    ) -> None:
        super().__init__([])
        self.surrogates, self.names, self.kinds = surrogates, names, kinds

    def is_satisfied_by(self, val: Any) -> bool:
        is_pair = isinstance(val, tuple) and len(val) == 2
        surrogate, acquisition = val if is_pair else (val, None)
        ours = self.surrogates[0].options  # the first one lists the names
        if isinstance(surrogate, str):
            if name := surrogate_elsewhere(surrogate, ours):
                raise ValueError(f"surrogate: {surrogate!r} is called {name!r} here.")
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
            isinstance(surrogate, known)
            if isinstance(known, type)
            else known.is_satisfied_by(surrogate)
            for known in self.surrogates
        )

    def __str__(self) -> str:
        return "a tuple of a surrogate and an acquisition function"


def surrogate_parameter(
    surrogates: list[Any], names: Collection[str], kinds: tuple[type, ...] = ()
) -> Parameter:
    """Return the parameter for a surrogate, or a tuple with an acquisition function."""
    allowed = [*surrogates, _WithAcquisition(surrogates, names, kinds)]
    return Parameter("surrogate", allowed, default="gp")


# Surrogates by name, and user-defined ones.
ANY_SURROGATE = [
    compat.StrOptions(set(registry)),
    compat.HasMethods(["fit", "predict", "condition"]),
]

COUNT = compat.Interval(Integral, 1, None, closed="left")
_FROM_0 = compat.Interval(Integral, 0, None, closed="left")
_POSITIVE = compat.Interval(Real, 0, None, closed="neither")

# Parameters of all searches, except for those of aspects.
SHARED = (
    Parameter("estimator"),
    # `fit` checks some parameters with more detailed messages.
    Parameter("search_spaces", "no_validation", default="auto"),
    Parameter("n_iter", [COUNT, None], default=50, changes_trials=False),
    Parameter("timeout", [_POSITIVE, str, None], default=None, changes_trials=False),
    Parameter("surrogate", ANY_SURROGATE, default="gp"),
    Parameter(
        "initial_points",
        [compat.StrOptions({"default"}), _FROM_0, list, tuple, Mapping, None],
        default="default",
    ),
    Parameter("scoring", [str, callable, list, tuple, dict, None], default=None),
    Parameter("n_jobs", default=None, changes_trials=False),
    Parameter("refit", ["boolean", str, Mapping, callable], True, changes_trials=False),
    Parameter("cv", default=None, is_sent=False),
    Parameter(
        "verbose",
        ["verbose", compat.StrOptions({"progress"})],
        default=0,
        changes_trials=False,
    ),
    Parameter("pre_dispatch", [COUNT, str], default="2*n_jobs", changes_trials=False),
    Parameter("random_state", ["random_state"], default=None, changes_trials=False),
    Parameter("error_score", default=np.nan),
    Parameter("return_train_score", default=False),
    Parameter(
        "stopper", "no_validation", default=None, changes_trials=False, is_sent=False
    ),
    Parameter("warm_start_from", "no_validation", default=None, is_sent=False),
    Parameter("journal", [str, PathLike, None], default=None, changes_trials=False),
)


def parameters_of(search: type) -> dict[str, Parameter]:
    """Return the parameters of a search by name, with the defaults of its class."""
    found = {param.name: param for param in SHARED}
    for aspect in aspects.ASPECTS:
        found |= {param.name: param for param in aspect.parameters}
    for base in reversed(search.__mro__):
        found |= {param.name: param for param in vars(base).get("_parameters", ())}
        for name in vars(base).get("_omitted", ()):
            found.pop(name, None)
    return found


def share_parameters(cls: _Class) -> _Class:
    """Complete the signature, the constraints and the docstring of a search.

    The argument ``**shared`` of its constructor becomes the parameters of the base
    classes, of `SHARED` and of the aspects. The class attribute `_omitted` names those
    that it does not have.

    In the docstring, a line ``{name}`` is replaced by the entry of that name, which is
    taken from the nearest base class that has it, or else from `SharedEntries` or an
    aspect. The lines ``{parameters}`` and ``{attributes}`` are replaced by all shared
    entries that the docstring does not have.
    """
    constructor = vars(cls)["__init__"]
    declared = parameters_of(cls)
    arguments = _arguments(cls, declared)
    cls.__doc__ = _complete(cls, arguments)
    # Under `python -OO` there are no docstrings.
    listed = ["self", *_entries(cls), *arguments]
    # The order of keyword-only parameters is that of the docstring.
    ordered = sorted(
        arguments.values(),
        key=lambda p: (p.kind, p.kind is p.KEYWORD_ONLY and listed.index(p.name)),
    )
    constructor.__signature__ = inspect.Signature(ordered)
    setattr(cls, "__init__", with_hints(constructor))  # noqa: B010
    cls._parameter_constraints = _constraints(declared)  # type: ignore[attr-defined]
    # The initial distribution of the values, `_prior`, is not needed either.
    not_sent = [name for name, param in declared.items() if not param.is_sent]
    cls._not_sent = (*not_sent, "_prior")  # type: ignore[attr-defined]
    # The identity of a journal does not contain these.
    cls._without_effect = {  # type: ignore[attr-defined]
        name for name, param in declared.items() if not param.changes_trials
    }
    return cls


def _arguments(
    cls: type, declared: Mapping[str, Parameter]
) -> dict[str, inspect.Parameter]:
    constructor = vars(cls)["__init__"]
    own = inspect.signature(constructor).parameters.values()
    constructor.own = [p for p in own if p.kind is not p.VAR_KEYWORD]
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        for param in getattr(vars(base).get("__init__"), "own", ()):
            if base is cls or param.name in declared:
                found.setdefault(param.name, param)
    for name, parameter in declared.items():
        shared = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default
        )
        found.setdefault(name, shared)
    return found


def _constraints(declared: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the values that parameters accept, in scikit-learn's format."""
    known = getattr(compat.BaseSearchCV, "_parameter_constraints", {})
    return {
        name: known.get(name, "no_validation")
        if param.allowed is None
        else param.allowed
        for name, param in declared.items()
    }


def _entries(cls: type) -> dict[str, str]:
    """Return the entries of the numpydoc sections of a class by name."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    return {match[1]: match[0] for match in _ENTRY.finditer(doc)}


def _complete(cls: type, parameters: Mapping[str, inspect.Parameter]) -> str:
    """Return the docstring of a class with the entries that it refers to."""
    sources: list[type] = [
        SharedEntries,
        *(aspect for aspect in aspects.ASPECTS if aspect.parameters),
    ]
    entries: dict[str, str] = {}
    attributes: list[str] = []
    omitted = {name for base in cls.__mro__ for name in vars(base).get("_omitted", ())}
    for source in sources:
        found = _entries(source)
        entries |= found
        own = {param.name for param in getattr(source, "parameters", ())}
        if not own or own - omitted:
            attributes += [name for name in found if name.endswith("_")]
    for base in reversed(cls.__mro__[1:]):
        entries |= _entries(base)
    doc = cls.__doc__ or ""
    present = (
        set(_entries(cls))
        | {match["name"] for match in _REFERENCE_LINE.finditer(doc)}
        | omitted
    )
    listed = {
        "parameters": [name for name in parameters if name not in {"self", *present}],
        "attributes": [name for name in attributes if name not in present],
    }

    def entry(match: re.Match[str]) -> str:
        names = listed.get(match["name"], [match["name"]])
        texts = [_with_default(entries[name], parameters.get(name)) for name in names]
        return textwrap.indent("\n".join(texts), match["indent"])

    return _REFERENCE_LINE.sub(entry, doc)


def _with_default(entry: str, parameter: inspect.Parameter | None) -> str:
    """Return an entry with the default value of a parameter."""
    if parameter is None or parameter.default is REQUIRED:
        return entry
    default = parameter.default
    text = "np.nan" if default is np.nan else _code(default)
    return re.sub(r"default=.*", lambda _: f"default={text}", entry, count=1)


def _code(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
