"""Shares of a step's peak: owners of the bytes that are in use at the highest moment.

A memory map is one sum: its rows add up to its peak.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.memory.layer_table import LayerMemory, bare_row

ELSEWHERE: Final = "(outside layers)"
"""Row of memory of no layer: data, loss, metrics, terms of the update."""

ROUNDING: Final = "(allocator rounding)"
"""Row of the allocator's rounding up of pieces, and of the optimizer's few counters."""

RESIDENT: Final = "(other resident memory)"
"""Row of memory measured between steps that is neither weights nor optimizer."""


@dataclass(frozen=True, slots=True)
class PeakPart:
    """Bytes at the peak, beyond resident memory.

    Attributes:
        gradient: Gradients of weights.
        kept: Feature maps that wait for the backward pass.
        work: All other memory: gradients of feature maps, workspace, terms of the update.
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
    """Return rows that add up to the peak.

    Args:
        rows: Rows of a map, with weights and slots.
        parts: Further parts by index of the row; -1: of no layer. If the sum is below the peak,
            the rest is the allocator's; if it is above, parts are scaled down.
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
    """Scale rows to another peak: transient parts in proportion, and a row for the rest.

    Args:
        rows: Rows of a map, which add up to its peak.
        transient_bytes: New sum of the transient parts.
        resident_bytes: New resident part; at least the weights and slots of all rows.
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
    """Scale parts in proportion, so that they add up to the whole to the byte."""
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
