"""Stroke icons from `resources/icons`, painted in any colour at any scale."""

import logging
from functools import lru_cache
from typing import Final

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from kmonitor.base.resource_files import resource_path

_log = logging.getLogger(__name__)

_NEUTRAL: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24">'
    '<circle cx="12" cy="12" r="4" fill="currentColor"/></svg>'
)
"""Stands in for an icon that is missing: a picture is no reason to fail while painting."""


@lru_cache(maxsize=512)
def icon_pixmap(name: str, colour: str, size_px: int, scale: float = 1.0) -> QPixmap:
    """An icon as a pixmap; a plain dot, and one line in the log, if there is no such icon.

    Args:
        name: File name in `resources/icons` without ".svg".
        colour: "#rrggbb".
        size_px: Width and height in device-independent pixels.
        scale: Device pixels in one of those.
    """
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))
    pixmap = QPixmap(round(size_px * scale), round(size_px * scale))
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size_px, size_px))
    painter.end()
    return pixmap


def tinted_icon(name: str, colour: str, disabled_colour: str = "") -> QIcon:
    """An icon for a button, with a paler one for when it cannot be pressed."""
    icon = QIcon()
    for size_px in (16, 18, 20):
        icon.addPixmap(icon_pixmap(name, colour, size_px, 2.0))
        if disabled_colour:
            pale = icon_pixmap(name, disabled_colour, size_px, 2.0)
            icon.addPixmap(pale, QIcon.Mode.Disabled)
    return icon


@lru_cache(maxsize=64)
def _source(name: str) -> str:
    # Cached, hence logged once for each name.
    try:
        return resource_path("icons", f"{name}.svg").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        _log.warning("icon %r is missing: %s", name, exc)
        return _NEUTRAL
