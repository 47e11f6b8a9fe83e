# pyright: basic
"""Child process that builds a model and describes its layout, also with scaled inputs."""

from collections.abc import Iterator
from typing import Any

import msgspec

from kmonitor_agent.describing.child import answer_request
from kmonitor_agent.describing.model_source import ModelOrigin, construct_model
from kmonitor_agent.frameworks.layout_reader import read_layout
from kmonitor_agent.wire.messages.model_layout import ModelLayout

_USUAL_SIDE: int = 224
_USUAL_LENGTH: int = 128


class LayoutRequest(msgspec.Struct, frozen=True):
    """Request for descriptions of a model.

    Attributes:
        source: Origin of the model.
        shapes: For each description, one shape per input, without the batch axis; empty lists: the
            model's own shapes.
        sequence: Length for every open axis; 0: open axes stay open.
        scales: Scales of inputs for further descriptions: each is a factor for every length that
            is not a number of features.
    """

    source: ModelOrigin
    shapes: list[list[list[int]]]
    sequence: int = 0
    scales: list[float] = []


class LayoutReply(msgspec.Struct, frozen=True):
    """Descriptions of a model.

    Attributes:
        layouts: One description per requested shape.
        scaled: (scale, description) for each scale that the model accepts.
        error: Error text; empty if there was no error.
    """

    layouts: list[ModelLayout] = []
    scaled: list[tuple[float, ModelLayout]] = []
    error: str = ""


def main() -> None:
    """Read `LayoutRequest` from standard input, write `LayoutReply` to standard output."""
    answer_request(LayoutRequest, _layout_reply, lambda error: LayoutReply(error=error))


def _layout_reply(request: LayoutRequest) -> LayoutReply:
    model = construct_model(request.source)
    build_optimizer(model)
    shapes = [model_shapes(model, each, request.sequence) for each in request.shapes]
    layouts = [read_layout(model, each) for each in shapes]
    return LayoutReply(layouts, list(_scaled(model, request.scales)))


def build_optimizer(model: Any) -> None:
    """Create the optimizer's slots, which Keras itself creates at the first step."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and not getattr(optimizer, "built", True):
        optimizer.build(model.trainable_variables)


def model_shapes(
    model: Any, input_shapes: list[list[int]], sequence: int
) -> list[tuple[int | None, ...]] | None:
    """Shapes with the batch axis first; None if the model's own shapes are to be kept.

    Args:
        model: Model that the shapes are for.
        input_shapes: One shape per input, without the batch axis; empty: the model's own.
        sequence: Length for every open axis; 0: open axes stay open.
    """
    if input_shapes:
        return [(None, *shape) for shape in input_shapes]
    inputs = getattr(model, "inputs", None)
    if not sequence or not inputs:
        return None
    return [
        (None, *(sequence if length is None else length for length in each.shape[1:]))
        for each in inputs
    ]


def _scaled(model: Any, scales: list[float]) -> Iterator[tuple[float, ModelLayout]]:
    """Descriptions with larger and smaller inputs; sizes that the model refuses are left out."""
    shapes = [tuple(each.shape[1:]) for each in getattr(model, "inputs", None) or ()]
    dtypes = [str(each.dtype) for each in getattr(model, "inputs", None) or ()]
    for scale in scales:
        wanted = [scaled_shape(*each, scale) for each in zip(shapes, dtypes, strict=True)]
        if not wanted or any(each is None for each in wanted):
            continue
        try:
            yield scale, read_layout(model, [(None, *each) for each in wanted if each])
        except Exception:  # noqa: BLE001, S112 - a model may refuse a size in any way
            continue


def scaled_shape(
    shape: tuple[int | None, ...], dtype: str, scale: float
) -> tuple[int, ...] | None:
    """Shape of a larger or smaller input; None if no axis is a length.

    Args:
        shape: Shape without the batch axis; None for an open axis.
        dtype: Name of the input's dtype: an input with one axis is a sequence if it has integers,
            else features.
        scale: Factor for lengths; for an open length, the factor of the usual length.
    """
    is_image = len(shape) > 2  # noqa: PLR2004 - lengths and channels
    lengths = shape[:-1] if len(shape) > 1 else shape
    if not shape or (len(shape) == 1 and not dtype.startswith(("int", "uint"))):
        return None
    if shape[len(lengths) :] == (None,):
        return None
    usual = _USUAL_SIDE if is_image else _USUAL_LENGTH
    scaled = [max(1, round(scale * (usual if each is None else each))) for each in lengths]
    return (*scaled, *(each for each in shape[len(lengths) :] if each is not None))
