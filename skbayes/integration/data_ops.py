"""Search of the choices of a skrub DataOp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skbayes.search.bayes import BayesSearchCV
from skbayes.space import Categorical, Integer, Real


def skrub_search(data_op: Any, **options: Any) -> Any:
    """Create a search of the choices of a skrub DataOp.

    The search is the object that ``data_op.skb.make_randomized_search()`` returns, with
    :class:`skbayes.BayesSearchCV` in place of scikit-learn's search. Its search space
    consists of the choices in the DataOp: ``skrub.choose_float``, ``choose_int``,
    ``choose_from``, ``choose_bool`` and ``optional``. Choices within an outcome of
    another choice are conditional.

    Parameters
    ----------
    data_op : skrub.DataOp
        The DataOp. Its last step is a supervised estimator.
    **options
        Parameters of :class:`skbayes.BayesSearchCV`, except `estimator` and
        `search_spaces`.

    Returns
    -------
    search : skrub.ParamSearch
        Search with the methods ``fit(environment)``, ``predict(environment)`` and
        ``plot_results()``, and the attributes ``results_`` and ``best_learner_``.

    Raises
    ------
    TypeError
        If `BayesSearchCV` has no parameter of this name.

    See Also
    --------
    OptunaSampler : Sampler for ``make_randomized_search(backend="optuna")``.

    Examples
    --------
    >>> import skrub
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from skbayes.integration import skrub_search
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> alpha = skrub.choose_float(0.01, 100.0, log=True, name="alpha")
    >>> predicted = skrub.X(X).skb.apply(Ridge(alpha=alpha), y=skrub.y(y))
    >>> search = skrub_search(predicted, n_iter=8, cv=3, random_state=0)
    >>> search = search.fit({"X": X, "y": y})
    >>> search.results_.columns.tolist()
    ['alpha', 'mean_test_score']
    """
    search = data_op.skb.make_randomized_search()
    search.search = _ChoiceSearch(None, None, **options)  # type: ignore[arg-type]
    return search


class _ChoiceSearch(BayesSearchCV):
    """Search whose space is assigned in the form of skrub, as `param_distributions`."""

    @property
    def param_distributions(self) -> Any:
        return self.search_spaces

    @param_distributions.setter
    def param_distributions(self, grids: Sequence[Mapping[str, Any]]) -> None:
        self.search_spaces = [
            {name: _dimension(choice) for name, choice in grid.items()}
            for grid in grids
        ]


def _dimension(choice: Any) -> Any:
    """Return the notation of a list of outcomes, or of a numeric choice of skrub."""
    if isinstance(choice, list):  # indices
        return Categorical(choice)
    if isinstance(choice, Sequence):  # a number with `n_steps`
        return [value.item() for value in choice]
    kind = Integer if choice.to_int else Real
    return kind(choice.low, choice.high, "log-uniform" if choice.log else "uniform")
