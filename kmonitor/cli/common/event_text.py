"""Stored events of a run as sentences."""

from typing import Final

from kmonitor.cli.common.terminal import terminal_safe
from kmonitor.export.events import decode_row
from kmonitor.ui.events.diagnosis import finding_lines
from kmonitor.ui.events.event_log import event_line
from kmonitor.ui.runs.epoch_parts import parts_text
from kmonitor.ui.runs.step_times import slow_steps_text
from kmonitor.ui.text.formats import duration_text, number_text, seconds_text, with_plain_spaces
from kmonitor_agent.wire.messages.events import Diagnosis, EpochEnded
from kmonitor_agent.wire.messages.unions import EventRow

_INDENT = " " * 16
_SHORT_S: Final = 10.0
_MARKS = {"info": " ", "warning": "!", "error": "X"}


def event_text(row: EventRow, *, name: str, epochs: bool = False) -> str:
    """A row as a line: run time, level, and text; empty if there is none.

    The findings of a diagnosis follow on lines of their own.

    Args:
        row: The row.
        name: The run's name.
        epochs: Also print each epoch's end, which otherwise is in the table.
    """
    event = decode_row(row)
    if event is None:
        return ""
    if epochs and isinstance(event, EpochEnded):
        return _line(row, " ", epoch_end_text(event))
    line = event_line(event, name=name)
    if line is None:
        return ""
    lines = [_line(row, _MARKS[line.level], line.text)]
    if isinstance(event, Diagnosis):
        lines += [
            f"{_INDENT}{terminal_safe(with_plain_spaces(found))}" for found in finding_lines(event)
        ]
    return "\n".join(lines)


def epoch_end_text(event: EpochEnded) -> str:
    """An epoch's end: time, step time and logs."""
    parts = [
        f"Epoch {event.epoch + 1} of fit {event.fit} took {_epoch_duration_text(event.seconds)}"
    ]
    if event.step_times is not None:
        parts.append(f"step {seconds_text(event.step_times.p50_s)}")
        parts += filter(None, [slow_steps_text(event.step_times, event.parts)])
    if event.parts is not None:
        parts.append(parts_text(event.parts))
    parts += [f"{key} {number_text(value)}" for key, value in event.logs.items()]
    return ", ".join(parts)


def _epoch_duration_text(seconds: float) -> str:
    """Duration of an epoch; a short one is not "0 s"."""
    return duration_text(seconds) if seconds >= _SHORT_S else seconds_text(seconds)


def _line(row: EventRow, mark: str, text: str) -> str:
    return f"{row.t_s:9.1f} s {mark} {terminal_safe(with_plain_spaces(text))}"
