"""Sizes of the window: one scale."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths in pixels at 1x and type sizes in pixels."""

    header: int = 60
    left: int = 268
    left_narrow: int = 212
    right: int = 312
    right_narrow: int = 256
    events: int = 190
    events_low: int = 132
    table_more: int = 44
    status: int = 26
    gutter: int = 12
    padding: int = 16
    card_radius: int = 10
    button_radius: int = 8
    meta_px: int = 11
    body_px: int = 12
    control_px: int = 13
    title_px: int = 15
    value_px: int = 22


SIZES: Final = Sizes()


def tint(colour: str, alpha: float) -> str:
    """A colour made see-through, as style sheets write it.

    Args:
        colour: "#rrggbb".
        alpha: Opacity, 0..1.
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha:.3f})"
