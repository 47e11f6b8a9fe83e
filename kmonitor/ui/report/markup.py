"""HTML and SVG in which nothing of a script's names and texts is ever taken for markup."""

import html
from collections.abc import Iterable
from typing import Final

from kmonitor_agent.wire.printable import printable

_VOID: Final = frozenset({"meta"})


class Markup(str):
    """Text that is markup already; every other text is escaped where it is put in."""

    __slots__ = ()


Part = Markup | str
"""What an element may hold."""


def tag(name: str, /, *inside: Part, **attributes: str | float) -> Markup:
    """One element.

    Args:
        name: Of the element.
        inside: What it holds: texts are escaped, markup is not.
        attributes: Their names, `_` for `-`, and an `_` at the end left out (`class_`); empty ones
            are left out.
    """
    given = [(key, value) for key, value in attributes.items() if value != ""]
    told = "".join(f' {_name(key)}="{_value(value)}"' for key, value in given)
    if name in _VOID:
        return Markup(f"<{name}{told}>")
    return Markup(f"<{name}{told}>{joined(inside)}</{name}>")


def joined(parts: Iterable[Part]) -> Markup:
    """Several parts one behind the other."""
    return Markup("".join(part if isinstance(part, Markup) else escaped(part) for part in parts))


def escaped(text: str) -> Markup:
    """A text as it is to be read: no markup, and no letter that turns a line around."""
    return Markup(html.escape(printable(text), quote=True))


def lines(text: str) -> Markup:
    """A text of several lines, each on its own."""
    return Markup("<br>".join(escaped(line) for line in text.splitlines()))


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return escaped(value) if isinstance(value, str) else f"{value:.6g}"
