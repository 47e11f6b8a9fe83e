"""The events that a memory map of a run is made from: what its model is made of, what it took."""

import zlib
from collections.abc import Iterable
from typing import Annotated, Final

import msgspec

from kmonitor_agent.wire.messages.fields import within
from kmonitor_agent.wire.messages.identity import Amount, Count, Name
from kmonitor_agent.wire.messages.lifecycle_events import Event
from kmonitor_agent.wire.messages.model_layout import ModelLayout

PART_BYTES: Final = 48 * 1024
"""Of a packed layout in one event."""

MOST_PARTS: Final = 64
"""A model of more than that is not told: a thousand layers take two."""

_LARGEST_LAYOUT_BYTES: Final = 64 * 1024**2
"""Unpacked; what claims to be more is none of ours."""


_layouts: Final = msgspec.msgpack.Decoder(ModelLayout)


class LayoutPart(Event, frozen=True, tag="layout"):
    """A fit's model as a memory map needs it; once per fit, unless it is as in the fit before.

    Attributes:
        fit: Ordinal of the fit in the run, from 1.
        part: This part, from 1.
        parts: How many parts there are.
        body: Layers, variables and tensors between layers, with their names, shapes and plain
            settings; compressed msgpack, to be joined and read by `layout_of_parts`.
    """

    fit: Count
    part: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTS)]
    parts: Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTS)]
    body: Annotated[bytes, msgspec.Meta(max_length=PART_BYTES)]


class StepPeak(Event, frozen=True, tag="step_peak"):
    """What the first steps of a fit took of the framework's allocator, at one batch size.

    Told when they were the most that the process had taken so far: else the peak is another's.

    Attributes:
        fit: Ordinal of the fit.
        batch: Examples a step.
        steps: That had run.
        peak_bytes: Highest use by the allocator so far.
        between_bytes: Its use between two steps.
        device: "CPU", or the GPU's name as the driver tells it, or "GPU".
    """

    fit: Count
    batch: Annotated[int, msgspec.Meta(ge=1, le=2**40)]
    steps: Count
    peak_bytes: Amount
    between_bytes: Amount
    device: Name


def packed_layout(layout: ModelLayout) -> bytes:
    """A layout as the bodies of its parts together, cut to the bounds of its fields."""
    try:
        plain = msgspec.msgpack.encode(layout)
        _layouts.decode(plain)
    except (OverflowError, UnicodeEncodeError, msgspec.ValidationError):
        plain = msgspec.msgpack.encode(within(layout))
    return zlib.compress(plain, 1)


def layout_of_parts(parts: Iterable[LayoutPart]) -> ModelLayout | None:
    """The layout that all parts of one fit hold; None if one is missing or damaged.

    Args:
        parts: In any order.
    """
    by_number = {each.part: each for each in parts}
    if not by_number or len(by_number) != max(each.parts for each in by_number.values()):
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
    """Whether every number of an item is that of one in the layout."""
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
