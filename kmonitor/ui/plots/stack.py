"""Geometry of stacked bars and their legend in pixels, for the window and for drawings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kmonitor.ui.plots.chart_state import FloatArray, LayerState, StackState
from kmonitor.ui.plots.layout import TOP_PX, PlotFrame
from kmonitor.ui.text.formats import NARROW_SPACE, percent_text

ROW_PX: Final = 16.0
SWATCH_PX: Final = 8.0
SWATCH_GAP_PX: Final = 5.0
_APART_PX: Final = 14.0
_LEAST_SHOWN: Final = 0.005
"""Smallest share with a name; a smaller one would read as 0%."""

_LEAST_REST_PX: Final = 130.0
"""Part of a chart's height reserved for the plot; rows of the legend use only the rest."""

_SEAM_FROM_PX: Final = 4.0
"""Least height of boxes with a free pixel to the next, which separates layers without colours."""

Box = tuple[float, float, float, float]
"""Left, top, width and height, pixels."""


@dataclass(frozen=True, slots=True)
class LegendLabel:
    """Position of a layer's name in the legend.

    Attributes:
        text: Name and share: "waiting for input 61%".
        left: Left edge of the swatch, pixels.
        row: Row from the top, from 0.
    """

    layer: LayerState
    text: str
    left: float
    row: int


def place_legend(
    stack: StackState, size: tuple[float, float], text_width: Callable[[str], float]
) -> list[LegendLabel]:
    """Place the layers' names in as many rows as fit; the smallest layers are left out.

    Args:
        stack: Bars with the layers, in their order.
        size: Width and height of the chart, pixels.
        text_width: Returns the width of a text, pixels.
    """
    most_rows = max(1, int((size[1] - _LEAST_REST_PX) / ROW_PX))
    layers = list(stack.layers)
    while layers:
        placed = _placed(layers, size[0], text_width)
        if placed[-1].row < most_rows:
            return placed
        layers.remove(min(layers, key=_share))
    return []


def legend_height(legend: Sequence[LegendLabel]) -> float:
    """Height of the space above the plot with this legend, pixels."""
    return TOP_PX + (legend[-1].row + 1) * ROW_PX + 2.0 if legend else TOP_PX


def layer_boxes(stack: StackState, frame: PlotFrame) -> Iterator[tuple[LayerState, list[Box]]]:
    """Yield each layer with its visible boxes, on whole pixels.

    Args:
        frame: Position and scale of the plot.
    """
    left = np.round(_px(frame.left, frame.x_px(0.0), frame.x_px(1.0), stack.x_from, frame.right))
    right = np.round(_px(frame.left, frame.x_px(0.0), frame.x_px(1.0), stack.x_to, frame.right))
    is_seen = (stack.x_to > frame.x_lo) & (stack.x_from < frame.x_hi)
    width = np.maximum(right - left, 1.0)
    width -= width >= _SEAM_FROM_PX
    floor = np.zeros(len(left))
    bottom = np.full(len(left), round(frame.y_px(0.0)), dtype=np.float64)
    per_unit = frame.height / (frame.y_hi - frame.y_lo)
    for layer in stack.layers:
        floor = floor + layer.y
        top = np.round(frame.bottom - (floor - frame.y_lo) * per_unit)
        height = bottom - top
        seam = (height >= _SEAM_FROM_PX).astype(np.float64)
        is_drawn = is_seen & (height > 0.0)
        boxes = np.column_stack((left, top + seam, width, height - seam))[is_drawn]
        bottom = top
        yield layer, [(box[0], box[1], box[2], box[3]) for box in boxes.tolist()]


def _px(least: float, zero: float, one: float, x: FloatArray, most: float) -> FloatArray:
    return np.clip(zero + x * (one - zero), least, most)


def _placed(
    layers: Sequence[LayerState], width_px: float, text_width: Callable[[str], float]
) -> list[LegendLabel]:
    placed: list[LegendLabel] = []
    left = 0.0
    row = 0
    for layer in layers:
        text = f"{layer.label} {_share_text(layer.share)}"
        width = SWATCH_PX + SWATCH_GAP_PX + text_width(text)
        if left > 0.0 and left + width > width_px:
            left = 0.0
            row += 1
        placed.append(LegendLabel(layer, text, left, row))
        left += width + _APART_PX
    return placed


def _share_text(share: float) -> str:
    return percent_text(share) if share >= _LEAST_SHOWN else f"<{NARROW_SPACE}{percent_text(0.01)}"


def _share(layer: LayerState) -> float:
    return layer.share
