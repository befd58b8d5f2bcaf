"""Importance of hyper-parameters: decomposition of the variance (fANOVA), and plot.

Symbols, for one regression tree over D columns:

- cell: a value of a finite column, or an interval of a continuous column between two
  thresholds of the tree. The tree is constant within cells. ``w_d``: the weights of the
  cells of column d, which sum to 1.
- leaf l: a box, the product of sets of cells over the columns. ``inside_d[l, c]`` is 1
  if cell c of column d belongs to the leaf, else 0. ``v``: values of the leaves.
- ``share_d[l]`` = sum_c inside_d[l, c] w_d[c], the share of column d inside the leaf.
- f(x): the tree. The marginal of a set of columns U is the mean of f over all other
  columns, f_U(c_U) = sum_l v[l] prod_{d in U} inside_d[l, c_d] prod_{d not in U}
  share_d[l].
- V_U: variance of f_U minus the parts of the subsets of U. These parts sum to the
  variance of f.

Hutter, Hoos & Leyton-Brown (2014), "An efficient approach for assessing hyperparameter
importance". The decomposition is exact for a tree, without sampling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from skbayes.inspection import drawing
from skbayes.inspection.dependence import column_labels, space_of_values
from skbayes.inspection.drawing import _Display, get_axes
from skbayes.inspection.scales import name_label
from skbayes.results.read import read_record
from skbayes.results.record import AnySource
from skbayes.space import Space
from skbayes.space.dimensions import FloatArray
from skbayes.utils.autologging import without_autologging
from skbayes.utils.texts import html_table

# Position of a column that is inactive in a configuration; others are from 0 to 1.
INACTIVE = -1.0

# Maximum number of hyper-parameters in the plot.
N_SHOWN = 12

# Number of configurations drawn to estimate how often a column is inactive.
N_DRAWN = 1024


@dataclass(frozen=True, repr=False)
class Importance:
    """Shares of the variance of the score, from 0 to 1, the largest first.

    Parameters
    ----------
    single : dict of str to float
        Share that each hyper-parameter explains alone.
    pairs : dict of tuple to float
        Share that each pair explains beyond the shares of its two hyper-parameters.
    """

    single: dict[str, float]
    pairs: dict[tuple[str, str], float]

    @property
    def _table(self) -> list[tuple[str, str]]:
        """Names and shares of the hyper-parameters, then of pairs."""
        pairs = {" × ".join(pair): part for pair, part in self.pairs.items()}
        return [
            (n, f"{part:.1%}") for n, part in [*self.single.items(), *pairs.items()]
        ]

    def __repr__(self) -> str:
        width = max((len(name) for name, _ in self._table), default=0)
        lines = [f"{name:{width}}  {part:>6}" for name, part in self._table]
        return "\n".join(lines) or "No hyper-parameters"

    def _repr_html_(self) -> str:
        return html_table("Share of the variance of the score", self._table)


# -- one tree -------------------------------------------------------------------------


def _boxes(tree: Any, n_columns: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return bounds, lower < x <= upper, shape (n_leaves, D), and values of leaves."""
    lower = np.full((tree.node_count, n_columns), -np.inf)
    upper = np.full((tree.node_count, n_columns), np.inf)
    # Children have higher numbers than their parents.
    for node in np.flatnonzero(tree.children_left >= 0):
        left, right = tree.children_left[node], tree.children_right[node]
        column, threshold = tree.feature[node], tree.threshold[node]
        for child in (left, right):
            lower[child], upper[child] = lower[node], upper[node]
        upper[left, column] = min(upper[left, column], threshold)
        lower[right, column] = max(lower[right, column], threshold)
    leaves = np.flatnonzero(tree.children_left < 0)
    return lower[leaves], upper[leaves], tree.value[leaves, 0, 0]


