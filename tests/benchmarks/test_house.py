"""Rules that `benchmarks/house.py --check` applies to the package."""

import house
import pytest

RULES = {
    "circle": (
        {
            "space/a.py": "import skbayes.space.b",
            "space/b.py": "import skbayes.space.a",
        },
        ["circle of imports: skbayes.space.a - skbayes.space.b"],
    ),
    "circle within a function": (
        {
            "space/a.py": "def f():\n    from skbayes.space import b",
            "space/b.py": "from skbayes.space.a import f",
        },
        ["circle of imports: skbayes.space.a - skbayes.space.b"],
    ),
    "circle of rooms": (
        {
            "space/a.py": "import skbayes.loop.c",
            "space/b.py": "",
            "loop/c.py": "import skbayes.space.b",
            "loop/__init__.py": "import skbayes.space.a",
        },
        ["circle of imports: skbayes.loop - skbayes.space"],
    ),
    "loose": (
        {"a.py": "", "space/b.py": "", "compat/__init__.py": "import skbayes.a"},
        ["loose module: skbayes.a", "loose module: skbayes.space.b"],
    ),
    "long": (
        {"compat/__init__.py": "\n" * 501, "space/__init__.py": "\n" * 500},
        ["more than 500 lines: skbayes.compat 501"],
    ),
    "budget": (
        {
            "compat/__init__.py": "x = 1\n" * 3,
            "space/a.py": "",
            "loop/b.py": "# y\n" * 9,
        },
        ["loose module: skbayes.loop.b", "loose module: skbayes.space.a"]
        + ["more than 2 code lines: skbayes.compat 3"],
    ),
    "none": (
        {"compat/__init__.py": "from skbayes.space import a", "space/a.py": ""},
        [],
    ),
}


def write(root, files, monkeypatch, **budgets):
    """Write the modules of a package, and set the budgets of its rooms."""
    monkeypatch.setattr(
        house, "BUDGETS", {f"skbayes.{k}": n for k, n in budgets.items()}
    )
    for name, text in {"__init__.py": "", **files}.items():
        path = root / "skbayes" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)


@pytest.mark.parametrize(("files", "expected"), RULES.values(), ids=RULES)
def test_rules_are_checked(tmp_path, files, expected, monkeypatch):
    write(tmp_path, files, monkeypatch, compat=2, space=9, loop=9)
    assert house.problems(tmp_path) == expected


def test_budgets_are_those_of_the_code_and_hints_name_what_has_shrunk(
    tmp_path, monkeypatch
):
    files = {"space/__init__.py": "x = 1\n" * 50, "loop/__init__.py": "x = 1\n" * 9}
    write(tmp_path, files, monkeypatch, space=51, loop=10**5)
    rooms = {"skbayes": 0, "skbayes.space": 51, "skbayes.loop": 10}
    assert house.budgets(tmp_path) == rooms
    assert house.problems(tmp_path) == []
    (hint,) = house.hints(tmp_path)
    assert "skbayes.loop" in hint and "lower its budget of 100000" in hint
