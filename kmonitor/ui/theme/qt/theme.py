"""The theme in force, tinted icons, and labels and tones for the style sheet."""

import logging
from functools import lru_cache
from typing import Final

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QLabel, QWidget

from kmonitor.base.installation import resource_path
from kmonitor.ui.theme.palettes import DARK, Palette, Tone

_log = logging.getLogger(__name__)


class Theme(QObject):
    """Holds the palette; created once by the app and passed to every widget that needs it.

    Signals:
        palette_changed: Another palette is in force; main thread.
    """

    palette_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._palette = DARK

    @property
    def palette(self) -> Palette:
        return self._palette

    @Slot(object)
    def use(self, palette: Palette) -> None:
        if palette is not self._palette:
            self._palette = palette
            self.palette_changed.emit()

    def icon(self, name: str, tone: Tone = "plain") -> QIcon:
        return tinted_icon(name, self._palette.tone(tone), self._palette.mute)

    def icon_on_accent(self, name: str) -> QIcon:
        return tinted_icon(name, self._palette.on_accent, self._palette.mute)

    def pixmap(self, name: str, tone: Tone, size_px: int, widget: QWidget) -> QPixmap:
        """Return an icon for a label, sharp on the widget's screen."""
        return icon_pixmap(name, self._palette.tone(tone), size_px, widget.devicePixelRatioF())


def role_label(role: str, text: str = "", parent: QWidget | None = None) -> QLabel:
    """Return a label with a role in the style sheet; its text is never parsed as markup."""
    label = QLabel(text, parent)
    label.setProperty("role", role)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def set_tone(widget: QWidget, tone: str) -> None:
    """Set a widget's tone; the style sheet applies the colour."""
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        repolish(widget)


def repolish(widget: QWidget) -> None:
    """Make the style sheet read a widget's properties again."""
    style = widget.style()
    for part in (widget, *widget.findChildren(QWidget)):
        style.unpolish(part)
        style.polish(part)


def tinted_icon(name: str, colour: str, disabled_colour: str = "") -> QIcon:
    """Return an icon for a button, with a paler one for the disabled button."""
    icon = QIcon()
    for size_px in (16, 18, 20):
        icon.addPixmap(icon_pixmap(name, colour, size_px, 2.0))
        if disabled_colour:
            pale = icon_pixmap(name, disabled_colour, size_px, 2.0)
            icon.addPixmap(pale, QIcon.Mode.Disabled)
    return icon


@lru_cache(maxsize=512)
def icon_pixmap(name: str, colour: str, size_px: int, scale: float = 1.0) -> QPixmap:
    """Return an icon as a pixmap; a plain dot, and one log line, if there is no such icon.

    Args:
        name: File name in `resources/icons` without ".svg".
        colour: "#rrggbb".
        size_px: Width and height in device-independent pixels.
        scale: Device pixels per device-independent pixel.
    """
    renderer = QSvgRenderer(QByteArray(_svg_source(name).replace("currentColor", colour).encode()))
    pixmap = QPixmap(round(size_px * scale), round(size_px * scale))
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size_px, size_px))
    painter.end()
    return pixmap


_MISSING_ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24">'
    '<circle cx="12" cy="12" r="4" fill="currentColor"/></svg>'
)
"""Shown for a missing icon: a missing picture must not cause a failure while painting."""


@lru_cache(maxsize=64)
def _svg_source(name: str) -> str:
    # Cached, hence logged once for each name.
    try:
        return resource_path("icons", f"{name}.svg").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        _log.warning("icon %r is missing: %s", name, exc)
        return _MISSING_ICON
