"""Verdicts of the figures of the papers' searches."""

import published
import pytest
from published import Check


@pytest.mark.parametrize(
    "checks, n_below, text",
    [
        ({"a": Check(lambda seed: 0.8 + 0.1 * seed, 0.9, 3, False)}, 0, "a: 0.9000"),
        ({"a": Check(lambda seed: 0.8, 0.81, 2, False)}, 1, "BELOW 0.81"),
        ({"a": Check(lambda seed: 0.0, 0.81, 2)}, 0, "a: skipped, there is no"),
    ],
)
def test_figures_below_their_limits_are_counted(
    checks, n_below, text, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr("sys.argv", ["published.py"])
    monkeypatch.setattr(published, "CHECKS", checks)
    monkeypatch.setattr(published, "DATA", tmp_path / "load.py")
    assert published.main() == n_below
    assert text in capsys.readouterr().out
