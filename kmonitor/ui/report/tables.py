"""Tables and lists of facts of a report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kmonitor.ui.report.markup import Markup, Part, lines, tag


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head.

    Attributes:
        title: Above it.
        kind: How its cells stand: "number" right, "still" never folded, "long" with room.
    """

    title: str
    kind: str = ""


def table(heads: Sequence[Head], rows: Iterable[Sequence[Part]]) -> Markup:
    """A table; wider than the page it can be scrolled."""
    titles = [tag("th", head.title, class_=head.kind, scope="col") for head in heads]
    body = [
        tag("tr", *(_cell(cell, head) for cell, head in zip(row, heads, strict=True)))
        for row in rows
    ]
    inside = tag("table", tag("thead", tag("tr", *titles)), tag("tbody", *body))
    return tag("div", inside, class_="scroll")


def facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Names with what they are; what says nothing is left out."""
    told = [tag("div", tag("dt", title), tag("dd", lines(text))) for title, text in pairs if text]
    return tag("dl", *told, class_="card")


def _cell(cell: Part, head: Head) -> Markup:
    inside = cell if isinstance(cell, Markup) else lines(cell)
    return tag("td", inside, class_=head.kind)
