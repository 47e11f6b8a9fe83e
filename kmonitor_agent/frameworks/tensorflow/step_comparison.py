# pyright: basic
"""Comparison of a step function with the same one traced again.

A value that Python code reads while it is traced becomes a constant of the graph: an attribute a
callback has changed since, a random number. The step that runs goes on with the old value; traced
again it would have the new one. So before a reload lets a step go, a new one is traced for the
same arguments (`step_arguments`, `retrace`), and the definitions of both are compared, node by
node, through every function that they call (`is_same_step`). Names do not count: TensorFlow
numbers them.
"""

import hashlib
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.live_objects import closure_values
from kmonitor_agent.frameworks.script_values import class_attribute

_IGNORED: Final = frozenset({"_class", "_gradient_op_type", "token"})
"""Attributes with a number or name of one trace: a location, a gradient, a Python function."""


def traced_functions(step: Any) -> Iterator[Any]:
    """Every tf.function that a step function consists of, each once; none when run eagerly.

    Keras 3.6 gives a tf.function around others, newer ones a plain function around them.
    """
    todo = [step]
    seen = {id(step): step}
    while todo:
        function = todo.pop()
        # By its class: the model itself is in the closure too.
        if class_attribute(type(function), "experimental_get_tracing_count") is not None:
            yield function
            function = getattr(function, "python_function", None)
        if type(function) is FunctionType:
            inner = {id(value): value for value in closure_values(function)}
            todo.extend(value for key, value in inner.items() if key not in seen)
            seen |= inner


def all_traces(step: Any) -> Iterator[Any]:
    """Every trace of every tf.function that a step consists of."""
    for function in traced_functions(step):
        if hasattr(function, "_list_all_concrete_functions"):
            yield from function._list_all_concrete_functions()  # noqa: SLF001 - private, looked for


def outer_traces(step: Any) -> list[list[Any]]:
    """Traces that run, for each function that is called from outside.

    The others are part of them.
    """
    return [_traces_that_run(each) for each in _outermost(step)]


def _traces_that_run(function: Any) -> list[Any]:
    # TensorFlow traces a function that creates variables (those of tf_keras' optimizers) twice for
    # its first arguments, and runs only the second. The first makes again what exists by now.
    traces = list(function._list_all_concrete_functions())  # noqa: SLF001 - private, looked for
    if not getattr(function, "_created_variables", None):
        return traces
    creating = getattr(function, "_concrete_variable_creation_fn", None)
    return [each for each in traces if each is not creating]


TracedSignatures = list[list[tuple[tuple[Any, ...], dict[str, Any]]]]
"""Arguments of the traces of each function called from outside; without model and graph."""


def step_arguments(step: Any) -> TracedSignatures:
    return [[each.structured_input_signature for each in traces] for traces in outer_traces(step)]


def retrace(step: Any, signatures: TracedSignatures) -> None:
    """Trace a new step for the arguments that another was traced for.

    The step keeps the traces.
    """
    for function, calls in zip(_outermost(step), signatures, strict=True):
        for args, named in calls:
            function.get_concrete_function(*args, **named)


def is_same_step(one: Any, other: Any, definition_of: Callable[[str], Any]) -> bool:
    """True if two steps, traced for the same arguments, compute the same.

    Args:
        definition_of: Gives the definition of a function of TensorFlow's runtime by its name.
    """
    known: dict[str, bytes] = {}
    digests = [
        [
            [_digest(trace_name(each), definition_of, known) for each in many]
            for many in outer_traces(step)
        ]
        for step in (one, other)
    ]
    return digests[0] == digests[1]


def trace_name(trace: Any) -> str:
    """The name of a trace in TensorFlow's runtime."""
    name = trace.name
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _outermost(step: Any) -> list[Any]:
    every = list(traced_functions(step))
    called = {
        id(inner)
        for each in every
        for inner in traced_functions(getattr(each, "python_function", None))
        if inner is not each
    }
    return [each for each in every if id(each) not in called]


def _digest(name: str, definition_of: Callable[[str], Any], known: dict[str, bytes]) -> bytes:
    if name not in known:
        known[name] = b"calls itself"
        definition = definition_of(name)
        hasher = hashlib.sha256()
        for part in _canonical_parts(
            definition, lambda called: _digest(called, definition_of, known)
        ):
            hasher.update(len(part).to_bytes(8, "big"))
            hasher.update(part)
        known[name] = hasher.digest()
    return known[name]


def _canonical_parts(definition: Any, digest_of: Callable[[str], bytes]) -> Iterator[bytes]:
    arguments = definition.signature.input_arg
    labels = {each.name: f"argument {place}" for place, each in enumerate(arguments)}
    labels |= {each.name: f"node {place}" for place, each in enumerate(definition.node_def)}

    def place_of(wanted: str) -> bytes:
        name, colon, output = wanted.removeprefix("^").partition(":")
        return f"{wanted[: wanted.startswith('^')]}{labels[name]}{colon}{output}".encode()

    for each in arguments:
        yield str(each.type).encode()
    for node in definition.node_def:
        yield node.op.encode()
        yield node.device.encode()
        yield from map(place_of, node.input)
        yield from _attributes(node, digest_of)
    for each in definition.signature.output_arg:
        yield place_of(definition.ret[each.name])
    yield from sorted(map(place_of, definition.control_ret.values()))


def _attributes(node: Any, digest_of: Callable[[str], bytes]) -> Iterator[bytes]:
    for name in sorted(node.attr.keys() - _IGNORED):
        value = node.attr[name]
        yield name.encode()
        if value.HasField("func"):
            yield digest_of(value.func.name)
        elif value.list.func:
            yield from (digest_of(each.name) for each in value.list.func)
        else:
            yield value.SerializeToString(deterministic=True)
