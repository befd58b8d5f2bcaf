"""Command line that checks a journal and saves its undamaged trials.

``python -m skbayes.journal check FILE`` prints the number of undamaged trials. The
option ``--save NEW`` writes them to a new file, from which you can continue the search.
The journal itself is only read. The exit status is 0 if the journal is undamaged, else
1.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import zlib
from collections.abc import Sequence

from skbayes.journal.rows import (
    COLUMNS,
    Content,
    Row,
    first_fault,
    parse_content,
    read_rows,
    whole_rows,
)
from skbayes.journal.sqlite_file import JournalFile, check_schema, reader

__all__ = ["check", "main", "save"]

# Name of the first row of each run of a search; that of the first run ends the header.
FIRST_RUN = "run 0"


def check(path: str) -> tuple[list[Row], list[str]]:
    """Return the rows before the first fault, and the faults."""
    rows: list[Row] = []
    faults = []
    with reader(path, allow_damage=True) as connection:
        check_schema(connection)
        for table in COLUMNS:
            try:
                rows += read_rows(connection.execute, table)
            except (sqlite3.DatabaseError, ValueError) as error:
                faults.append(f"table {table!r} cannot be read to its end: {error}")
        try:
            verdicts = connection.execute("PRAGMA quick_check(3)").fetchall()
            faults += [text for (text,) in verdicts if text != "ok"]
        except (sqlite3.DatabaseError, ValueError) as error:
            faults.append(str(error))
    whole, _ = whole_rows(rows)
    fault = first_fault(rows, len(whole))
    return whole, faults if fault is None else [fault, *faults]


def save(rows: Sequence[Row], path: str) -> None:
    """Write rows to a new journal; ValueError if the file exists."""
    if os.path.lexists(path):
        raise ValueError(f"--save: {path!r} already exists and was not changed.")
    tables: dict[str, list[tuple]] = {table: [] for table in COLUMNS}
    for row in rows:
        tables[row.table].append((*row.values, row.place, row.digest))
    file = JournalFile(path)
    try:
        file.create(tables)
    finally:
        file.close()


def _count(content: Content) -> str:
    n_finished = sum(one.details is not None for one in content.trials)
    return f"{len(content.trials)} trials, {n_finished} of them finished"


def _is_complete(rows: Sequence[Row]) -> bool:
    """Return whether the rows contain everything that precedes the trials."""
    return any(row.values[0] == FIRST_RUN for row in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check a journal; return the exit status of the program."""
    parser = argparse.ArgumentParser(
        prog="python -m skbayes.journal", description=__doc__
    )
    command = parser.add_subparsers(required=True).add_parser("check")
    command.add_argument("file", help="the journal of a search")
    command.add_argument(
        "--save", metavar="NEW", help="write the undamaged trials to this new file"
    )
    options = parser.parse_args(arguments)
    try:
        rows, faults = check(options.file)
        if faults and not _is_complete(rows):
            print(f"{options.file}: damaged: {faults[0]}. No trial can be saved.")
            return 1
        kept = _count(parse_content(rows))
        if faults:
            print(f"{options.file}: damaged: {'; '.join(faults)}.")
            print(f"Undamaged before that: {kept}.")
        else:
            print(f"{options.file}: undamaged: {kept}.")
        if options.save is not None:
            save(rows, options.save)
            print(f"Saved to {options.save}.")
    except (OSError, ValueError, zlib.error) as error:
        print(error)
        return 1
    return bool(faults)


if __name__ == "__main__":
    raise SystemExit(main())
