"""Results of actions, which print as text."""

from dataclasses import dataclass
from typing import Final

from kmonitor_agent.wire.messages.events import ActionRecord, Footprint
from kmonitor_agent.wire.text import binary_size

_NAMES: Final = {
    "save": "Save",
    "collect": "Collect",
    "reload": "Save + clear + reload",
    "restart": "Restart",
    "diagnose": "Diagnose",
    "stop": "Stop",
    "pause": "Pause",
    "resume": "Resume",
    "notify": "Notify",
}
_MODES: Final = {"recreate": ", variables recreated,", "rebuild": ", model recreated,"}
"""Text for the mode of a reload that did more than assign values."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Result of one action, with its changes; `print` shows it in a few lines.

    Attributes:
        event: The record that is sent to the hub, with all details.
    """

    event: ActionRecord

    @property
    def action(self) -> str:
        """Name of the action: "save", "collect", "reload", "restart", "diagnose", "stop", ..."""
        return self.event.action

    @property
    def ok(self) -> bool:
        """True if the action succeeded."""
        return self.event.ok

    @property
    def why(self) -> str:
        """Failures and omissions, as text; empty if there were none."""
        return self.event.why

    def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        """Return a head line, then the changes, what is still held, and failures, one per line."""
        event = self.event
        state = _state(event)
        part = f", part of {event.part_of}" if event.part_of else ""
        head = (
            f"{_NAMES[event.action]}{_MODES.get(event.mode, '')} {state} in {event.seconds:.2f}"
            f" s (fit {event.fit}, epoch {event.epoch + 1}, requested by"
            f" {event.requested_by}{part})"
        )
        return "\n  ".join(
            [head, *_changes(event), *event.held, *filter(None, (event.unchanged, event.why))]
        )

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        return str(self)  # notebooks show it


class ActionResults(list[ActionResult]):
    """Results of all actions of a run, oldest first; prints one after the other."""

    def __repr__(self) -> str:  # pyright: ignore[reportImplicitOverride]
        return "\n".join(str(record) for record in self) or "nothing has been done yet"


def released_text(traces: int, models: int, disused: int) -> str:
    """Text such as "released 4 traces of 2 dead models and 1 no longer used by any model".

    Args:
        traces: Number of released traces, at least 1.
        models: Number of dead models that had some of these traces; 0 if unknown.
        disused: Number of these traces that no dead model had.
    """
    parts: list[str] = []
    if traces > disused:
        dead = f" of {counted_text(models, 'dead model')}" if models else ""
        parts.append(f"{counted_text(traces - disused, 'trace')}{dead}")
    if disused:
        count = count_text(disused) if parts else counted_text(disused, "trace")
        parts.append(f"{count} no longer used by any model")
    return f"released {' and '.join(parts)}"


def _state(event: ActionRecord) -> str:
    if not event.ok:
        return "failed"
    return "changed nothing" if event.unchanged else "done"


def _changes(event: ActionRecord) -> list[str]:
    lines: list[str] = []
    if event.checkpoint:
        size = binary_size(event.state_bytes)
        lines.append(f"saved {event.variables} variables, {size}, as {event.checkpoint}")
    lines.extend(event.not_saved)
    if event.export:
        lines.append(f"exported as {event.export}")
    if event.after is not None:
        lines.extend(_differences(event.before, event.after))
    if event.released_traces:
        # A reload also lets go of the live model's own.
        names_owners = event.action != "reload"
        models = event.released_models
        disused = event.disused_traces
        lines.append(
            released_text(event.released_traces, models * names_owners, disused * names_owners)
        )
    return lines


def counted_text(count: int, noun: str) -> str:
    """A number with its noun: "1 trace", "2 100 traces"."""
    return f"{count_text(count)} {noun}{'' if count == 1 else 's'}"


def _differences(before: Footprint, after: Footprint) -> list[str]:
    pairs = [
        ("graph", before.graph_operations, after.graph_operations, count_text),
        ("functions", before.functions, after.functions, count_text),
        ("RAM", before.ram_process_bytes, after.ram_process_bytes, binary_size),
        (
            "allocator",
            before.allocator_in_use_bytes,
            after.allocator_in_use_bytes,
            binary_size,
        ),
    ]
    return [
        f"{name} {text(old)} -> {text(new)}"
        for name, old, new, text in pairs
        if old is not None and new is not None
    ]


def count_text(count: float) -> str:
    """A whole number with its thousands separated by spaces."""
    return f"{count:,.0f}".replace(",", " ")
