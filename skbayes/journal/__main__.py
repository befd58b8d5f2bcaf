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
    file, save = options.file, options.save
    try:
        if save is not None and os.path.lexists(save):
            raise ValueError(f"--save: {save!r} already exists and was not changed.")
        rows, fault = Store.read(file)
        if fault and not rows:
            raise ValueError(f"{file}: damaged: {fault}. No trial can be saved.")
        with guarded(file):
            content = Content.of(rows)
        n_trials, n_finished = len(content.proposals), len(content.results)
        state = f"damaged: {fault}.\nUndamaged before that" if fault else "undamaged"
        print(f"{file}: {state}: {n_trials} trials, {n_finished} of them finished.")
        if save is not None:
            with contextlib.closing(Store(save)) as store:
                store.append(*rows)
            print(f"Saved to {save}.")
    except (OSError, ValueError) as error:
        print(error)
        return 1
    return int(bool(fault))


if __name__ == "__main__":
    raise SystemExit(main())
