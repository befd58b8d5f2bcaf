"""Slots of GPUs: devices of this machine, and their locks."""

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types

import pytest
from sklearn.svm import SVC

from skbayes import BayesSearchCV
from skbayes.evaluation import slots
from skbayes.evaluation.backend import Backend, DaskBackend, RayBackend
from skbayes.evaluation.options import parse_trial_limits
from skbayes.evaluation.slots import Slot, held_slot, slots_here

posix = pytest.mark.skipif(os.name != "posix", reason="needs a script in the path")


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """Return the folder for temporary files of a machine with two GPUs."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    return tmp_path


@pytest.mark.parametrize(
    "given, devices",
    [
        ("0,1", ("0", "1")),
        (" 3 ", ("3",)),
        ("GPU-8932f937,MIG-a/1", ("GPU-8932f937", "MIG-a/1")),
        ("", ()),
        ("2,-1,0", ("2",)),
    ],
)
def test_devices_of_the_environment(given, devices, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    assert slots.visible_devices() == devices


@posix
@pytest.mark.parametrize(
    "lines, n_devices", [("GPU 0: A\n  MIG 1g\nGPU 1: B", 2), ("no devices", 0)]
)
def test_without_the_variable_the_driver_lists_the_devices(
    lines, n_devices, machine, monkeypatch
):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("PATH", str(machine), prepend=os.pathsep)
    program = machine / "nvidia-smi"
    program.write_text(f'#!/bin/sh\necho "{lines}"\n')
    program.chmod(0o700)
    slots._number_of_gpus.cache_clear()
    try:
        assert slots.visible_devices() == tuple(map(str, range(n_devices)))
    finally:
        slots._number_of_gpus.cache_clear()


def test_slots_by_the_number_of_gpus():
    devices = ["0", "1", "2"]
    assert slots_here(1, devices) == [Slot(("0",)), Slot(("1",)), Slot(("2",))]
    assert slots_here(2, devices) == [Slot(("0", "1"))]
    # Shares of other devices come first.
    assert slots_here(0.5, devices[:2]) == [
        *(Slot(("0",), 0), Slot(("1",), 0), Slot(("0",), 1), Slot(("1",), 1))
    ]
    assert [len(slots_here(share, ["0"])) for share in (0.3, 1 / 3, 0.25)] == [3, 3, 4]
    with pytest.raises(ValueError, match=r"\['gpu'\]=4: .* use 3 GPUs.*CUDA_VIS"):
        slots_here(4, devices)


def test_numbers_of_gpus():
    for gpus in (1, 2.0, 0.25):
        assert parse_trial_limits({"gpu": gpus}) == {"gpu": gpus}
    assert parse_trial_limits({"gpu": None}) == {}
    for gpus in (0, -1, 1.5, "1", ["0"], True, float("nan"), 2000):
        with pytest.raises(ValueError, match=r"\['gpu'\] must be the number of GPUs"):
            parse_trial_limits({"gpu": gpus})


def test_a_machine_without_gpus_is_refused_before_any_fit(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    search = BayesSearchCV(SVC(), {"C": [1, 2]}, trial_limits={"gpu": 1})
    with pytest.raises(ValueError, match="can use 0 GPUs.*, or omit this limit"):
        search.fit([[0], [1]] * 6, [0, 1] * 6)
    assert not hasattr(search, "trials_")


def held(gpus=1, preferred=(), n_checks=2):
    """Return a context that holds a slot, or none after some attempts."""
    checks = itertools.count()
    return held_slot(gpus, None, preferred, lambda: next(checks) >= n_checks)


def test_a_slot_has_one_holder(machine):
    with held() as first, held() as second, held() as third:
        assert [first["CUDA_VISIBLE_DEVICES"], second["CUDA_VISIBLE_DEVICES"]] == [
            *("0", "1")
        ]
        assert third == {}
        with held(2) as both:
            assert both == {}
    with held(2) as both, held() as none:
        assert both["CUDA_VISIBLE_DEVICES"] == "0,1" and none == {}
    with held(preferred=[second]) as again:
        assert again == second
    # A lock of the first device of two is released if the second one is held.
    with held(preferred=[second]), held(2) as none, held() as other:
        assert none == {} and other == first


def test_a_search_within_a_fit_shares_the_slot_of_the_fit(monkeypatch):
    with held() as outer:
        for name, value in outer.items():
            monkeypatch.setenv(name, value)
        with held() as inner, held() as none:
            assert inner["CUDA_VISIBLE_DEVICES"] == "0" and none == {}
            assert inner["SKBAYES_SLOTS"] != outer["SKBAYES_SLOTS"]


def test_a_fit_that_waits_is_before_later_ones(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    order, checks = [], []

    def wait():
        with held_slot(1, None, (), lambda: checks.append(1)):
            order.append("waiting")

    thread = threading.Thread(target=wait)
    with held():
        thread.start()
        while len(checks) < 3:
            time.sleep(0.01)
    with held_slot(1, None, (), lambda: False):
        order.append("later")
    thread.join()
    assert order == ["waiting", "later"]


HOLDER = """
import tempfile
from skbayes.evaluation.slots import held_slot
with held_slot(2, None, (), lambda: False):
    print("held", flush=True)
    input()
