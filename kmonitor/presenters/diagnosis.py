"""What a diagnosis found, as it is read and copied; and where an asked one stands."""

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass

from kmonitor.presenters.formats import (
    NARROW_SPACE,
    NOT_KNOWN,
    bytes_text,
    clock_text,
    count_text,
    plain_text,
    seconds_text,
)
from kmonitor.presenters.language import tr
from kmonitor_agent.protocol.facts import AllocationGrowth, Diagnosis, ObjectGrowth

MAX_KEPT = 50


@dataclass(frozen=True, slots=True)
class DiagnosisRow:
    """One line of a section.

    Attributes:
        name: A type, a line of code, or who holds what.
        numbers: The section's columns, as text.
        has_grown: Whether there is more of it than before.
    """

    name: str
    numbers: tuple[str, ...] = ()
    has_grown: bool = False


@dataclass(frozen=True, slots=True)
class DiagnosisSection:
    """One kind of evidence.

    Attributes:
        title: What it is.
        note: How to read it.
        heads: Titles of the number columns.
        rows: What was found, most telling first.
        empty: What stands there when there are no rows.
    """

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[DiagnosisRow, ...]
    empty: str


@dataclass(frozen=True, slots=True)
class DiagnosisPicture:
    """One diagnosis.

    Attributes:
        row: The hub's row id.
        title: Of which run.
        subtitle: Where, when, and what it cost.
        summary: What to take from it, in a sentence.
        sections: The evidence.
        missing: What could not be looked at, and why; may be empty.
    """

    row: int
    title: str
    subtitle: str
    summary: str
    sections: tuple[DiagnosisSection, ...]
    missing: str

    def as_text(self) -> str:
        """All of it as plain text, for the clipboard."""
        lines = [self.title, self.subtitle, self.summary]
        for section in self.sections:
            lines += ["", "\t".join((section.title, *section.heads))]
            lines += ["\t".join((row.name, *row.numbers)) for row in section.rows]
            lines += [] if section.rows else [section.empty]
        if self.missing:
            lines += ["", self.missing]
        return plain_text("\n".join(lines))


@dataclass(frozen=True, slots=True)
class _Kept:
    row: int
    wall_s: float
    found: Diagnosis


class DiagnosisBook:
    """Diagnoses of all runs by the hub's row id, each once; main thread only."""

    def __init__(self) -> None:
        self._runs: dict[str, list[_Kept]] = {}

    def add(self, run: str, row: int, found: Diagnosis, *, wall_s: float) -> None:
        """Keep one.

        Args:
            run: Run id.
            row: The hub's row id.
            found: What was found.
            wall_s: When, UTC.
        """
        kept = self._runs.setdefault(run, [])
        if all(each.row != row for each in kept):
            insort(kept, _Kept(row, wall_s, found), key=_row_id)
            del kept[:-MAX_KEPT]

    def clear(self) -> None:
        """Forget all: another hub's row ids begin anew."""
        self._runs.clear()

    def rows(self, run: str) -> list[int]:
        """Row ids of a run's diagnoses, oldest first."""
        return [each.row for each in self._runs.get(run, [])]

    def picture(self, run: str, row: int | None, *, run_name: str) -> DiagnosisPicture | None:
        """One diagnosis of a run; None if it is not known.

        Args:
            run: Run id.
            row: The hub's row id; None: the newest.
            run_name: The run's name.
        """
        kept = self._runs.get(run, [])
        wanted = kept[-1:] if row is None else [each for each in kept if each.row == row]
        if not wanted:
            return None
        return _picture(wanted[0], run_name)


def progress_text(waiting: str, *, is_asked: bool, can_ask: bool) -> str:
    """What stands in the panel while nothing was found yet.

    Args:
        waiting: Where the asked diagnosis stands, in words; may be empty.
        is_asked: Whether one is under way.
        can_ask: Whether one can be asked for.
    """
    if is_asked:
        return waiting or tr("Asked; it is taken at the next safe point.")
    if can_ask:
        return tr("No diagnosis of this run yet. Diagnose takes one at the next safe point.")
    return tr("No diagnosis of this run.")


