"""Names and types of parameters, by which search spaces are checked.

Boosting libraries accept several names of one parameter, and any unknown name.
"""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
import re
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any

from skbayes import compat
from skbayes.space.dimensions import is_number
from skbayes.utils.did_you_mean import did_you_mean
from skbayes.utils.optional import warn_user

BAGGING_OF_CLASSES = ("bagging_fraction", "sub_row", "subsample", "bagging")

# Lists of names of the same parameter. If several of them are set, the first one has an
# effect, or the fit fails. The names in the constructor of LightGBM are always set.
ALIASES: dict[str, list[tuple[str, ...]]] = {
    "lightgbm": [
        (
            *("num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees"),
            *("num_round", "num_rounds", "nrounds", "num_boost_round", "max_iter"),
            "n_estimators",
        ),
        ("learning_rate", "shrinkage_rate", "eta"),
        ("num_leaves", "num_leaf", "max_leaves", "max_leaf", "max_leaf_nodes"),
        (
            *("min_data_in_leaf", "min_child_samples", "min_data_per_leaf"),
            *("min_data", "min_samples_leaf"),
        ),
        (
            *("min_sum_hessian_in_leaf", "min_child_weight", "min_hessian"),
            *("min_sum_hessian_per_leaf", "min_sum_hessian"),
        ),
        ("bagging_fraction", "subsample", "sub_row", "bagging"),
        ("bagging_freq", "subsample_freq"),
        ("feature_fraction", "colsample_bytree", "sub_feature"),
        ("feature_fraction_bynode", "sub_feature_bynode", "colsample_bynode"),
        ("lambda_l1", "reg_alpha", "l1_regularization"),
        ("lambda_l2", "reg_lambda", "lambda", "l2_regularization"),
        ("min_gain_to_split", "min_split_gain"),
        ("boosting", "boosting_type", "boost"),
        ("is_unbalance", "unbalance", "unbalanced_sets"),
        *(
            tuple(f"{kind}_{name}" for name in BAGGING_OF_CLASSES)
            for kind in ("pos", "neg")
        ),
        ("max_delta_step", "max_tree_output", "max_leaf_output"),
        ("drop_rate", "rate_drop"),
        ("max_bin", "max_bins"),
        ("bin_construct_sample_cnt", "subsample_for_bin"),
        (
            *("categorical_feature", "cat_feature", "categorical_column"),
            *("cat_column", "categorical_features"),
        ),
    ],
    "xgboost": [
        ("learning_rate", "eta"),
        ("min_split_loss", "gamma"),
        ("reg_lambda", "lambda"),
        ("reg_alpha", "alpha"),
    ],
    "catboost": [
        ("num_trees", "num_boost_round", "n_estimators", "iterations"),
        ("eta", "learning_rate"),
        ("max_depth", "depth"),
        ("reg_lambda", "l2_leaf_reg"),
        ("colsample_bylevel", "rsm"),
        ("max_bin", "border_count"),
        ("num_leaves", "max_leaves"),
        ("min_child_samples", "min_data_in_leaf"),
        ("objective", "loss_function"),
    ],
}


# Similarity from which an unknown name is probably a misspelled one.
SIMILAR = 0.83

# Types of numbers, and their names in annotations.
TYPES = {Real: "float", Integral: "int"}

# Words in the names of parameters that are whole numbers.
WHOLE = (
    *("n", "num", "k", "depth", "degree", "leaf", "leaves", "iter", "iterations"),
    *("neighbors", "estimators", "components", "epochs", "bin", "bins", "units"),
    *("layers", "steps", "trees", "count", "freq", "rounds", "seed", "state"),
    *("lag", "lags", "window", "order", "dim", "dims", "rank", "batch", "hidden"),
    *("patience", "len"),
)

# Words in the names of parameters whose order of magnitude matters.
SCALES = (
    *("c", "alpha", "gamma", "lambda", "l2", "reg", "regularization", "decay"),
    *("learning", "lr", "eta", "eta0", "shrinkage", "tol", "epsilon", "eps"),
    *("smooth", "smoothing", "bandwidth", "covar", "strength"),
    *("min_child_weight", "scale_pos_weight"),
)

