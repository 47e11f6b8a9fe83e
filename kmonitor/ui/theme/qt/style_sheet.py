"""The style sheet of both themes, and the bundled fonts.

Qt restyles every widget at once for another style sheet: 100 ms for 400 widgets. So a single
permanent sheet has both themes, and the light theme's rules apply within windows marked light.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import fields

from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QWidget

from kmonitor.base.installation import resource_path
from kmonitor.ui.theme.palettes import DARK, LIGHT, SIZES, Palette, Tone, tint

_log = logging.getLogger(__name__)
_TOKEN = re.compile(r"@([a-z_]+)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]+)(\{[^{}]*\})")
_THEME_PROPERTY = "theme"
_TONES: tuple[Tone, ...] = ("accent", "ok", "warn", "crit", "mute")


def both_style_sheets() -> str:
    """Rules of both themes: dark, and light inside windows that `set_window_theme` has marked."""
    return "\n".join(
        [style_sheet(DARK), *_rules_inside(f'*[{_THEME_PROPERTY}="{LIGHT.name}"]', LIGHT)]
    )


def style_sheet(palette: Palette) -> str:
    """Return the style sheet for this palette.

    Raises:
        KeyError: The template names a token that does not exist.
    """
    template = resource_path("themes", "window.qss").read_text(encoding="utf-8")
    tokens = _tokens(palette)
    return _TOKEN.sub(lambda match: tokens[match[1]], template)


def _rules_inside(outer: str, palette: Palette) -> Iterator[str]:
    for selectors, sets in _RULE.findall(_COMMENT.sub("", style_sheet(palette))):
        inner = (f"{outer} {each.strip()}" for each in selectors.split(","))
        yield f"{', '.join(inner)} {sets}"


def _tokens(palette: Palette) -> dict[str, str]:
    tokens = {f.name: str(getattr(palette, f.name)) for f in fields(palette)}
    tokens |= {f.name: f"{getattr(SIZES, f.name)}px" for f in fields(SIZES)}
    for tone in _TONES:
        tokens[f"{tone}_tint"] = tint(palette.tone(tone), palette.tint_alpha)
        tokens[f"{tone}_line"] = tint(palette.tone(tone), 0.55)
    return tokens


def set_window_theme(window: QWidget, palette: Palette) -> None:
    """Mark a window with its theme, which also applies to its children.

    Widgets that were shown before use the mark when they are polished again.

    Args:
        window: Window without a parent.
    """
    window.setProperty(_THEME_PROPERTY, palette.name)


_FONT_FILES = ("Inter-Regular.ttf", "Inter-Medium.ttf", "Inter-SemiBold.ttf")


def load_fonts() -> str:
    """Register the bundled typeface with Qt; call once, after QApplication is created.

    Returns:
        Family to use; the system's own if the bundled one is missing.
    """
    family = ""
    for file in _FONT_FILES:
        try:
            path = resource_path("fonts", file)
        except FileNotFoundError:
            _log.warning("font %s is missing; using the system font", file)
            continue
        loaded = QFontDatabase.addApplicationFont(str(path))
        families = QFontDatabase.applicationFontFamilies(loaded) if loaded >= 0 else []
        family = family or (families[0] if families else "")
    return family or QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()


def window_font(family: str) -> QFont:
    """Body font: unhinted, with tabular figures."""
    font = QFont(family)
    font.setPixelSize(SIZES.body_px)
    # Unhinted outlines look the same offscreen, on X11 and on Wayland.
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setStyleStrategy(QFont.StyleStrategy.PreferAntialias)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font
