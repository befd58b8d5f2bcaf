"""Slots of GPUs: devices that a fit holds while it runs.

The devices of a process are those in ``CUDA_VISIBLE_DEVICES``, or else those that
``nvidia-smi`` lists. All searches of a user on a machine share the slots. Each slot is
a file that the holder locks. As for journals, it is locked by SQLite, whose locks end
with their process. A search within a fit shares the slot of the fit with other such
searches only.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from skbayes import compat

__all__ = ["Slot", "held_slot", "reserved", "slots_here", "visible_devices"]

DEVICES = "CUDA_VISIBLE_DEVICES"
# Folder of the locks of searches within a fit.
FOLDER = "SKBAYES_SLOTS"

# Seconds between attempts to lock a slot.
PATIENCE = 0.02


def visible_devices() -> tuple[str, ...]:
    """Return the names of the GPUs that programs of this process can use."""
    given = os.environ.get(DEVICES)
    if given is None:
        return tuple(map(str, range(_number_of_gpus())))
    names = [name.strip() for name in given.split(",")]
    # CUDA ignores all names after an invalid one.
    end = next((i for i, name in enumerate(names) if name in ("", "-1")), len(names))
    return tuple(names[:end])


@functools.cache
def _number_of_gpus() -> int:
    """Return the number of GPUs that the driver lists."""
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    except OSError:  # not installed
        return 0
    return sum(line.startswith("GPU ") for line in done.stdout.splitlines())


@dataclass(frozen=True)
class Slot:
    """Devices of one fit, or one share of a device."""

    devices: tuple[str, ...]
    share: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the process of the fit."""
        inner = os.path.join(_folder(), f"within-{self.names[0]}")
        return {DEVICES: ",".join(self.devices), FOLDER: inner}

    @property
    def names(self) -> list[str]:
        """Names of the files that the holder locks."""
        return [f"{quote(device, safe='')}-{self.share}" for device in self.devices]


def _locked(names: Sequence[str]) -> contextlib.ExitStack | None:
    """Lock files until the stack is closed; None if another process holds one."""
    with contextlib.ExitStack() as stack:
        for name in names:
            path = os.path.join(_folder(), name)
            try:
                held = sqlite3.connect(
                    path, timeout=0, isolation_level=None, check_same_thread=False
                )
                stack.callback(held.close)
                held.execute("PRAGMA journal_mode=MEMORY")
                held.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                    return None
                raise OSError(
                    f"trial_limits['gpu']: the file {path!r} cannot be locked: {error}."
                ) from error
        return stack.pop_all()


def _folder() -> str:
    """Return the folder of the locks, which only this user may change."""
    owner = os.getuid() if hasattr(os, "getuid") else 0
    place = os.path.join(tempfile.gettempdir(), f"skbayes-slots-{owner}")
    path = os.environ.get(FOLDER, place)
    os.makedirs(path, mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and os.lstat(path).st_uid != owner:
        raise PermissionError(f"trial_limits['gpu']: {path!r} belongs to another user.")
    return path


def slots_here(gpus: float, devices: Sequence[str] | None = None) -> list[Slot]:
    """Return the slots of fits that need so many GPUs each, on this machine.

    ValueError is raised if there is none.
    """
    devices = visible_devices() if devices is None else devices
    # Fits share a device only if no other one is free.
    shares, size = range(max(1, int(1.0 / gpus + 1e-9))), max(1, int(gpus))
    starts = range(0, len(devices) - size + 1, size)
    slots = [Slot(tuple(devices[i : i + size]), k) for k in shares for i in starts]
    if not slots:
        raise ValueError(
            f"trial_limits['gpu']={gpus:g}: programs on this machine can use "
            f"{len(devices)} GPUs. Set the environment variable {DEVICES} to the "
            "devices, such as '0,1', before the search, or omit this limit."
        )
    return slots


@contextlib.contextmanager
def held_slot(
    gpus: float,
    devices: Sequence[str] | None,
    preferred: Sequence[Mapping[str, str]],
    is_over: Callable[[], bool],
) -> Iterator[dict[str, str]]:
    """Hold a slot in the context; yield the variables of its process.

    Those of a slot in `preferred` are used first. While all slots are held by other
    fits, it waits. If `is_over`, no slot is held. Only one fit at a time waits for a
    slot of the same devices, and the others wait for it. A search whose fits follow
    each other can thus not keep a slot from other searches.
    """
    slots = slots_here(gpus, devices)
    used = ",".join(sorted({device for slot in slots for device in slot.devices}))
    slots.sort(key=lambda slot: slot.environment not in preferred)
    line = f"line-{zlib.crc32(used.encode()):x}"
    with contextlib.ExitStack() as waiting:
        is_first = False
        while not is_over():
            if not is_first and (place := _locked([line])) is not None:
                waiting.enter_context(place)
                is_first = True
            for slot in slots if is_first else ():
                if (held := _locked(slot.names)) is not None:
                    waiting.close()
                    with held:
                        yield slot.environment
                    return
            time.sleep(PATIENCE)
    yield {}


def reserved(backend: Any, gpus: float, n_workers: int) -> tuple[Any, int]:
    """Return a backend of joblib that reserves GPUs, and the number of workers.

    Dask and Ray run a fit where their own resources are free. There are no more workers
    than fits that have GPUs, but two at least: joblib runs those of one worker here.
    """
    if hasattr(backend, "submit_kwargs"):
        backend = compat.own_backend(backend)
        workers = backend.client.scheduler_info(n_workers=-1)["workers"].values()
        found = [(w["resources"], k) for w in workers for k in w["resources"]]
        found = [(resources, k) for resources, k in found if k.lower() == "gpu"]
        name = found[0][1] if found else "GPU"
        n_fits = sum(int(resources[k] / gpus + 1e-9) for resources, k in found)
        if workers and not n_fits:
            raise ValueError(
                f"trial_limits['gpu']={gpus:g}: no worker of Dask has this number of "
                'GPUs. Start workers with the option --resources "GPU=1".'
            )
        given = backend.submit_kwargs.get("resources", {})
        backend.submit_kwargs["resources"] = {**given, name: gpus}
        return backend, max(2, min(n_workers, n_fits or n_workers))
    if hasattr(backend, "ray_remote_args"):
        backend = compat.own_backend(backend)
        ray = sys.modules["ray"]
        if not ray.is_initialized():
            ray.init()
        # A fit runs on one node.
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        n_fits = sum(int(node.get("GPU", 0.0) / gpus + 1e-9) for node in nodes)
        if not n_fits:
            raise ValueError(
                f"trial_limits['gpu']={gpus:g}: no node of the cluster of Ray has this "
                "number of GPUs. On one machine, ray.init(num_gpus=...) sets it."
            )
        given = backend.ray_remote_args or {}
        backend.ray_remote_args = {**given, "num_gpus": gpus}
        return backend, max(2, min(n_workers, n_fits))
    return backend, n_workers
