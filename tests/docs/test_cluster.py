"""Page "From a laptop to a cluster": each ending of its script has the same result."""

import contextlib
import io
import json
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from processes import environment

pytestmark = pytest.mark.documentation

PAGE = Path(__file__).parents[2] / "docs" / "cluster.rst"
BLOCK = re.compile(r"^\.\. code-block:: python3\n\n((?:(?: {3}.*)?\n)+)", re.MULTILINE)
NAMES = ["beginning", "laptop", "dask", "jobs", "ray", "spark"]
BLOCKS = map(textwrap.dedent, BLOCK.findall(PAGE.read_text("utf-8")))
CODE = dict(zip(NAMES, BLOCKS, strict=True))
PACKAGES = {"jobs": "dask_jobqueue", "ray": "ray", "spark": "joblibspark"}
# Fewer trials, because Ray and Spark receive the data with each task. Half of them are
# proposed after scores have arrived.
for old, new in (("n_iter=12", "n_iter=4"), ("pre_dispatch=4", "pre_dispatch=2")):
    assert old in CODE["beginning"]
    CODE["beginning"] = CODE["beginning"].replace(old, new)
# Everything except for the times.
SHOW = 'print(search.cv_results_["params"], search.cv_results_["mean_test_score"])\n'
ENVIRONMENT = environment(
    PYSPARK_PYTHON=sys.executable,
    PYSPARK_SUBMIT_ARGS="--master local-cluster[2,1,1024] pyspark-shell",
    SPARK_LOCAL_IP="127.0.0.1",
)


def started(ending, folder, *replaced):
    """Start the script with an ending, in which other names replace some."""
    code = CODE["beginning"] + CODE[ending]
    for old, new in replaced:
        assert old in code
        code = code.replace(old, new)
    script = folder / "search.py"
    script.write_text(code + SHOW, encoding="utf-8")
    with open(folder / "errors", "ab") as errors:
        pipes = {"stdout": subprocess.PIPE, "stderr": errors, "text": True}
        command = [sys.executable, script]
        return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, **pipes)


def printed(*scripts, folder):
    """Return what each script printed at its end."""
    ends = []
    for script in scripts:
        with script:
            out = script.communicate()[0]
        assert script.returncode == 0, (folder / "errors").read_text()
        # Ray's messages about its workers are among the lines.
        lines = out[out.index("{'svc__C'") :].splitlines(keepends=True)
        ends.append("".join(line for line in lines if "(raylet" not in line))
    return ends


@pytest.fixture(scope="module")
def expected():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(CODE["beginning"] + CODE["laptop"] + SHOW, {})
    return out.getvalue()


@pytest.fixture
def scheduler(tmp_path):
    """Run a scheduler and a worker of Dask; return the address of the scheduler."""
    pytest.importorskip("distributed")
    place = tmp_path / "scheduler.json"
    shared = ["--scheduler-file", str(place), "--no-dashboard"]
    with contextlib.ExitStack() as stack:
        for kind in ("scheduler", "worker"):
            threads = ["--nthreads", "2", "--no-nanny"]
            options = threads if kind == "worker" else ["--port", "0"]
            command = [sys.executable, "-m", f"distributed.cli.dask_{kind}"]
            kwargs = {"cwd": tmp_path, "env": ENVIRONMENT, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen([*command, *shared, *options], **kwargs)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            while not place.exists():
                assert process.poll() is None
                time.sleep(0.1)
        yield json.loads(place.read_text())["address"]


def test_the_script_for_dask_prints_its_result(scheduler, expected, tmp_path):
    script = started("dask", tmp_path, ("tcp://scheduler:8786", scheduler))
    assert printed(script, folder=tmp_path) == [expected]


@pytest.mark.parametrize("ending", PACKAGES)
def test_scripts_for_other_clusters_print_the_same_result(ending, expected, tmp_path):
    pytest.importorskip(PACKAGES[ending])
    replaced = []
    if ending == "jobs":  # a class that starts jobs as processes
        replaced = [
            ("import SLURMCluster", "import local"),
            ("SLURMCluster(", "local.LocalCluster("),
        ]
    script = started(ending, tmp_path, *replaced)
    assert printed(script, folder=tmp_path) == [expected]
