# pyright: basic
"""Sizes of a graph's tensors as functions of the batch, from two batches that are tried."""

import math
from collections.abc import Sequence
from typing import Any, Final

from kmonitor_agent.wire.messages.step_program import Extent

TRIED: Final = (7, 19)
"""Batches that a size is told from; primes, which no other length is likely to be."""

_NOT_COUNTED: Final = ("resource", "variant", "string")
_SHORT: Final = ("float16", "bfloat16")
_PICTURES: Final = 4
"""Axes: batch, height, width, channels."""

_BY_COLUMNS: Final = ("float16", "float64")
_CACHE_BYTES: Final = 30 * 1024 * 1024
_POOLED: Final = ("MaxPool", "MaxPool3D")
_PRODUCTS: Final = frozenset({"MatMul", "_FusedMatMul", "BatchMatMulV2", "BatchMatMulV3"})


class Extents:
    """Collects extents, each once."""

    def __init__(self) -> None:
        self.found: list[Extent] = []
        self._places: dict[Extent, int] = {}

    def place(self, extent: Extent) -> int:
        """Where an extent is; it is added if it is new."""
        if extent not in self._places:
            self._places[extent] = len(self.found)
            self.found.append(extent)
        return self._places[extent]

    def of_outputs(self, operations: Sequence[Any]) -> list[Extent | None]:
        """Bytes of each output of one operation, seen at each of `TRIED`; None: unknown."""
        return [_extent(outputs) for outputs in zip(*(each.outputs for each in operations),
                                                    strict=True)]  # fmt: skip

    def of_work(self, operations: Sequence[Any]) -> int:
        """Place of its multiplications; -1 if it does hardly any, or that cannot be told."""
        told = [_work(each) for each in operations]
        if None in told:
            return -1
        extent = _fitted([each for each in told if each is not None])
        return self.place(extent)

    def of_workspace(self, operations: Sequence[Any]) -> tuple[int, ...]:
        """Places of the bytes of buffers that a CPU's kernel takes while it runs.

        Source: `matmul_op_impl.h`: products of short floats are computed in float32.
        """
        operation = operations[0]
        kind = operation.outputs[0].dtype.base_dtype if operation.outputs else None
        if kind is None or operation.type not in _PRODUCTS:
            return self._columns(operation)
        if kind.name not in _SHORT:
            return ()
        inputs = zip(*(list(each.inputs)[:2] for each in operations), strict=True)
        sizes = [_extent(each) for each in (*inputs, [each.outputs[0] for each in operations])]
        return tuple(
            self.place(Extent(4 // kind.size * each.factor, each.terms)) for each in sizes if each
        )

    def _columns(self, operation: Any) -> tuple[int, ...]:
        """Of a type that oneDNN does not compute: pictures in columns, as many as fill a cache.

        Source: `conv_grad_input_ops.h` and `conv_grad_filter_ops.cc`.
        """
        if not operation.type.startswith("Conv2DBackprop"):
            return ()
        item = operation.outputs[0].dtype.base_dtype
        weights = _shape(operation.outputs[0] if "Filter" in operation.type
                         else operation.inputs[1])  # fmt: skip
        pixels = operation.inputs[2].shape
        if item.name not in _BY_COLUMNS or weights is None or pixels.rank != _PICTURES:
            return ()
        if None in pixels[1:3]:
            return ()
        image, volume, depth = pixels[1] * pixels[2], math.prod(weights[:-1]), weights[-1]
        unit = image * volume + volume * depth + image * depth
        pictures = -(-(_CACHE_BYTES // item.size) // unit)
        return (self.place(Extent(item.size * pictures * image * volume)),)

    def beside(self, operations: Sequence[Any]) -> int:
        """Place of what oneDNN's pooling keeps for its gradient, a byte a value; -1: nothing."""
        if operations[0].type not in _POOLED:
            return -1
        size = _extent([each.outputs[0] for each in operations])
        item = operations[0].outputs[0].dtype.size
        return -1 if size is None else self.place(Extent(size.factor // item, size.terms))


def is_counted(tensor: Any) -> bool:
    """Whether a tensor has bytes of its own, which a handle or a list has not."""
    return tensor.dtype.base_dtype.name not in _NOT_COUNTED


def _extent(tensors: Sequence[Any]) -> Extent | None:
    if not is_counted(tensors[0]):
        return Extent(0)
    shapes = [_shape(each) for each in tensors]
    known = [each for each in shapes if each is not None]
    if len(known) != len(shapes) or len({len(each) for each in known}) != 1:
        return None
    size = tensors[0].dtype.base_dtype.size
    return _fitted([(size, *each) for each in known])


def _shape(tensor: Any) -> tuple[int, ...] | None:
    shape = tensor.shape
    if not shape.is_fully_defined():
        shape = _noted_shape(tensor)
    return None if shape is None else tuple(int(each) for each in shape)


def _noted_shape(tensor: Any) -> Any:
    """What the trace itself said, where it cannot be told anew."""
    import tensorflow as tf

    try:
        noted = tensor.op.get_attr("_output_shapes")[tensor.value_index]
    except (ValueError, IndexError):
        return None
    shape = tf.TensorShape(noted)
    return shape if shape.is_fully_defined() else None


def _fitted(factors: Sequence[tuple[int, ...]]) -> Extent:
    """The product of factors, each a line over the batch."""
    one, other = factors[0], factors[-1]
    fixed, terms = 1, []
    for low, high in zip(one, other, strict=True):
        if low == high:
            fixed *= low
        else:
            slope = (high - low) / (TRIED[1] - TRIED[0])
            terms.append((low - slope * TRIED[0], slope))
    return Extent(fixed, tuple(sorted(terms)))


def _work(operation: Any) -> tuple[int, ...] | None:
    """Factors whose product is the number of multiplications."""
    kind = operation.type
    inputs = [each for each in operation.inputs if is_counted(each)]
    if kind in _PRODUCTS and len(inputs) > 1:
        left, out = _shape(inputs[0]), _shape(operation.outputs[0])
        return None if left is None or not out else (*left, out[-1])
    if not kind.startswith(("Conv", "_FusedConv", "DepthwiseConv")):
        return None
    if "BackpropFilter" in kind:
        weights, pixels = _shape(operation.outputs[0]), _shape(operation.inputs[2])
    elif "BackpropInput" in kind:
        weights, pixels = _shape(operation.inputs[1]), _shape(operation.inputs[2])
    else:
        weights, pixels = _shape(operation.inputs[1]), _shape(operation.outputs[0])
    if weights is None or pixels is None:
        return None
    per_pixel = math.prod(weights[:-2] if kind.startswith("Depth") else weights[:-1])
    return (per_pixel, *pixels)
