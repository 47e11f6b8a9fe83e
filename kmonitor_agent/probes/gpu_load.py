"""How busy and how warm a device is, by the driver (NVML)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kmonitor_agent.wire.messages.reading import Reading

_FRACTION: Final = "1"
_DEGREES: Final = "degrees C"
_WATTS: Final = "W"
_ON_THE_CHIP: Final = 0
"""NVML's number of the sensor on the chip, the only one that it knows."""


@dataclass(frozen=True, slots=True)
class DeviceLoad:
    """Of one device.

    Attributes:
        utilisation: Part of the time in which anything ran on it, 0..1.
        temperature: Of the chip, degrees C.
        power: Drawn by the card, watts.
    """

    utilisation: Reading
    temperature: Reading
    power: Reading

    def readings(self) -> dict[str, Reading]:
        """By the end of the fields' names."""
        return {
            "utilisation_fraction": self.utilisation,
            "temperature_c": self.temperature,
            "power_w": self.power,
        }


def no_load(why: str) -> DeviceLoad:
    """Nothing was read."""
    missing = (Reading.missing(unit, why) for unit in (_FRACTION, _DEGREES, _WATTS))
    return DeviceLoad(*missing)


def read_load(nvml: Any, device: Any) -> DeviceLoad:
    """Ask the driver; on the agent's thread, since each question may take a millisecond.

    Of a part of a card (MIG) the driver tells no utilisation; temperature and power are the whole
    card's.

    Args:
        nvml: The module.
        device: A handle.
    """
    card, is_part = _card_of(nvml, device)
    of = ", the whole card of this MIG instance" if is_part else ""
    return DeviceLoad(
        utilisation=_asked(
            nvml,
            lambda: nvml.nvmlDeviceGetUtilizationRates(device).gpu / 100.0,
            Reading(None, _FRACTION, "driver: NVML, time in which anything ran on the device"),
            why="no utilisation of a MIG instance" if is_part else "",
        ),
        temperature=_asked(
            nvml,
            lambda: nvml.nvmlDeviceGetTemperature(card, _ON_THE_CHIP),
            Reading(None, _DEGREES, f"driver: NVML, chip{of}"),
        ),
        power=_asked(
            nvml,
            lambda: nvml.nvmlDeviceGetPowerUsage(card) / 1000.0,
            Reading(None, _WATTS, f"driver: NVML, card{of}"),
        ),
    )


def _card_of(nvml: Any, device: Any) -> tuple[Any, bool]:
    """The card that a device is part of, and whether it is only a part."""
    try:
        if nvml.nvmlDeviceIsMigDeviceHandle(device):
            return nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device), True
    except (nvml.NVMLError, AttributeError):
        pass  # a driver or a library of before MIG
    return device, False


def _asked(nvml: Any, ask: Callable[[], float], found: Reading, *, why: str = "") -> Reading:
    """A value as the driver gives it, or why it does not; never 0 for what was not measured."""
    if why:
        return Reading.missing(found.unit, f"the driver tells {why}")
    try:
        return Reading(float(ask()), found.unit, found.source)
    except (nvml.NVMLError, AttributeError) as exc:
        return Reading.missing(found.unit, f"the driver does not tell it for this device: {exc}")
