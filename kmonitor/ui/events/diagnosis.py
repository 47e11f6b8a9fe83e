"""Diagnoses of runs: store, display state and text."""

import re
from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kmonitor.ui.text.formats import (
    NARROW_SPACE,
    NOT_KNOWN,
    bytes_text,
    clock_text,
    count_text,
    seconds_text,
    shortened,
    with_plain_spaces,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import AllocationGrowth, Diagnosis, ObjectGrowth

MAX_KEPT: Final = 50
_LONGEST_HOLDER: Final = 90
_MOST_LINES: Final = 5
_MOST_NAMED: Final = 3
_CULPRITS: Final = (" held by ", "models that no longer exist", "though no longer used")
"""Marks of unwanted holders in the agent's text; other lines are functions in use."""
_QUOTED: Final = re.compile("`[^`]+`")


@dataclass(frozen=True, slots=True)
class DiagnosisRow:
    """One line of a section.

    Attributes:
        name: A type, a line of code, or a holder and the thing held.
        numbers: Values of the section's columns, as text.
        has_grown: True if there is more than at the diagnosis before.
    """

    name: str
    numbers: tuple[str, ...] = ()
    has_grown: bool = False


@dataclass(frozen=True, slots=True)
class DiagnosisSection:
    """One kind of evidence.

    Attributes:
        title: Name of the kind.
        note: Explanation for the reader.
        heads: Titles of the number columns.
        rows: Findings, the most important first.
        empty: Text shown if there are no rows.
    """

    title: str
    note: str
    heads: tuple[str, ...]
    rows: tuple[DiagnosisRow, ...]
    empty: str


@dataclass(frozen=True, slots=True)
class DiagnosisState:
    """One diagnosis.

    Attributes:
        row: The hub's row id.
        title: Title with the name of the run.
        subtitle: Position in the training, time, and cost of the diagnosis.
        summary: Conclusion, one sentence.
        sections: The evidence.
        missing: Parts that could not be examined, with reasons; may be empty.
    """

    row: int
    title: str
    subtitle: str
    summary: str
    sections: tuple[DiagnosisSection, ...]
    missing: str

    def as_text(self) -> str:
        """The whole diagnosis as plain text, for the clipboard."""
        lines = [self.title, self.subtitle, self.summary]
        for section in self.sections:
            lines += ["", "\t".join((section.title, *section.heads))]
            lines += ["\t".join((row.name, *row.numbers)) for row in section.rows]
            lines += [] if section.rows else [section.empty]
        if self.missing:
            lines += ["", self.missing]
        return with_plain_spaces("\n".join(lines))


@dataclass(frozen=True, slots=True)
class _StoredDiagnosis:
    row: int
    wall_s: float
    found: Diagnosis

    @property
    def is_follow_up(self) -> bool:
        """True if this diagnosis only completes the one before."""
        return is_follow_up(self.found)


class DiagnosisStore:
    """Diagnoses of all runs by the hub's row id, each once; main thread only."""

    def __init__(self) -> None:
        self._runs: dict[str, list[_StoredDiagnosis]] = {}

    def add(self, run: str, row: int, found: Diagnosis, *, wall_s: float) -> None:
        """Add a diagnosis; the same row again changes nothing.

        Args:
            row: The hub's row id.
            wall_s: Time of the diagnosis, UTC epoch seconds.
        """
        diagnoses = self._runs.setdefault(run, [])
        if all(each.row != row for each in diagnoses):
            insort(diagnoses, _StoredDiagnosis(row, wall_s, found), key=_row_id)
            del diagnoses[:-MAX_KEPT]

    def forget(self, runs: Collection[str]) -> None:
        for run in runs:
            self._runs.pop(run, None)

    def rows(self, run: str) -> list[int]:
        """Row ids of a run's diagnoses, oldest first; a follow-up replaces the one before."""
        return [each.row for each in self._complete_diagnoses(run)]

    def row_of(self, run: str, row: int) -> int | None:
        """Row id of the diagnosis that an event belongs to; None if the event is no diagnosis."""
        if all(each.row != row for each in self._runs.get(run, [])):
            return None
        return next((whole for whole in self.rows(run) if whole >= row), None)

    def state(self, run: str, row: int | None, *, run_name: str) -> DiagnosisState | None:
        """Return one diagnosis of a run; None if it is not known.

        Args:
            row: The hub's row id; None: the newest.
        """
        diagnoses = self._complete_diagnoses(run)
        wanted = diagnoses[-1:] if row is None else [each for each in diagnoses if each.row == row]
        if not wanted:
            return None
        return _diagnosis_state(wanted[0], run_name)

    def _complete_diagnoses(self, run: str) -> list[_StoredDiagnosis]:
        """The diagnoses, each with its follow-up of an epoch later."""
        whole: list[_StoredDiagnosis] = []
        for each in self._runs.get(run, []):
            if whole and each.is_follow_up and not whole[-1].found.allocations:
                whole[-1] = _joined(whole[-1], each)
            else:
                whole.append(each)
        return whole


def no_diagnosis_text() -> str:
    """Explanation of a diagnosis, for a run without one."""
    return tr(
        "At the next safe point, a diagnosis finds which Python objects have grown in number "
        "since the previous diagnosis and what holds traces; at the end of the next epoch, it "
        "finds which lines allocated memory. Training waits for the diagnosis, usually for less "
        "than a second, and the training result does not change."
    )


def diagnosis_summary(found: Diagnosis) -> str:
    """Conclusion of a diagnosis, a sentence without initial capital and full stop."""
    if parts := _growth_texts(found):
        return "; ".join(parts)
    if is_follow_up(found):
        return tr("no Python code retained newly allocated memory")
    if found.objects and all(each.grown is None for each in found.objects):
        return tr("this first diagnosis is the baseline: run another one to compare")
    return tr("nothing grew since the last one")


def is_follow_up(found: Diagnosis) -> bool:
    """True if a diagnosis only adds the memory by line, whose tracing the previous one began."""
    return not (found.objects or found.holders)


def finding_lines(found: Diagnosis) -> list[str]:
    """The evidence as lines: holders of traces, then types and lines of code that grew."""
    lines: list[str] = []
    for section in (_holders(found), _objects(found.objects), _allocations(found.allocations)):
        rows = [row for row in section.rows if row.has_grown or not row.numbers]
        lines += [_row_text(row, section.heads) for row in rows[:_MOST_LINES]]
        if len(rows) > _MOST_LINES:
            lines.append(
                tr("{title}: {n} more").format(title=section.title, n=len(rows) - _MOST_LINES)
            )
    return lines


def _row_text(row: DiagnosisRow, heads: Sequence[str]) -> str:
    numbers = ", ".join(f"{head} {n}" for head, n in zip(heads, row.numbers, strict=True))
    return f"{row.name}: {numbers}" if numbers else row.name


def _joined(first: _StoredDiagnosis, later: _StoredDiagnosis) -> _StoredDiagnosis:
    found = msgspec.structs.replace(
        first.found,
        seconds=first.found.seconds + later.found.seconds,
        allocations=later.found.allocations,
        why=later.found.why,
    )
    return replace(first, row=later.row, found=found)


def _diagnosis_state(stored: _StoredDiagnosis, run_name: str) -> DiagnosisState:
    found = stored.found
    where = tr("fit {fit}, after epoch {epoch}").format(fit=found.fit, epoch=found.epoch + 1)
    cost = tr("training waited {time}").format(time=seconds_text(found.seconds))
    summary = diagnosis_summary(found)
    missing = found.why[:1].upper() + found.why[1:]
    return DiagnosisState(
        row=stored.row,
        title=run_name,
        subtitle=" \u00b7 ".join((where, clock_text(stored.wall_s), cost)),
        summary=summary[:1].upper() + summary[1:],
        sections=(_holders(found), _objects(found.objects), _allocations(found.allocations)),
        missing=missing,
    )


def _growth_texts(found: Diagnosis) -> list[str]:
    parts: list[str] = []
    culprits = [line for line in found.holders if any(mark in line for mark in _CULPRITS)]
    if culprits:
        parts.append(_of_many([translated_text(line) for line in culprits]))
    grown = max(found.objects, key=_growth, default=None)
    if grown is not None and _growth(grown) > 0:
        parts.append(
            tr("most new objects: {kind} ({n})").format(
                kind=_end_of(grown.kind, "."), n=_signed_count(_growth(grown))
            )
        )
    most = max(found.allocations, key=_grown_bytes, default=None)
    if most is not None and most.grown_bytes > 0:
        parts.append(
            tr("most new memory: {place} ({size})").format(
                place=_end_of(most.location, "/"), size=_signed_bytes(most.grown_bytes)
            )
        )
    return parts


def _holders(found: Diagnosis) -> DiagnosisSection:
    return DiagnosisSection(
        tr("Traces and what holds them"),
        tr("Functions with their live traces; suspicious ones first"),
        (),
        tuple(DiagnosisRow(translated_text(line)) for line in found.holders),
        tr("No referrer was found."),
    )


def _objects(objects: Sequence[ObjectGrowth]) -> DiagnosisSection:
    rows = sorted(objects, key=lambda each: (-_growth(each), -each.count))
    return DiagnosisSection(
        tr("Python objects by type"),
        tr("Counted by the garbage collector; growth since the last diagnosis"),
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
        tr("Memory that each line allocated and kept between two safe points"),
        (tr("growth"), tr("blocks")),
        tuple(
            DiagnosisRow(
                each.location,
                (_signed_bytes(each.grown_bytes), _signed_count(each.grown_blocks)),
                each.grown_bytes > 0,
            )
            for each in rows
        ),
        tr("Available at the end of the next epoch."),
    )


def _growth(each: ObjectGrowth) -> int:
    return each.grown or 0


def _grown_bytes(each: AllocationGrowth) -> int:
    return each.grown_bytes


def _of_many(lines: Sequence[str]) -> str:
    first = shortened(lines[0], _LONGEST_HOLDER)
    if len(lines) == 1:
        return first
    others = [name for line in lines[1:] if (name := _QUOTED.search(line))]
    names = ", ".join(dict.fromkeys(name[0] for name in others[:_MOST_NAMED]))
    text = tr("{first}, also {names}").format(first=first, names=names)
    more = len(lines) - 1 - _MOST_NAMED
    return text + tr(" and {n} more").format(n=more) if more > 0 else text


def _end_of(name: str, mark: str) -> str:
    """The end of a long name or path, which is its significant part."""
    return name.rpartition(mark)[2] or name


def _signed_count(n: int) -> str:
    return f"+{count_text(n)}" if n > 0 else count_text(n)


def _signed_bytes(n: int) -> str:
    if abs(n) < 1:
        return f"0{NARROW_SPACE}B"
    return f"+{bytes_text(n)}" if n > 0 else bytes_text(n)


def _row_id(stored: _StoredDiagnosis) -> int:
    return stored.row
