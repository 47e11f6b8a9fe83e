"""Contrast of every text and mark, reckoned from the theme's tokens as they are really paired.

Source: WCAG 2.1, success criteria 1.4.3 (text 4.5 to 1) and 1.4.11 (graphical objects 3 to 1).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kmonitor.ui.theme.palettes import DARK, LIGHT, Palette
from kmonitor.ui.theme.qt.style_sheet import style_sheet

TEXT, GRAPHIC = 4.5, 3.0
SURFACES = ("bg", "panel", "card", "raised")
TONES = ("accent", "ok", "warn", "crit")
SELECTED_RUN = 0.16
"""Opacity of the accent behind the selected run of the tree."""

Colour = tuple[float, float, float]
"""Red, green and blue, 0..1."""

_WITHOUT_TEXT = frozenset({"::handle", "::add-page", "::sub-page", "::separator", "::corner"})
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_COMPOUND = re.compile(r"^(\*|\w+)?(?:#(\w+))?((?:\[[^\]]*\])*)((?:::?[\w-]+)*)$")
_RGBA = re.compile(r"rgba\((\d+), (\d+), (\d+), ([\d.]+)\)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One selector of the sheet with what it sets."""

    ancestors: tuple[str, ...]
    type: str
    id: str
    marks: frozenset[str]
    colour: str
    background: str

    def covers(self, other: "Rule") -> bool:
        """True if it holds for all that the other one is about."""
        return (
            self.type in {other.type, "*", "QWidget"}
            and self.id in {"", other.id}
            and self.marks <= other.marks
            and self.ancestors in {(), other.ancestors}
        )


def rules_of(sheet: str) -> Iterator[Rule]:
    """The rules, in their order."""
    for selectors, body in _RULE.findall(re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)):
        sets: dict[str, str] = {}
        for line in body.split(";"):
            name, _, value = line.partition(":")
            sets[name.strip()] = value.strip()
        for selector in selectors.split(","):
            *ancestors, last = selector.replace(">", " ").split()
            match = _COMPOUND.match(last)
            assert match is not None, last
            kind, called, attributes, pseudos = match.groups()
            marks = frozenset(
                re.findall(r"\[[^\]]*\]", attributes) + re.findall(r":+[\w-]+", pseudos)
            )
            colour, back = sets.get("color", ""), sets.get("background", "")
            yield Rule(tuple(ancestors), kind or "*", called or "", marks, colour, back)


def rgb(text: str) -> Colour:
    """A colour as `#rrggbb`."""
    red, green, blue = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def over(front: Colour, back: Colour, alpha: float) -> Colour:
    """Visible colour of one that lets another one through."""
    red, green, blue = (f * alpha + b * (1 - alpha) for f, b in zip(front, back, strict=True))
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    """The ratio, 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: Colour) -> float:
    """Relative luminance."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def backs(text: str, palette: Palette) -> list[Colour]:
    """Possible backgrounds: a translucent one on each surface."""
    surfaces = [rgb(getattr(palette, name)) for name in SURFACES]
    if text in {"", "transparent"}:
        return surfaces
    tinted = _RGBA.match(text)
    if tinted is None:
        return [rgb(text)]
    front = tuple(int(part) / 255 for part in tinted.groups()[:3])
    return [over((front[0], front[1], front[2]), back, float(tinted[4])) for back in surfaces]


def sheet_pairs(palette: Palette) -> Iterator[tuple[str, Colour, Colour]]:
    """Every text of the style sheet on every background that it can stand on."""
    rules = list(rules_of(style_sheet(palette)))
    for rule in rules:
        if not (rule.colour or rule.background) or rule.marks & _WITHOUT_TEXT:
            continue
        covering = [other for other in rules if other.covers(rule)]
        colours = [other.colour for other in covering if other.colour]
        found = [other.background for other in covering if other.background]
        background = found[-1] if found else ""
        if background in {"", "transparent"} and rule.ancestors:
            # A part without its own ground is on that of the part that contains it.
            outer = [r for r in rules if " ".join(rule.ancestors) == _selector(r)]
            background = outer[-1].background if outer else background
        name = f"{' '.join(rule.ancestors)} {_selector(rule)}"
        for back in backs(background, palette):
            yield name, rgb(colours[-1]), back


def _selector(rule: Rule) -> str:
    return rule.type + (f"#{rule.id}" if rule.id else "") + "".join(sorted(rule.marks))


def layer_pairs(palette: Palette) -> Iterator[tuple[str, Colour, Colour, float]]:
    """Greys of stacked bars."""
    for at, grey in enumerate(palette.greys):
        yield f"layer {at}", rgb(grey), rgb(palette.card), GRAPHIC
        yield f"layer's square beside the crosshair {at}", rgb(grey), rgb(palette.raised), GRAPHIC


def painted_pairs(palette: Palette) -> Iterator[tuple[str, Colour, Colour, float]]:
    """Colours that delegates and charts paint, with the least contrast of each."""

    def token(name: str) -> Colour:
        return rgb(getattr(palette, name))

    selected = over(token("accent"), token("panel"), SELECTED_RUN)
    for text in ("text", "sub", "mute", *TONES):
        for ground in ("card", "raised", "hover"):
            yield f"{text} of a table on {ground}", token(text), token(ground), TEXT
        yield f"{text} of the tree", token(text), token("panel"), TEXT
        yield f"{text} of the selected run", token(text), selected, TEXT
    yield "a flag", token("on_accent"), token("accent"), TEXT
    yield "a flag of a failure", token("on_accent"), token("warn"), TEXT
    for name in ("accent", "text"):
        for ground in SURFACES:
            yield f"focus ring {name} on {ground}", token(name), token(ground), GRAPHIC
    for at, hue in enumerate(palette.series):
        yield f"name of a run {at}", rgb(hue), token("card"), TEXT
        yield f"square of a run {at}", rgb(hue), token("panel"), GRAPHIC
        yield f"square of the selected run {at}", rgb(hue), selected, GRAPHIC
        yield f"square beside the crosshair {at}", rgb(hue), token("raised"), GRAPHIC
        line = over(rgb(hue), token("card"), palette.others_alpha)
        yield f"line of a run {at}", line, token("card"), GRAPHIC
    yield from layer_pairs(palette)
    yield "line of a lost run", token("mute"), token("card"), GRAPHIC
    yield "a switch that is off", token("mute"), token("raised"), GRAPHIC
    yield "a switch that is on", token("on_accent"), token("accent"), GRAPHIC


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
def test_every_text_of_the_style_sheet_can_be_read(palette: Palette):
    pairs = list(sheet_pairs(palette))
    weak = [
        f"{name}: {contrast(front, back):.2f}"
        for name, front, back in pairs
        if contrast(front, back) < TEXT
    ]

    assert len(pairs) > 100
    assert weak == []


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=lambda palette: palette.name)
def test_every_text_and_mark_that_is_painted_stands_out(palette: Palette):
    weak = [
        f"{name}: {contrast(front, back):.2f}, least {least}"
        for name, front, back, least in painted_pairs(palette)
        if contrast(front, back) < least
    ]

    assert weak == []


def test_the_ratio_is_that_of_the_standard():
    assert contrast(rgb("#000000"), rgb("#ffffff")) == pytest.approx(21.0)
    assert contrast(rgb("#777777"), rgb("#ffffff")) == pytest.approx(4.48, abs=0.01)
