"""HTML and SVG, with texts from scripts always escaped; tables and marks."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kmonitor_agent.wire.text import printable


class Markup(str):
    """Text that is already markup; every other text is escaped when it is inserted."""

    __slots__ = ()


Part = Markup | str
"""Content of an element."""

_VOID_ELEMENTS: Final = frozenset({"meta"})


def tag(name: str, /, *inside: Part, **attributes: str | float) -> Markup:
    """One element.

    Args:
        inside: Content: texts are escaped, markup is not.
        attributes: Attributes by name; `_` becomes `-`, a trailing `_` is dropped (`class_`), and
            empty ones are left out.
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
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts))


def escaped(text: str) -> Markup:
    """Escape a text: no markup, and no character that reverses the direction of a line."""
    return Markup(html.escape(printable(text), quote=True))


def lines(text: str) -> Markup:
    """Return a text of several lines, each on a line of its own."""
    return Markup("<br>".join(escaped(line) for line in text.splitlines()))


@dataclass(frozen=True, slots=True)
class TableHead:
    """A column's head.

    Attributes:
        title: Text above the column.
        kind: Style of the cells: "number" right-aligned, "still" never wrapped, "long" with extra
            width.
    """

    title: str
    kind: str = ""


def table_markup(heads: Sequence[TableHead], rows: Iterable[Sequence[Part]]) -> Markup:
    """A table; it scrolls if it is wider than the page."""
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
    """Names with their values; empty values are left out."""
    items = [tag("div", tag("dt", title), tag("dd", lines(text))) for title, text in pairs if text]
    return tag("dl", *items, class_="card")


_TONE_MARKS: Final = {"crit": "\u25b2", "warn": "\u25b2", "ok": "\u2713", "accent": "\u25b6"}


def tone_mark(tone: str) -> str:
    """Mark beside a text, so that meaning never depends on colour alone; a dot for most tones."""
    return _TONE_MARKS.get(tone, "\u25cf")
