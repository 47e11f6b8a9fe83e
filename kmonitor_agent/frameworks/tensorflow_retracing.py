# pyright: basic
"""The tf.functions of a Keras step, and TensorFlow's count of how often they are traced.

TensorFlow warns when 5 of the last calls of a function were traced anew, and counts by the
function's code: all models share Keras' step functions. A reload drops a model's traces and so
causes as many new ones. Those replace what was counted before, so that a reload neither brings the
warning nearer nor hides the one that a script's own retracing deserves.
"""

import contextlib
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, Final

from kmonitor_agent.frameworks.closures import closure_values
from kmonitor_agent.frameworks.tensorflow_internals import TensorFlowInternals

_CLOSURE_DEPTH: Final = 4


def traced_functions(step: Any) -> Iterator[Any]:
    """Every tf.function that a step function consists of, each once; none when run eagerly.

    Keras 3.6 gives a tf.function around others, newer ones a plain function around them.
    """
    todo, seen = [step], {id(step): step}
    while todo:
        found = todo.pop()
        if hasattr(found, "experimental_get_tracing_count"):
            yield found
            found = getattr(found, "python_function", None)
        if isinstance(found, FunctionType):
            inner = {id(value): value for value in closure_values(found, _CLOSURE_DEPTH)}
            todo.extend(value for key, value in inner.items() if key not in seen)
            seen |= inner


def forget_tracing_of(functions: Iterable[Any], internals: TensorFlowInternals) -> None:
    """Take the traces that Keras' own functions have now out of TensorFlow's count of tracing.

    Does nothing where this TensorFlow counts in another way.

    Args:
        functions: Those about to be dropped; functions of the script among them stay counted.
        internals: Where the counts are.
    """
    counts = internals.tracing_counts
    if counts is None:
        return
    for function in functions:
        if not str(getattr(function.python_function, "__module__", "")).startswith("keras."):
            continue
        # Private from here on: with other names TensorFlow warns sometimes, nothing else.
        with contextlib.suppress(AttributeError, TypeError):
            traces = int(function.experimental_get_tracing_count())
            with counts._lock:  # noqa: SLF001
                detector = counts._detectors.get(function._key_for_call_stats)  # noqa: SLF001
                if detector is not None:
                    _forget(detector, traces)


def _forget(detector: Any, traces: int) -> None:
    # One item per trace: the calls from it on, oldest first. Calls are kept with the trace before,
    # because old traces fall out of TensorFlow's window by the calls that came after them.
    calls = detector._calls_per_tracings  # noqa: SLF001
    kept, forgotten = calls[: max(0, len(calls) - traces)], calls[max(0, len(calls) - traces) :]
    if kept:
        kept[-1] += sum(forgotten)
    detector._call_count = sum(kept)  # noqa: SLF001
    detector._calls_per_tracings = kept  # noqa: SLF001
