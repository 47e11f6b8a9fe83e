"""Samples and epochs of a run as one table: its columns, their units and where they come from.

Columns: `seq`, `t_s` and `type` ("sample" or "epoch_end"), then every field of a sample, then
those of an epoch's end that a sample lacks (its step times as `step_times.p50_s` and so on),
then one column `log:NAME` for each of Keras' logs at an epoch's end, `batch:NAME` for one as it
stood within an epoch when the sample was taken, and `deviceN_...` for each further device. Bytes,
seconds, operations, degrees C, watts; an empty cell was not read.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from kmonitor_agent.wire.messages.events import (
    DeviceNow,
    EpochEnded,
    Event,
    Sample,
    SourceOf,
    StepTimes,
)
from kmonitor_agent.wire.messages.sample_columns import STEP_LOG_PREFIX, extra_values

TABLE_KINDS: Final = ("sample", "epoch_end")
"""Event types in the table."""

_APART: Final = ("logs", "step_times", "more_devices")
_STEPS: Final = "step_times."
_LOG: Final = "log:"
_WHOLE: Final = frozenset({"seq", "fit", "epoch", "step", "steps", f"{_STEPS}count"})
_SUFFIX_UNITS: Final = {"_bytes": "bytes", "_s": "seconds", "_c": "degrees C", "_w": "W"}
_UNITS: Final = {
    "seconds": "seconds",
    "graph_operations": "operations",
    "functions": "functions",
    "steps": "steps",
    "step": "steps",
    f"{_STEPS}count": "steps",
}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column.

    Attributes:
        name: Its title.
        kind: What its cells hold.
        unit: "bytes", "seconds", ...; empty for what has none.
        source: Where its values come from; empty where nobody told.
        absent: Why it is empty; itself empty where values were read.
    """

    name: str
    kind: Literal["text", "whole", "number"]
    unit: str = ""
    source: str = ""
    absent: str = ""


def table_columns(
    log_names: Iterable[str], sources: Iterable[SourceOf], *, extras: Iterable[str] = ()
) -> list[TableColumn]:
    """The columns of a run; the same for every run but for its logs and further devices.

    Args:
        log_names: Of Keras' logs, in the order in which they appear.
        sources: As the run told them; the last one of a field counts.
        extras: Columns that samples of this run fill beside those of every run.
    """
    names = ["seq", "t_s", "type", *_fields_of(Sample)]
    names += _fields_of(EpochEnded)
    names += [f"{_STEPS}{name}" for name in StepTimes.__struct_fields__]
    names += [f"{_LOG}{name}" for name in log_names]
    names += extras
    known = {source.field: source for source in sources}
    return [_column(name, known.get(name)) for name in dict.fromkeys(names)]


def cells(event: dict[str, Any]) -> dict[str, Any]:
    """An event's cells by column; what was not read is left out or None.

    Args:
        event: Of `events.event_object`, of one of `TABLE_KINDS`.
    """
    flat = {key: value for key, value in event.items() if key not in _APART}
    flat |= _prefixed(_STEPS, event.get("step_times"))
    if event.get("type") == "sample":
        devices = [DeviceNow(**each) for each in event.get("more_devices", [])]
        return flat | dict(extra_values(event.get("logs", {}), devices))
    return flat | _prefixed(_LOG, event.get("logs"))


def _fields_of(kind: type[Event]) -> list[str]:
    return [name for name in kind.__struct_fields__ if name not in _APART]


def _column(name: str, source: SourceOf | None) -> TableColumn:
    kind = "text" if name == "type" else "whole" if name in _WHOLE else "number"
    if source is None:
        return TableColumn(name, kind, _unit(name))
    return TableColumn(name, kind, source.unit or _unit(name), source.source, source.absent)


def _unit(name: str) -> str:
    if name.startswith((_LOG, STEP_LOG_PREFIX)):
        return ""
    suffixes = (unit for suffix, unit in _SUFFIX_UNITS.items() if name.endswith(suffix))
    return _UNITS.get(name) or next(suffixes, "")


def _prefixed(prefix: str, part: dict[str, Any] | None) -> dict[str, Any]:
    return {f"{prefix}{key}": value for key, value in (part or {}).items()}
