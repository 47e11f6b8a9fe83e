"""Layout of a model, from which its memory can be estimated without a framework.

`ModelLayout` is sent once a fit, packed and cut into `LayoutPart` events; `StepPeak` has what the
first steps really took.
"""

import zlib
from collections.abc import Iterable
from typing import Annotated, Final

import msgspec

from kmonitor_agent.wire.messages.fields import (
    MAX_LAYOUT_ITEMS,
    MAX_RANK,
    Amount,
    Change,
    Count,
    Name,
    Number,
    Text,
    clamp_fields,
)
from kmonitor_agent.wire.messages.lifecycle_events import Event

ConfigValue = bool | Change | Number | Text | None
"""A plain value of a layer's or optimizer's configuration."""

PlainConfig = Annotated[dict[Name, ConfigValue], msgspec.Meta(max_length=1024)]
Indices = Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)]
"""Numbers of items in one of the model's lists, from 0."""


class VariableLayout(msgspec.Struct, frozen=True):
    """One variable of a model or an optimizer; a shared one is listed once.

    Attributes:
        path: Name, with the names of the layers that contain it.
        shape: Lengths of its axes.
        dtype: As stored, e.g. "float32".
        is_trainable: True if training changes it by gradients; False if it is frozen.
    """

    path: Text
    shape: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_RANK)]
    dtype: Name
    is_trainable: bool = True


class TensorLayout(msgspec.Struct, frozen=True):
    """One tensor between layers.

    Attributes:
        shape: Lengths of its axes; None where the data decide, as for the batch.
        dtype: Dtype of its computation.
    """

    shape: Annotated[tuple[Count | None, ...], msgspec.Meta(max_length=MAX_RANK)]
    dtype: Name


class LayerLayout(msgspec.Struct, frozen=True):
    """One layer that computes; layers that only hold others are not listed.

    Attributes:
        path: Name, with the names of the models that contain it.
        kind: Class name.
        variables: Its variables, as indices into the model's list.
        settings: Its plain settings; for a wrapper those of the wrapped layer, which `wraps`
            names.
        is_trainable: False if it was frozen.
        is_own: True if the class is the user's, not Keras'.
    """

    path: Text
    kind: Name
    variables: Indices = ()
    settings: PlainConfig = {}
    is_trainable: bool = True
    is_own: bool = False


class CallLayout(msgspec.Struct, frozen=True):
    """One use of a layer; a shared layer has several.

    Attributes:
        layer: Index into the model's list of layers.
        inputs: Tensors read, as indices into the model's list.
        outputs: Tensors written, as indices into the model's list.
    """

    layer: Count
    inputs: Indices
    outputs: Indices


class OptimizerLayout(msgspec.Struct, frozen=True):
    """How a model is trained.

    Attributes:
        kind: Class name, e.g. "Adam".
        settings: Its plain settings.
        slots: Its variables as they are; None if it has not created them yet.
        loss_scaling: True if it is wrapped to scale the loss, as with mixed_float16.
    """

    kind: Name
    settings: PlainConfig = {}
    slots: (
        Annotated[tuple[VariableLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)] | None
    ) = None
    loss_scaling: bool = False


class ModelLayout(msgspec.Struct, frozen=True):
    """A whole model.

    Attributes:
        name: Its name.
        kind: Class name.
        variables: All variables, each once.
        layers: All layers, each once.
        tensors: Tensors between layers.
        calls: Calls of layers in the order of computing; empty if the order is unknown.
        inputs: Input tensors, as indices into `tensors`.
        outputs: Output tensors, as indices into `tensors`.
        optimizer: None if the model is not compiled.
        precision: Name of the dtype policy.
        loss: Name of the loss, or empty.
        has_metrics: True if metrics use the outputs.
        backend: Backend on which it was described, or empty.
        jit_compile: True if XLA compiles the step; None if unspecified.
        why_no_calls: Why `calls` is empty or incomplete, as text.
    """

    name: Text
    kind: Name
    variables: Annotated[
        tuple[VariableLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)
    ] = ()
    layers: Annotated[tuple[LayerLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)] = ()
    tensors: Annotated[tuple[TensorLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)] = ()
    calls: Annotated[tuple[CallLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)] = ()
    inputs: Indices = ()
    outputs: Indices = ()
    optimizer: OptimizerLayout | None = None
    precision: Name = "float32"
    loss: Text = ""
    has_metrics: bool = True
    backend: Name = ""
    jit_compile: bool | None = None
    why_no_calls: Text = ""


