"""HTML and SVG in which no text of a script is ever taken for markup; tables and marks."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor_agent.wire.text import printable


class Markup(str):
    """Text that is markup already; every other text is escaped where it is put in."""

    __slots__ = ()


Part = Markup | str
"""What an element may hold."""

_VOID_ELEMENTS: Final = frozenset({"meta"})


def tag(name: str, /, *inside: Part, **attributes: str | float) -> Markup:
    """One element.

    Args:
        inside: What it holds: texts are escaped, markup is not.
        attributes: Their names, `_` for `-`, and an `_` at the end left out (`class_`); empty ones
            are left out.
    """
    filled = [(key, value) for key, value in attributes.items() if value != ""]
    attributes_text = "".join(
        f' {_attribute_name(key)}="{_attribute_value(value)}"' for key, value in filled
    )
    if name in _VOID_ELEMENTS:
        return Markup(f"<{name}{attributes_text}>")
    return Markup(f"<{name}{attributes_text}>{joined(inside)}</{name}>")


def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _attribute_value(value: str | float) -> str:
    return escaped(value) if isinstance(value, str) else f"{value:.6g}"


def joined(parts: Iterable[Part]) -> Markup:
    """Several parts one behind the other."""
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts))


def escaped(text: str) -> Markup:
    """A text as it is to be read: no markup, and no letter that turns a line around."""
    return Markup(html.escape(printable(text), quote=True))


def lines(text: str) -> Markup:
    """A text of several lines, each on its own."""
    return Markup("<br>".join(escaped(line) for line in text.splitlines()))


@dataclass(frozen=True, slots=True)
class TableHead:
    """A column's head.

    Attributes:
        title: Above it.
        kind: How its cells are set: "number" right, "still" never folded, "long" with room.
    """

    title: str
    kind: str = ""


def table_markup(heads: Sequence[TableHead], rows: Iterable[Sequence[Part]]) -> Markup:
    """A table; wider than the page it can be scrolled."""
    titles = [tag("th", head.title, class_=head.kind, scope="col") for head in heads]
    body = [
        tag("tr", *(_cell(cell, head) for cell, head in zip(row, heads, strict=True)))
        for row in rows
    ]
    inside = tag("table", tag("thead", tag("tr", *titles)), tag("tbody", *body))
    return tag("div", inside, class_="scroll")


def _cell(cell: Part, head: TableHead) -> Markup:
    inside = cell if isinstance(cell, Markup) else lines(cell)
    return tag("td", inside, class_=head.kind)


def facts_markup(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Names with what they are; what says nothing is left out."""
    items = [tag("div", tag("dt", title), tag("dd", lines(text))) for title, text in pairs if text]
    return tag("dl", *items, class_="card")


_TONE_MARKS: Final = {"crit": "\u25b2", "warn": "\u25b2", "ok": "\u2713", "accent": "\u25b6"}


def tone_mark(tone: str) -> str:
    """The mark beside a text, so that colour alone says nothing; a point for most tones."""
    return _TONE_MARKS.get(tone, "\u25cf")
