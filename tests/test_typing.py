"""Execution of the program that is checked by type checkers."""

import runpy
from pathlib import Path

PROGRAM = Path(__file__).parent / "typing" / "user_code.py"


def test_the_program_of_a_user_runs(capsys):
    runpy.run_path(str(PROGRAM), run_name="__main__")
    assert capsys.readouterr().out
