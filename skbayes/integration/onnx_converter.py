"""Converter of fitted searches to ONNX."""

from __future__ import annotations

import inspect

from sklearn.model_selection import GridSearchCV

from skbayes.search.base import BaseBayesSearchCV

__all__ = ["register_onnx_converter"]


def register_onnx_converter() -> None:
    """Let skl2onnx convert fitted searches, as it converts ``GridSearchCV``.

    Call it once in a program. ``skl2onnx.to_onnx`` and ``skl2onnx.convert_sklearn``
    then convert the best estimator of each search, also within pipelines.

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
