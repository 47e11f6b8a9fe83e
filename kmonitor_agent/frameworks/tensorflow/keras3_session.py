# pyright: basic
"""`keras.backend.clear_session()` that forgets no settings, and where it must be left out."""

import contextlib
import sys
from collections.abc import Generator
from typing import Any

from kmonitor_agent.frameworks.base import StateUnreadable
from kmonitor_agent.frameworks.missing_names import lacking
from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals


def why_not_clear(internals: TensorFlowInternals) -> str:
    """Why the session must not be cleared at this point of the program; empty when it may."""
    tf = sys.modules["tensorflow"]
    if tf.distribute.has_strategy():
        return "session not cleared: the code runs inside strategy.scope(), which clearing breaks"
    if not tf.executing_eagerly():
        return "session not cleared: the code runs inside a graph"
    stack = internals.default_graph_stack
    if stack is None:
        return f"session not cleared: {internals.missing.get('default_graph_stack', 'unknown')}"
    if getattr(stack, "stack", ()):
        return "session not cleared: the code runs inside a nested tf.Graph"
    return ""


@contextlib.contextmanager
def eagerly() -> Generator[None]:
    """Run at once what is in the block, also where the code around it builds a graph.

    Raises:
        StateUnreadable: The code builds a graph, and this TensorFlow has no way out of it.
    """
    tf = sys.modules["tensorflow"]
    if tf.executing_eagerly():
        yield
        return
    context: Any = getattr(getattr(tf, "__internal__", None), "eager_context", None)
    if not hasattr(context, "eager_mode"):
        raise StateUnreadable("the code runs inside a graph, where values cannot be read")
    with context.eager_mode():
        yield


def clear_session_keeping_settings() -> str:
    """Reset TensorFlow's default graph and kernel caches; why it was left out, else empty.

    Keras' own clearing replaces two thread-local objects that hold, for all threads, the dtype
    policy, the seed, name counters, the distribution and open scopes. They are put back whole, so
    a script and its other models go on as before.
    """
    try:
        from keras.src.backend.common import global_state
    except ImportError as exc:
        return f"session not cleared: {lacking('Keras', exc)}"
    names = [
        name for name in vars(global_state) if name.startswith("GLOBAL_") and "TRACKER" in name
    ]
    if "GLOBAL_STATE_TRACKER" not in names:
        return f"session not cleared: {lacking('Keras', 'GLOBAL_STATE_TRACKER')}"
    kept = {name: getattr(global_state, name) for name in names}
    try:
        # The caller collects garbage, once for all steps.
        global_state.clear_session(free_memory=False)
    finally:
        for name, value in kept.items():
            setattr(global_state, name, value)
    return ""
