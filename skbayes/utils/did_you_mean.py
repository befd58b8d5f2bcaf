"""What a name that is not known was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["did_you_mean", "suggest"]

# More would not be a suggestion any more.
MOST = 3


def suggest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are most like one that is not known.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        What could have been.

    Returns
    -------
    names : list of str
        At most three, the most likely one first; by the first of these rules that finds
        any: the same but for case and underscores; the same below a prefix; longer
        words for it; initials; similar spelling.

    Examples
    --------
    >>> from skbayes.utils.did_you_mean import suggest
    >>> suggest("C", ["svc", "svc__C", "svc__gamma"])
    ['svc__C']
    >>> suggest("mse", ["accuracy", "neg_mean_squared_error"])
    ['neg_mean_squared_error']
    """
    known = sorted(set(known), key=lambda one: (len(one), one))
    bare = _bare(name)
    for alike in (
        lambda one: _bare(one) == bare,
        lambda one: one.lower().endswith(f"__{name.lower()}"),
        lambda one: len(bare) > 2 and _bare(one).startswith(bare),
        lambda one: len(bare) > 2 and bare in _bare(one),
        lambda one: len(bare) > 2 and _initials(one).endswith(bare),
    ):
        found = [one for one in known if alike(one)]
        if found:
            return found[:MOST]
    return difflib.get_close_matches(name, known, n=MOST)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the suggestions as a sentence.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        What could have been.

    Returns
    -------
    sentence : str
        To be put behind another one, after its blank; empty without suggestions.
    """
    names = [repr(one) for one in suggest(name, known)]
    return f" Did you mean {' or '.join(names)}?" if names else ""


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _initials(name: str) -> str:
    return "".join(word[:1] for word in name.lower().split("_"))
