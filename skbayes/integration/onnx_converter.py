"""Converter of fitted searches to ONNX."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.model_selection import GridSearchCV

from skbayes.search.base import BaseBayesSearchCV
from skbayes.search.ensemble import (
    WeightedEnsembleClassifier,
    WeightedEnsembleRegressor,
)


def register_onnx_converter() -> None:
    """Let skl2onnx convert fitted searches, as it converts ``GridSearchCV``.

    Call it once in a program. ``skl2onnx.to_onnx`` and ``skl2onnx.convert_sklearn``
    then convert the best estimator of each search, also within pipelines. Ensembles of
    ``refit="ensemble"`` are converted if their members are regressors, or have
    probabilities of all classes.

    Raises
    ------
    ImportError
        If skl2onnx is not installed.

    Examples
    --------
    >>> from skbayes.integration import register_onnx_converter
    >>> register_onnx_converter()  # doctest: +SKIP
    >>> skl2onnx.to_onnx(search, X[:1])  # doctest: +SKIP
    """
    import skl2onnx
    from skl2onnx._parse import sklearn_parsers_map
    from skl2onnx.operator_converters import grid_search_cv as converter
    from skl2onnx.shape_calculators import grid_search_cv as shapes

    from skbayes import search

    for kind in vars(search).values():
        if inspect.isclass(kind) and issubclass(kind, BaseBayesSearchCV):
            skl2onnx.update_registered_converter(
                kind,
                skl2onnx.get_model_alias(GridSearchCV),
                shapes.convert_sklearn_grid_search_cv,
                converter.convert_sklearn_grid_search_cv,
                parser=sklearn_parsers_map[GridSearchCV],
                options="passthrough",
            )
    _register_ensemble(
        WeightedEnsembleClassifier,
        VotingClassifier,
        {
            "nocl": [True, False],
            "output_class_labels": [False, True],
            "zipmap": [True, False, "columns"],
        },
    )
    _register_ensemble(WeightedEnsembleRegressor, VotingRegressor, None)


def _register_ensemble(kind: type, voting: type, options: Any) -> None:
    """Let skl2onnx convert an ensemble as a voting estimator of scikit-learn."""
    import skl2onnx
    from skl2onnx.common._registration import get_converter, get_shape_calculator

    alias = skl2onnx.get_model_alias(voting)

    def convert(scope: Any, operator: Any, container: Any) -> None:
        operator.raw_operator = _as_voting(operator.raw_operator)
        get_converter(alias)(scope, operator, container)

    skl2onnx.update_registered_converter(
        kind,
        f"Skbayes{kind.__name__}",
        get_shape_calculator(alias),
        convert,
        options=options,
    )


def _as_voting(ensemble: Any) -> Any:
    """Return the fitted voting estimator that equals an ensemble."""
    named = [(f"member{k}", member) for k, member in enumerate(ensemble.estimators_)]
    if isinstance(ensemble, WeightedEnsembleRegressor):
        model = VotingRegressor(named, weights=ensemble.weights_)
    else:
        has_all = all(len(m.classes_) == len(ensemble.classes_) for _, m in named)
        if ensemble.response_method_ != "predict_proba" or not has_all:
            raise ValueError(
                "Only ensembles whose members have probabilities of all classes can be "
                "converted to ONNX. Use refit=True."
            )
        options = {"voting": "soft", "flatten_transform": False}
        model = VotingClassifier(named, weights=ensemble.weights_, **options)
        model.classes_ = ensemble.classes_
    model.estimators_ = ensemble.estimators_
    return model