# If the bounds of such a parameter have a larger ratio, a uniform range is probably a
# mistake.
MAX_UNIFORM_RATIO = 100.0


def parameters_of(estimator: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a constructor, and those that its ``**kwargs`` reach."""
    reached: dict[str, inspect.Parameter] = {}
    for cls in type(estimator).__mro__:
        if "__init__" not in vars(cls):
            continue
        parameters = inspect.signature(vars(cls)["__init__"]).parameters
        named = {n: p for n, p in parameters.items() if p.kind is not p.VAR_KEYWORD}
        reached = named | reached
        if len(named) == len(parameters):
            break
    return reached


def names_of(estimator: Any, name: str) -> tuple[str, ...]:
    """Return all names of a parameter, which is usually one."""
    synonyms = ALIASES.get(_package(estimator), ())
    return next((names for names in synonyms if name in names), (name,))


def _package(estimator: Any) -> str:
    """Return the package of a class, or of a base class, that has aliases; or ""."""
    packages = [cls.__module__.partition(".")[0] for cls in type(estimator).__mro__]
    return next((package for package in packages if package in ALIASES), "")


def set_parameters(estimator: Any) -> set[str]:
    """Return the names of the parameters whose value differs from the default.

    In boosting libraries, None is the default of all parameters.
    """
    parameters, boosts = parameters_of(estimator), _package(estimator) != ""
    changed = set()
    for name, value in estimator.get_params(deep=False).items():
        default = None if boosts else inspect.Parameter.empty
        if name in parameters and not (boosts and value is None):
            default = parameters[name].default
        is_default = value is default or repr(value) == repr(default)
        # Elsewhere, 1 and 1.0 can be a count and a share.
        is_default |= boosts and is_number(value) and value == default
        if not is_default:
            changed.add(name)
    return changed


def is_set(estimator: Any, name: str) -> bool:
    """Return whether the value of a parameter differs from the default."""
    return name in set_parameters(estimator)


def name_in_use(estimator: Any, name: str) -> str:
    """Return the name under which the user has set a parameter, or the name itself."""
    names = names_of(estimator, name)
    set_names = [alias for alias in names if alias != name and is_set(estimator, alias)]
    if not set_names or is_set(estimator, name):
        return name
    # LightGBM prefers the constructor's name to the names that follow it.
    constructed = _default(estimator, name) is not None
    precedes = names.index(set_names[0]) < names.index(name)
    return set_names[0] if precedes or not constructed else name


def _default(estimator: Any, name: str) -> Any:
    parameter = parameters_of(estimator).get(name)
    default = None if parameter is None else parameter.default
    return None if default is inspect.Parameter.empty else default


def check_aliases(name: str, owner: Any, searched: Collection[str]) -> None:
    """Raise ValueError if another name of a searched parameter of `owner` is set.

    The other name may be `searched` too.
    """
    prefix, leaf, kind = _split(name, owner)
    names = names_of(owner, leaf)
    for alias in names:
        if alias != leaf and is_set(owner, alias):
            value = owner.get_params(deep=False)[alias]
            source = "also" if prefix + alias in searched else f"is set to {value!r}"
            raise ValueError(
                f"search_spaces names {name!r}, and {prefix + alias!r} {source}: these "
                f"are two names of one parameter of {kind}. Use one of them."
            )
    for alias in names[: names.index(leaf)]:
        if _default(owner, alias) is not None:
            raise ValueError(
                f"search_spaces names {name!r}, which {kind} ignores: it always sets "
                f"{prefix + alias!r}, another name of the parameter. Write "
                f"{prefix + alias!r}."
            )


def is_known(owner: Any, leaf: str) -> bool:
    """Return whether a class lists a parameter, or is known to accept it."""
    return leaf in parameters_of(owner) or len(names_of(owner, leaf)) > 1


def check_name(name: str, owner: Any, before: Any) -> None:
    """Warn of an unknown name that is similar to a parameter of an estimator.

    `before` is the estimator before the name was set. ValueError is raised if the class
    refuses unknown names in `fit`.
    """
    prefix, leaf, kind = _split(name, owner)
    parameters, open_ended = parameters_of(owner), _takes_any_name(owner)
    listed = is_known(owner, leaf)
    if listed or not (open_ended or _package(owner) == "catboost"):
        return
    if type(before) is type(owner) and leaf in before.get_params():
        return
    if not open_ended:
        raise ValueError(
            f"search_spaces names {name!r}, which {kind} does not have."
            f"{did_you_mean(name, [prefix + other for other in parameters])}"
        )
    others = [*itertools.chain(*ALIASES.get(_package(owner), ()))]
    close = difflib.get_close_matches(leaf, parameters, n=1, cutoff=SIMILAR)
    close = close or difflib.get_close_matches(leaf, others, n=1, cutoff=SIMILAR)
    if close:
        warn_user(
            f"search_spaces names {name!r}, which is not a known parameter of {kind} "
            f"and may have no effect. Did you mean "
            f"{prefix + close[0]!r}?"
        )


def _split(name: str, owner: Any) -> tuple[str, str, str]:
    """Return the prefix of a name, its last part, and the name of the class."""
    leaf = name.rpartition("__")[2]
    return name.removesuffix(leaf), leaf, type(owner).__name__


def _takes_any_name(estimator: Any) -> bool:
    parameters = inspect.signature(type(estimator).__init__).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


# -- types of numbers ------------------------------------------------------------------


def number_types(estimator: Any, name: str) -> set[Any]:
    """Return the types of a parameter that its class declares; empty if unknown.

    They are declared by constraints, by an annotation, or by the default value.
    """
    if declared := compat.number_types(estimator, name):
        return declared
    parameters = parameters_of(estimator)
    for parameter in filter(None, map(parameters.get, names_of(estimator, name))):
        words = re.findall(r"\w+", str(parameter.annotation))
        types = {kind for kind, word in TYPES.items() if word in words}
        default = parameter.default
        whole = isinstance(default, int) and default not in (0, 1)
        if not types and (whole or isinstance(default, str | bool)):
            types = {type(default)}
        declared |= types
    return declared


def warn_of_range(name: str, owner: Any, dimension: Any) -> None:
    """Warn of a range that is probably not the one that the user meant.

    It is a range of integers for a parameter that may be real, or a long uniform range
    of a parameter whose order of magnitude matters.
    """
    leaf = name.rpartition("__")[2]
    types, kind = number_types(owner, leaf), type(owner).__name__
    is_scale = _has_word(names_of(owner, leaf), SCALES)
    is_whole = not is_scale and _has_word([leaf], WHOLE)
    if Real not in types if types else is_whole:
        return
    low, high, prior = dimension.low, dimension.high, dimension.prior
    is_unclear = dimension.n_items == 2 and low > 0 and high > MAX_UNIFORM_RATIO * low
    is_unclear = is_unclear and is_scale
    if is_unclear:
        prior = "log-uniform"
    tail = "" if prior == "uniform" else f", {prior!r}"
    right = f"({float(low)}, {float(high)}{tail})"
    if isinstance(low, int) and Integral not in types:
        written = tail if dimension.is_log else ""
        accepts = f"but {kind} accepts any real number. Write"
        if not types:
            accepts = f"and {kind} does not declare a type. If it accepts any number, "
            accepts += "write"
        warn_user(
            f"Parameter {name!r}: ({low}, {high}{written}) contains only integers, "
            f"{accepts} {right}, or Integer({low}, {high}{written}) to try only "
            "integers."
        )
    elif is_unclear:
        middle = math.sqrt(low) * math.sqrt(high)
        share = (middle - low) / (high - low)
        warn_user(
            f"Parameter {name!r}: ({low}, {high}) is uniform, so only {share:.1%} of "
            f"the values are less than {middle:.2g}. Write ({low}, {high}, "
            f"'log-uniform'), or ({low}, {high}, 'uniform') to keep it."
        )


def _has_word(names: Iterable[str], words: tuple[str, ...]) -> bool:
    return any(
        name in words or not set(name.lower().split("_")).isdisjoint(words)
        for name in names
    )
