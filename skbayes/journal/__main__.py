"""Command line that checks a journal and saves its undamaged trials.

``python -m skbayes.journal check FILE`` prints the number of undamaged trials. The
option ``--save NEW`` writes them to a new file, from which you can continue the search.
The exit status is 0 if the journal is undamaged, else 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Sequence

from skbayes.journal.journal import Content
from skbayes.journal.store import Store, guarded


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a journal; return the exit status of the program."""
    parser = argparse.ArgumentParser("python -m skbayes.journal", description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("check")
    command.add_argument("file", help="the journal of a search")
    text = "write the undamaged trials to this new file"
    command.add_argument("--save", metavar="NEW", help=text)
    options = parser.parse_args(arguments)
    try:
        return _check(options.file, options.save)
    except (OSError, ValueError) as error:
        print(error)
        return 1


def _check(file: str, save: str | None) -> int:
    rows, fault = Store.read(file)
    if fault and not rows:
        print(f"{file}: damaged: {fault}. No trial can be saved.")
        return 1
    with guarded(file):
        content = Content.of(rows)
    kept = f"{len(content.proposals)} trials, {len(content.results)} of them finished"
    state = f"damaged: {fault}.\nUndamaged before that" if fault else "undamaged"
    print(f"{file}: {state}: {kept}.")
    if save is not None:
        if os.path.lexists(save):
            raise ValueError(f"--save: {save!r} already exists and was not changed.")
        with contextlib.closing(Store(save)) as store:
            store.append(*rows)
        print(f"Saved to {save}.")
    return int(bool(fault))


if __name__ == "__main__":
    raise SystemExit(main())
