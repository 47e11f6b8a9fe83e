"""Samples and epochs of a run as one CSV table.

Columns: `seq`, `t_s` and `type` ("sample" or "epoch_end"), then every field of a sample, then
those of an epoch's end that a sample lacks (its step times as `step_times.p50_s` and so on),
then one column `log:NAME` for each of Keras' logs. Bytes, seconds and operations; an empty cell
was not read.
"""

import csv
from collections.abc import Sequence
from typing import Any, TextIO

from kmonitor_agent.protocol.facts import EpochEnded, Sample, StepTimes

CSV_KINDS = ("sample", "epoch_end")
"""Event types in the table."""

_APART = ("logs", "step_times")


def columns(events: Sequence[dict[str, Any]]) -> list[str]:
    """Column titles for these events; the same for every run but for its logs."""
    fields = ["seq", "t_s", "type", *Sample.__struct_fields__]
    fields += [name for name in EpochEnded.__struct_fields__ if name not in _APART]
    fields += [f"step_times.{name}" for name in StepTimes.__struct_fields__]
    fields += [f"log:{name}" for event in events for name in event.get("logs", {})]
    return list(dict.fromkeys(fields))


def write_csv(events: Sequence[dict[str, Any]], file: TextIO) -> int:
    """Write the table.

    Args:
        events: Objects of `event_stream.event_object`.
        file: Open for writing.

    Returns:
        Lines written, without the titles.
    """
    writer = csv.DictWriter(file, columns(events), restval="", lineterminator="\n")
    writer.writeheader()
    for event in events:
        writer.writerow(_flat(event))
    return len(events)


def _flat(event: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in event.items() if key not in _APART}
    flat |= _prefixed("step_times.", event.get("step_times"))
    flat |= _prefixed("log:", event.get("logs"))
    return {key: "" if value is None else value for key, value in flat.items()}


def _prefixed(prefix: str, part: dict[str, Any] | None) -> dict[str, Any]:
    return {f"{prefix}{key}": value for key, value in (part or {}).items()}
