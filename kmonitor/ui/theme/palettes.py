"""Two palettes for the window, pictures and reports, and one scale of sizes.

A third theme needs a palette here, a name in `settings/window_settings.py`, a case in
`theme/qt/theme_controller.py`, rules in `theme/qt/style_sheet.py`, an icon and a title in
`shell/qt/header_view.py`, and a title in `settings/qt/settings_pages.py` and
`shell/qt/first_start_view.py`.
"""

from dataclasses import dataclass
from typing import Final, Literal

Tone = Literal["plain", "accent", "ok", "warn", "crit", "mute"]
"""Meaning of a colour."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours as "#rrggbb", checked for contrast and three colour-vision deficiencies.

    Attributes:
        name: "dark" or "light".
        bg: Window. panel: Side panels and header. card: Cards.
        raised: Buttons and chips on a panel or card.
        hover: Background of these under the pointer.
        border: Lines of one pixel.
        text: Reading text. sub: Secondary. mute: Least important, still readable.
        accent: Primary action, focus, selection. on_accent: Text on it.
        ok, warn, crit: States, always beside an icon and a word.
        series: Hues of runs, in order.
        greys: Colours of further layers, from the one next to the card on.
        tint_alpha: Opacity, 0..1, of a state's colour as a background.
        others_alpha: Opacity, 0..1, of the lines of runs that are not selected.
    """

    name: Literal["dark", "light"]
    bg: str
    panel: str
    card: str
    raised: str
    hover: str
    border: str
    text: str
    sub: str
    mute: str
    accent: str
    on_accent: str
    ok: str
    warn: str
    crit: str
    series: tuple[str, str, str, str, str, str]
    greys: tuple[str, str, str, str]
    tint_alpha: float
    others_alpha: float

    def hue(self, index: int) -> str:
        """Colour of a run or layer; beyond the last hue they repeat, below 0 are greys."""
        return self.greys[-1 - index] if index < 0 else self.series[index % len(self.series)]

    def tone(self, tone: Tone) -> str:
        """Colour for this meaning."""
        return {
            "plain": self.text,
            "accent": self.accent,
            "ok": self.ok,
            "warn": self.warn,
            "crit": self.crit,
            "mute": self.mute,
        }[tone]


DARK: Final = Palette(
    name="dark",
    bg="#0e1116",
    panel="#14181f",
    card="#191e26",
    raised="#212833",
    hover="#2a3340",
    border="#272f3a",
    text="#e8edf3",
    sub="#a3afbd",
    mute="#909dac",
    accent="#58a6ff",
    on_accent="#06121f",
    ok="#3fcf8e",
    warn="#f2b33d",
    crit="#ff7b54",
    series=("#56b4e9", "#f0a83c", "#35c79a", "#d98cba", "#e9dd55", "#9aa7ff"),
    greys=("#6b7685", "#8b97a6", "#b0bac6", "#d8dfe7"),
    tint_alpha=0.15,
    others_alpha=0.6,
)

LIGHT: Final = Palette(
    name="light",
    bg="#f3f5f8",
    panel="#fafbfc",
    card="#ffffff",
    raised="#f0f3f6",
    hover="#e4e9ee",
    border="#dde3ea",
    text="#17202a",
    sub="#4c5a69",
    mute="#576473",
    accent="#0a62bb",
    on_accent="#ffffff",
    ok="#0a724e",
    warn="#8c5900",
    crit="#b23b0b",
    series=("#0072b2", "#a86500", "#00805f", "#a8477f", "#7d6f00", "#4b55c4"),
    greys=("#7d8996", "#5d6b7a", "#465362", "#27313d"),
    tint_alpha=0.10,
    others_alpha=0.78,
)


def tint(colour: str, alpha: float) -> str:
    """Make a colour transparent, in the notation of style sheets.

    Args:
        colour: "#rrggbb".
        alpha: Opacity, 0..1.
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {alpha:.3f})"


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