@dataclass(frozen=True)
class _Domain:
    """Values of a column: listed positions, and the rest of [0, 1]."""

    points: FloatArray  # positions with individual weights
    weights: FloatArray
    continuous: float  # weight of the interval from 0 to 1

    def cells(self, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return positions that represent the cells, and the weights of the cells."""
        if not self.continuous:
            return self.points, self.weights
        inner = thresholds[(thresholds > 0) & (thresholds < 1)]
        edges = np.unique(np.concatenate([[0.0], inner, [1.0]]))
        middles = 0.5 * (edges[:-1] + edges[1:])
        return (
            np.concatenate([self.points, middles]),
            np.concatenate([self.weights, self.continuous * np.diff(edges)]),
        )


def tree_variances(
    tree: Any, domains: Sequence[_Domain], floor: float = -np.inf
) -> tuple[float, FloatArray, FloatArray]:
    """Return the variance of a tree, and parts of columns (D,) and pairs (D, D)."""
    D = len(domains)
    lower, upper, v = _boxes(tree, D)
    v = np.maximum(v, floor)
    inside, weights = [], []
    for d, domain in enumerate(domains):
        x, w = domain.cells(upper[np.isfinite(upper[:, d]), d])
        inside.append(((lower[:, [d]] < x) & (x <= upper[:, [d]])).astype(float))
        weights.append(w)
    share = np.array([i @ w for i, w in zip(inside, weights, strict=True)])
    volume = share.prod(axis=0)
    # Leaves are means; means of equal scores are equal except for rounding.
    if np.ptp(v[volume > 0]) <= 1e-10 * np.max(np.abs(v)):
        return 0.0, np.zeros(D), np.zeros((D, D))
    # Subtract the center first, to avoid cancellation.
    v = v - v @ volume
    total = float(v**2 @ volume)
    single = np.zeros(D)
    for d in range(D):
        marginal = (v * np.delete(share, d, axis=0).prod(axis=0)) @ inside[d]
        single[d] = weights[d] @ marginal**2
    pairs = np.zeros((D, D))
    for d, e in combinations(range(D), 2):
        pair_weights = v * np.delete(share, [d, e], axis=0).prod(axis=0)
        marginal = (inside[d] * pair_weights[:, None]).T @ inside[e]
        joint = weights[d] @ marginal**2 @ weights[e]
        pairs[d, e] = joint - single[d] - single[e]
    return total, single, np.maximum(pairs, 0.0)


# -- a forest -------------------------------------------------------------------------


def importance(
    source: Any,
    *,
    space: Any = None,
    metric: str | None = None,
    top: float | None = None,
    n_pairs: int = 8,
    n_estimators: int = 100,
    random_state: Any = 0,
) -> Importance:
    """Estimate which hyper-parameters the score depends on (functional ANOVA).

    A random forest learns the score from all evaluated configurations. The variance of
    its predictions over the whole space is then split into shares. Each hyper-parameter
    has the share that it explains alone, averaged over all values of the others. Each
    pair has the share that it explains beyond its two hyper-parameters. All values of a
    hyper-parameter have the same weight, on the scale of its dimension.

    Parameters
    ----------
    source : estimator, History, dict, LookupTable or path
        Fitted search of skbayes or scikit-learn, its ``cv_results_``, its ``trials_``
        or another :class:`skbayes.trial.History`, or a
        ``skbayes.benchmark.LookupTable``. Also the path of a journal; the search can
        still be running.
    space : dict, list of dicts or Space, default=None
        Search space, in any notation of :meth:`skbayes.space.Space.from_notation`. By
        default, the space of the search; if it is unknown, the values that occur.
    metric : str or None, default=None
        Name of the metric, for searches with several metrics. By default, the metric
        that guides the search or that it is refitted for.
    top : float or None, default=None
        Restrict the analysis to the best configurations, such as 0.01 for the best 1%.
        Predictions of the forest below their quantile 1 - `top`, over the evaluated
        configurations, are raised to that quantile.
    n_pairs : int, default=8
        Number of pairs to return, the strongest first.
    n_estimators : int, default=100
        Number of trees.
    random_state : int, RandomState or None, default=0
        Random state of the forest.

    Returns
    -------
    importance : Importance
        Shares of the variance, averaged over the trees.

    Raises
    ------
    TypeError
        If `source` has an unsupported type.
    ValueError
        If fewer than two configurations have a score, or an argument is invalid.

    Notes
    -----
    The forest learns only from the evaluated configurations: a search evaluates mostly
    good configurations, and the forest predicts poorly in regions without trials.
    Pruned trials count with the score of their first folds, weighted by the share of
    the folds that were fitted. A conditional hyper-parameter has an additional value,
    "inactive", which occurs as often as in random configurations. The result is then an
    approximation, because the method assumes independent hyper-parameters.

    References
    ----------
    Hutter, Hoos & Leyton-Brown (2014), "An efficient approach for assessing
    hyperparameter importance", ICML.

    Examples
    --------
    >>> from skbayes.benchmark import load_nmt
    >>> from skbayes.inspection import importance
    >>> found = importance(load_nmt("ja-en"))
    >>> next(iter(found.single))
    'num_layers'
    """
    if top is not None and not 0 < top <= 1:
        raise ValueError(f"top must be in (0, 1] or None, got {top!r}.")
    if not isinstance(n_pairs, Integral) or n_pairs < 0:
        raise ValueError(f"n_pairs must be an integer >= 0, got {n_pairs!r}.")
    params, y, weights, space = _read(source, metric, space)
    if len(y) < 2:
        raise ValueError("source: fewer than two configurations have a score.")
    if space is None:
        space = space_of_values(params, ranges=False)
    X = space.encode(params)
    forest = RandomForestRegressor(n_estimators, random_state=random_state)
    X = np.where(np.isnan(X), INACTIVE, X)
    # Weights change the random numbers of the forest, even equal ones.
    with without_autologging():
        forest.fit(X, y, sample_weight=weights if np.any(weights < 1.0) else None)
    floor = -np.inf
    if top is not None:
        floor = float(np.quantile(forest.predict(X), 1 - top))
    return _average(forest, _domains(space), floor, column_labels(space), n_pairs)


def _average(
    forest: RandomForestRegressor,
    domains: Sequence[_Domain],
    floor: float,
    labels: Sequence[str],
    n_pairs: int,
) -> Importance:
    """Average over the trees; constant trees explain nothing and are omitted."""
    D = len(labels)
    trees = [tree_variances(e.tree_, domains, floor) for e in forest.estimators_]
    trees = [tree for tree in trees if tree[0] > 0]
    trees = trees or [(1.0, np.zeros(D), np.zeros((D, D)))]
    singles = np.array([single / total for total, single, _ in trees])
    pairs = np.array([pair / total for total, _, pair in trees])
    means, pair_means = singles.mean(axis=0), pairs.mean(axis=0)
    order = np.argsort(-means, kind="stable")
    strongest = sorted(combinations(range(D), 2), key=lambda de: -pair_means[de])
    chosen = {(labels[d], labels[e]): (d, e) for d, e in strongest[:n_pairs]}
    return Importance(
        single={labels[d]: float(means[d]) for d in order},
        pairs={names: float(pair_means[de]) for names, de in chosen.items()},
    )


# -- evaluated configurations ---------------------------------------------------------


def _read(
    source: Any, metric: str | None, space: Any
) -> tuple[list[dict[str, Any]], FloatArray, FloatArray, Space | None]:
    """Return configurations, scores, weights, and the space, if known."""
    if isinstance(getattr(source, "scores", None), np.ndarray):
        # All combinations of a table's values; some may be missing from its rows.
        space = Space.from_notation([source.dimensions] if space is None else space)
        scores = source.scores[:, 0]
        return list(source.params), scores, np.ones(len(scores)), space
    record = read_record(source, metric=metric, search_spaces=space)
    has_results = isinstance(source, Mapping) or hasattr(source, "cv_results_")
    guide = getattr(source, "target_metric_", getattr(source, "refit", None))
    unknown = has_results and metric is None and not isinstance(guide, str)
    if unknown and len(record.scores) > 1:
        raise ValueError(
            "metric: the search has several metrics; give the name of one."
        )
    rows = np.flatnonzero(record.scored).tolist()
    weights = np.array([record.trials[i].fitted.mean() for i in rows])
    return [record.params[i] for i in rows], record.score[rows], weights, record.space


def _domains(space: Space) -> list[_Domain]:
    rng = np.random.default_rng(0)
    drawn = space.from_uniform(rng.random((N_DRAWN, space.n_columns)))
    inactive = np.isnan(drawn).mean(axis=0)
    domains = []
    for column, missing in zip(space.columns, inactive, strict=True):
        finite = np.isfinite(column.dimension.n_values)
        grid = column.dimension.grid if finite else np.empty(0)
        weights = np.full(len(grid), (1.0 - missing) / max(len(grid), 1))
        if missing:
            grid = np.append(grid, INACTIVE)
            weights = np.append(weights, missing)
        domains.append(_Domain(grid, weights, 0.0 if finite else 1.0 - missing))
    return domains


# -- plot -----------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class ImportanceDisplay(_Display):
    """Share of the variance of the score that each hyper-parameter explains.

    Each hyper-parameter has a bar. Hatched bars are the shares that pairs explain
    beyond their two hyper-parameters. The shares are computed by
    :func:`skbayes.inspection.importance`.

    Use :meth:`from_search` or :meth:`from_history` to create a display.

    Parameters
    ----------
    importance : Importance
        Output of :func:`skbayes.inspection.importance`.

    Attributes
    ----------
    %(ax_)s
    %(figure_)s
    bars_ : matplotlib BarContainer
        Bars of single hyper-parameters, the most important first.
    pair_bars_ : matplotlib BarContainer or None
        Bars of pairs.

    See Also
    --------
    PartialDependenceDisplay : Effect of the values of a hyper-parameter on the score.

    Examples
    --------
    >>> from skbayes.benchmark import load_nmt
    >>> from skbayes.inspection import ImportanceDisplay, importance
    >>> display = ImportanceDisplay(importance(load_nmt("ja-en"), n_pairs=3)).plot()
    >>> display.ax_.get_yticklabels()[0].get_text()
    'num_layers'
    """

    importance: Importance

    @classmethod
    def from_search(
        cls,
        search: AnySource,
        *,
        search_spaces: Any = None,
        metric: str | None = None,
        top: float | None = None,
        n_pairs: int = 4,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute and draw the importance of the hyper-parameters of a search.

        Parameters
        ----------
        %(search)s
        %(search_spaces)s
        %(metric)s
        top : float or None, default=None
            Restrict the analysis to the best configurations, as for
            :func:`skbayes.inspection.importance`.
        n_pairs : int, default=4
            Number of pairs to show, the strongest first.
        %(ax)s
        %(options)s

        %(Returns)s
        """
        record = read_record(search, metric=metric, search_spaces=search_spaces)
        if np.sum(record.scored) < 2:
            return cls(Importance({}, {})).plot(ax)
        shares = importance(record, top=top, n_pairs=n_pairs)
        return cls(shares).plot(ax, **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars of the 12 most important hyper-parameters, and of the pairs.

        Parameters
        ----------
        %(ax)s

        Returns
        -------
        %(self)s
        """
        shares, names = self.importance, list(self.importance.single)[:N_SHOWN]
        pairs, n_single = list(shares.pairs), len(names)
        n = n_single + len(pairs)
        parts = [shares.single[name] for name in names] + [*shares.pairs.values()]
        ax = get_axes(ax, figsize=(6.0, 1.1 + 0.28 * max(n, 3)))
        if not n:
            drawing.annotate_empty(ax, "fewer than two trials have a score")
        y, shades = np.arange(n), drawing.tones(ax)
        color = shades.series(0).color
        self.bars_ = ax.barh(y[:n_single], parts[:n_single], color=color)
        self.pair_bars_ = None
        if pairs:
            bars = {"fc": shades.background, "ec": shades.series(1).color}
            bars |= {"hatch": "////", "label": "interaction"}
            self.pair_bars_ = ax.barh(y[n_single:], parts[n_single:], **bars)
            ax.legend(loc="lower right", fontsize="small")
        labels = [name_label(name, 34) for name in names]
        labels += [" × ".join(name_label(name, 20) for name in pair) for pair in pairs]
        ax.set_yticks(y, labels)
        ax.invert_yaxis()
        ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        xlabel = "share of the variance of the score"
        drawing.style_axes(ax, "x", xlim=(0.0, None), xlabel=xlabel)
        return self._drawn_on(ax)
