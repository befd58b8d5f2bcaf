"""Rules that `benchmarks/house.py --check` applies to the package."""

from pathlib import Path

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
        {"a.py": "", "space/b.py": "", "compat.py": "import skbayes.a"},
        ["loose module: skbayes.a", "loose module: skbayes.space.b"],
    ),
    "long": (
        {"compat.py": "\n" * 601, "space/__init__.py": "\n" * 600},
        ["more than 600 lines: skbayes.compat 601"],
    ),
    "budget": (
        {"compat.py": "x = 1\n" * 3, "space/a.py": "", "loop/b.py": "# y\n" * 9},
        ["loose module: skbayes.loop.b", "loose module: skbayes.space.a"]
        + ["more than 2 code lines: skbayes.compat 3"],
    ),
    "none": ({"compat.py": "from skbayes.space import a", "space/a.py": ""}, []),
}


@pytest.mark.parametrize(("files", "expected"), RULES.values(), ids=RULES)
def test_rules_are_checked(tmp_path, files, expected, monkeypatch):
    monkeypatch.setattr(
        house, "BUDGETS", {"skbayes.compat": 2, "skbayes.space": 9, "skbayes.loop": 9}
    )
    for name, text in {"__init__.py": "", **files}.items():
        path = tmp_path / "skbayes" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    assert house.problems(tmp_path) == expected


def test_the_package_keeps_the_rules():
    assert house.problems(Path(house.__file__).parents[1]) == []


def test_budgets_are_those_of_the_code_and_hints_name_what_has_shrunk(monkeypatch):
    root = Path(house.__file__).parents[1]
    budgets = house.budgets(root)
    assert budgets.keys() == house.BUDGETS.keys()
    monkeypatch.setattr(house, "BUDGETS", budgets | {"skbayes.loop": 10**5})
    assert house.problems(root) == []
    (hint,) = house.hints(root)
    assert "skbayes.loop" in hint and "lower its budget of 100000" in hint