def _picture(kept: _Kept, run_name: str) -> DiagnosisPicture:
    found = kept.found
    where = tr("fit {fit}, after epoch {epoch}").format(fit=found.fit, epoch=found.epoch + 1)
    cost = tr("the training waited {time}").format(time=seconds_text(found.seconds))
    missing = tr("Not looked at: {why}").format(why=found.why) if found.why else ""
    return DiagnosisPicture(
        row=kept.row,
        title=run_name,
        subtitle=" \u00b7 ".join((where, clock_text(kept.wall_s), cost)),
        summary=_summary(found),
        sections=(_holders(found), _objects(found.objects), _allocations(found.allocations)),
        missing=missing,
    )


def _summary(found: Diagnosis) -> str:
    parts: list[str] = []
    if found.holders:
        parts.append(tr("traces are held by {first}").format(first=_of_many(found.holders)))
    grown = max(found.objects, key=_growth, default=None)
    if grown is not None and _growth(grown) > 0:
        parts.append(
            tr("most new objects: {kind} ({n})").format(
                kind=grown.kind, n=_signed_count(_growth(grown))
            )
        )
    most = max(found.allocations, key=_grown_bytes, default=None)
    if most is not None and most.grown_bytes > 0:
        parts.append(
            tr("most new memory: {place} ({size})").format(
                place=most.place, size=_signed_bytes(most.grown_bytes)
            )
        )
    if not parts:
        is_first = bool(found.objects) and all(each.grown is None for each in found.objects)
        if is_first:
            return tr("The first diagnosis is what later ones are compared with: take another.")
        return tr("Nothing grew since the one before, and nobody holds traces.")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "."


def _holders(found: Diagnosis) -> DiagnosisSection:
    return DiagnosisSection(
        tr("Who holds traces"),
        tr("Traces that stay live, and what keeps them"),
        (),
        tuple(DiagnosisRow(line) for line in found.holders),
        tr("Nobody, as far as could be seen."),
    )


def _objects(objects: Sequence[ObjectGrowth]) -> DiagnosisSection:
    rows = sorted(objects, key=lambda each: (-_growth(each), -each.count))
    return DiagnosisSection(
        tr("Python objects by type"),
        tr("Counted by the garbage collector; growth since the diagnosis before"),
        (tr("now"), tr("growth")),
        tuple(
            DiagnosisRow(
                each.kind,
                (
                    count_text(each.count),
                    NOT_KNOWN if each.grown is None else _signed_count(each.grown),
                ),
                _growth(each) > 0,
            )
            for each in rows
        ),
        tr("Not counted."),
    )


def _allocations(allocations: Sequence[AllocationGrowth]) -> DiagnosisSection:
    rows = sorted(allocations, key=lambda each: -each.grown_bytes)
    return DiagnosisSection(
        tr("Python memory by line"),
        tr("What each line allocated and kept between two safe points"),
        (tr("growth"), tr("blocks")),
        tuple(
            DiagnosisRow(
                each.place,
                (_signed_bytes(each.grown_bytes), _signed_count(each.grown_blocks)),
                each.grown_bytes > 0,
            )
            for each in rows
        ),
        tr("Known from the second safe point on."),
    )


def _growth(each: ObjectGrowth) -> int:
    return each.grown or 0


def _grown_bytes(each: AllocationGrowth) -> int:
    return each.grown_bytes


def _of_many(lines: Sequence[str]) -> str:
    if len(lines) == 1:
        return lines[0]
    return tr("{first} and {n} more").format(first=lines[0], n=len(lines) - 1)


def _signed_count(n: int) -> str:
    return f"+{count_text(n)}" if n > 0 else count_text(n)


def _signed_bytes(n: int) -> str:
    if abs(n) < 1:
        return f"0{NARROW_SPACE}B"
    return f"+{bytes_text(n)}" if n > 0 else bytes_text(n)


def _row_id(kept: _Kept) -> int:
    return kept.row
