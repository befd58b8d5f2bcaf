"""Execution of the notebooks, each in a new kernel."""

import os
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def _read(path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    return notebook


def test_there_are_five():
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["pareto", "pipeline", "service", "text", "tradeoff"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_headings(path):
    texts = [cell.source for cell in _read(path).cells if cell.cell_type == "markdown"]
    levels = [
        len(mark) for text in texts for mark in re.findall("^#+(?= )", text, re.M)
    ]
    assert texts[0].startswith("# ")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_committed_notebook_has_no_outputs(path):
    notebook = _read(path)
    assert notebook.nbformat == 4
    assert notebook.cells[0].cell_type == "markdown"
    for cell in notebook.cells:
        assert cell.source.strip()
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(path, monkeypatch, tmp_path):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    notebook = _read(path)
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    outputs = [
        out for c in notebook.cells if c.cell_type == "code" for out in c.outputs
    ]
    assert outputs
    # No warnings.
    assert not [out.text for out in outputs if out.get("name") == "stderr"]
