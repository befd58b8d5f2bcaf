"""Rules that `benchmarks/house.py --check` applies to the package."""

import house
import pytest

RULES = {
    "circle within a function": (
        {
            "space/a.py": "def f():\n    from skbayes.space import b",
            "space/b.py": "from skbayes.space.a import f",
        },
        [
            "circle of imports: skbayes.space.a - skbayes.space.b",
            "late import: skbayes.space.a of skbayes.space.b",
        ],
    ),
    "circle of types": (
        {
            "space/a.py": "if TYPE_CHECKING:\n    import skbayes.space.b",
            "space/b.py": "import skbayes.space.a",
        },
        ["circle of imports: skbayes.space.a - skbayes.space.b"],
    ),
    "forbidden": (
        {
            "space/a.py": "def f():\n    import skbayes.trial.b",
            "trial/b.py": "from skbayes.options.limits import c",
            "options/limits/c.py": "import skbayes.options.journal.d, skbayes.trial.b",
            "options/journal/d.py": "import skbayes.space.a, skbayes.inspection.e",
            "inspection/e.py": "import skbayes.trial.b",
        },
        [
            "circle of imports: skbayes.inspection.e - skbayes.options.journal.d - "
            "skbayes.options.limits.c - skbayes.space.a - skbayes.trial.b",
            "forbidden import: skbayes.options.journal.d of skbayes.inspection.e",
            "forbidden import: skbayes.options.limits.c of skbayes.options.journal.d",
            "forbidden import: skbayes.space.a of skbayes.trial.b",
            "forbidden import: skbayes.trial.b of skbayes.options.limits.c",
            "late import: skbayes.space.a of skbayes.trial.b",
        ],
    ),
    "late": (
        {
            "trial/a.py": "def f():\n    return load('skbayes.space.b:B')",
            "trial/option_table.py": 'import skbayes.trial.a\nX = "skbayes.space.b"',
            "trial/__init__.py": "import skbayes.trial.option_table",
            "space/b.py": "",
            "defaults/__init__.py": "def f():\n    import skbayes.space.b",
        },
        ["late import: skbayes.trial.a of skbayes.space.b"],
    ),
    "closure": (
        {
            "search/bayes.py": "import skbayes.search.a\ndef f():\n    import d",
            "search/a.py": "if TYPE_CHECKING:\n    import skbayes.utils.c",
            "utils/c.py": "",
        },
        [
            "loose module: skbayes.search.bayes",
            "skbayes.search.bayes imports more than 1 modules: 2",
        ],
    ),
    "loose": (
        {"a.py": "", "space/b.py": "", "defaults/__init__.py": "import skbayes.a"},
        ["loose module: skbayes.a", "loose module: skbayes.space.b"],
    ),
    "long": (
        {"compat/__init__.py": "\n" * 501, "space/__init__.py": "\n" * 500},
        ["more than 500 lines: skbayes.compat 501"],
    ),
    "budget": (
        {"compat/__init__.py": "x = 1\n" * 8, "space/__init__.py": "# y\n" * 9},
        ["more than 7 lines: skbayes 8"],
    ),
    "none": (
        {"trial/__init__.py": "from skbayes.space import a", "space/a.py": ""},
        [],
    ),
}


@pytest.mark.parametrize(("files", "expected"), RULES.values(), ids=RULES)
def test_each_broken_rule_is_reported(tmp_path, files, expected, monkeypatch):
    monkeypatch.setitem(house.BUDGETS, "skbayes", 7)
    monkeypatch.setitem(house.CLOSURE, "modules", 1)
    for name, text in {"__init__.py": "", **files}.items():
        path = tmp_path / "skbayes" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    assert house.problems(tmp_path) == expected
