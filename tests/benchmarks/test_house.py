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
        {"compat/__init__.py": "x = 1\n" * 6, "space/__init__.py": "# y\n" * 9},
        ["more than 5 lines: skbayes 6"],
    ),
    "none": (
        {"compat/__init__.py": "from skbayes.space import a", "space/a.py": ""},
        [],
    ),
}


@pytest.mark.parametrize(("files", "expected"), RULES.values(), ids=RULES)
def test_rules_are_checked(tmp_path, files, expected, monkeypatch):
    monkeypatch.setitem(house.BUDGETS, "skbayes", 5)
    for name, text in {"__init__.py": "", **files}.items():
        path = tmp_path / "skbayes" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    assert house.problems(tmp_path) == expected
