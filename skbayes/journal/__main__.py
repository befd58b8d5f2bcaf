"""Command line that checks a journal and saves its undamaged trials.

``python -m skbayes.journal check FILE`` prints the number of undamaged trials. The
option ``--save NEW`` writes them to a new file, from which you can continue the search.
The journal itself is only read. The exit status is 0 if the journal is undamaged, else
1.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from skbayes.journal.content import Content
from skbayes.journal.file import JournalFile, Row, guarded, read_file


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a journal; return the exit status of the program."""
    parser = argparse.ArgumentParser("python -m skbayes.journal", description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("check")
    command.add_argument("file", help="the journal of a search")
    text = "write the undamaged trials to this new file"
    command.add_argument("--save", metavar="NEW", help=text)
    options = parser.parse_args(arguments)
    try:
        name = options.file
        rows: list[Row] = []
        fault: BaseException | None = None
        try:
            for row in read_file(options.file):
                rows.append(row)
        except (OSError, ValueError) as error:
            # It is not a journal, or cannot be opened.
            if (fault := error.__cause__) is None or (
                isinstance(error, OSError) and not rows
            ):
                raise
        if fault is not None and not rows:
            print(f"{name}: damaged: {fault}. No trial can be saved.")
            return 1
        with guarded(name):
            trials = Content(rows).trials
        n_finished = sum(trial.details is not None for trial in trials)
        kept = f"{len(trials)} trials, {n_finished} of them finished"
        state = f"damaged: {fault}.\nUndamaged before that" if fault else "undamaged"
        print(f"{name}: {state}: {kept}.")
        if options.save is not None:
            if os.path.lexists(options.save):
                raise ValueError(
                    f"--save: {options.save!r} already exists and was not changed."
                )
            JournalFile(options.save, rows).close()
            print(f"Saved to {options.save}.")
    except (OSError, ValueError) as error:
        print(error)
        return 1
    return int(fault is not None)


if __name__ == "__main__":
    raise SystemExit(main())
