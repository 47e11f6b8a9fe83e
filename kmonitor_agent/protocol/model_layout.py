"""What a model is made of, so that its memory can be foretold without a framework."""

import msgspec

Setting = bool | int | float | str | None
"""A plain value of a layer's or optimizer's configuration."""


class VariableLayout(msgspec.Struct, frozen=True):
    """One variable of a model or an optimizer; a shared one is there once.

    Attributes:
        path: Name, with those of the layers that it is in.
        shape: Lengths of its axes.
        dtype: As stored, e.g. "float32".
        is_trainable: Whether training changes it by gradients; a frozen one is not.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    is_trainable: bool = True


class TensorLayout(msgspec.Struct, frozen=True):
    """One tensor between layers.

    Attributes:
        shape: Lengths of its axes; None where data decide, in the first place the batch.
        dtype: That it is computed in.
    """

    shape: tuple[int | None, ...]
    dtype: str


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

    path: str
    kind: str
    variables: tuple[int, ...] = ()
    settings: dict[str, Setting] = {}
    is_trainable: bool = True
    is_own: bool = False


class CallLayout(msgspec.Struct, frozen=True):
    """One use of a layer; a shared layer has several.

    Attributes:
        layer: Place in the model's list of layers.
        inputs: Tensors read, as places in the model's list.
        outputs: Tensors made.
    """

    layer: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class OptimizerLayout(msgspec.Struct, frozen=True):
    """How a model is trained.

    Attributes:
        kind: Class name, e.g. "Adam".
        settings: Its plain settings.
        slots: Its variables as they are; None if it has not made them yet.
        loss_scaling: Whether it is wrapped to scale the loss, as with mixed_float16.
    """

    kind: str
    settings: dict[str, Setting] = {}
    slots: tuple[VariableLayout, ...] | None = None
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

    name: str
    kind: str
    variables: tuple[VariableLayout, ...] = ()
    layers: tuple[LayerLayout, ...] = ()
    tensors: tuple[TensorLayout, ...] = ()
    calls: tuple[CallLayout, ...] = ()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    optimizer: OptimizerLayout | None = None
    precision: str = "float32"
    loss: str = ""
    has_metrics: bool = True
    backend: str = ""
    jit_compile: bool | None = None
    why_no_calls: str = ""
