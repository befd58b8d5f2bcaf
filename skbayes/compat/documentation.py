"""Links from the diagrams of scikit-learn to the API reference."""

from __future__ import annotations

import skbayes


class DocumentationLink:
    """Mixin for estimators whose diagram links to the API reference.

    Diagrams of scikit-learn 1.8 and later also show the text of each parameter.
    """

    _doc_link_module = "skbayes"
    _doc_link_template = "https://skbayes.github.io/skbayes/dev/generated/{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        kind = type(self)
        package, part, *_ = kind.__module__.split(".")
        module = package if kind.__name__ in skbayes.__all__ else f"{package}.{part}"
        return {"name": f"{module}.{kind.__name__}"}
