"""Page about learned priors, compared with the priors of the package."""

import functools
import re
from pathlib import Path

from known_classes import TEXTS, learned_priors
from sklearn.utils import all_estimators

from skbayes.defaults import default  # noqa: F401  fills the catalog
from skbayes.defaults.catalog import CATALOG, DataFacts
from skbayes.defaults.learned_prior import knowledge_of, library
from skbayes.defaults.parts import parts_of

DOCS = Path(__file__).parents[2] / "docs"
KINDS = functools.cache(lambda: dict(all_estimators()))
BOOSTERS = ("LGBM", "XGB", "CatBoost")


def has_prior(kind):
    facts = DataFacts(n_rows=100, n_features=5)
    return any(knowledge_of(part) for part in parts_of(kind(), facts))


def test_the_table_has_every_class_with_a_prior():
    rows = [row[0] for row in learned_priors()]
    names = re.findall(r"\w+", " ".join(r for r in rows if not r.endswith(TEXTS)))
    of_texts = {key for key in library() if key.endswith(TEXTS)}
    assert {row.replace("`", "") for row in rows if row.endswith(TEXTS)} == of_texts
    kinds = {n: kind for n, kind in KINDS().items() if ("sklearn", n) in CATALOG}
    with_own = {n for n, kind in kinds.items() if n in names and has_prior(kind)}
    assert with_own == {n for n in names if not n.startswith(BOOSTERS)}
    # An entry of a base class is shown with the names of its subclasses.
    catalog = {name for _, name in CATALOG}
    shared = {
        n
        for n, kind in kinds.items()
        for base in kind.__mro__[1:]
        if base.__name__ in set(library()) - catalog
    }
    assert sorted(names) == sorted(shared | (set(library()) & catalog))


def test_no_page_says_common_estimators():
    for page in ("learned_priors", "default_spaces", "run", "faq"):
        text = (DOCS / f"{page}.rst").read_text("utf-8")
        assert not re.search(r"common estimators", text), page
