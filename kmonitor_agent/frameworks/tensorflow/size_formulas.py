# pyright: basic
"""Sizes of a traced step's operations as formulas of the batch, found by comparing two batches."""

import functools
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from kmonitor_agent.wire.messages.step_program import SizeFormula

TRIED: Final = (7, 19)
"""Batch sizes that a size is computed from; primes, which no other length is likely to be."""

_NOT_COUNTED: Final = ("resource", "variant", "string")
_SHORT: Final = ("float16", "bfloat16")
_FLOATS: Final = ("float16", "bfloat16", "float32", "float64")
_IMAGE_RANK: Final = 4
"""Axes: batch, height, width, channels."""

_CACHE_BYTES: Final = 30 * 1024 * 1024
_CORE_CACHE_BYTES: Final = 256 * 1024
_POOLED: Final = ("MaxPool", "MaxPool3D")
_PRODUCTS: Final = frozenset({"MatMul", "_FusedMatMul", "BatchMatMulV2", "BatchMatMulV3"})


class SizeFormulas:
    """Collects sizes as formulas of the batch, each once."""

    def __init__(self) -> None:
        self.found: list[SizeFormula] = []
        self._indices: dict[SizeFormula, int] = {}

    def index_of(self, formula: SizeFormula) -> int:
        """Index of a formula; it is added if it is new."""
        if formula not in self._indices:
            self._indices[formula] = len(self.found)
            self.found.append(formula)
        return self._indices[formula]

    def of_outputs(self, operations: Sequence[Any]) -> list[SizeFormula | None]:
        """Bytes of each output of an operation, seen at each of `TRIED`; None: unknown."""
        return [_size_formula(outputs) for outputs in zip(*(each.outputs for each in operations),
                                                    strict=True)]  # fmt: skip

    def of_work(self, operations: Sequence[Any]) -> int:
        """Index of its multiplications; -1 if it does hardly any, or they are unknown."""
        amounts = [_work(each) for each in operations]
        if None in amounts:
            return -1
        return self.index_of(_fitted([each for each in amounts if each is not None]))

    def of_workspace(self, operations: Sequence[Any]) -> tuple[int, ...]:
        """Indices of the bytes of buffers that a CPU's kernel takes while it runs.

        Source: `matmul_op_impl.h`: products of short floats are computed in float32, unless oneDNN
        computes them.
        """
        operation = operations[0]
        kind = operation.outputs[0].dtype.base_dtype if operation.outputs else None
        if kind is None or operation.type not in _PRODUCTS:
            return self._columns(operation)
        if kind.name not in _SHORT or _is_computed_by_onednn(kind.name):
            return ()
        inputs = zip(*(list(each.inputs)[:2] for each in operations), strict=True)
        sizes = [
            _size_formula(each) for each in (*inputs, [each.outputs[0] for each in operations])
        ]
        return tuple(
            self.index_of(SizeFormula(4 // kind.size * each.factor, each.terms))
            for each in sizes
            if each
        )

    def _columns(self, operation: Any) -> tuple[int, ...]:
        """Buffers of convolutions that oneDNN does not compute: columns of cached images.

        Source: `conv_grad_input_ops.h` and `conv_grad_filter_ops.cc`.
        """
        if not operation.type.startswith("Conv2DBackprop"):
            return ()
        item = operation.outputs[0].dtype.base_dtype
        weights = _shape(operation.outputs[0] if "Filter" in operation.type
                         else operation.inputs[1])  # fmt: skip
        pixels = operation.inputs[2].shape
        if item.name not in _FLOATS or weights is None or pixels.rank != _IMAGE_RANK:
            return ()
        if None in pixels[1:3] or _is_computed_by_onednn(item.name):
            return ()
        image = pixels[1] * pixels[2]
        volume = math.prod(weights[:-1])
        depth = weights[-1]
        unit = image * volume + volume * depth + image * depth
        image_count = -(-(_CACHE_BYTES // item.size) // unit)
        if "Input" in operation.type and unit // _threads() >= _CORE_CACHE_BYTES // item.size:
            image_count = 1
        return (self.index_of(SizeFormula(item.size * image_count * image * volume)),)

    def beside(self, operations: Sequence[Any]) -> int:
        """Index of the bytes that oneDNN's pooling keeps for its gradient, one per value.

        -1: none.
        """
        if operations[0].type not in _POOLED:
            return -1
        size = _size_formula([each.outputs[0] for each in operations])
        item = operations[0].outputs[0].dtype.size
        return -1 if size is None else self.index_of(SizeFormula(size.factor // item, size.terms))


def _is_computed_by_onednn(dtype: str) -> bool:
    """True if products and convolutions of a type are oneDNN's on this processor.

    Source: `IsDataTypeSupportedByOneDNNOnThisCPU` in TensorFlow's `util.cc`.
    """
    features = processor_features()
    if dtype == "bfloat16":
        return bool(features & {"avx512f", "avx_ne_convert"})
    if dtype == "float16":
        computes_halves = bool(features & {"avx512_fp16", "amx_fp16", "avx_ne_convert"})
        return computes_halves and "avx512bw" in features
    return dtype == "float32"


@functools.cache
def processor_features() -> frozenset[str]:
    """Instruction sets of this processor as Linux names them; empty on other systems."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    flags = next((line for line in lines if line.startswith("flags")), "")
    return frozenset(flags.partition(":")[2].split())


def _threads() -> int:
    import tensorflow as tf

    return tf.config.threading.get_intra_op_parallelism_threads() or os.cpu_count() or 1


def is_counted(tensor: Any) -> bool:
    """True if a tensor has bytes of its own, which a handle or a list has not."""
    return tensor.dtype.base_dtype.name not in _NOT_COUNTED


def _size_formula(tensors: Sequence[Any]) -> SizeFormula | None:
    if not is_counted(tensors[0]):
        return SizeFormula(0)
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
    """The shape that the trace itself noted, where it cannot be inferred again."""
    import tensorflow as tf

    try:
        noted = tensor.op.get_attr("_output_shapes")[tensor.value_index]
    except (ValueError, IndexError):
        return None
    shape = tf.TensorShape(noted)
    return shape if shape.is_fully_defined() else None


def _fitted(factors: Sequence[tuple[int, ...]]) -> SizeFormula:
    """The product of factors, each a line over the batch."""
    one = factors[0]
    other = factors[-1]
    fixed = 1
    terms = []
    for low, high in zip(one, other, strict=True):
        if low == high:
            fixed *= low
        else:
            slope = (high - low) / (TRIED[1] - TRIED[0])
            terms.append((low - slope * TRIED[0], slope))
    return SizeFormula(fixed, tuple(sorted(terms)))


def _work(operation: Any) -> tuple[int, ...] | None:
    """Factors whose product is the number of multiplications."""
    kind = operation.type
    inputs = [each for each in operation.inputs if is_counted(each)]
    if kind in _PRODUCTS and len(inputs) > 1:
        left = _shape(inputs[0])
        out = _shape(operation.outputs[0])
        return None if left is None or not out else (*left, out[-1])
    if not kind.startswith(("Conv", "_FusedConv", "DepthwiseConv")):
        return None
    if "BackpropFilter" in kind:
        weights = _shape(operation.outputs[0])
        pixels = _shape(operation.inputs[2])
    elif "BackpropInput" in kind:
        weights = _shape(operation.inputs[1])
        pixels = _shape(operation.inputs[2])
    else:
        weights = _shape(operation.inputs[1])
        pixels = _shape(operation.outputs[0])
    if weights is None or pixels is None:
        return None
    per_pixel = math.prod(weights[:-2] if kind.startswith("Depth") else weights[:-1])
    return (per_pixel, *pixels)
