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
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from skbayes.utils.file_lock import file_lock, is_busy

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
                stack.enter_context(file_lock(path, patience=0.0))
            except sqlite3.Error as error:
                if is_busy(error):
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


def n_slots(n_devices: float, gpus: float) -> int:
    """Return the number of fits with `gpus` each that have devices."""
    return int(n_devices / gpus + 1e-9)


def slots_here(gpus: float, devices: Sequence[str] | None = None) -> list[Slot]:
    """Return the slots of fits that need so many GPUs each, on this machine.

    ValueError is raised if there is none.
    """
    devices = visible_devices() if devices is None else devices
    # Fits share a device only if no other one is free.
    shares, size = range(max(1, n_slots(1.0, gpus))), max(1, int(gpus))
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
