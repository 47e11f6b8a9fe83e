"""What one use of a layer does to memory: what the backward pass needs of it, and workspace."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from kmonitor_agent.wire.messages.model_layout import LayerLayout, TensorLayout

Backend = Literal["tensorflow", "xla", "torch"]
"""How a step is computed: TensorFlow's executor, XLA (JAX, TensorFlow's jit_compile), PyTorch."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a use of a layer does.

    Attributes:
        keeps_inputs: Places of the inputs that the backward pass reads.
        keeps_outputs: Whether it reads the outputs.
        extra_bytes: What else is kept until then.
        forward_bytes: Workspace while it computes.
        backward_bytes: Workspace while its gradient is computed, beside the gradients.
        is_view: The output is the input under another shape.
        is_in_place: The output may take the input's memory, if nobody else needs it.
        copies_gradient: Whether the input's gradient has memory of its own; else it is the
            output's.
        doubtful_bytes: Workspace of the backward pass that may come on top, or not.
    """

    keeps_inputs: tuple[int, ...] = ()
    keeps_outputs: bool = False
    extra_bytes: int = 0
    forward_bytes: int = 0
    backward_bytes: int = 0
    is_view: bool = False
    is_in_place: bool = False
    copies_gradient: bool = True
    doubtful_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a layer, with its sizes.

    Attributes:
        layer: That is used.
        backend: That computes.
        inputs: Tensors read.
        outputs: Tensors made.
        input_bytes: Their sizes.
        output_bytes: Their sizes.
        batch: Examples.
        item: Bytes of a value as computed.
        variable_shapes: Of the layer's variables.
        gives_gradient: Whether something below it is trained, so that its inputs get gradients.
    """

    layer: LayerLayout
    backend: Backend
    inputs: Sequence[TensorLayout]
    outputs: Sequence[TensorLayout]
    input_bytes: Sequence[int]
    output_bytes: Sequence[int]
    batch: int
    item: int
    variable_shapes: Sequence[tuple[int, ...]] = field(default_factory=tuple[tuple[int, ...]])
    gives_gradient: bool = True

    @property
    def x(self) -> int:
        """Bytes of all inputs."""
        return sum(self.input_bytes)

    @property
    def y(self) -> int:
        """Bytes of all outputs."""
        return sum(self.output_bytes)

    def number(self, name: str, otherwise: float = 0.0) -> float:
        """A number among the layer's settings."""
        value = self.layer.settings.get(name)
        return float(value) if isinstance(value, int | float) else otherwise

    def word(self, name: str) -> str:
        """A text among the layer's settings; empty if there is none."""
        value = self.layer.settings.get(name)
        return value if isinstance(value, str) else ""

    def length(self, axis: int, of: TensorLayout | None = None) -> int:
        """Length of an axis of the first input; the batch for one that is open."""
        shape = (of or self.inputs[0]).shape
        found = shape[axis] if -len(shape) <= axis < len(shape) else 1
        return self.batch if found is None else found

    @property
    def y_positions(self) -> int:
        """Values of the first output, without its last axis."""
        shape = self.outputs[0].shape[:-1]
        return math.prod(self.batch if length is None else length for length in shape)
