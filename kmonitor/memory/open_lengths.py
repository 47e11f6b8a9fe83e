"""Models whose lengths only their data decide, and the same with one length said."""

from typing import Final

import msgspec

from kmonitor.memory.tensor_sizes import OpenShape
from kmonitor_agent.wire.messages.model_layout import CallLayout, ModelLayout, TensorLayout

_CHANGES: Final = (
    "Conv", "Pooling", "UpSampling", "Cropping", "ZeroPadding", "Flatten", "Reshape", "GetItem",
)  # fmt: skip
"""Parts of the names of layers that may put out another length than they take."""


def is_open(layout: ModelLayout) -> bool:
    """Whether a tensor has an axis, besides the batch, whose length only data decide."""
    return any(_is_open(each) for each in layout.tensors)


def with_length(layout: ModelLayout, length: int) -> ModelLayout:
    """The same model on sequences of one length.

    Args:
        layout: Of a model; one that leaves nothing open comes back as it is.
        length: For every axis that is open.

    Raises:
        OpenShape: A layer may put out another length than it takes; the description does not say
            which.
    """
    if not is_open(layout):
        return layout
    for call in layout.calls:
        for made in call.outputs:
            if _is_open(layout.tensors[made]) and _may_change(layout, call):
                raise OpenShape(layout.tensors[made].shape)
    return msgspec.structs.replace(
        layout, tensors=tuple(_filled(each, length) for each in layout.tensors)
    )


def _is_open(tensor: TensorLayout) -> bool:
    return None in tensor.shape[1:]


def _filled(tensor: TensorLayout, length: int) -> TensorLayout:
    if not _is_open(tensor):
        return tensor
    axes = (length if each is None else each for each in tensor.shape[1:])
    return msgspec.structs.replace(tensor, shape=(*tensor.shape[:1], *axes))


def _may_change(layout: ModelLayout, call: CallLayout) -> bool:
    layer = layout.layers[call.layer]
    if layer.kind == "Concatenate":
        axis = layer.settings.get("axis", -1)
        rank = len(layout.tensors[call.outputs[0]].shape)
        return axis not in (-1, rank - 1)
    return any(part in layer.kind for part in _CHANGES)
