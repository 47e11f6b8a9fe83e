# pyright: basic
"""v1 graph mode: the session is cleared, and the model built anew in an empty graph."""

import contextlib
import sys
import warnings
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final, cast

from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.global_state import read_random_states, write_random_states
from kmonitor_agent.frameworks.missing_names import lacking
from kmonitor_agent.frameworks.model_building import (
    CannotCopy,
    Compiled,
    Rebuild,
    compiled_as,
    copied,
    made_by,
    why_no_structure,
)
from kmonitor_agent.frameworks.model_rebuilder import check_same_variables, shapes_of
from kmonitor_agent.frameworks.tf_keras.graph_mode import V1GraphSteps, why_no_names
from kmonitor_agent.frameworks.tf_keras.tf_keras_session import (
    backend_of,
    keep_names,
    package_of,
    title_of,
)

_NEEDED: Final = (
    *("_GRAPH_LEARNING_PHASES", "_SESSION", "PER_GRAPH_OBJECT_NAME_UIDS"),
    *("clear_session", "get_graph", "get_uid", "set_learning_phase", "set_session"),
)
_STEP_MAKER: Final = "_make_train_function"


@dataclass(frozen=True, slots=True)
class _Settings:
    """What a script set for graph and session, which clearing forgets."""

    seed: int | None
    names: dict[Any, int]
    learning_phase: int | None
    session_config: Any


class V1GraphRebuilding:
    """tf_keras with `disable_eager_execution()`: implements `Rebuilding`."""

    destroys = True

    def __init__(self, package: str) -> None:
        self._package = package

    def why_not_now(self) -> str:
        """Whether the script builds in a graph or a session of its own."""
        if why := why_no_names(self._package, *_NEEDED):
            return why
        v1 = sys.modules["tensorflow"].compat.v1
        if v1.get_default_session() is not None:
            return (
                "the code runs inside `with tf.Session()`; hand the session to Keras instead, with"
                " tf.compat.v1.keras.backend.set_session(session)"
            )
        if v1.get_default_graph() is not self._backend().get_graph() or _is_nested():
            return "the code runs inside `with graph.as_default()`, whose graph cannot be cleared"
        if sys.modules["tensorflow"].distribute.has_strategy():
            return "the code runs inside strategy.scope(), which clearing the session breaks"
        return ""

    def try_out(self, model: KerasModel, script: Rebuild | None) -> None:
        """Build it once in a graph that is thrown away: no variable gets a value there."""
        if script is None and (why := why_no_structure(model)):
            raise CannotCopy(why)
        if not getattr(model, "built", False):
            raise CannotCopy("the model is not built; give its first layer an input shape")
        if not hasattr(model, _STEP_MAKER):
            raise CannotCopy(lacking(title_of(self._package), _STEP_MAKER))
        with self._throwaway_graph(), _numbers_kept():
            compiled = None if script is not None else compiled_as(model)
            made = self._made(model, compiled, script)
            new = shapes_of(V1GraphSteps(self._package).state(made))
        model._make_train_function()  # noqa: SLF001 - what fit does first
        check_same_variables(shapes_of(V1GraphSteps(self._package).state(model)), new)

    def make(self, model: KerasModel, script: Rebuild | None) -> KerasModel:
        """Clear the session, its settings kept, and build."""
        backend = self._backend()
        compiled = None if script is not None else compiled_as(model)
        kept = self._settings(backend)
        backend.clear_session()
        self._apply(backend, kept)
        with _numbers_kept():
            return self._made(model, compiled, script)

    def _made(
        self, model: KerasModel, compiled: Compiled | None, script: Rebuild | None
    ) -> KerasModel:
        made = (
            copied(model, compiled) if compiled is not None else made_by(cast("Rebuild", script))
        )
        _make_step(made)
        return made

    def _backend(self) -> Any:
        return backend_of(self._package)

    def _settings(self, backend: Any) -> _Settings:
        graph = backend.get_graph()
        phase = backend._GRAPH_LEARNING_PHASES.get(graph)  # noqa: SLF001
        session = backend._SESSION.session  # noqa: SLF001
        return _Settings(
            seed=graph.seed,
            names=dict(backend.PER_GRAPH_OBJECT_NAME_UIDS.get(graph, {})),
            learning_phase=phase if isinstance(phase, int) else None,
            session_config=None if session is None else session._config,  # noqa: SLF001
        )

    def _apply(self, backend: Any, kept: _Settings) -> None:
        v1 = sys.modules["tensorflow"].compat.v1
        graph = backend.get_graph()
        graph.seed = kept.seed
        keep_names(backend, kept.names)
        if kept.learning_phase is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Keras deprecates what the script called itself
                backend.set_learning_phase(kept.learning_phase)
        if kept.session_config is not None:
            backend.set_session(v1.Session(graph=graph, config=kept.session_config))

    @contextlib.contextmanager
    def _throwaway_graph(self) -> Generator[None]:
        backend = self._backend()
        tf = sys.modules["tensorflow"]
        own, backend._SESSION.session = backend._SESSION.session, None  # noqa: SLF001
        try:
            with tf.Graph().as_default():
                yield
        finally:
            made, backend._SESSION.session = backend._SESSION.session, own  # noqa: SLF001
            if made is not None and made is not own:
                made.close()


@contextlib.contextmanager
def _numbers_kept() -> Generator[None]:
    # First values of weights are drawn with seeds that Keras draws from Python's generator.
    states = read_random_states()
    try:
        yield
    finally:
        write_random_states({name: states.get(name) for name in ("python", "numpy")})


def v1_rebuilding(model: KerasModel) -> V1GraphRebuilding:
    """For models of this model's Keras."""
    return V1GraphRebuilding(package_of(model))


def _make_step(model: KerasModel) -> None:
    # Optimizer slots are made with the train function, which fit would make first of all.
    if not getattr(model, "built", False) or getattr(model, "optimizer", None) is None:
        raise CannotCopy(
            "rebuild= returned a model that is not built and compiled; give its first layer an"
            " input shape and call model.compile(...)"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model._make_train_function()  # noqa: SLF001 - looked for by `built` models of v1


def _is_nested() -> bool:
    try:
        from tensorflow.python.framework.ops import _default_graph_stack
    except ImportError:
        return False
    return bool(getattr(_default_graph_stack, "stack", ()))
