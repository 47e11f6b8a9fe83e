"""Sizes of tensors and variables; other precision policies, and open lengths filled in."""

import math
from typing import Final

import msgspec

from kmonitor_agent.wire.messages.model_layout import (
    CallLayout,
    ModelLayout,
    TensorLayout,
    VariableLayout,
)

_ITEM_BYTES: Final = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float16": 2,
    "bfloat16": 2,
    "int16": 2,
    "uint16": 2,
    "float64": 8,
    "int64": 8,
    "uint64": 8,
    "complex64": 8,
    "complex128": 16,
}
_USUAL_BYTES: Final = 4

POLICIES: Final = {
    "float16": ("float16", "float16"),
    "bfloat16": ("bfloat16", "bfloat16"),
    "float32": ("float32", "float32"),
    "float64": ("float64", "float64"),
    "mixed_float16": ("float16", "float32"),
    "mixed_bfloat16": ("bfloat16", "float32"),
}
"""Dtypes of computing and of storing, by policy."""


class OpenShape(Exception):
    """A tensor has an axis besides the batch whose length depends on the data.

    Attributes:
        shape: Shape of the tensor; None for an open length.
    """

    def __init__(self, shape: tuple[int | None, ...]) -> None:
        super().__init__(str(shape))
        self.shape = shape


def item_bytes(dtype: str) -> int:
    return _ITEM_BYTES.get(dtype, _USUAL_BYTES)


def variable_bytes(variable: VariableLayout) -> int:
    return math.prod(variable.shape) * item_bytes(variable.dtype)


def tensor_elements(tensor: TensorLayout, batch: int) -> int:
    """Return the number of values of a tensor.

    Raises:
        OpenShape: An axis besides the first has no length.
    """
    if _is_open(tensor):
        raise OpenShape(tensor.shape)
    return math.prod(batch if length is None else length for length in tensor.shape)


def with_precision(layout: ModelLayout, policy: str) -> ModelLayout:
    """The same model under another policy, also for layers with a policy of their own.

    Args:
        policy: One of `POLICIES`.
    """
    if policy == layout.precision:
        return layout
    computed, stored = POLICIES[policy]
    return msgspec.structs.replace(
        layout,
        precision=policy,
        tensors=tuple(
            msgspec.structs.replace(each, dtype=computed) if _is_float(each.dtype) else each
            for each in layout.tensors
        ),
        variables=tuple(
            msgspec.structs.replace(each, dtype=stored) if _is_float(each.dtype) else each
            for each in layout.variables
        ),
    )


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


_CHANGES: Final = (
    "Conv", "Pooling", "UpSampling", "Cropping", "ZeroPadding", "Flatten", "Reshape", "GetItem",
)  # fmt: skip
"""Parts of the names of layers whose output may have another length than the input."""


def is_open(layout: ModelLayout) -> bool:
    """True if a tensor has an axis, besides the batch, whose length depends on the data."""
    return any(_is_open(each) for each in layout.tensors)


def with_length(layout: ModelLayout, length: int) -> ModelLayout:
    """The same model on sequences of one length.

    Args:
        layout: Layout of the model; returned unchanged if no length is open.
        length: Length for every open axis.

    Raises:
        OpenShape: A layer's output may have another length than its input, which the description
            does not contain.
    """
    if not is_open(layout):
        return layout
    for call in layout.calls:
        for output in call.outputs:
            if _is_open(layout.tensors[output]) and _may_change(layout, call):
                raise OpenShape(layout.tensors[output].shape)
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
