"""Totals of a memory map: the peak as text, and the bar beside it."""

from dataclasses import dataclass
from typing import Final

from kmonitor.memory.estimate import MemoryMap
from kmonitor.memory.map_result import MapResult
from kmonitor.ui.memory.layers import HUES
from kmonitor.ui.memory.subjects import MapSubject
from kmonitor.ui.memory.what_if import backend_title
from kmonitor.ui.text.formats import bytes_text, count_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor.ui.theme.palettes import Tone

_TIERS: Final = {
    1: later("Tier 1 \u00b7 measured at several batch sizes"),
    2: later("Tier 2 \u00b7 rules scaled by one measurement"),
    3: later("Tier 3 \u00b7 nothing measured"),
}
_NOT_MEASURED: Final = 3


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of the bar of totals.

    Attributes:
        n_bytes: Length of the part.
        hue: Index in the palette.
        title: Name of the part.
        text: Size of the part as text.
        is_transient: True if the memory is only used during a step.
    """

    n_bytes: float
    hue: int
    title: str
    text: str
    is_transient: bool


@dataclass(frozen=True, slots=True)
class TotalsMark:
    """A mark on the bar: position in bytes, and name."""

    n_bytes: float
    title: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class MapTotalsState:
    """The peak as text, and the bar beside it.

    Attributes:
        peak: "1.4 GiB", or empty.
        interval: Interval of the peak, and the training that it is about.
        tier: Calibration level of the estimate.
        tier_tooltip: Method of the estimate.
        tone: Tone of the tier.
        measured: Measured peak with its source, or the reason why there is none.
        notes: Notes for the reader, one per line.
        span: Lower and upper end of the peak's interval, bytes.
        reach: Length of the whole bar, bytes.
        description: Bar and marks in one sentence, for a screen reader.
    """

    peak: str = ""
    interval: str = ""
    tier: str = ""
    tier_tooltip: str = ""
    tone: Tone = "mute"
    measured: str = ""
    notes: tuple[str, ...] = ()
    parts: tuple[BarPart, ...] = ()
    marks: tuple[TotalsMark, ...] = ()
    span: tuple[float, float] = (0.0, 0.0)
    reach: float = 1.0
    description: str = ""


def map_totals_state(result: MapResult, subject: MapSubject, limit: int | None) -> MapTotalsState:
    """Return the totals of a map, with the measured values.

    Args:
        result: Map; its totals are empty if there is no map.
        limit: Limit of the device, bytes; None: not known.
    """
    found = result.found
    if found is None:
        return MapTotalsState()
    parts = tuple(_bar_parts(found))
    marks = tuple(_marks(result, found, subject, limit))
    high = found.high_bytes
    span = (float(found.low_bytes), float(high if high is not None else found.peak_bytes))
    near = [each.n_bytes for each in marks if each.n_bytes <= 4 * span[1]]
    interval = _interval_text(found)
    plan = tr("batch size {batch}, {optimizer}, {precision}, {backend}").format(
        batch=count_text(found.batch),
        optimizer=found.optimizer or tr("no optimizer"),
        precision=found.precision,
        backend=backend_title(found.backend),
    )
    is_open = found.high_bytes is None
    # The size of feature maps is not known: the rest alone is no peak.
    peak = f"\u2265 {bytes_text(found.low_bytes)}" if is_open else bytes_text(found.peak_bytes)
    totals = tr("{resident} resident + {transient} transient").format(
        resident=bytes_text(found.resident_bytes), transient=bytes_text(found.transient_bytes)
    )
    measured = _measured_text(subject)
    return MapTotalsState(
        peak=peak,
        interval=f"{totals} \u00b7 {interval}\n{plan}",
        tier=_tier(found, subject),
        tier_tooltip=_method(found, subject),
        tone="ok" if found.tier < _NOT_MEASURED else "warn",
        measured=measured,
        notes=tuple(_notes(found, result.uncorrected)),
        parts=parts,
        marks=marks,
        span=span,
        reach=1.06 * max([span[1], *near, 1.0]),
        description=". ".join((f"{tr('Peak')} {peak}", totals, interval, plan, measured)),
    )


def _tier(found: MemoryMap, subject: MapSubject) -> str:
    # A run did train: there is only no measurement to correct its estimate by.
    if subject.kind == "run" and found.tier == _NOT_MEASURED:
        return tr("Tier 3 \u00b7 not corrected by measurements")
    return tr(_TIERS[found.tier])


def _method(found: MemoryMap, subject: MapSubject) -> str:
    if subject.kind == "run" and found.tier == _NOT_MEASURED:
        return tr("rules for each layer class")
    return translated_text(found.method)


def _interval_text(found: MemoryMap) -> str:
    low = bytes_text(found.low_bytes)
    if found.high_bytes is None:
        return tr("at least {low}; the upper bound is unknown").format(low=low)
    return tr("between {low} and {high}").format(low=low, high=bytes_text(found.high_bytes))


def _bar_parts(found: MemoryMap) -> list[BarPart]:
    rest = found.transient_bytes - found.kept_bytes
    other = max(0, found.resident_bytes - found.parameter_bytes - found.slot_bytes)
    entries: list[tuple[int, int, str, bool]] = [
        (found.parameter_bytes, HUES["weights"], tr("Weights"), False),
        (found.slot_bytes, HUES["slots"], tr("Optimizer"), False),
        (other, HUES["gradients"], tr("Other resident"), False),
        (found.kept_bytes, HUES["kept"], tr("Activations"), True),
        (rest, HUES["workspace"], tr("Gradients, workspace, rounding"), True),
    ]  # fmt: skip
    return [
        BarPart(n, hue, title, bytes_text(n), is_transient)
        for n, hue, title, is_transient in entries
        if n > 0
    ]


def _marks(
    result: MapResult, found: MemoryMap, subject: MapSubject, limit: int | None
) -> list[TotalsMark]:
    marks: list[TotalsMark] = []
    measured = {each.batch: each.peak_bytes for each in result.measured}.get(found.batch)
    if not (subject.measured or result.uncorrected):
        measured = subject.measured_peak.peak_bytes
    if measured:
        marks.append(TotalsMark(measured, tr("measured"), "accent"))
    if limit is not None:
        marks.append(TotalsMark(limit, tr("limit"), "crit"))
    return marks


def _measured_text(subject: MapSubject) -> str:
    reading = subject.measured_peak
    if reading.peak_bytes is None:
        why = translated_text(reading.source) if reading.source else tr("no step was run")
        return tr("Not measured: {why}").format(why=why)
    template = tr("Measured: {size} at batch size {batch} ({source})")
    if not reading.peak_bytes:
        # The CPU's allocator counts large tensors only: a small model reads 0.
        template = tr("Measured: the allocator counted nothing at batch size {batch} ({source})")
    return template.format(
        size=bytes_text(reading.peak_bytes),
        batch=count_text(reading.batch or subject.batch),
        source=translated_text(reading.source),
    )


def _notes(found: MemoryMap, uncorrected: str) -> list[str]:
    notes: list[str] = []
    if found.uncovered:
        kinds = ", ".join(found.uncovered)
        template = tr(
            "No rule covers {kinds}: a value is assumed for their memory, so the interval is wider"
        )
        notes.append(template.format(kinds=kinds))
    if uncorrected:
        notes.append(tr("Not corrected by measurements: {why}").format(why=uncorrected))
    translated_notes = (translated_text(note) for note in found.notes)
    return [*notes, *(note[:1].upper() + note[1:] for note in translated_notes)]
