"""Curve of the peak over the batch, the largest batch that fits, and ways to lower the peak."""

from collections.abc import Sequence
from dataclasses import dataclass

from kmonitor.memory.what_if import BatchFit, BatchPeak, PeakReduction
from kmonitor.ui.memory.map_estimator import MapEstimator
from kmonitor.ui.memory.what_if import device_limit_bytes
from kmonitor.ui.text.formats import bytes_text, count_text, round_bytes_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.theme.palettes import Tone


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A number beside an axis, at a position of 0..1 on the axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class BatchCurve:
    """The chart; positions are 0..1 from the left and from the bottom.

    Attributes:
        line: Points of the estimate, from left to right; empty: there is none.
        band: Position from the left, lower and upper end of the interval.
        batch: Position of the selected batch and its peak.
        measured: Positions of measured batches and their measured peaks.
        limit: Height of the device's limit; None: the limit is not known or far above the curve.
        x_ticks: Batch sizes.
        y_ticks: Memory sizes.
        text: Largest batches that fit, as text.
        tone: Tone of the text.
        description: Text for a screen reader.
    """

    line: tuple[tuple[float, float], ...] = ()
    band: tuple[tuple[float, float, float], ...] = ()
    batch: tuple[float, float] | None = None
    measured: tuple[tuple[float, float], ...] = ()
    limit: float | None = None
    x_ticks: tuple[AxisTick, ...] = ()
    y_ticks: tuple[AxisTick, ...] = ()
    text: str = ""
    tone: Tone = "plain"
    description: str = ""


def batch_curve(estimator: MapEstimator) -> BatchCurve:
    points = estimator.map_estimate.points
    subject = estimator.subject
    limit = device_limit_bytes(subject, estimator.what_if) if subject is not None else None
    text, tone = batch_fit_summary(estimator.map_estimate.fit, limit)
    found = estimator.map_estimate.found
    if found is not None and found.high_bytes is None:
        text = tr("How the peak grows with the batch size is not known.")
        tone = "mute"
    if len(points) < 2 or subject is None:  # noqa: PLR2004 - a line has two ends
        return BatchCurve(text=text, tone=tone)
    x_most = points[-1].batch
    y_most = _highest(points, limit)
    measured = [each for each in estimator.map_estimate.measured if each.batch <= x_most]
    ticks = sorted({1, round(x_most / 2), x_most})
    return BatchCurve(
        line=tuple((p.batch / x_most, p.peak_bytes / y_most) for p in points),
        band=tuple(
            (p.batch / x_most, p.low_bytes / y_most, min(1.0, p.high_bytes / y_most))
            for p in points
            if p.high_bytes is not None
        ),
        batch=(estimator.what_if.batch / x_most, found.peak_bytes / y_most)
        if found is not None and estimator.what_if.batch <= x_most
        else None,
        measured=tuple((m.batch / x_most, m.peak_bytes / y_most) for m in measured),
        limit=limit / y_most if limit is not None and limit <= y_most else None,
        x_ticks=tuple(AxisTick(n / x_most, count_text(n)) for n in ticks),
        y_ticks=tuple(AxisTick(part, bytes_text(part * y_most)) for part in (0.5, 1.0)),
        text=text,
        tone=tone,
        description=_description(points, text),
    )


def _highest(points: Sequence[BatchPeak], limit: int | None) -> float:
    most = max(p.peak_bytes for p in points)
    highs = [p.high_bytes for p in points if p.high_bytes is not None]
    top = min(max([most, *highs]), 1.6 * most)
    # A limit far above would press the curve to the ground.
    return 1.04 * (max(top, limit) if limit is not None and limit <= 2.5 * top else top)


def _description(points: Sequence[BatchPeak], text: str) -> str:
    first = points[0]
    last = points[-1]
    range_text = tr("Peak by batch size: {low} at {first}, {high} at {last}.").format(
        low=bytes_text(first.peak_bytes),
        first=count_text(first.batch),
        high=bytes_text(last.peak_bytes),
        last=count_text(last.batch),
    )
    return f"{range_text} {text}".strip()


def batch_fit_summary(fit: BatchFit | None, limit: int | None) -> tuple[str, Tone]:
    """The largest batches that fit the device as text, and its tone."""
    if limit is None:
        return tr("Choose a device to see the largest batch size that fits."), "mute"
    if fit is None:
        return "", "mute"
    size = round_bytes_text(limit)
    if fit.likely is None:
        return tr("Not even a batch size of 1 is expected to fit in {size}.").format(
            size=size
        ), "crit"
    if fit.certain is None:
        template = tr(
            "With {size}, a batch size of {likely} fits according to the estimate, but none "
            "fits according to its upper bound."
        )
        return template.format(size=size, likely=count_text(fit.likely)), "warn"
    template = tr(
        "With {size}, a batch size of {likely} fits according to the estimate, and "
        "{certain} according to its upper bound."
    )
    return (
        template.format(size=size, certain=count_text(fit.certain), likely=count_text(fit.likely)),
        "plain",
    )


@dataclass(frozen=True, slots=True)
class PeakReductionRow:
    """One change: its saving, and a text that names it."""

    saved: str
    text: str
    tooltip: str


def peak_reduction_rows(advised: Sequence[PeakReduction]) -> tuple[PeakReductionRow, ...]:
    """Changes that would lower the peak, the largest saving first."""
    return tuple(
        PeakReductionRow(
            saved=f"\u2212{bytes_text(each.saved_bytes)}",
            text=translated_text(each.words),
            tooltip=tr("{words}: the peak would be {size}").format(
                words=translated_text(each.words), size=bytes_text(each.peak_bytes)
            ),
        )
        for each in advised
    )