"""


@posix
def test_a_killed_process_releases_its_slot(machine):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
        env={**os.environ, "TMPDIR": str(machine)},
    )
    with process:
        assert process.stdout.readline() == b"held\n"
        with held() as none:
            assert none == {}
        process.send_signal(signal.SIGKILL)
        process.wait()
        with held() as slot:
            assert slot["CUDA_VISIBLE_DEVICES"] == "0"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no numeric owner")
def test_a_folder_of_another_user_is_not_used(machine, monkeypatch):
    with held():
        monkeypatch.setattr(os, "getuid", lambda: 123456)
        os.rename(next(machine.glob("skbayes-*")), machine / "skbayes-slots-123456")
        with pytest.raises(PermissionError, match="belongs to another user"):
            held().__enter__()


def test_a_lock_that_cannot_be_created_is_an_error(machine):
    with held():
        (next(machine.glob("skbayes-slots-*")) / "1-0").mkdir()
    with pytest.raises(OSError, match=r"\['gpu'\]: the file .*1-0' cannot be locked"):
        with held(), held():
            pass


class Cluster:
    """Backend of joblib for a cluster of Dask or Ray."""

    def __init__(self, client=None, ray_remote_args=None, **submit_kwargs):
        self.client, self.submit_kwargs = client, submit_kwargs
        self.ray_remote_args = ray_remote_args
        self.configure = self.abort_everything = None

    def effective_n_jobs(self, n_jobs):
        return 9


def dask(*resources, **more):
    workers = {str(i): {"resources": found} for i, found in enumerate(resources)}
    client = types.SimpleNamespace(scheduler_info=lambda **_: {"workers": workers})
    return Cluster(client, **more)


@pytest.mark.parametrize(
    "backend, gpus, asked, n_workers",
    [
        (dask({"GPU": 2.0}, {"GPU": 1.0}), 1, {"GPU": 1}, 3),
        (dask({"GPU": 2.0}, {}), 0.5, {"GPU": 0.5}, 4),
        (dask({"GPU": 3.0}, {"GPU": 1.0}), 2, {"GPU": 2}, 2),
        (dask({"gpu": 1}, resources={"disk": 9}), 1, {"gpu": 1, "disk": 9}, 2),
        # Workers of an adaptive cluster start later.
        (dask(), 1, {"GPU": 1}, 9),
    ],
)
def test_dask_reserves_gpus(backend, gpus, asked, n_workers):
    given = dict(backend.submit_kwargs)
    own, found = DaskBackend.reserve(backend, gpus, 9)
    assert own.submit_kwargs == {"resources": asked} and found == n_workers
    assert backend.submit_kwargs == given


@pytest.mark.parametrize("backend", [dask({}, {}), dask({"GPU": 1}, {"GPU": 1})])
def test_a_cluster_of_dask_without_enough_gpus_is_refused(backend):
    with pytest.raises(ValueError, match="no worker of Dask.*--resources .GPU=1."):
        DaskBackend.reserve(backend, 2, 9)


@pytest.mark.parametrize("gpus, n_workers", [(1, 5), (0.5, 9), (2, 2), (3, 2)])
def test_ray_reserves_gpus(gpus, n_workers, monkeypatch):
    begun, resources = [], [{"GPU": 3.0}, {"GPU": 2.0, "CPU": 8.0}, {"CPU": 8.0}]
    nodes = [{"Alive": True, "Resources": of_node} for of_node in resources]
    nodes.append({"Alive": False, "Resources": {"GPU": 8.0}})
    ray = types.SimpleNamespace(nodes=lambda: nodes, init=lambda: begun.append(1))
    ray.is_initialized = lambda: bool(begun)
    monkeypatch.setitem(sys.modules, "ray", ray)
    backend = Cluster(ray_remote_args={"num_cpus": 1})
    own, found = RayBackend.reserve(backend, gpus, 9)
    assert own.ray_remote_args == {"num_cpus": 1, "num_gpus": gpus}
    assert found == n_workers and begun
    assert backend.ray_remote_args == {"num_cpus": 1}
    with pytest.raises(ValueError, match="no node of the cluster of Ray has"):
        RayBackend.reserve(backend, 4, 9)


def test_other_backends_reserve_nothing():
    backend = object()
    assert Backend.reserve(backend, 1, 5) == (backend, 5)
