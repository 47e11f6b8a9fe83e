"""Finds new lines in output, and formats numbers and quotations for the table."""

import re
from collections.abc import Iterable, Sequence

from tests.benchmarks.peers.tell.moved import Move

_CHANGES = re.compile(r"\S*/\S*|0x[0-9a-f]+|\d+(?:[.,: ]\d+)*|[▁▂▃▄▅▆▇█]+")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PATHS = re.compile(r"(?<!\w)(?:/[^/\s]+)+/")
_NAMED = 5
_QUOTED = 5
_LONGEST = 180
_MIB = 2.0**20


def shape(line: str) -> str:
    """A line without what differs from run to run: numbers, addresses, small charts."""
    return " ".join(_CHANGES.sub("#", _COLOURS.sub("", line)).split())


def new_lines(lines: Iterable[str], known: Iterable[str]) -> list[str]:
    """Those of a shape that is not known, each shape once."""
    seen = {"", *map(shape, known)}
    found: list[str] = []
    for line in lines:
        if shape(line) not in seen:
            seen.add(shape(line))
            found.append(" ".join(_COLOURS.sub("", line).split()))
    return found


def moved_text(found: Sequence[Move]) -> str:
    """The numbers that moved most, from where to where, and how many more."""
    told = [f"`{m.name}` {_number(m.name, m.first)} → {_number(m.name, m.last)}" for m in found]
    more = [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return ", ".join([*told[:_NAMED], *more]) or "none"


def quoted(lines: Sequence[str], nothing: str) -> str:
    """Lines as quotations in a cell of Markdown, long ones cut."""
    told = [f"“{_cut(line)}”" for line in lines[:_QUOTED]]
    more = [f"{len(lines) - _QUOTED} more"] if len(lines) > _QUOTED else []
    return "; ".join([*told, *more]).replace("|", "\\|") or nothing


def _cut(line: str) -> str:
    line = _PATHS.sub("…/", line)
    return line if len(line) <= _LONGEST else line[:_LONGEST].rsplit(" ", 1)[0] + " …"


def _number(name: str, value: float) -> str:
    if name.endswith("_bytes"):
        return f"{value / _MIB:.0f} MiB"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
