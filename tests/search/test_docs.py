"""Shared entries in the docstrings of the searches."""

import re

import pytest

from skbayes.search import BaseBayesSearchCV
from skbayes.search._docs import SharedEntries, share_parameters

SEARCHES = [BaseBayesSearchCV, *BaseBayesSearchCV.__subclasses__()]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda one: one.__name__)
def test_no_placeholder_is_left(search):
    assert not re.findall(r"^ *\{\w+\}$", search.__doc__, re.MULTILINE)
    assert "\n    n_jobs : int or None, default=None\n" in search.__doc__


def test_the_nearest_class_supplies_an_entry():
    @share_parameters
    class First:
        """Have an entry of its own.

        Parameters
        ----------
        cv : int
            Its own.
        {n_jobs}
        """

    @share_parameters
    class Second(First):
        """Take the entries.

        Parameters
        ----------
        {cv}
        {n_jobs}
        """

    assert "cv : int\n" in Second.__doc__ and "Its own." in Second.__doc__
    shared = re.search(r"n_jobs : .*\n(?: {8}.*\n)+", SharedEntries.__doc__)[0]
    for line in shared.splitlines():
        assert line.strip() in Second.__doc__


def test_a_name_without_an_entry_is_an_error():
    with pytest.raises(KeyError, match="no_such_parameter"):

        @share_parameters
        class Wrong:
            """Refer to nothing.

            {no_such_parameter}
            """
