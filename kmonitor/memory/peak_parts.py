"""Shares of a step's peak: whose the bytes are that are in use at its highest moment.

Everything that a memory map shows is one sum: its rows together are its peak.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.memory.layer_table import LayerMemory, bare_row

ELSEWHERE: Final = "(outside of layers)"
"""Row of what belongs to no layer: data, loss, metrics, terms of the update."""

ROUNDING: Final = "(allocator rounding)"
"""Row of what its pieces are larger than requested, and of the optimizer's few counters."""

RESIDENT: Final = "(other resident memory)"
"""Row of what was measured between steps and is neither weights nor optimizer."""


@dataclass(frozen=True, slots=True)
class PeakPart:
    """Bytes at the peak, beyond what is resident.

    Attributes:
        gradient: Of weights.
        kept: Feature maps that wait for the backward pass.
        work: All else: gradients of feature maps, what is computed with, terms of the update.
    """

    gradient: int = 0
    kept: int = 0
    work: int = 0

    def __add__(self, other: "PeakPart") -> "PeakPart":
        return PeakPart(
            self.gradient + other.gradient, self.kept + other.kept, self.work + other.work
        )

    @property
    def total(self) -> int:
        return self.gradient + self.kept + self.work


def with_parts(
    rows: Sequence[LayerMemory], parts: Mapping[int, PeakPart], peak_bytes: int
) -> tuple[LayerMemory, ...]:
    """Rows that together are the peak.

    Args:
        rows: Of a map, with weights and slots.
        parts: By index of the row, beyond those; -1: of no layer. Where all is less than the
            peak, the rest is the allocator's; where it is more, parts are scaled down.
    """
    left = peak_bytes - _resident_bytes(rows)
    placed = list(parts.values())
    total = sum(each.total for each in placed)
    if total > left:
        placed = _scaled(placed, left)
    by_index = dict(zip(parts, placed, strict=True))
    found = [_with_part(row, by_index.get(index, _NONE)) for index, row in enumerate(rows)]
    elsewhere = by_index.get(-1, _NONE)
    if elsewhere.total:
        found.append(_with_part(bare_row(ELSEWHERE), elsewhere))
    if left > total:
        found.append(bare_row(ROUNDING, left - total))
    return tuple(found)


def rescaled(
    rows: Sequence[LayerMemory], transient_bytes: int, resident_bytes: int
) -> tuple[LayerMemory, ...]:
    """The same rows for another peak: transient parts in proportion, and a row for the rest.

    Args:
        rows: Of a map; together they are its peak.
        transient_bytes: What they are to take together beyond what is resident.
        resident_bytes: At least the weights and slots of all rows.
    """
    parts = _scaled(
        [PeakPart(row.gradient_bytes, row.kept_bytes, row.workspace_bytes) for row in rows],
        transient_bytes,
    )
    found = [_with_part(row, part) for row, part in zip(rows, parts, strict=True)]
    beside = resident_bytes - _resident_bytes(rows)
    if beside > 0:
        found.append(bare_row(RESIDENT, beside))
    return tuple(found)


def _resident_bytes(rows: Sequence[LayerMemory]) -> int:
    return sum(row.parameter_bytes + row.slot_bytes for row in rows)


_NONE: Final = PeakPart()


def _scaled(parts: Sequence[PeakPart], whole: int) -> list[PeakPart]:
    """In proportion, so that they are the whole to the byte."""
    total = sum(each.total for each in parts)
    if not total:
        return [PeakPart(work=whole), *parts[1:]] if parts else []
    found: list[PeakPart] = []
    seen = 0
    given = 0
    for part in parts:
        shares: list[int] = []
        for n_bytes in (part.gradient, part.kept, part.work):
            seen += n_bytes
            shares.append(seen * whole // total - given)
            given += shares[-1]
        found.append(PeakPart(*shares))
    return found


def _with_part(row: LayerMemory, part: PeakPart) -> LayerMemory:
    return msgspec.structs.replace(
        row,
        gradient_bytes=part.gradient,
        kept_bytes=part.kept,
        workspace_bytes=part.work,
    )
