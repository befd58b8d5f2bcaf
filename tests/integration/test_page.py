"""Sections of the page on integrations, each as the program of a reader.

Each program runs in an empty folder, and in a new process if it may change settings of
the process. A limit ends programs that wait forever, because Ray Tune starts servers.
"""

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.documentation

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "integrations.rst").read_text(encoding="utf-8")
SECTIONS = {
    part.partition("\n")[0]: part
    for part in re.split(r"^(?=.+\n---+\n)", PAGE, flags=re.M)
}
BLOCK = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:(?: {3}.*)?\n)+)", re.M)
LIMIT = 600  # seconds

# Conditions that hold after the programs that use the sampler.
HOLDS = {
    "Sampler for Optuna": "study.best_value < 0.1",
    "Ray Tune": "results.get_best_result().metrics['loss'] < 0.1",
    "MLflow": "len(mlflow.search_runs()) == 22",
}

# Sections whose programs change nothing outside of them.
HARMLESS = ("Sampler for Optuna", "Choices of a skrub DataOp")


def code_of(section):
    """Return the code blocks of a section by language, joined."""
    blocks = {}
    for language, code in BLOCK.findall(SECTIONS[section]):
        language = {"py": "python"}.get(language, language)
        blocks[language] = blocks.get(language, "") + textwrap.dedent(code)
    return blocks


@pytest.mark.parametrize("section", [s for s in SECTIONS if code_of(s)])
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_each_section_runs(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = code_of(section)
    for name in re.findall(r"^ *(?:import|from) (\w+)", code["python"], re.M):
        if not importlib.util.find_spec(name):
            pytest.skip(f"needs {name}")
    text = f"{code['python']}\nassert {HOLDS.get(section, True)}\n"
    program = tmp_path / "program.py"
    program.write_text(text, encoding="utf-8")
    if section in HARMLESS:
        # Workers would run again what runpy runs as the main module.
        exec(compile(text, str(program), "exec"), {"__name__": "__main__"})
        return
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "agg"},
        timeout=LIMIT,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
