"""The NVIDIA device that this process uses, by the driver (NVML); every absence has its reason."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.reading import Reading

NO_DRIVER: Final = "no NVIDIA driver on this host"


@dataclass(frozen=True, slots=True)
class DeviceReadings:
    """Memory of one device, bytes.

    Attributes:
        total: All of it.
        used: Used by all processes.
        process: Used by this process.
    """

    total: Reading
    used: Reading
    process: Reading


class Gpu:
    """Reads the device that this process sees first; owned by the agent's thread.

    The driver is asked at the first reading, so that making one costs nothing.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """Remember what the process may see.

        Args:
            environ: Environment with CUDA_VISIBLE_DEVICES; None: the process's own.
        """
        self._environ = dict(os.environ if environ is None else environ)
        self._nvml: Any = None
        self._device: Any = None
        self._absent = ""
        self._opened = False

    def read(self) -> DeviceReadings:
        """Device memory now, or why there is none."""
        if not self._opened:
            self._opened = True
            self._absent = self._open()
        if self._absent:
            return _all_missing(self._absent)
        try:
            memory = self._nvml.nvmlDeviceGetMemoryInfo(self._device)
        except self._nvml.NVMLError as exc:
            return _all_missing(f"the NVIDIA driver answered: {exc}")
        return DeviceReadings(
            total=Reading(float(memory.total), "bytes", "driver: NVML, device total"),
            used=Reading(float(memory.used), "bytes", "driver: NVML, all processes"),
            process=self._process_bytes(),
        )

    def _open(self) -> str:
        """Find the device; the reason in words when there is none."""
        try:
            import pynvml  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            return "nvidia-ml-py is not installed"
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError:
            return NO_DRIVER
        self._nvml = pynvml
        try:
            self._device = self._first_visible()
        except (pynvml.NVMLError, ValueError) as exc:
            return f"the NVIDIA driver shows no device to this process: {exc}"
        if self._device is None:
            return "no GPU is visible to this process (CUDA_VISIBLE_DEVICES)"
        return ""

    def _first_visible(self) -> Any:
        visible = self._environ.get("CUDA_VISIBLE_DEVICES")
        if visible is None:
            return self._nvml.nvmlDeviceGetHandleByIndex(0)
        first = visible.split(",")[0].strip()
        if first in {"", "-1", "NoDevFiles"}:
            return None
        if first.isdigit():
            # CUDA numbers the fastest first unless told to use the bus order that NVML uses; on
            # hosts with one kind of GPU both are the same.
            return self._nvml.nvmlDeviceGetHandleByIndex(int(first))
        return self._nvml.nvmlDeviceGetHandleByUUID(first.encode())

    def _process_bytes(self) -> Reading:
        try:
            processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._device)
        except self._nvml.NVMLError as exc:
            return Reading.missing("bytes", f"the driver reports no per-process memory: {exc}")
        mine = [each.usedGpuMemory for each in processes if each.pid == os.getpid()]
        if not mine or mine[0] is None:
            return Reading.missing(
                "bytes",
                "the driver lists no memory under this process's id:"
                " the device is not in use yet, or this is a container",
            )
        return Reading(float(mine[0]), "bytes", "driver: NVML, this process")


def _all_missing(why: str) -> DeviceReadings:
    missing = Reading.missing("bytes", why)
    return DeviceReadings(missing, missing, missing)
