"""Layers that are small networks by themselves: recurrence, attention, separable convolution."""

import math
from typing import Final

from kmonitor.memory_map.effects import Effect, Use

_KEPT_A_STEP: Final = {
    ("LSTM", "xla"): 11.0,
    ("LSTM", ""): 13.0,
    ("GRU", "xla"): 9.6,
    ("GRU", ""): 11.0,
    ("SimpleRNN", "xla"): 3.0,
    ("SimpleRNN", ""): 3.0,
}
"""Values that are kept for each step and unit; source: measured on Keras 3.15."""

_UNKNOWN_CELL: Final = 13.0


def recurrent(use: Use) -> Effect:
    """LSTM, GRU and kin: linear in the length of the sequence."""
    kind = use.word("wraps") if use.layer.kind in ("RNN", "Bidirectional") else use.layer.kind
    kind = kind.removesuffix("Cell")
    backend = "xla" if use.backend == "xla" else ""
    values = _KEPT_A_STEP.get((kind, backend), _UNKNOWN_CELL)
    units = use.number("units") or use.length(-1, use.outputs[0])
    sides = 2 if use.layer.kind == "Bidirectional" else 1
    steps = use.length(1)
    kept = int(values * units * steps * use.batch * use.item) * sides
    # The sequence is turned so that time comes first, and its gradient turned back.
    weights = max((math.prod(shape) for shape in use.variable_shapes), default=0) * use.item
    return Effect(
        keeps_inputs=(0,),
        extra_bytes=kept + use.x,
        forward_bytes=use.x,
        backward_bytes=kept // 4 + use.x + 2 * weights,
    )


def recurrent_convolution(use: Use) -> Effect:
    """ConvLSTM: as LSTM, at each place of a picture."""
    steps = use.length(1)
    one = use.y if use.layer.settings.get("return_sequences") else use.y * steps
    return Effect(keeps_inputs=(0,), extra_bytes=int(13 * one), backward_bytes=4 * one)


def separable(use: Use) -> Effect:
    """Depthwise, then pointwise: the tensor in between is kept too."""
    channels = use.length(-1) * int(use.number("depth_multiplier", 1) or 1)
    between = use.y_positions * channels * use.item
    name = use.word("activation")
    keeps_result = name in ("relu", "sigmoid", "tanh", "relu6", "elu", "softmax", "selu")
    several = 0 if keeps_result or name in ("", "linear") else 1
    return Effect(
        keeps_inputs=(0,),
        keeps_outputs=keeps_result,
        extra_bytes=between + several * use.y,
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
    # With dropout the scores before it and its mask too.
    kept_scores = scores + (scores + scores // use.item if use.number("dropout") else 0)
    return Effect(
        keeps_inputs=tuple(range(min(len(use.inputs), 3))),
        extra_bytes=projected + context + kept_scores,
        forward_bytes=2 * scores,
        backward_bytes=2 * scores + projected,
    )
