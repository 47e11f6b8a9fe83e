"""Memory rules for each kind of layer: tensors kept for the backward pass, and workspace.

`effect_of` looks up the rule of a use of a layer in the tables at the end of this module.

Source: the tensors that gradients of TensorFlow, XLA and PyTorch read; checked against
TensorFlow's allocator by `bench_map`. X and Y are the bytes of a layer's inputs and outputs.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from kmonitor.memory.simulation.operation_kinds import TURNS_AHEAD
from kmonitor_agent.wire.messages.model_layout import LayerLayout, TensorLayout

Backend = Literal["tensorflow", "xla", "torch"]
"""Backend of a step: TensorFlow's executor, XLA (JAX, TensorFlow's jit_compile), PyTorch."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Memory that a use of a layer takes.

    Attributes:
        keeps_inputs: Indices of the inputs that the backward pass reads.
        keeps_outputs: True if the backward pass reads the outputs.
        extra_bytes: Further bytes kept for the backward pass.
        forward_bytes: Workspace of the forward computation.
        backward_bytes: Workspace of the gradient's computation, beside the gradients.
        is_view: True if the output is the input under another shape.
        is_in_place: True if the output may take the input's memory when no other reader needs it.
        copies_gradient: True if the input's gradient has its own memory; else it shares that of
            the output's gradient.
        doubtful_bytes: Possible further workspace of the backward pass.
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
        batch: Examples per step.
        item: Bytes of a value in the computing precision.
        gives_gradient: True if a layer below is trained, so that the inputs get gradients.
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

    def text(self, name: str) -> str:
        """A text among the layer's settings; empty if there is none."""
        value = self.layer.settings.get(name)
        return value if isinstance(value, str) else ""

    def length(self, axis: int, of: TensorLayout | None = None) -> int:
        """Length of an axis of the first input or of `of`; the batch for an open axis."""
        shape = (of or self.inputs[0]).shape
        found = shape[axis] if -len(shape) <= axis < len(shape) else 1
        return self.batch if found is None else found

    @property
    def y_positions(self) -> int:
        """Values of the first output, without its last axis."""
        shape = self.outputs[0].shape[:-1]
        return math.prod(self.batch if length is None else length for length in shape)


Rule = Callable[[Use], Effect | None]


def effect_of(use: Use) -> Effect | None:
    """Effect of a use of a layer; None if no rule covers its kind."""
    rule = rule_of(use.layer.kind)
    return None if use.layer.is_own or rule is None else rule(use)


def rule_of(kind: str) -> Rule | None:
    if kind in _RULES:
        return _RULES[kind]
    return next((rule for pattern, rule in _FAMILIES if pattern.fullmatch(kind)), None)


def _wrapper(use: Use) -> Effect | None:
    """TimeDistributed and similar: the wrapped layer's rule, with the whole tensors as X and Y."""
    inner = None if use.text("wraps") in _WRAPPERS else rule_of(use.text("wraps"))
    effect = None if inner is None else inner(use)
    if effect is None:
        return None
    if use.layer.kind == "TimeDistributed":
        return step_by_step(use, effect)
    copies = 2 * use.x if use.layer.kind == "Bidirectional" else 0
    return replace(
        effect,
        forward_bytes=effect.forward_bytes + copies,
        backward_bytes=effect.backward_bytes + copies,
    )


def assumed(use: Use) -> Effect:
    """Effect assumed for a layer that no rule covers.

    The layer keeps inputs, outputs and one further tensor, and the result of each of its matrices.
    """
    positions = use.y_positions * use.item
    inner = sum(positions * shape[-1] for shape in use.variable_shapes if len(shape) > 1)
    effect = Effect(
        keeps_inputs=tuple(range(len(use.inputs))),
        keeps_outputs=True,
        extra_bytes=use.y + inner,
        forward_bytes=use.y,
        backward_bytes=use.x + use.y,
    )
    return step_by_step(use, effect) if use.layer.kind == "TimeDistributed" else effect


_PILED_UP: Final = 0.4
"""Measured share of waiting gradients among all turns that may run ahead; it depends on timing."""