PART_BYTES: Final = 48 * 1024
"""Maximum size of a packed layout in one event."""

MOST_PARTS: Final = 64
"""Maximum number of parts; a larger model is not sent. A thousand layers take two."""


class LayoutPart(Event, frozen=True, tag="layout"):
    """A fit's model as a memory map needs it; once per fit, unless unchanged since the last fit.

    Attributes:
        fit: Ordinal of the fit in the run, from 1.
        part: This part, from 1.
        part_count: Number of parts.
        body: Layers, variables and tensors between layers, with their names, shapes and plain
            settings; compressed msgpack, to be joined and read by `join_layout_parts`.
    """

    fit: Count
    part: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTS)]
    part_count: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTS)]
    body: Annotated[bytes, msgspec.Meta(max_length=PART_BYTES)]


class StepPeak(Event, frozen=True, tag="step_peak"):
    """Memory that a fit's first steps took from the framework's allocator, at one batch size.

    Reported only if these steps set the process's peak; otherwise the peak is from something else.

    Attributes:
        fit: Ordinal of the fit.
        batch: Examples per step.
        steps: Steps that had run.
        peak_bytes: Peak use of the allocator so far.
        between_bytes: Use of the allocator between two steps.
        device: "CPU", or the GPU's name as the driver names it, or "GPU".
    """

    fit: Count
    batch: Annotated[int, msgspec.Meta(ge=1, le=2**40)]
    steps: Count
    peak_bytes: Amount
    between_bytes: Amount
    device: Name


_LARGEST_LAYOUT_BYTES: Final = 64 * 1024**2
"""Maximum size after unpacking; a larger layout is refused."""

_layouts: Final = msgspec.msgpack.Decoder(ModelLayout)


def encode_layout(layout: ModelLayout) -> bytes:
    """A layout as the bodies of its parts together, cut to the bounds of its fields."""
    try:
        plain = msgspec.msgpack.encode(layout)
        _layouts.decode(plain)
    except (OverflowError, UnicodeEncodeError, msgspec.ValidationError):
        plain = msgspec.msgpack.encode(clamp_fields(layout))
    return zlib.compress(plain, 1)


def join_layout_parts(parts: Iterable[LayoutPart]) -> ModelLayout | None:
    """The layout that all parts of one fit hold; None if one is missing or damaged.

    Args:
        parts: In any order.
    """
    by_number = {each.part: each for each in parts}
    if not by_number or len(by_number) != max(each.part_count for each in by_number.values()):
        return None
    body = b"".join(by_number[n].body for n in sorted(by_number))
    reader = zlib.decompressobj()
    try:
        plain = reader.decompress(body, _LARGEST_LAYOUT_BYTES)
        layout = _layouts.decode(plain) if reader.eof else None
    except (zlib.error, msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
    return layout if layout is not None and _is_whole(layout) else None


def _is_whole(layout: ModelLayout) -> bool:
    """True if every index is within the lists of the layout."""
    n_tensors = len(layout.tensors)
    tensors = [layout.inputs, layout.outputs]
    for call in layout.calls:
        tensors += [call.inputs, call.outputs]
    variables = [layer.variables for layer in layout.layers]
    return (
        all(number < n_tensors for numbers in tensors for number in numbers)
        and all(number < len(layout.variables) for numbers in variables for number in numbers)
        and all(call.layer < len(layout.layers) for call in layout.calls)
    )
