"""The bundled typeface, so that the window looks the same everywhere."""

import logging

from PySide6.QtGui import QFont, QFontDatabase

from kmonitor.base.resource_files import resource_path
from kmonitor.ui.theme.theme import SIZES

_log = logging.getLogger(__name__)
_FILES = ("Inter-Regular.ttf", "Inter-Medium.ttf", "Inter-SemiBold.ttf")


def load_fonts() -> str:
    """Make the bundled typeface known to Qt; call once, after QApplication.

    Returns:
        The family to use; the system's own where ours is missing.
    """
    family = ""
    for file in _FILES:
        try:
            path = resource_path("fonts", file)
        except FileNotFoundError:
            _log.warning("font %s is missing, using the system's", file)
            continue
        loaded = QFontDatabase.addApplicationFont(str(path))
        families = QFontDatabase.applicationFontFamilies(loaded) if loaded >= 0 else []
        family = family or (families[0] if families else "")
    return family or QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()


def window_font(family: str) -> QFont:
    """The body font: unhinted, with figures of equal width."""
    font = QFont(family)
    font.setPixelSize(SIZES.body_px)
    # Unhinted outlines look the same offscreen, on X11 and on Wayland.
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font
