"""The columns that a sample fills: one a field, and those that only some runs have."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kmonitor_agent.wire.messages.readings import DeviceNow, Sample

STEP_LOG_PREFIX: Final = "batch:"
"""Before the name of a log as it stands within an epoch."""

DEVICE_FIELDS: Final = tuple(DeviceNow.__struct_fields__[1:])
"""What is read of each device beside the first."""

MAX_COLUMN: Final = 64
"""Letters of a column's name; a longer log is known by its beginning."""

SAMPLE_COLUMNS: Final = tuple(
    field
    for field in Sample.__struct_fields__
    if field not in {"t_s", "fit", "epoch", "step", "logs", "more_devices"}
)
"""Fields of `Sample` that are columns."""

_DEVICE: Final = "device"


def device_column(number: int, field: str) -> str:
    """The column of one field of a device beside the first: "device1_power_w"."""
    return f"{_DEVICE}{number}_{field}"


def device_of(column: str) -> tuple[int, str] | None:
    """Number and field of such a column; None for any other."""
    number, _, field = column.removeprefix(_DEVICE).partition("_")
    if not column.startswith(_DEVICE) or not number.isdigit() or field not in DEVICE_FIELDS:
        return None
    return int(number), field


def is_of_samples(column: str) -> bool:
    """Whether samples fill this column."""
    return column in SAMPLE_COLUMNS or is_extra(column)


def is_extra(column: str) -> bool:
    """Whether samples fill this column in some runs only."""
    return column.startswith(STEP_LOG_PREFIX) or device_of(column) is not None


def extra_values(
    logs: Mapping[str, float], devices: Iterable[DeviceNow]
) -> Iterator[tuple[str, float]]:
    """Column and value of what only some runs have; what was not read is left out.

    Args:
        logs: Of a sample.
        devices: Likewise.
    """
    for name, value in logs.items():
        yield f"{STEP_LOG_PREFIX}{name}"[:MAX_COLUMN], value
    for device in devices:
        for field in DEVICE_FIELDS:
            value = getattr(device, field)
            if value is not None:
                yield device_column(device.number, field), value
