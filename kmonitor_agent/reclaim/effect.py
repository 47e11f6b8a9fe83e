"""Whether an action gave anything back, as far as that can be measured."""

from kmonitor_agent.reclaim.outcome import Outcome
from kmonitor_agent.wire.messages.events import Footprint

_FREED_PART = 0.01
"""Memory that fell by less than this part may have fallen by itself."""


def gave_back(outcome: Outcome) -> bool:
    """Whether models were released, or the graph or memory is smaller than it was."""
    before, after = outcome.before, outcome.after
    if outcome.released_models or after is None:
        return True
    counts = ("graph_operations", "functions", "retained")
    # A reload releases the traces of its own model's step, and traces that anew.
    if outcome.released_traces and before.graph_operations is None:
        return True
    sizes = ("ram_process_bytes", "allocator_in_use_bytes")
    return any(_fell(before, after, name) for name in counts) or any(
        _fell(before, after, name, _FREED_PART) for name in sizes
    )


def why_nothing(outcome: Outcome) -> str:
    """What a collect or reload that gave nothing back found, for its record."""
    operations = None if outcome.after is None else outcome.after.graph_operations
    if not operations:
        return "there was nothing to release"
    return f"nothing was given back: the graph has {operations} operations as before"


def _fell(before: Footprint, after: Footprint, name: str, part: float = 0.0) -> bool:
    old, new = getattr(before, name), getattr(after, name)
    return old is not None and new is not None and new < old * (1.0 - part)
