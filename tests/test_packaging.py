"""Distribution: version, typing marker, and no files that depend on a machine."""

import ast
import importlib.metadata
import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import skbayes

ROOT = Path(__file__).parents[1]

# Absolute paths that mean something on one machine only.
MACHINE_PATH = re.compile(
    rb"""(?<![\w.:/~-])/(?:home|Users|root|work|opt|mnt|workspace)/[\w.-]+"""
    rb"""|(?<![\w])[A-Z]:\\\\?Users\\"""
)


@pytest.fixture(scope="module")
def project():
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]


@pytest.fixture(scope="module")
def tracked_files():
    """Return the files under version control."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    try:
        listing = subprocess.check_output(command, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.decode().split("\0") if name]


def test_the_version_is_the_same_everywhere(project):
    version = importlib.metadata.version("skbayes")
    assert version == skbayes.__version__ == project["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", version)
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text("utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    number = re.escape(version.partition(".dev")[0])
    heading = rf"^## {number} \((unreleased|\d{{4}}-\d\d-\d\d)\)$"
    assert re.search(heading, changelog, re.MULTILINE)


def test_a_workflow_calls_each_program_of_ci():
    workflows = (ROOT / ".github" / "workflows").glob("*.yml")
    called = "".join(path.read_text(encoding="utf-8") for path in workflows)
    programs = [p.name for p in (ROOT / ".ci").iterdir() if p.suffix != ".txt"]
    assert sorted(programs) == ["nightly", "run"]
    assert all(f"bash .ci/{name}\n" in called for name in programs)


def test_typing_marker_and_license_are_distributed():
    assert files("skbayes").joinpath("py.typed").is_file()
    metadata = importlib.metadata.metadata("skbayes")
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert "LICENSE" in metadata.get_all("License-File")


def test_lower_bounds_are_those_tested(project):
    """The oldest environment of continuous integration has the oldest releases."""
    oldest = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8")
    extras = project["optional-dependencies"]
    ours = [extras[name] for name in ("lightgbm", "plot", "progress", "text")]
    for requirement in itertools.chain(project["dependencies"], *ours):
        name, lowest = re.match(r"([\w-]+)>=([\d.]+)", requirement).groups()
        assert re.search(rf"^{name}=={lowest}(\.0)*\b", oldest, re.MULTILINE)


def test_no_required_package_needs_a_compiler(project):
    """The package liblinear-official has no wheels for Linux and is optional."""
    names = {re.match(r"[\w-]+", one)[0] for one in project["dependencies"]}
    assert "liblinear-official" not in names
    extras = project["optional-dependencies"]
    assert any(one.startswith("liblinear-official") for one in extras["text"])
    extras_of_all = re.search(r"\[(.*)\]", extras["test-all"][0])[1].split(",")
    assert {"test", "text"} <= set(extras_of_all)
    # The extra of the core: the packages that it names, and those of its extras.
    ours = re.search(r"\[(.*)\]", extras["test"][0])[1].split(",")
    assert len(extras["test"]) - 1 + sum(len(extras[name]) for name in ours) <= 10


def test_text_files_have_an_encoding():
    """The default of Windows is not UTF-8."""
    for path in (ROOT / "skbayes").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            code = ast.unparse(call)
            name = code.partition("(")[0].rpartition(".")[2]
            if name in ("read_text", "write_text"):
                assert "utf-8" in code, (path, code)
            elif name == "open" and isinstance(call.func, ast.Name):
                assert "b'" in code or "utf-8" in code, (path, code)


def test_files_contain_no_path_of_a_machine(tracked_files):
    mentions = [
        f"{path.relative_to(ROOT)}: {match[0].decode()}"
        for path in tracked_files
        if path.is_file() and path.suffix not in {".png", ".gz"}
        for match in MACHINE_PATH.finditer(path.read_bytes())
    ]
    assert not mentions


def test_paths_of_a_machine_are_recognized():
    for text in (b"see /" + b"home/someone/x", b'"/' + b'root/.cache"'):
        assert MACHINE_PATH.search(text)
    assert MACHINE_PATH.search(b"C:\\" + b"Users\\someone")
    for text in (b"https://example.org/home/page", b"~/home/x", b"docs/opt/x"):
        assert not MACHINE_PATH.search(text)


def test_another_project_with_the_same_import_name_is_noticed(tmp_path):
    package = tmp_path / "skbayes"
    (package / "rvm_ard_models").mkdir(parents=True)
    shutil.copy(skbayes.__file__, package)
    process = subprocess.run(
        [sys.executable, "-c", "import skbayes"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "UserWarning: The package sklearn-bayes is installed" in process.stderr


def test_the_recipe_of_conda_has_the_requirements(project):
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
    for requirement in project["dependencies"]:
        assert f"    - {requirement.replace('>=', ' >=')}" in recipe


def test_the_guide_names_the_jobs_of_continuous_integration():
    program = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    guide = (ROOT / "docs" / "contributing.rst").read_text(encoding="utf-8")
    lanes = re.findall(r"^  lane ([\w ]+) &", program, re.MULTILINE)
    jobs = " ".join(lanes).split()
    assert len(jobs) == 8 and all(f"   * - ``{job}``\n" in guide for job in jobs)
