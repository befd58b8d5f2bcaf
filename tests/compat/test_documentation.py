"""Links of diagrams to the API reference."""

from pathlib import Path

import pytest
from every_search import SEARCHES, make
from sklearn.svm import SVC

from skbayes.defaults import ColumnConverter
from skbayes.text import LiblinearClassifier, NGramVectorizer

API = Path(__file__).parents[2] / "docs" / "api.rst"


@pytest.mark.parametrize(
    "estimator",
    [
        *map(make, SEARCHES),
        *(ColumnConverter(()), LiblinearClassifier(), NGramVectorizer()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_diagram_links_to_a_page_of_the_reference(estimator):
    link = estimator._get_doc_link()
    assert link.startswith("https://skbayes.github.io/skbayes/dev/generated/skbayes.")
    assert link in estimator._repr_html_()
    name = link.rpartition("/skbayes.")[2].removesuffix(".html")
    assert f"~{name}" in API.read_text().split()


def test_the_diagram_of_a_class_of_the_user_has_no_link():
    class Search(SEARCHES[0]):
        pass

    assert Search(SVC())._get_doc_link() == ""
