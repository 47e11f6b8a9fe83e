"""Memory and load of the NVIDIA devices that this process uses, read by the driver (NVML).

Each absence has its reason. All of it runs on the agent's thread: a call of the driver may take a
millisecond.
"""

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.wire.messages.readings import MOST_MORE_DEVICES, DeviceSample, Reading

NO_DRIVER: Final = "no NVIDIA driver on this host"
_ODD: Final = "the module pynvml is not from nvidia-ml-py, or is damaged"


@dataclass(frozen=True, slots=True)
class DeviceLoad:
    """Utilisation, temperature and power of one device.

    Attributes:
        utilisation: Part of the time in which anything ran on it, 0..1.
        temperature: Temperature of the chip, degrees C.
        power: Power drawn by the card, watts.
    """

    utilisation: Reading
    temperature: Reading
    power: Reading

    def readings(self) -> dict[str, Reading]:
        """Readings by field of `DeviceSample`."""
        return {
            "utilisation_fraction": self.utilisation,
            "temperature_c": self.temperature,
            "power_w": self.power,
        }


@dataclass(frozen=True, slots=True)
class OtherDevice:
    """A device beside the first that this process uses too.

    Attributes:
        number: Index of the device among those that the process may see, from 1.
        used: Memory used by all processes, bytes.
        load: Utilisation, temperature and power.
    """

    number: int
    used: Reading
    load: DeviceLoad

    def readings(self) -> dict[str, Reading]:
        """Readings by field of `DeviceSample`."""
        return {"used_bytes": self.used, **self.load.readings()}

    def sample(self) -> DeviceSample:
        values = {name: reading.value for name, reading in self.readings().items()}
        return DeviceSample(number=self.number, **values)


@dataclass(frozen=True, slots=True)
class DeviceReadings:
    """Memory, bytes, and load of one device.

    Attributes:
        used: Used by all processes.
        process: Used by this process.
        load: Utilisation, temperature and power.
        others: Further devices that the driver lists this process on.
    """

    total: Reading
    used: Reading
    process: Reading
    load: DeviceLoad
    others: tuple[OtherDevice, ...] = ()


class Gpu:
    """Reads the first device that this process sees; owned by the agent's thread.

    The driver is loaded at the first reading, so that an instance costs nothing.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """Args: `environ`: Environment with CUDA_VISIBLE_DEVICES; None: the process's own."""
        self._environ = dict(os.environ if environ is None else environ)
        self._nvml: Any = None
        self._device: Any = None
        self._absent: DeviceReadings | None = None
        self._opened = False
        self._others: tuple[tuple[int, Any], ...] = ()

    def read(self) -> DeviceReadings:
        """Device memory now, or the reason why there is none."""
        if not self._opened:
            why = self._open()
            self._absent = all_missing(why) if why else None
            self._opened = True
        if self._absent is not None:
            return self._absent
        try:
            memory = self._nvml.nvmlDeviceGetMemoryInfo(self._device)
        except Exception as exc:  # noqa: BLE001 - a driver, or a library that is none
            return all_missing(f"the NVIDIA driver returned an error: {exc}")
        return DeviceReadings(
            total=Reading(float(memory.total), "bytes", "driver: NVML, device total"),
            used=Reading(float(memory.used), "bytes", "driver: NVML, all processes"),
            process=self._process_bytes(),
            load=_read_load(self._nvml, self._device),
            others=tuple(self._other(number, device) for number, device in self._others),
        )

    def name(self) -> str:
        """Device name from the driver; empty before the first reading or without a device."""
        if self._device is None:
            return ""
        try:
            raw_name = self._nvml.nvmlDeviceGetName(self._device)
        except Exception:  # noqa: BLE001 - a driver, or a library that is none
            return ""
        return raw_name.decode(errors="replace") if isinstance(raw_name, bytes) else str(raw_name)

    def find_other_devices(self) -> None:
        """Find the devices beside the first that this process uses; costs some milliseconds."""
        if self._device is None:
            return
        others: list[tuple[int, Any]] = []
        for number in range(1, MOST_MORE_DEVICES + 1):
            try:
                device = self._visible(number)
                if device is None:
                    break
                used = self._nvml.nvmlDeviceGetComputeRunningProcesses(device)
            except Exception:  # noqa: BLE001 - a driver, or a library that is none
                break
            if any(each.pid == os.getpid() for each in used):
                others.append((number, device))
        self._others = tuple(others)

    def _open(self) -> str:
        """Find the device; return the reason as text if there is none."""
        try:
            import pynvml  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
        except ImportError:
            return "nvidia-ml-py is not installed"
        try:
            pynvml.nvmlInit()
        except Exception as exc:  # noqa: BLE001 - a driver, or a library that is none
            return NO_DRIVER if _is_drivers(exc) else f"{_ODD}: {exc!r}"
        self._nvml = pynvml
        try:
            self._device = self._visible(0)
        except Exception as exc:  # noqa: BLE001 - a driver, or a library that is none
            return f"the NVIDIA driver shows no device to this process: {exc}"
        if self._device is None:
            return "no GPU is visible to this process (CUDA_VISIBLE_DEVICES)"
        return ""

    def _visible(self, number: int) -> Any:
        """Device that the process sees at this index; None if it sees none."""
        visible = self._environ.get("CUDA_VISIBLE_DEVICES")
        if visible is None:
            return self._nvml.nvmlDeviceGetHandleByIndex(number)
        named = visible.split(",")
        name = named[number].strip() if number < len(named) else ""
        if name in {"", "-1", "NoDevFiles"}:
            return None
        if name.isdigit():
            # CUDA numbers the fastest first unless set to the bus order that NVML uses; on hosts
            # with one kind of GPU both are the same.
            return self._nvml.nvmlDeviceGetHandleByIndex(int(name))
        return self._nvml.nvmlDeviceGetHandleByUUID(name.encode())

    def _other(self, number: int, device: Any) -> OtherDevice:
        try:
            used = Reading(
                float(self._nvml.nvmlDeviceGetMemoryInfo(device).used),
                "bytes",
                "driver: NVML, all processes",
            )
        except Exception as exc:  # noqa: BLE001 - a driver, or a library that is none
            used = Reading.missing("bytes", f"the NVIDIA driver returned an error: {exc}")
        return OtherDevice(number, used, _read_load(self._nvml, device))

    def _process_bytes(self) -> Reading:
        try:
            processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._device)
        except Exception as exc:  # noqa: BLE001 - a driver, or a library that is none
            return Reading.missing("bytes", f"the driver reports no per-process memory: {exc}")
        own_bytes = [each.usedGpuMemory for each in processes if each.pid == os.getpid()]
        if not own_bytes or own_bytes[0] is None:
            return Reading.missing(
                "bytes",
                "the driver lists no memory for this process ID: the device is not in use yet, "
                "or this is a container",
            )
        return Reading(float(own_bytes[0]), "bytes", "driver: NVML, this process")


