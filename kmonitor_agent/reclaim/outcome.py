"""Result of a save, collect or reload, and the measure of whether it freed anything."""

from dataclasses import dataclass
from typing import Literal

from kmonitor_agent.wire.messages.commands import ReloadMode
from kmonitor_agent.wire.messages.events import Footprint

ReclaimAction = Literal["save", "collect", "reload"]


@dataclass(frozen=True, slots=True)
class ReclaimOutcome:
    """Result of one action, with fields as in `ActionRecord`.

    Attributes:
        ok: True if the action succeeded.
        seconds: Time that the training waited, seconds.
        before: Memory and graph just before.
        after: Memory and graph just after; None if nothing was changed.
        mode: Mode in which a reload restored its variables; empty otherwise.
        variables: Number of saved variables.
        state_bytes: Size of the saved variables, bytes.
        checkpoint: File name of the checkpoint, or empty.
        checksum: Checksum of the saved state, verified by reading back.
        released_traces: Number of released traces.
        released_models: Number of dead models that they belonged to.
        disused_traces: Number of released traces that no dead model had.
        held: Traces that are still held, with their holders, as text.
        why: Failures and omissions, as text; empty if there were none.
        export: File name of the `.keras` file beside the checkpoint, or empty.
        unchanged: Reason why a collect or reload freed nothing; empty if it freed something, or
            failed.
        not_saved: Optimizers that train the model and are not in the checkpoint, as texts.
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
"""Minimum part by which memory must fall; less may be due to chance."""


def freed_something(outcome: ReclaimOutcome) -> bool:
    """True if models were released, or the graph or memory is smaller than before."""
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
