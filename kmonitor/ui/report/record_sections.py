"""What was reclaimed in a run, and what happened: two tables of a report."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from kmonitor.ui.events.event_log import LogRow
from kmonitor.ui.events.reclaims import Cell, ReclaimRow, columns
from kmonitor.ui.report.markup import Markup, Part, tag
from kmonitor.ui.report.tables import Head, table
from kmonitor.ui.text.formats import clock_text, day_text
from kmonitor.ui.text.language import tr

_MAX_EVENTS: Final = 2000
_LEVELS: Final = {"info": "", "warning": "warn", "error": "crit"}
_MARKS: Final = {"info": "", "warning": "\u25b2", "error": "\u2715"}
_TONES: Final = {"plain": "", "mute": "mute", "warn": "warn"}
_KINDS: Final = {"when": "still", "level": "still", "held": "long", "result": "long"}


def reclaims_section(rows: Sequence[ReclaimRow]) -> Markup:
    """Each save, collect, reload and restart with what it gave back."""
    title = tag("h2", tr("Reclaims"))
    if not rows:
        return tag("section", title, tag("p", tr("Nothing was reclaimed."), class_="mute"))
    heads = [
        Head(each.title, "number" if each.is_number else _KINDS.get(each.key, ""))
        for each in columns()
    ]
    return tag("section", title, table(heads, [[_cell(c) for c in row.cells] for row in rows]))


def events_section(rows: Sequence[LogRow]) -> Markup:
    """What happened, oldest first; of very many the newest."""
    title = tag("h2", tr("Events"))
    if not rows:
        return tag("section", title, tag("p", tr("Nothing has happened yet."), class_="mute"))
    shown = rows[-_MAX_EVENTS:]
    left_out = len(rows) - len(shown)
    heads = [Head(tr("When"), "still"), Head("", "still"), Head(tr("What"))]
    words = tr("{n} earlier ones are left out: kmonitor export").format(n=left_out)
    return tag(
        "section",
        title,
        tag("p", words, class_="mute") if left_out else "",
        table(heads, _event_cells(shown)),
    )


def _event_cells(rows: Sequence[LogRow]) -> list[list[Part]]:
    cells: list[list[Part]] = []
    days = ["", *(day_text(row.wall_s) for row in rows)]
    for row, (before, day) in zip(rows, pairwise(days), strict=True):
        # The day stands where another one begins.
        moment = row.time if day == before else f"{day} {clock_text(row.wall_s)}"
        level = row.line.level
        mark = tag("span", _MARKS[level], class_=_LEVELS[level], title=level)
        cells.append([moment, mark, tag("span", row.line.text, class_=_LEVELS[level])])
    return cells


def _cell(cell: Cell) -> Part:
    # The window's table has one line a row, and the rest under the pointer.
    text = cell.tooltip if "\n" in cell.tooltip else cell.text
    return text if cell.tone == "plain" else tag("span", text, class_=_TONES[cell.tone])
