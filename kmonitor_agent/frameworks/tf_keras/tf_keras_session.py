# pyright: basic
"""`tf_keras.backend.clear_session()` that forgets no settings."""

import importlib
from typing import Any

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.missing_names import lacking

_KEPT = ("_GRAPH_LEARNING_PHASES", "_GRAPH_TF_OPTIMIZERS", "_GRAPH_VARIABLES")


def package_of(model: KerasModel) -> str:
    """The package whose Keras 2 a model is of: tf_keras, or keras up to 2.15."""
    roots = [cls.__module__.partition(".")[0] for cls in type(model).__mro__]
    return "tf_keras" if "tf_keras" in roots else "keras"


def title_of(package: str) -> str:
    """How a Keras 2 is called in messages."""
    return "Keras" if package == "keras" else package


def backend_of(package: str) -> Any:
    """The module that holds a Keras 2's global state.

    Raises:
        ImportError: This version keeps it elsewhere.
    """
    return importlib.import_module(f"{package}.src.backend")


def clear_session_keeping_settings(package: str) -> str:
    """Reset the default graph and kernel caches in eager mode; why it was left out, else empty.

    Names already given, a learning phase set by the script and a session set by it stay, so a
    script and its other models go on as before.
    """
    try:
        backend = backend_of(package)
        kept = {name: getattr(backend, name) for name in _KEPT}
        phase, session = backend._DUMMY_EAGER_GRAPH, backend._SESSION  # noqa: SLF001 - looked for
        names = dict(backend.PER_GRAPH_OBJECT_NAME_UIDS.get(backend.get_graph(), {}))
        is_set, own_session = phase.learning_phase_is_set, session.session
    except (ImportError, AttributeError) as exc:
        return f"session not cleared: {lacking(title_of(package), exc)}"
    try:
        session.session = None  # clearing would close it
        backend.clear_session()
    finally:
        for name, value in kept.items():
            setattr(backend, name, value)
        phase.learning_phase_is_set = is_set
        session.session = own_session
        keep_names(backend, names)
    return ""


def keep_names(backend: Any, names: dict[Any, int]) -> None:
    """Go on counting layer names where the graph before stopped, so that none comes twice."""
    graph = backend.get_graph()
    backend.get_uid("")  # makes the new graph's counters
    counters = backend.PER_GRAPH_OBJECT_NAME_UIDS.get(graph)
    if counters is not None:
        counters.clear()
        counters.update(names)
