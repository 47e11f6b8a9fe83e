# pyright: basic
"""A model and its optimizers built as they were in the process before, whatever the Keras."""

from collections.abc import Callable, Sequence
from typing import Any

from kmonitor_agent.frameworks.base import CannotBuild, KerasModel

_UNREADABLE = (AttributeError, TypeError, ValueError, NotImplementedError)


PARTS = "kmonitor_parts"
"""Key of the parts' configurations, for a model that is never built itself."""


def read_build_config(model: KerasModel) -> Any:
    """What `build_as_before` takes in another process; None if the model has none."""
    if getattr(model, "built", False) or not model.layers:
        return _build_config(model)
    return {PARTS: [_build_config(each) for each in model.layers]}


def _build_config(layer: Any) -> Any:
    try:
        return layer.get_build_config()
    except _UNREADABLE:
        return None


def _build_from(model: KerasModel, config: Any) -> None:
    if not config:
        raise CannotBuild(
            "the model was built by its first step and says nothing of how: call"
            " model.build(input_shape) before fit"
        )
    if PARTS not in config:
        model.build_from_config(config)
        return
    # Its step calls its parts and never the model, which stays unbuilt as it was.
    for part, how in zip(model.layers, config[PARTS], strict=False):
        says_how = how and how.get("input_shape", ()) is not None
        if says_how and not getattr(part, "built", True):
            part.build_from_config(how)


def build_as_before(
    model: KerasModel,
    config: Any,
    trained: Sequence[Sequence[int]],
    optimizers: Sequence[Any],
    build: Callable[[Any, list[Any]], None],
) -> None:
    """Build a model that is not built yet, then its optimizers.

    Args:
        model: What the script has just passed to `fit`.
        config: See `read_build_config`; None or empty if it does not say how.
        trained: For each optimizer, which of the model's variables it trained.
        optimizers: Those that the model has now, in the same order.
        build: Builds one of them for these variables, unless it is built.

    Raises:
        CannotBuild: It is not the same model, or Keras cannot build it from its configuration.
    """
    if not getattr(model, "built", False):
        try:
            _build_from(model, config)
        except CannotBuild:
            raise
        except Exception as exc:  # a user's `build` may raise anything
            raise CannotBuild(f"the model could not be built as before: {exc}") from exc
    if len(optimizers) != len(trained):
        raise CannotBuild(f"it had {len(trained)} optimizers and now has {len(optimizers)}")
    variables = list(model.variables)
    for optimizer, places in zip(optimizers, trained, strict=True):
        if places and max(places) >= len(variables):
            raise CannotBuild("it has fewer variables than before")
        build(optimizer, [variables[place] for place in places])