def step_by_step(use: Use, effect: Effect) -> Effect:
    """Effect of TimeDistributed, which TensorFlow unrolls, adding up all steps at the end.

    Each step yields a gradient of the weights, and one of the whole sequence with zeros at all
    other steps.

    Args:
        use: Use of the wrapper.
        effect: Effect of the wrapped layer over all steps at once.
    """
    steps = use.inputs[0].shape[1] if len(use.inputs[0].shape) > 1 else None
    if use.backend == "torch" or steps is None:
        return effect
    weights = steps * sum(math.prod(shape) for shape in use.variable_shapes) * use.item
    wholes = steps * use.x if use.gives_gradient else 0
    if use.backend == "xla":
        return replace(effect, doubtful_bytes=weights + wholes)
    surely = int(_PILED_UP * wholes)
    return Effect(
        keeps_inputs=(),
        keeps_outputs=effect.keeps_outputs,
        extra_bytes=effect.extra_bytes + use.x,
        forward_bytes=effect.forward_bytes + use.y,
        backward_bytes=effect.backward_bytes + weights + surely,
        doubtful_bytes=wholes - surely,
    )


_KEEP_RESULT: Final = frozenset({
    "relu", "relu6", "sigmoid", "tanh", "softmax", "log_softmax", "elu", "exponential", "exp",
    "selu", "sqrt", "rsqrt", "reciprocal",
})  # fmt: skip
"""Functions whose gradient is computed from the result; they work in place."""

_KEEP_INPUT: Final = frozenset({
    "leaky_relu", "softplus", "softsign", "square", "log", "abs", "absolute", "sin", "cos",
    "hard_sigmoid", "hard_tanh", "threshold", "log_sigmoid", "soft_shrink",
    "hard_shrink", "tanh_shrink", "sparse_sigmoid", "glu",
})  # fmt: skip
"""Functions whose gradient is computed from the input."""

_SEVERAL: Final = {
    "silu": 1, "swish": 1, "gelu": 3, "mish": 3, "hard_swish": 3, "hard_silu": 3, "celu": 2,
    "squareplus": 2, "sparse_plus": 2,
}  # fmt: skip
"""Composite functions, with the number of tensors they keep on TensorFlow beside the result."""


def activated(effect: Effect, use: Use, name: str) -> Effect:
    """Effect of a layer followed by its activation function.

    Args:
        effect: Effect of the layer without the function.
        use: Use of the layer, whose Y is that of the function.
    """
    if name in ("", "linear", "None"):
        return effect
    keeps_outputs = effect.keeps_outputs or name in _KEEP_RESULT
    several = _SEVERAL.get(name, 0 if name in _KEEP_RESULT else 1)
    several = min(several, 1) if use.backend != "tensorflow" else several
    return Effect(
        keeps_inputs=effect.keeps_inputs,
        keeps_outputs=keeps_outputs,
        extra_bytes=effect.extra_bytes + several * use.y,
        forward_bytes=max(effect.forward_bytes, several * use.y),
        backward_bytes=max(effect.backward_bytes, several * use.y),
    )


def _function(name: str) -> Rule:
    def rule(use: Use) -> Effect:
        chosen = name or use.text("activation")
        if chosen in _KEEP_RESULT:
            return Effect(keeps_outputs=True, is_in_place=True, copies_gradient=False)
        if chosen in ("linear", ""):
            return Effect(is_view=True, copies_gradient=False)
        more = _SEVERAL.get(chosen, 1) - 1 if use.backend == "tensorflow" else 0
        return Effect(
            keeps_inputs=(0,), extra_bytes=more * use.y, backward_bytes=use.y if more else 0
        )

    return rule


def _linear(use: Use) -> Effect:
    """Dense and convolutions: the weights' gradient reads X."""
    on_torch = use.backend == "torch" and len(use.inputs[0].shape) > 3  # noqa: PLR2004 - pictures
    copies = use.x if on_torch and use.text("data_format") == "channels_last" else 0
    effect = Effect(keeps_inputs=(0,), extra_bytes=copies)
    return activated(effect, use, use.text("activation"))


def _depthwise(use: Use) -> Effect:
    # TensorFlow's gradient works on a copy with zeros around it.
    work = use.x if use.backend == "tensorflow" else 0
    effect = Effect(keeps_inputs=(0,), backward_bytes=work)
    return activated(effect, use, use.text("activation"))


