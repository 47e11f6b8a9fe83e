"""The window's one style sheet, made of the theme's tokens."""

import re
from dataclasses import fields

from kmonitor.desktop.theme import SIZES, tint
from kmonitor.presenters.palettes import Palette, Tone
from kmonitor.resource_files import resource_path

_TOKEN = re.compile(r"@([a-z_]+)")
_TONES: tuple[Tone, ...] = ("accent", "ok", "warn", "crit", "mute")


def style_sheet(palette: Palette) -> str:
    """The style sheet for this palette.

    Raises:
        KeyError: The template names a token that does not exist.
    """
    template = resource_path("themes", "window.qss").read_text(encoding="utf-8")
    tokens = _tokens(palette)
    return _TOKEN.sub(lambda match: tokens[match[1]], template)


def _tokens(palette: Palette) -> dict[str, str]:
    tokens = {f.name: str(getattr(palette, f.name)) for f in fields(palette)}
    tokens |= {f.name: f"{getattr(SIZES, f.name)}px" for f in fields(SIZES)}
    for tone in _TONES:
        tokens[f"{tone}_tint"] = tint(palette.tone(tone), palette.tint_alpha)
        tokens[f"{tone}_line"] = tint(palette.tone(tone), 0.55)
    return tokens
