"""The same model with smaller inputs, for advice on what that would save."""

from kmonitor.base.errors import Expected
from kmonitor.cli.common.terminal import complain
from kmonitor.memory.model_files.description import ModelSource, describe
from kmonitor_agent.wire.messages.model_layout import ModelLayout

_PICTURE = 3
_LEAST = 8
"""A side or a length below this is not halved, nor are the few features of a table."""


def smaller_inputs(source: ModelSource, layout: ModelLayout) -> dict[str, ModelLayout]:
    """Layouts by words for what is smaller; empty where the model takes no other input.

    Args:
        source: Where the model is made from, in a process of its own.
        layout: As it is.
    """
    found = _halved(layout)
    if found is None:
        return {}
    words, shape = found
    complain("kmonitor: making the model with a smaller input, in a process of its own.")
    try:
        return {words: describe(source, [[shape]])[0]}
    except Expected:
        return {}  # its weights were made for this very shape, or there is no framework here


def _halved(layout: ModelLayout) -> tuple[str, list[int]] | None:
    """Half as high and wide, or half as long, in words; None for other inputs."""
    if len(layout.inputs) != 1 or not layout.calls:
        return None
    tensor = layout.tensors[layout.inputs[0]]
    lengths = [each for each in tensor.shape[1:] if each is not None]
    if len(lengths) != len(tensor.shape) - 1 or not lengths or lengths[0] < 2 * _LEAST:
        return None
    if len(lengths) == _PICTURE and lengths[1] >= 2 * _LEAST:
        high, wide, channels = lengths
        words = f"input {high // 2} x {wide // 2} instead of {high} x {wide}; it sees less detail"
        return words, [high // 2, wide // 2, channels]
    is_series = len(lengths) == 2 or (len(lengths) == 1 and "int" in tensor.dtype)  # noqa: PLR2004
    if is_series:
        words = f"length {lengths[0] // 2} instead of {lengths[0]}; it sees less of each example"
        return words, [lengths[0] // 2, *lengths[1:]]
    return None