def separable(use: Use) -> Effect:
    """Depthwise, then pointwise convolution: the tensor in between is kept too."""
    channels = use.length(-1) * int(use.number("depth_multiplier", 1) or 1)
    between = use.y_positions * channels * use.item
    name = use.text("activation")
    # In one dimension, the picture of one row that it works on.
    copies = use.x if use.backend == "tensorflow" and "1D" in use.layer.kind else 0
    keeps_result = name in ("relu", "sigmoid", "tanh", "relu6", "elu", "softmax", "selu")
    several = 0 if keeps_result or name in ("", "linear") else 1
    return Effect(
        keeps_inputs=(0,),
        keeps_outputs=keeps_result,
        extra_bytes=between + several * use.y + copies,
        # TensorFlow's gradient of the depthwise part works on a copy.
        backward_bytes=between * (2 if use.backend == "tensorflow" else 1),
    )


def _embedding(use: Use) -> Effect:
    """Looked-up rows: nothing is kept; the gradient has one row per lookup."""
    return Effect(backward_bytes=use.y)


_STATES_PER_STEP: Final = {
    ("LSTM", "tensorflow"): 8.0,
    ("LSTM", "xla"): 11.0,
    ("LSTM", "torch"): 13.0,
    ("GRU", "tensorflow"): 6.5,
    ("GRU", "xla"): 9.6,
    ("GRU", "torch"): 11.0,
    ("SimpleRNN", "tensorflow"): 1.0,
    ("SimpleRNN", "xla"): 3.0,
    ("SimpleRNN", "torch"): 3.0,
}
"""Values kept per step and unit. Source: measured on Keras 3.15; TensorFlow's with tensors that
its CPU allocator counts."""

_UNKNOWN_CELL: Final = 13.0


def recurrent(use: Use) -> Effect:
    """LSTM, GRU and similar: linear in the length of the sequence."""
    kind = use.text("wraps") if use.layer.kind in ("RNN", "Bidirectional") else use.layer.kind
    kind = kind.removesuffix("Cell")
    values = _STATES_PER_STEP.get((kind, use.backend), _UNKNOWN_CELL)
    units = use.number("units") or use.length(-1, use.outputs[0])
    sides = 2 if use.layer.kind == "Bidirectional" else 1
    steps = use.length(1)
    states_bytes = int(values * units * steps * use.batch * use.item) * sides
    # The sequence is turned so that time comes first, and its gradient turned back.
    weights = sum(math.prod(shape) for shape in use.variable_shapes) * use.item
    waiting = min(steps, TURNS_AHEAD) * weights
    surely = int(_PILED_UP * waiting) if use.backend == "tensorflow" else 2 * weights
    return Effect(
        keeps_inputs=(0,),
        extra_bytes=states_bytes + use.x,
        forward_bytes=use.x,
        backward_bytes=states_bytes // 8 + use.x + surely,
        doubtful_bytes=max(0, waiting - surely) if use.backend != "torch" else 0,
    )


def recurrent_convolution(use: Use) -> Effect:
    """ConvLSTM: like LSTM at each position of a picture; mostly in place."""
    steps = use.length(1)
    one = use.y if use.layer.settings.get("return_sequences") else use.y * steps
    return Effect(
        keeps_inputs=(0,), extra_bytes=8 * one, backward_bytes=2 * one, doubtful_bytes=6 * one
    )


def attention(use: Use) -> Effect:
    """Dot-product or additive attention without heads: scores of queries by keys."""
    queries = use.length(1)
    keys = use.length(1, use.inputs[min(1, len(use.inputs) - 1)])
    scores = use.batch * queries * keys * use.item
    if use.layer.kind == "AdditiveAttention":
        scores *= 1 + use.length(-1)
    return Effect(
        keeps_inputs=tuple(range(min(len(use.inputs), 3))),
        extra_bytes=scores * (2 if use.number("dropout") else 1),
        forward_bytes=2 * scores,
        backward_bytes=2 * scores,
    )


