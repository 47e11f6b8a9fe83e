"""Layers that are small networks by themselves: recurrence, attention, separable convolution."""

import math
from dataclasses import replace
from typing import Final

from kmonitor.memory.effects import Effect, Use
from kmonitor.memory.simulation.turns_ahead import TURNS_AHEAD

_KEPT_A_STEP: Final = {
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
"""Values that are kept for each step and unit; source: measured on Keras 3.15, TensorFlow's with
tensors that its allocator on a CPU counts."""

_UNKNOWN_CELL: Final = 13.0

_PILED_UP: Final = 0.4
"""Of the gradients of all turns that may run ahead, as measured; how many wait is a matter of
timing."""


def recurrent(use: Use) -> Effect:
    """LSTM, GRU and kin: linear in the length of the sequence."""
    kind = use.word("wraps") if use.layer.kind in ("RNN", "Bidirectional") else use.layer.kind
    kind = kind.removesuffix("Cell")
    values = _KEPT_A_STEP.get((kind, use.backend), _UNKNOWN_CELL)
    units = use.number("units") or use.length(-1, use.outputs[0])
    sides = 2 if use.layer.kind == "Bidirectional" else 1
    steps = use.length(1)
    kept = int(values * units * steps * use.batch * use.item) * sides
    # The sequence is turned so that time comes first, and its gradient turned back.
    weights = sum(math.prod(shape) for shape in use.variable_shapes) * use.item
    waiting = min(steps, TURNS_AHEAD) * weights
    surely = int(_PILED_UP * waiting) if use.backend == "tensorflow" else 2 * weights
    return Effect(
        keeps_inputs=(0,),
        extra_bytes=kept + use.x,
        forward_bytes=use.x,
        backward_bytes=kept // 8 + use.x + surely,
        doubtful_bytes=max(0, waiting - surely) if use.backend != "torch" else 0,
    )


def recurrent_convolution(use: Use) -> Effect:
    """ConvLSTM: as LSTM, at each place of a picture; most of it works in place."""
    steps = use.length(1)
    one = use.y if use.layer.settings.get("return_sequences") else use.y * steps
    return Effect(
        keeps_inputs=(0,), extra_bytes=8 * one, backward_bytes=2 * one, doubtful_bytes=6 * one
    )


def step_by_step(use: Use, effect: Effect) -> Effect:
    """TimeDistributed: TensorFlow unrolls it and adds up what all steps gave at the end.

    Each step gives a gradient of the weights, and one of the whole sequence with zeros at all
    other steps.

    Args:
        use: Of the wrapper.
        effect: Of the wrapped layer over all steps at once.
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


def separable(use: Use) -> Effect:
    """Depthwise, then pointwise: the tensor in between is kept too."""
    channels = use.length(-1) * int(use.number("depth_multiplier", 1) or 1)
    between = use.y_positions * channels * use.item
    name = use.word("activation")
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


def attention(use: Use) -> Effect:
    """Dot-product or additive attention without heads: scores of queries by keys."""
    queries, keys = use.length(1), use.length(1, use.inputs[min(1, len(use.inputs) - 1)])
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
    """Queries, keys and values, scores of each head, and what they give: quadratic in length."""
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
    kept_scores = 2 * scores + (scores // use.item if use.number("dropout") else 0)
    return Effect(
        keeps_inputs=tuple(range(min(len(use.inputs), 3))),
        extra_bytes=projected + context + kept_scores,
        forward_bytes=2 * scores,
        backward_bytes=2 * scores + projected,
    )
