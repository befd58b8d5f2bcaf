import pytest

from skbayes.benchmark import benchmark, load_nmt, summarize
from skbayes.benchmark.__main__ import main


def test_the_command_prints_means_and_standard_errors(tmp_path, capsys):
    arguments = ["--tables", "zh-en,ru-en", "--methods", "random", "mine=gp"]
    arguments += ["--seeds", "2", "--cap", "8", "--out", str(tmp_path)]
    main(arguments)
    text = capsys.readouterr().out
    rows = [line.split("  ") for line in text.splitlines()]
    rows = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert rows[0] == ["table", "method", "ftb", "ftb_any", "ftc", "fb"]
    pairs = [(t, m) for t in ("zh-en", "ru-en") for m in ("random", "mine")]
    assert [tuple(row[:2]) for row in rows[1:5]] == pairs
    table = load_nmt("ru-en").first(1)
    expected = summarize(benchmark(["random"], [table], 2, cap=8), table)
    for cell, summary in zip(rows[3][2:], expected.values(), strict=True):
        mark = "*" if summary.n_censored else ""
        assert cell == f"{summary.mean:.2f} ± {summary.se:.2f}{mark}"
    assert "* runs that ended at their cap" in text

    # Runs are read from the folder, or made again with an equal result.
    main(arguments)
    assert capsys.readouterr().out == text
    (tmp_path / "runs" / "mine.jsonl").unlink()
    main(arguments)
    assert capsys.readouterr().out == text


def test_the_command_has_a_quick_run_and_several_objectives(tmp_path, capsys):
    out = ["--tables", "zh-en", "--methods", "random", "--out", str(tmp_path)]
    main([*out, "--quick"])
    table = load_nmt("zh-en").first(1)
    expected = summarize(benchmark(["random"], [table], 20, cap=150), table)
    assert f"{expected['fb'].mean:.2f} ± {expected['fb'].se:.2f}" in (
        capsys.readouterr().out
    )
    main([*out, "--objectives", "both", "--seeds", "2"])
    text = capsys.readouterr().out
    assert {"ftb", "fb", "fto", "fta", "fbp"} <= set(text.split())
    assert "*" not in text


MINE = """
from skbayes.benchmark import LookupTable
from skbayes.benchmark.methods import RandomSearch
def table():
    rows = [{'a': i} for i in range(25)]
    return LookupTable(rows, {'y': range(25)}, {'y': 'max'}, name='mine')
class Mine(RandomSearch):
    pass
"""


def test_the_command_accepts_tables_and_methods_of_a_file(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    arguments = ["--tables", f"{path}:table", "--methods", f"{path}:Mine"]
    arguments += ["--objectives", "both", "--out", str(tmp_path)]
    main([*arguments, "--seeds", "2", "--jobs", "2"])
    # "both" are one group of runs if there is only one objective.
    assert capsys.readouterr().out.count("\nmine   Mine ") == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--tables", "en-zh"], "pair must be one of"),
        (["--tables", "zh-en", "--methods", "nonsense"], "nonsense"),
        (["--tables", "json:decoder"], "is not a LookupTable"),
        (["--tables", "zh-en", "--cap", "2"], "cap must be at least"),
    ],
)
def test_the_command_reports_wrong_arguments(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([*arguments, "--seeds", "1", "--out", str(tmp_path)])
    assert message in capsys.readouterr().err
