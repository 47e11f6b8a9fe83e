# pyright: basic
"""TensorFlow's private names that the agent reads, and the names that it gives to functions.

Each private name is looked up once and may be missing. The name of a registered function shows the
Python function that it is a trace of, and the order of registration.
"""

import importlib
import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from kmonitor_agent.frameworks.base import missing_name_text

T = TypeVar("T")
_EAGER: Final = "tensorflow.python.eager"


@dataclass(frozen=True, slots=True)
class TensorFlowInternals:
    """Private names; a missing one is None, with the reason in `missing`.

    Attributes:
        functions: (scope, name) to reference count of every function that Python owns
            (`atomic_function.RUNTIME_FUNCTION_REFS`); newest last.
        function_type: Class of the objects that own a registered function.
        eager_context: Gives the eager context, or None while TensorFlow has not started.
        gradients: Name to entry of the gradient registry.
        func_graph: Class of a traced graph.
        branch_graphs: Classes of the graphs of conditions and loop bodies.
        default_graph_stack: Stack of graphs that code is building in.
        missing: Name of a field here to the reason.
    """

    functions: Mapping[tuple[int, bytes], int] | None = None
    function_type: type | None = None
    eager_context: Callable[[], Any] | None = None
    gradients: MutableMapping[str, Any] | None = None
    func_graph: type | None = None
    branch_graphs: tuple[type, ...] = ()
    default_graph_stack: Any = None
    missing: dict[str, str] = field(default_factory=dict[str, str])


def find_internals() -> TensorFlowInternals:
    """Look every private name up; TensorFlow must be imported already or be importable."""
    missing: dict[str, str] = {}

    def found(name: str, lookup: Callable[[], T]) -> T | None:
        """The result of `lookup`; None, and noted, where this version lacks the name."""
        try:
            return lookup()
        except (ImportError, AttributeError) as exc:
            missing[name] = missing_name_text("TensorFlow", exc)
            return None

    atomic = f"{_EAGER}.polymorphic_function.atomic_function"
    branches = "tensorflow.python.ops.control_flow_v2_func_graphs"
    ops = "tensorflow.python.framework.ops"
    return TensorFlowInternals(
        functions=found("functions", lambda: module_member(atomic, "RUNTIME_FUNCTION_REFS")),
        function_type=found("function_type", lambda: module_member(atomic, "AtomicFunction")),
        eager_context=found(
            "eager_context", lambda: module_member(f"{_EAGER}.context", "context_safe")
        ),
        gradients=found("gradients", lambda: module_member(ops, "gradient_registry")._registry),  # noqa: SLF001 - looked up, may be missing
        func_graph=found(
            "func_graph",
            lambda: module_member("tensorflow.python.framework.func_graph", "FuncGraph"),
        ),
        branch_graphs=found(
            "branch_graphs",
            lambda: (
                module_member(branches, "CondBranchFuncGraph"),
                module_member(branches, "WhileCondFuncGraph"),
                module_member(branches, "WhileBodyFuncGraph"),
            ),
        )
        or (),
        default_graph_stack=found(
            "default_graph_stack", lambda: module_member(ops, "_default_graph_stack")
        ),
        missing=missing,
    )


def module_member(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


_TRACE = re.compile(r"^__(?:inference|forward|backward)_(.*?)(?:_\d+)?$")
"""A function's name with TensorFlow's prefix and number; a gradient's has them twice."""

_CALL = re.compile(r"^__inference_(?!__)(?:.*_)?(\d+)$")
"""Name of the trace of a call, as opposed to its pair for gradients, and functions that it
calls."""


def is_trace_of_call(name: str) -> bool:
    """True if a registered function is the trace of a call of a Python function."""
    return _CALL.match(name) is not None


def registration_order(name: str) -> int:
    """Number that rises with each registered function; 0 if the name has none."""
    tail = name.rpartition("_")[2]
    return int(tail) if tail.isdigit() else 0


def traced_name(name: str) -> str:
    """Name of the Python function that a registered function is a trace of.

    Empty for a branch or loop body, which is part of a trace.
    """
    match = _TRACE.match(name)
    if match is None:
        return ""
    return traced_name(match.group(1)) or match.group(1)


def newest_number(functions: Mapping[tuple[int, bytes], int]) -> int | None:
    """Number at the end of the newest function's name, which rises; None if there is none."""
    try:
        _, name = next(reversed(cast("dict[tuple[int, bytes], int]", functions)))
    except (StopIteration, RuntimeError, TypeError):  # none, or another thread adds one
        return None
    digits = name.rpartition(b"_")[2]
    return int(digits) if digits.isdigit() else None
