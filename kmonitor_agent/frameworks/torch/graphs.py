# pyright: basic
"""Graphs on PyTorch: those that `torch.compile` captured; by default Keras runs without any."""

from typing import Any, Final

from kmonitor_agent.frameworks.base import GraphCount
from kmonitor_agent.frameworks.missing_names import lacking
from kmonitor_agent.frameworks.torch.torch_internals import dynamo_counts
from kmonitor_agent.wire.messages.events import FunctionTraces
from kmonitor_agent.wire.messages.reading import Reading

SOURCE: Final = "torch.compile: calls captured since the start or the last reload"
_EAGER: Final = (
    "Keras on PyTorch runs its steps without a graph; compile(jit_compile=True) makes graphs"
)
_UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError)


class TorchGraphs:
    """Counts what was captured; `count` belongs to the training thread, `number` to any.

    PyTorch only counts upwards. What was counted when the graphs were dropped is taken off.
    """

    def __init__(self) -> None:
        self._dropped = {"graphs": 0, "calls": 0}

    def count(self) -> GraphCount:
        """Captured graphs and the calls in them now; microseconds."""
        found, why = self._found()
        if why:
            return GraphCount(operations=None, absent=why)
        calls, graphs = found["calls"], found["graphs"]
        each = FunctionTraces(name="torch.compile", traces=graphs, operations=calls)
        return GraphCount(
            operations=calls, traces=graphs, functions=graphs, by_function=(each,), source=SOURCE
        )

    def number(self) -> Reading:
        """Captured graphs; any thread."""
        found, why = self._found()
        if why:
            return Reading.missing("functions", why)
        source = "torch.compile: graphs captured since the start or the last reload"
        return Reading(float(found["graphs"]), "functions", source)

    def why_unreadable(self) -> str:
        """Why this PyTorch cannot be read at all; empty when it can, with graphs or without."""
        return _counts()[1]

    def all_dropped(self) -> None:
        """All graphs were let go of."""
        self._dropped = _counts()[0]

    def _found(self) -> tuple[dict[str, int], str]:
        counts, why = _counts()
        dropped = self._dropped
        found = {name: max(0, number - dropped[name]) for name, number in counts.items()}
        if not why and not counts["graphs"]:
            why = _EAGER
        return found, why


def _counts() -> tuple[dict[str, Any], str]:
    try:
        return dynamo_counts(), ""
    except _UNREADABLE as exc:
        why = lacking("PyTorch", exc)[:300]
        return {"graphs": 0, "calls": 0}, why
