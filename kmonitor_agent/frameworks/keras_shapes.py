# pyright: basic
"""Whether the layers of a Keras model know their shapes yet, so that they have their variables."""

from typing import Any

from kmonitor_agent.frameworks.base import KerasModel


class NoShapes(Exception):
    """A model that was never called, so that layers of it have no variables yet.

    Attributes:
        why: In words, with what to do.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def check_shapes(model: KerasModel) -> None:
    """See that a model's layers have their variables; the model stays as it is.

    Raises:
        NoShapes: They have not, also where `build` marked the model itself as built.
    """
    if getattr(model, "built", False) and (_was_passed_through(model) or not _waits(model)):
        return
    raise NoShapes(
        f"the model {model.name} has no shapes yet: call it on an Input first, for example"
        " model(keras.Input((200,))), with the shape of one example"
    )


def _was_passed_through(model: Any) -> bool:
    """Whether a layer that waits still is one that nothing uses."""
    return bool(getattr(model, "_called", True) or getattr(model, "inputs", None))


def _waits(model: Any) -> bool:
    """Whether a layer has variables to make; those without any need not be built."""
    within = model._flatten_layers(include_self=False)  # noqa: SLF001 - layers of layers too
    return any(
        not each.built and not getattr(type(each).build, "_is_default", False) for each in within
    )
