"""Writer of what the searches share with BayesSearchCV."""

import door
import pytest

from skbayes import BayesSearchCV
from skbayes.search.parameters import SearchParameters

THEIRS = door.source(BayesSearchCV)
SEARCHES = [kind for kind in door.CLASSES if kind is not SearchParameters]
each_class = pytest.mark.parametrize("kind", door.CLASSES)
each_search = pytest.mark.parametrize("kind", SEARCHES)

# What a parameter and an attribute add to BayesSearchCV, and after which lines.
ADDED = {
    "        cv: CrossValidation = None,\n": "        delay: float = 0.0,\n",
    "            cv=cv,\n": "            delay=delay,\n",
    "all trials, even if the splitter shuffles without a seed.\n": (
        "    delay : float, default=0.0\n        Seconds before each fit.\n\n"
        "        See :ref:`timeout`.\n"
    ),
    '        Metric that guided the search; "score" if there is a single metric.\n': (
        "    delays_ : list of float\n        Seconds, if `delay` is set.\n"
    ),
}


@each_class
def test_the_shared_code_of_the_searches_is_up_to_date(kind):
    assert door.written(kind, door.source(kind), THEIRS) == door.source(kind)


@each_class
def test_a_parameter_of_bayes_search_cv_is_added_and_taken_out(kind, monkeypatch):
    theirs, before = THEIRS, door.source(kind)
    for line, added in ADDED.items():
        theirs = theirs.replace(line, line + added, 1)
    # The search lacks the parameter.
    assert door.written(kind, before, theirs) == before
    with monkeypatch.context() as patch:
        patch.setitem(kind._parameter_constraints, "delay", [float])
        patch.setattr(kind, "delays_", None, raising=False)
        after = door.written(kind, before, theirs)
    expected = list(ADDED.values())
    if kind is SearchParameters:
        expected = [expected[0], "        self.delay = delay\n"]
    assert all(after.count(added) == 1 for added in expected)
    assert len(after) == len(before) + sum(map(len, expected))
    assert door.written(kind, after, THEIRS) == before


@each_search
def test_shared_entries_are_rewritten_and_own_ones_kept(kind):
    shared, other = "`cv` that tests each", "`cv` that has each"
    theirs = THEIRS.replace(shared, other)
    theirs = theirs.replace("Maximum number of configurations", "Number of trials")
    before = door.source(kind)
    assert door.written(kind, before, theirs) == before.replace(shared, other)


@each_search
def test_entries_listed_as_own_differ(kind):
    text = door.source(kind)
    listed = door.own_entries(text, kind)
    places = ("parameters", "attributes")
    here, shared = {}, {}
    for place in places:
        here |= door.items(text, kind, place)
        shared |= door.shared_items(THEIRS, place)
    assert [name for name in listed if here[name] == shared[name]] == []
