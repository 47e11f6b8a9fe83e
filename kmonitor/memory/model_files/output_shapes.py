"""Output shapes of layers at the ends of a model; the file contains all others."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

Shape = tuple[int | None, ...]
"""Lengths of axes; None if determined by data."""


class CannotTell(Exception):
    """A part of a model file whose meaning is not known here.

    Attributes:
        why: Reason as text.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def output_shape(
    kind: str, config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    """Return the shape of a layer's one output.

    Args:
        kind: Class name.
        weights: Shapes of the layer's variables.

    Raises:
        CannotTell: The kind is not known, or does not fit its inputs.
    """
    rule = _RULES.get(kind)
    if rule is None or not inputs:
        raise CannotTell(f"the output of {kind}")
    try:
        return rule(config, inputs, weights)
    except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError) as exc:
        raise CannotTell(f"the output of {kind} for {inputs[0]}") from exc


_Rule = Callable[[Mapping[str, Any], Sequence[Shape], Sequence[Shape]], Shape]


def _same_shape(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del config, weights
    return inputs[0]


def _spread(config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]) -> Shape:
    """Sums and similar: each axis is as long as the longest."""
    del config, weights
    rank = max(map(len, inputs))
    padded = [(1,) * (rank - len(each)) + each for each in inputs]
    return tuple(
        None if None in lengths and set(lengths) <= {None, 1} else _longest(lengths)
        for lengths in zip(*padded, strict=True)
    )


def _longest(lengths: tuple[int | None, ...]) -> int | None:
    known = {each for each in lengths if each is not None and each != 1}
    if len(known) > 1:
        raise ValueError(lengths)
    return known.pop() if known else 1


def _dense(config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]) -> Shape:
    del weights
    return (*inputs[0][:-1], int(config["units"]))


