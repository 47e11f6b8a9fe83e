"""The colours and the type of a chart, taken from the window's theme."""

from dataclasses import dataclass, field
from functools import cache, lru_cache

from PySide6.QtGui import QColor, QFont, QFontMetricsF

from kmonitor.ui.theme.palettes import DARK, Palette
from kmonitor.ui.theme.theme import SIZES


@dataclass(frozen=True, slots=True)
class ChartColours:
    """What a chart is painted with.

    Attributes:
        palette: Of the window; the chart lies on its `card` colour.
        family: Typeface; empty: the application's.
        meta_px: Size of ticks and labels, pixels.
        body_px: Size of the crosshair's card, pixels.
    """

    palette: Palette = field(default=DARK)
    family: str = ""
    meta_px: int = SIZES.meta_px
    body_px: int = SIZES.body_px

    def colour(self, name: str) -> QColor:
        """A colour of the palette by its field name: "card", "border", "mute", "crit", ..."""
        return QColor(getattr(self.palette, name))

    def series(self, hue: int) -> QColor:
        """The colour of a run; an index beyond the last starts anew."""
        return QColor(self.palette.series[hue % len(self.palette.series)])

    def on_card(self, colour: QColor, opacity: float) -> QColor:
        """A colour as it looks on the card at an opacity, itself opaque.

        Qt's raster engine paints a see-through line up to a hundred times slower than this.
        """
        card = self.colour("card")

        def mixed(front: float, back: float) -> float:
            return back + (front - back) * opacity

        return QColor.fromRgbF(
            mixed(colour.redF(), card.redF()),
            mixed(colour.greenF(), card.greenF()),
            mixed(colour.blueF(), card.blueF()),
        )

    def font(self, size_px: int, *, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
        """The chart's typeface, unhinted, with figures of equal width."""
        return _font(self.family, size_px, weight)

    def text_width(
        self, text: str, size_px: int, *, weight: QFont.Weight = QFont.Weight.Normal
    ) -> float:
        """How wide a text is in that font, pixels; measured once."""
        return _text_width(self.family, size_px, weight, text)


@lru_cache(maxsize=4096)
def _text_width(family: str, size_px: int, weight: QFont.Weight, text: str) -> float:
    return QFontMetricsF(_font(family, size_px, weight)).horizontalAdvance(text)


@cache
def _font(family: str, size_px: int, weight: QFont.Weight) -> QFont:
    font = QFont(family) if family else QFont()
    font.setPixelSize(size_px)
    font.setWeight(weight)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font
