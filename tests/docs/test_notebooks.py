"""Execution of the notebooks, each in a new kernel."""

import os
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
def test_what_is_committed_is_clean(path):
    notebook = _read(path)
    assert notebook.nbformat == 4
    assert notebook.cells[0].source.startswith("# ")
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
    # No warning, as nothing here deserves one.
    assert not [out.text for out in outputs if out.get("name") == "stderr"]
