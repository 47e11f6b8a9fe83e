"""Stored events of a run as sentences."""

from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from kmonitor.cli.common.terminal import terminal_lines
from kmonitor.export.events import decode_row
from kmonitor.ui.events.diagnosis import finding_lines
from kmonitor.ui.events.event_log import event_line
from kmonitor.ui.runs.epoch_parts import parts_text
from kmonitor.ui.runs.step_times import slow_steps_text
from kmonitor.ui.text.formats import (
    bytes_text,
    count_text,
    duration_text,
    number_text,
    seconds_text,
)
from kmonitor.ui.verdicts.verdict_text import verdict_log_text
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    Diagnosis,
    EpochEnded,
    FieldSources,
    GraphSize,
    Sample,
    Verdict,
)
from kmonitor_agent.wire.messages.unions import EventRow

_HEAD_CELLS: Final = 14
_SHORT_S: Final = 10.0
_MARKS = {"info": " ", "warning": "!", "error": "X"}


@dataclass(frozen=True, slots=True)
class EpochMemory:
    """Memory and graph at an epoch's end, from the last samples; None: not read.

    Attributes:
        ram_bytes: Metric RAM.
        vram_bytes: Metric VRAM, or memory handed out by the CPU's allocator.
        operations: Graph size.
        vram_title: Name of `vram_bytes`.
    """

    ram_bytes: float | None = None
    vram_bytes: float | None = None
    operations: float | None = None
    vram_title: str = "VRAM"

    def after(self, event: AnyEvent | None) -> "EpochMemory":
        """Copy updated by a later event."""
        match event:
            case GraphSize():
                return replace(self, operations=event.operations)
            case FieldSources():
                sources = {each.field: each.source.casefold() for each in event.sources}
                is_cpu = "cpu" in sources.get("vram_bytes", self.vram_title.casefold())
                return replace(self, vram_title="allocator (CPU)" if is_cpu else "VRAM")
            case Sample():
                return replace(
                    self,
                    ram_bytes=event.ram_bytes or self.ram_bytes,
                    vram_bytes=event.vram_bytes or self.vram_bytes,
                    operations=event.graph_operations or self.operations,
                )
            case _:
                return self

    def texts(self) -> list[str]:
        """Texts of the known values: "RAM 1.2 GiB", "VRAM 500 MiB", "graph 3 456"."""
        named = (
            ("RAM", self.ram_bytes, bytes_text),
            (self.vram_title, self.vram_bytes, bytes_text),
            ("graph", self.operations, count_text),
        )
        return [f"{name} {text(value)}" for name, value, text in named if value is not None]


NO_MEMORY: Final = EpochMemory()


def event_text(row: EventRow, *, name: str, memory: EpochMemory | None = None) -> str:
    """A row as lines no wider than the terminal. Args: see `event_lines`."""
    return "\n".join(map(_wrapped, event_lines(row, name=name, memory=memory)))


def timed_text(t_s: float, text: str) -> str:
    """A sentence with its run time, in lines no wider than the terminal."""
    return _wrapped(_timed_line(t_s, text))


def _wrapped(line: str) -> str:
    return f"{line[:_HEAD_CELLS]}{terminal_lines(line[_HEAD_CELLS:], indent=_HEAD_CELLS)}"


def _timed_line(t_s: float, text: str, mark: str = " ") -> str:
    return f"{t_s:9.1f} s {mark} {text}"


def event_lines(row: EventRow, *, name: str, memory: EpochMemory | None = None) -> list[str]:
    """A row as a line: run time, level, and text; then the findings of a diagnosis.

    Args:
        memory: Memory to print with each epoch's end; None: epoch ends are in the table.

    Returns:
        Lines with narrow spaces and unchecked text of the training; none if the row has no text.
    """
    event = decode_row(row)
    if event is None:
        return []
    if memory is not None and isinstance(event, EpochEnded):
        return [_timed_line(row.t_s, epoch_end_text(event, memory))]
    line = event_line(event, name=name)
    if line is None:
        return []
    findings = finding_lines(event) if isinstance(event, Diagnosis) else []
    text = line.text
    if isinstance(event, Verdict):
        # Beside the table of epochs, the verdicts with all that is ruled out are further up.
        said = structs.replace(event, ruled_out=[]) if memory is None else event
        text = verdict_log_text(said, has_unit=True)
    return [
        _timed_line(row.t_s, text, _MARKS[line.level]),
        *(f"{' ' * _HEAD_CELLS}  {found}" for found in findings),
    ]


def epoch_end_text(event: EpochEnded, memory: EpochMemory = NO_MEMORY) -> str:
    """An epoch's end: time, memory, graph size, step time and logs."""
    parts = [
        f"Epoch {event.epoch + 1} of fit {event.fit} took {_epoch_duration_text(event.seconds)}",
        *memory.texts(),
    ]
    if event.step_times is not None:
        parts.append(f"step {seconds_text(event.step_times.step_s)}")
        parts += filter(None, [slow_steps_text(event.step_times, event.parts)])
    if event.parts is not None:
        parts.append(parts_text(event.parts))
    parts += [f"{key} {number_text(value)}" for key, value in event.logs.items()]
    return ", ".join(parts)


def _epoch_duration_text(seconds: float) -> str:
    """Duration of an epoch; a short one is not "0 s"."""
    return duration_text(seconds) if seconds >= _SHORT_S else seconds_text(seconds)