def _is_drivers(exc: Exception) -> bool:
    return any(base.__name__ == "NVMLError" for base in type(exc).__mro__)


def all_missing(why: str) -> DeviceReadings:
    """Readings of a device that are all absent, for this reason."""
    missing = Reading.missing("bytes", why)
    return DeviceReadings(missing, missing, missing, no_load(why))


def no_load(why: str) -> DeviceLoad:
    """Load that is absent, for this reason."""
    missing = (Reading.missing(unit, why) for unit in (_FRACTION, _DEGREES, _WATTS))
    return DeviceLoad(*missing)


_FRACTION: Final = "1"

_DEGREES: Final = "degrees C"

_WATTS: Final = "W"

_ON_THE_CHIP: Final = 0
"""NVML's number of the sensor on the chip, the only one that NVML has."""


def _read_load(nvml: Any, device: Any) -> DeviceLoad:
    """Load of a device, from the driver.

    For a part of a card (MIG) the driver has no utilisation; temperature and power are the whole
    card's.
    """
    card, is_part = _card_of(nvml, device)
    of = ", for the whole GPU that contains this MIG instance" if is_part else ""
    return DeviceLoad(
        utilisation=_query(
            nvml,
            lambda: nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100.0,
            Reading(None, _FRACTION, "driver: NVML, fraction of time the device was busy"),
            why="MIG instances report no utilization" if is_part else "",
        ),
        temperature=_query(
            nvml,
            lambda: nvml.nvmlDeviceGetTemperature(card, _ON_THE_CHIP),
            Reading(None, _DEGREES, f"driver: NVML, chip{of}"),
        ),
        power=_query(
            nvml,
            lambda: nvml.nvmlDeviceGetPowerUsage(card) / 1000.0,
            Reading(None, _WATTS, f"driver: NVML, card{of}"),
        ),
    )


def _card_of(nvml: Any, device: Any) -> tuple[Any, bool]:
    """(card that a device is part of, True if the device is only a part of it)."""
    with contextlib.suppress(Exception):  # a driver or a library of before MIG
        if nvml.nvmlDeviceIsMigDeviceHandle(device):
            return nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device), True
    return device, False


def _query(nvml: Any, read: Callable[[], float], template: Reading, *, why: str = "") -> Reading:
    """Value from the driver, or the reason why there is none; never 0 for a missing value."""
    if why:
        return Reading.missing(template.unit, f"the driver reports {why}")
    try:
        return Reading(float(read()), template.unit, template.source)
    except Exception as exc:  # noqa: BLE001 - a driver, or a library that is none
        return Reading.missing(
            template.unit, f"the driver does not report it for this device: {exc}"
        )
