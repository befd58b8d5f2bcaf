"""Form of the notebooks, which the build of the documentation runs, and a figure."""

import os
import re
from pathlib import Path

import nbclient
import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def _read(path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    return notebook


def test_notebooks_have_one_title_and_no_outputs():
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["pareto", "pipeline", "service", "text", "tradeoff"]
    for path in NOTEBOOKS:
        notebook = _read(path)
        assert notebook.nbformat == 4
        texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
        levels = [*map(len, re.findall("^#+(?= )", "\n".join(texts), re.M))]
        assert notebook.cells[0].source.startswith("# ")
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))
        for cell in notebook.cells:
            assert cell.source.strip()
            if cell.cell_type == "code":
                assert not cell.outputs
                assert cell.execution_count is None


@pytest.mark.documentation
def test_the_summary_figure_is_shown_once_as_the_result_of_a_cell(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    program = """%matplotlib inline
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from skbayes import BayesSearchCV
space = {"max_depth": [1, 2, 3]}
search = BayesSearchCV(DecisionTreeClassifier(), space, cv=2)
search.fit(*load_iris(return_X_y=True))
None"""
    sources = ["search.plot()", "figure = search.plot()", "figure"]
    cells = [nbformat.v4.new_code_cell(source) for source in [program, *sources]]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120).execute()
    outputs_of_cells = [cell.outputs for cell in notebook.cells[1:]]
    assert [len(outputs) for outputs in outputs_of_cells] == [1, 0, 1]
    for data in (outputs_of_cells[0][0].data, outputs_of_cells[2][0].data):
        assert "image/png" in data and "array" not in data["text/plain"]
