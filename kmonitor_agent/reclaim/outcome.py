"""Result of a save, collect or reload, and the measure of whether it freed anything."""

from dataclasses import dataclass
from typing import Literal

from kmonitor_agent.wire.messages.commands import ReloadMode
from kmonitor_agent.wire.messages.events import Footprint

ReclaimAction = Literal["save", "collect", "reload"]


@dataclass(frozen=True, slots=True)
class ReclaimOutcome:
    """Result of one action; the fields mean what they mean in `ActionRecord`.

    Attributes:
        ok: Whether it did what was requested.
        action: The requested one.
        seconds: How long the training waited.
        before: Just before.
        after: Just after; None when nothing was changed.
        mode: How a reload's variables came back; empty otherwise.
        variables: Variables saved.
        state_bytes: Their size, bytes.
        checkpoint: File name of the checkpoint, or empty.
        checksum: Of the saved state, verified by reading back.
        released_traces: Traces released.
        released_models: Dead models that they belonged to.
        disused_traces: Those of the released that no dead model had.
        held: What is still held and by whom.
        why: What failed or was left out; empty when all went well.
        export: File name of the `.keras` file beside the checkpoint, or empty.
        unchanged: Why a collect or reload gave nothing back; empty when it did, or failed.
        not_saved: What trains the model and is not in the checkpoint, in words.
    """

    ok: bool
    action: ReclaimAction
    seconds: float
    before: Footprint
    after: Footprint | None = None
    mode: ReloadMode | Literal[""] = ""
    variables: int = 0
    state_bytes: int = 0
    checkpoint: str = ""
    checksum: str = ""
    released_traces: int = 0
    released_models: int = 0
    disused_traces: int = 0
    held: tuple[str, ...] = ()
    why: str = ""
    export: str = ""
    unchanged: str = ""
    not_saved: tuple[str, ...] = ()


_FREED_PART = 0.01
"""Memory that fell by less than this part may have fallen by itself."""


def freed_something(outcome: ReclaimOutcome) -> bool:
    """Whether models were released, or the graph or memory is smaller than it was."""
    before = outcome.before
    after = outcome.after
    if outcome.released_models or after is None:
        return True
    counts = ("graph_operations", "functions", "retained")
    # A reload releases the traces of its own model's step, which is then traced again.
    if outcome.released_traces and before.graph_operations is None:
        return True
    sizes = ("ram_process_bytes", "allocator_in_use_bytes")
    return any(_fell(before, after, name) for name in counts) or any(
        _fell(before, after, name, _FREED_PART) for name in sizes
    )


def nothing_freed_text(outcome: ReclaimOutcome) -> str:
    """Note for the record of a collect or reload that freed nothing."""
    operations = None if outcome.after is None else outcome.after.graph_operations
    if not operations:
        return "there was nothing to release"
    return f"nothing was released: the graph still has {operations} operations"


def _fell(before: Footprint, after: Footprint, name: str, part: float = 0.0) -> bool:
    old = getattr(before, name)
    new = getattr(after, name)
    return old is not None and new is not None and new < old * (1.0 - part)