def multi_head_attention(use: Use) -> Effect:
    """Queries, keys and values, scores of each head, and their results: quadratic in length."""
    heads = int(use.number("num_heads") or use.number("num_query_heads") or 1)
    width = int(use.number("key_dim") or use.number("head_dim") or 1)
    value_width = int(use.number("value_dim") or width)
    queries = use.length(1)
    keys = use.length(1, use.inputs[min(1, len(use.inputs) - 1)])
    one = use.batch * heads * use.item
    projected = one * (queries * width + keys * width + keys * value_width)
    context = one * queries * value_width
    scores = one * queries * keys
    # Before and behind dropout, or what takes its place; its mask.
    scores_bytes = 2 * scores + (scores // use.item if use.number("dropout") else 0)
    return Effect(
        keeps_inputs=tuple(range(min(len(use.inputs), 3))),
        extra_bytes=projected + context + scores_bytes,
        forward_bytes=2 * scores,
        backward_bytes=2 * scores + projected,
    )


def _batch_normalization(use: Use) -> Effect:
    wide = use.x if use.item < 4 and use.backend != "xla" else 0  # noqa: PLR2004 - half precision
    wide *= 2  # computed in float32
    if not use.layer.is_trainable:
        return Effect(forward_bytes=wide, is_in_place=True)
    if use.backend == "torch":
        return Effect(keeps_inputs=(0,), extra_bytes=use.x + wide)
    work = 2 * use.x if use.backend == "tensorflow" else 0
    return Effect(keeps_inputs=(0,), extra_bytes=wide, forward_bytes=use.x, backward_bytes=work)


def _layer_normalization(use: Use) -> Effect:
    extra = use.x if use.backend == "tensorflow" else 0
    work = use.x if use.backend == "xla" else 2 * use.x
    return Effect(keeps_inputs=(0,), extra_bytes=extra, forward_bytes=use.x, backward_bytes=work)


def _group_normalization(use: Use) -> Effect:
    work = use.x if use.backend == "xla" else 2 * use.x
    return Effect(keeps_inputs=(0,), forward_bytes=use.x, backward_bytes=work)


def _max_pool(use: Use) -> Effect:
    if use.backend == "torch":
        return Effect(keeps_inputs=(0,), extra_bytes=8 * use.y // use.item)
    if use.backend == "xla":
        return Effect(keeps_inputs=(0,), backward_bytes=2 * use.x)
    return Effect(keeps_inputs=(0,), keeps_outputs=True, extra_bytes=use.y // use.item)


def _average_pool(use: Use) -> Effect:
    return Effect(keeps_inputs=(0,) if use.backend == "torch" else ())


def _reduces(use: Use) -> Effect:
    """A mean over axes: the gradient is only broadcast."""
    return Effect(forward_bytes=0, backward_bytes=0 if use.backend == "xla" else use.x)


def _reduces_by_choice(use: Use) -> Effect:
    """A maximum over axes: the gradient finds the chosen values of X again."""
    return Effect(keeps_inputs=(0,), keeps_outputs=True, backward_bytes=2 * use.x)


def _dropout(use: Use) -> Effect:
    if not use.number("rate"):
        return Effect(is_view=True, copies_gradient=False)
    mask = use.y // use.item
    return Effect(extra_bytes=mask, forward_bytes=use.y, is_in_place=True)


def _channel_dropout(use: Use) -> Effect:
    """One bit per channel: the size of the mask is negligible."""
    del use
    return Effect(is_in_place=True)


def _alpha_dropout(use: Use) -> Effect:
    """The mask as numbers, and its complement."""
    if not use.number("rate"):
        return Effect(is_view=True, copies_gradient=False)
    return Effect(extra_bytes=2 * use.y + use.y // use.item, forward_bytes=use.y)


def _noise(use: Use) -> Effect:
    return Effect(extra_bytes=use.y, forward_bytes=use.y)


def _added_noise(use: Use) -> Effect:
    """Noise, which needs no input, so that TensorFlow draws it before everything else."""
    drawn = use.y if use.backend == "tensorflow" else 0
    return Effect(
        extra_bytes=drawn, forward_bytes=use.y - drawn, is_in_place=True, copies_gradient=False
    )


def _product(use: Use) -> Effect:
    if len(use.inputs) == 1 and use.layer.kind != "Power":
        # By a number: its gradient needs nothing.
        return Effect(is_in_place=True)
    return Effect(keeps_inputs=tuple(range(len(use.inputs))), backward_bytes=use.y)


def _sum(use: Use) -> Effect:
    """The gradient of a sum passes unchanged, unless one side was broadcast."""
    same = len(set(use.input_bytes)) <= 1
    return Effect(is_in_place=True, copies_gradient=not same)


def _chosen_of(use: Use) -> Effect:
    return Effect(keeps_inputs=tuple(range(len(use.inputs))), backward_bytes=use.y)


def _matrix_product(use: Use) -> Effect:
    return Effect(keeps_inputs=tuple(range(len(use.inputs))))


def _parametric_relu(use: Use) -> Effect:
    return Effect(keeps_inputs=(0,), extra_bytes=use.y, backward_bytes=use.y)


def _moved(use: Use) -> Effect:
    """Values are only moved."""
    del use
    return Effect()


def _view(use: Use) -> Effect:
    del use
    return Effect(is_view=True, copies_gradient=False)


def _scaled(use: Use) -> Effect:
    del use
    return Effect(is_in_place=True, copies_gradient=False)


def _up_sampling(use: Use) -> Effect:
    return Effect(forward_bytes=use.y if use.backend == "tensorflow" else 0)


_WRAPPERS: Final = frozenset({"TimeDistributed", "Bidirectional", "SpectralNormalization"})

_FAMILIES: Final[tuple[tuple[re.Pattern[str], Rule], ...]] = (
    (re.compile(r"Conv(olution)?[123]D(Transpose)?"), _linear),
    (re.compile(r"SeparableConv(olution)?[12]D"), separable),
    (re.compile(r"DepthwiseConv[12]D"), _depthwise),
    (re.compile(r"(Adaptive)?Max(Pool|Pooling)[123]D"), _max_pool),
    (re.compile(r"(Adaptive)?(Avg|Average)(Pool|Pooling)[123]D"), _average_pool),
    (re.compile(r"Global(Avg|Average)(Pool|Pooling)[123]D"), _reduces),
    (re.compile(r"GlobalMax(Pool|Pooling)[123]D"), _reduces_by_choice),
    (re.compile(r"SpatialDropout[123]D"), _channel_dropout),
    (re.compile(r"ConvLSTM[123]D"), recurrent_convolution),
    (re.compile(r"(Cropping|ZeroPadding)[123]D"), _moved),
    (re.compile(r"UpSampling[123]D"), _up_sampling),
    (re.compile(r"Random\w+"), _moved),
)
"""Rules of kinds that differ only in the number of axes."""

_RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(("Dense", "EinsumDense"), _linear),
    **dict.fromkeys(("Embedding", "ReversibleEmbedding"), _embedding),
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN", "RNN"), recurrent),
    **dict.fromkeys(("Attention", "AdditiveAttention"), attention),
    **dict.fromkeys(
        ("MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"),
        multi_head_attention,
    ),
    **dict.fromkeys(_WRAPPERS, _wrapper),
    "BatchNormalization": _batch_normalization,
    **dict.fromkeys(
        ("LayerNormalization", "RMSNormalization"), _layer_normalization
    ),
    **dict.fromkeys(("GroupNormalization", "UnitNormalization"), _group_normalization),
    "Dropout": _dropout,
    "AlphaDropout": _alpha_dropout,
    "GaussianDropout": _noise,
    "GaussianNoise": _added_noise,
    "Activation": _function(""),
    "PReLU": _parametric_relu,
    "LeakyReLU": _function("leaky_relu"),
    **dict.fromkeys(("ReLU", "Relu"), _function("relu")),
    **{
        name.title().replace("_", ""): _function(name)
        for name in (*_KEEP_RESULT, *_KEEP_INPUT, *_SEVERAL)
        if name != "relu"
    },
    "ELU": _function("elu"),
    **dict.fromkeys(("Multiply", "Divide", "TrueDivide", "Power"), _product),
    **dict.fromkeys(("Add", "Subtract", "Average", "AddN"), _sum),
    **dict.fromkeys(("Maximum", "Minimum", "Where"), _chosen_of),
    **dict.fromkeys(("Dot", "Matmul", "Einsum", "Tensordot"), _matrix_product),
    **dict.fromkeys(("Mean", "Sum"), _reduces),
    **dict.fromkeys(("Max", "Min", "Amax", "Amin"), _reduces_by_choice),
    **dict.fromkeys(("Negative", "Rescaling"), _scaled),
    **dict.fromkeys(
        ("Flatten", "Reshape", "Identity", "Masking", "ActivityRegularization", "ExpandDims",
         "Squeeze", "StopGradient", "NotEqual", "Ravel"),
        _view,
    ),
    **dict.fromkeys(
        ("Concatenate", "Permute", "RepeatVector", "Resizing", "CenterCrop", "GetItem", "Split",
         "Stack", "Transpose", "Tile", "Repeat", "Pad", "Take", "Cast", "BroadcastTo", "Roll",
         "Normalization", "CategoryEncoding", "Discretization", "Hashing", "HashedCrossing",
         "IntegerLookup", "StringLookup", "TextVectorization", "Swapaxes", "Moveaxis", "Unstack",
         "MelSpectrogram", "STFTSpectrogram", "Shape", "OnesLike", "ZerosLike", "Arange"),
        _moved,
    ),
}  # fmt: skip
"""Rules by kind of layer, or of an operation between layers."""
