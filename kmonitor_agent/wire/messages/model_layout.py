"""What a model is made of, so that its memory can be foretold without a framework."""

from typing import Annotated

import msgspec

from kmonitor_agent.wire.messages.identity import Change, Count, Name, Number, Text
from kmonitor_agent.wire.messages.version import MAX_LAYOUT_ITEMS, MAX_RANK

Setting = bool | Change | Number | Text | None
"""A plain value of a layer's or optimizer's configuration."""


Settings = Annotated[dict[Name, Setting], msgspec.Meta(max_length=1024)]
Places = Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)]
"""Numbers of items in one of the model's lists, from 0."""


class VariableLayout(msgspec.Struct, frozen=True):
    """One variable of a model or an optimizer; a shared one is there once.

    Attributes:
        path: Name, with those of the layers that it is in.
        shape: Lengths of its axes.
        dtype: As stored, e.g. "float32".
        is_trainable: Whether training changes it by gradients; a frozen one is not.
    """

    path: Text
    shape: Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_RANK)]
    dtype: Name
    is_trainable: bool = True


class TensorLayout(msgspec.Struct, frozen=True):
    """One tensor between layers.

    Attributes:
        shape: Lengths of its axes; None where data decide, in the first place the batch.
        dtype: That it is computed in.
    """

    shape: Annotated[tuple[Count | None, ...], msgspec.Meta(max_length=MAX_RANK)]
    dtype: Name


class LayerLayout(msgspec.Struct, frozen=True):
    """One layer that computes; layers that only hold others are not listed.

    Attributes:
        path: Name, with those of the models that it is nested in.
        kind: Class name.
        variables: Its variables, as places in the model's list.
        settings: Its plain settings; of a wrapper those of what it wraps, `wraps` names that.
        is_trainable: False if it was frozen.
        is_own: Whether the class is the user's, not Keras'.
    """

    path: Text
    kind: Name
    variables: Places = ()
    settings: Settings = {}
    is_trainable: bool = True
    is_own: bool = False


class CallLayout(msgspec.Struct, frozen=True):
    """One use of a layer; a shared layer has several.

    Attributes:
        layer: Place in the model's list of layers.
        inputs: Tensors read, as places in the model's list.
        outputs: Tensors made.
    """

    layer: Count
    inputs: Places
    outputs: Places


class OptimizerLayout(msgspec.Struct, frozen=True):
    """How a model is trained.

    Attributes:
        kind: Class name, e.g. "Adam".
        settings: Its plain settings.
        slots: Its variables as they are; None if it has not made them yet.
        loss_scaling: Whether it is wrapped to scale the loss, as with mixed_float16.
    """

    kind: Name
    settings: Settings = {}
    slots: (
        Annotated[tuple[VariableLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)] | None
    ) = None
    loss_scaling: bool = False


class ModelLayout(msgspec.Struct, frozen=True):
    """A whole model.

    Attributes:
        name: Its name.
        kind: Class name.
        variables: Each once.
        layers: Each once.
        tensors: Those between layers.
        calls: In the order of computing; empty where the order cannot be told.
        inputs: Tensors that come in.
        outputs: Tensors that go out.
        optimizer: None if the model is not compiled.
        precision: Name of the dtype policy.
        loss: Name, or empty.
        has_metrics: Whether metrics look at the outputs.
        backend: That it was described on, or empty.
        jit_compile: Whether XLA compiles the step; None if that is not said.
        why_no_calls: Why `calls` is empty or does not tell all, in words.
    """

    name: Text
    kind: Name
    variables: Annotated[
        tuple[VariableLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)
    ] = ()
    layers: Annotated[tuple[LayerLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)] = ()
    tensors: Annotated[tuple[TensorLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)] = ()
    calls: Annotated[tuple[CallLayout, ...], msgspec.Meta(max_length=MAX_LAYOUT_ITEMS)] = ()
    inputs: Places = ()
    outputs: Places = ()
    optimizer: OptimizerLayout | None = None
    precision: Name = "float32"
    loss: Text = ""
    has_metrics: bool = True
    backend: Name = ""
    jit_compile: bool | None = None
    why_no_calls: Text = ""
