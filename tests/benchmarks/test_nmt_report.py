import json
from pathlib import Path

import numpy as np
import pytest
from nmt_layout import _paired_difference, as_text
from nmt_picture import draw
from nmt_report import main
from nmt_results import Result, as_json, published

from skbayes.benchmark import LookupTable, benchmark, load_nmt, summarize

UNFITTED = Path(__file__).parents[2] / "benchmarks" / "unfitted_gp.py"
BO_PAPER = {"bo_paper_m": f"{UNFITTED}:bo_paper_m"}


def make_results(methods, pair="zh-en", n_objectives=1, seeds=5, cap=30, n_errors=0):
    table = load_nmt(pair).first(n_objectives)
    runs = benchmark(methods, [table], seeds, cap=cap, n_errors=n_errors)
    return [
        Result(table, method, [run for run in runs if run.method == method], cap)
        for method in methods
    ]


def test_published_figures():
    figures = published()
    assert len(figures) == 216
    assert figures["zh-en", "GB_EIF_R", "ftb"] == (13, 20)
    assert figures["so-en", "BO_M", "fta"] == (321, 113)


def test_text_shows_means_bounds_and_published_figures():
    results = make_results({"random": "random", **BO_PAPER})
    text = as_text(results)
    lines = text.split("\n")
    (row,) = [line for line in lines if line.startswith("random  ")]
    summary = results[0].summary
    assert summary["ftb"].n_censored > 0
    assert f"≥{summary['ftb'].mean:.1f} ± {summary['ftb'].sd:.1f}" in row
    assert f" {summary['fb'].mean:.2f} ± {summary['fb'].sd:.2f}" in row
    assert f"random on zh-en: ftb in {summary['ftb'].n_censored}" in text
    (row,) = [line for line in lines if line.startswith("  BO_EI_M")]
    assert row.split()[1:] == "29.0 ± 19.0 13.0 ± 9.0 0.24 ± 0.24".split()
    (row,) = [line for line in lines if line.startswith("  best")]
    assert row.split() == ["best", "13", "6", "0.06"]
    assert "until any of the 3 rows that tie for best" in text


def test_runs_with_a_cap_are_not_compared_with_published_ones():
    text = as_text(make_results(["random"]))
    (row,) = [line for line in text.split("\n") if line.startswith("  random, RS")]
    assert row.split()[2] == "-"
    (row,) = [line for line in text.split("\n") if line.startswith("  random, exact")]
    assert abs(float(row.split()[2])) < 5


def test_text_of_several_objectives():
    text = as_text(make_results(["random"], n_objectives=2))
    assert "Table 4" in text
    assert "Table 3" not in text
    (row,) = [line for line in text.split("\n") if line.startswith("  best")]
    assert row.split() == ["best", "20", "75", "1.8"]


def test_differences_are_paired():
    one, other = make_results(["skbayes", "random"], seeds=6, cap=20)
    text = as_text([one, other])
    assert "less skbayes" in text
    values = [
        [summarize([run], one.table)["ftc"].mean for run in result.runs]
        for result in (other, one)
    ]
    difference = np.subtract(*values)
    expected = difference.mean() / (difference.std(ddof=1) / np.sqrt(6))
    assert _paired_difference(other, one, "ftc") == pytest.approx(expected)


def test_own_table_has_no_published_figures():
    table = LookupTable(
        [{"a": i} for i in range(30)], {"y": np.arange(30)}, {"y": "max"}, name="own"
    )
    runs = benchmark(["random"], [table], 3)
    text = as_text([Result(table, "random", runs)])
    assert "published" not in text
    assert "random, exact" in text


def test_json_and_picture(tmp_path):
    results = make_results({"random": "random", **BO_PAPER}, seeds=4, n_errors=6)
    results += make_results(["random"], n_objectives=2, seeds=4)
    record = json.loads(json.dumps(as_json(results), allow_nan=False))
    first, second, several = record["results"]
    assert first["measures"]["fb"]["mean"] == pytest.approx(
        results[0].summary["fb"].mean, abs=1e-4
    )
    assert np.array(first["progress_quartiles"]).shape == (3, 30)
    assert "error_quartiles" not in first
    assert np.array(second["error_quartiles"]).shape == (3, 4)
    assert set(several["measures"]) == {"fto", "fta", "fbp"}
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    draw(results, tmp_path / "results.png")
    picture = imread(tmp_path / "results.png")
    assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 20


# -- the command ----------------------------------------------------------------------


def test_command(tmp_path, capsys):
    arguments = [
        "--tables",
        "zh-en,ru-en",
        "--methods",
        "random",
        f"GP={UNFITTED}:bo_paper_r",
    ]
    arguments += ["--seeds", "2", "--cap", "8", "--objectives", "1"]
    arguments += ["--out", str(tmp_path / "out")]
    main(arguments)
    first = capsys.readouterr().out
    assert "zh-en" in first
    assert "\nGP " in first
    assert "Geometric mean of ftb" in first
    main(arguments)
    assert capsys.readouterr().out == first
    main([*arguments, "--fresh", "GP"])
    assert capsys.readouterr().out == first
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "results.json",
        "runs",
    }


def test_command_quick_and_both(tmp_path, capsys):
    out = str(tmp_path)
    main(["--tables", "zh-en", "--methods", "random", "--quick", "--out", out])
    record = json.loads((tmp_path / "results.json").read_text())
    assert record["results"][0]["n_runs"] == 20
    assert record["results"][0]["cap"] == 150
    main(
        ["--tables", "zh-en", "--methods", "random", "--objectives", "both"]
        + ["--seeds", "2", "--out", out]
    )
    text = capsys.readouterr().out
    assert "Table 3" in text
    assert "Table 4" in text


def test_analysis(capsys):
    main(["--tables", "zh-en", "ja-en", "--analysis"])
    text = capsys.readouterr().out
    assert "zh-en, importance over all rows" in text
    assert "ja-en, importance over the top percent" in text
    assert "rank correlations over" in text