def _embedding(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    return (*inputs[0], int(config["output_dim"]))


def _flatten(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del config, weights
    lengths = inputs[0][1:]
    return (inputs[0][0], None if None in lengths else math.prod(cast("tuple[int]", lengths)))


def _reshape(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    target = [int(each) for each in config["target_shape"]]
    lengths = inputs[0][1:]
    if -1 in target:
        rest = -math.prod(target)
        whole = None if None in lengths else math.prod(cast("tuple[int]", lengths))
        target[target.index(-1)] = -1 if whole is None else whole // rest
    return (inputs[0][0], *(None if each == -1 else each for each in target))


def _windows(
    config: Mapping[str, Any], shape: Shape, size: Sequence[int], channels: int | None
) -> Shape:
    """Convolutions and pooling: number of windows that fit into each spatial axis."""
    first = config.get("data_format") == "channels_first"
    space = shape[2:] if first else shape[1:-1]
    n = len(space)
    strides = _per_dimension(config.get("strides") or size, n)
    dilation = _per_dimension(config.get("dilation_rate") or 1, n)
    padding = config.get("padding", "valid")
    found: list[int | None] = []
    for length, window, stride, apart in zip(space, size, strides, dilation, strict=True):
        if length is None:
            found.append(None)
        elif padding in ("same", "causal"):
            found.append(-(-length // stride))
        else:
            found.append((length - (window - 1) * apart - 1) // stride + 1)
    n_channels = (shape[1] if first else shape[-1]) if channels is None else channels
    return (shape[0], n_channels, *found) if first else (shape[0], *found, n_channels)


def _per_dimension(value: Any, n: int) -> list[int]:
    return [int(value)] * n if isinstance(value, int) else [int(each) for each in value]


def _conv(config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]) -> Shape:
    del weights
    size = _per_dimension(config["kernel_size"], len(inputs[0]) - 2)
    return _windows(config, inputs[0], size, int(config["filters"]))


def _depthwise(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    shape = inputs[0]
    size = _per_dimension(config["kernel_size"], len(shape) - 2)
    channels = shape[1] if config.get("data_format") == "channels_first" else shape[-1]
    n_channels = None if channels is None else channels * int(config["depth_multiplier"])
    return _windows(config, shape, size, n_channels)


def _transposed(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    shape = inputs[0]
    if config.get("output_padding") is not None:
        raise ValueError("output_padding")
    first = config.get("data_format") == "channels_first"
    space = shape[2:] if first else shape[1:-1]
    sizes = zip(
        space,
        _per_dimension(config["kernel_size"], len(space)),
        _per_dimension(config["strides"], len(space)),
        _per_dimension(config.get("dilation_rate") or 1, len(space)),
        strict=True,
    )
    found = [
        None
        if length is None
        else length * stride
        if config["padding"] == "same"
        else length * stride + max((window - 1) * apart + 1 - stride, 0)
        for length, window, stride, apart in sizes
    ]
    n_filters = int(config["filters"])
    return (shape[0], n_filters, *found) if first else (shape[0], *found, n_filters)


def _pool(config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]) -> Shape:
    del weights
    size = _per_dimension(config["pool_size"], len(inputs[0]) - 2)
    return _windows({**config, "strides": config.get("strides") or size}, inputs[0], size, None)


def _global_pool(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    shape = inputs[0]
    first = config.get("data_format") == "channels_first"
    channels = shape[1] if first else shape[-1]
    if not config.get("keepdims"):
        return (shape[0], channels)
    ones = (1,) * (len(shape) - 2)
    return (shape[0], channels, *ones) if first else (shape[0], *ones, channels)


def _recurrent(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    if config.get("return_state"):
        raise ValueError("states")
    batch, length = inputs[0][:2]
    units = int(config["units"])
    return (batch, length, units) if config.get("return_sequences") else (batch, units)


def _bidirectional(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    inner = config["layer"]
    one = output_shape(inner["class_name"], inner["config"], inputs, weights)
    mode = config.get("merge_mode")
    if mode is None:
        raise ValueError("two outputs")
    return one if mode != "concat" else (*one[:-1], 2 * cast("int", one[-1]))


def _wrapped(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    inner = config["layer"]
    return output_shape(inner["class_name"], inner["config"], inputs, weights)


def _each_step(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    shape = inputs[0]
    inner_shape = _wrapped(config, [(shape[0], *shape[2:])], weights)
    return (inner_shape[0], shape[1], *inner_shape[1:])


def _concatenated(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    axis = int(config.get("axis", -1)) % len(inputs[0])
    lengths = [each[axis] for each in inputs]
    whole = None if None in lengths else sum(cast("list[int]", lengths))
    return (*inputs[0][:axis], whole, *inputs[0][axis + 1 :])


def _permuted(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    return (inputs[0][0], *(inputs[0][int(each)] for each in config["dims"]))


def _repeated(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    return (inputs[0][0], int(config["n"]), inputs[0][1])


def _up_sampled(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    shape = inputs[0]
    first = config.get("data_format") == "channels_first"
    space = shape[2:] if first else shape[1:-1]
    sizes = _per_dimension(config["size"], len(space))
    found = [None if n is None else n * size for n, size in zip(space, sizes, strict=True)]
    return (*shape[:2], *found) if first else (shape[0], *found, shape[-1])


def _attended(
    config: Mapping[str, Any], inputs: Sequence[Shape], weights: Sequence[Shape]
) -> Shape:
    del weights
    if config.get("output_shape") is not None or config.get("return_attention_scores"):
        raise ValueError("output_shape")
    return inputs[0]


_ELEMENTWISE: Final = (
    "Activation", "ReLU", "LeakyReLU", "PReLU", "ELU", "Softmax", "BatchNormalization",
    "LayerNormalization", "GroupNormalization", "RMSNormalization", "UnitNormalization", "Dropout",
    "AlphaDropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D", "SpatialDropout2D",
    "SpatialDropout3D", "ActivityRegularization", "Identity", "Masking", "Rescaling",
    "Normalization", "Relu", "Relu6", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Square", "Abs",
    "Negative", "Silu", "Gelu", "Softplus", "LogSoftmax", "Cast", "Rsqrt", "HardSigmoid",
    "HardSilu", "Selu", "Elu", "LeakyRelu",
)  # fmt: skip

_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(_ELEMENTWISE, _same_shape),
    **dict.fromkeys(
        ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Divide", "TrueDivide",
         "Power"),
        _spread,
    ),
    "Dense": _dense,
    "Embedding": _embedding,
    "Flatten": _flatten,
    "Reshape": _reshape,
    **{f"Conv{n}D": _conv for n in (1, 2, 3)},
    **{f"SeparableConv{n}D": _conv for n in (1, 2)},
    **{f"DepthwiseConv{n}D": _depthwise for n in (1, 2)},
    **{f"Conv{n}DTranspose": _transposed for n in (1, 2, 3)},
    **{f"{kind}Pooling{n}D": _pool for n in (1, 2, 3) for kind in ("Max", "Average")},
    **{f"Global{kind}Pooling{n}D": _global_pool for n in (1, 2, 3) for kind in ("Max", "Average")},
    **dict.fromkeys(("LSTM", "GRU", "SimpleRNN"), _recurrent),
    "Bidirectional": _bidirectional,
    "SpectralNormalization": _wrapped,
    "TimeDistributed": _each_step,
    "Concatenate": _concatenated,
    "Permute": _permuted,
    "RepeatVector": _repeated,
    **{f"UpSampling{n}D": _up_sampled for n in (1, 2, 3)},
    "MultiHeadAttention": _attended,
}  # fmt: skip
