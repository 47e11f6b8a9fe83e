"""Growth rate of a metric, as text above its chart."""

import math
from typing import Final

import numpy as np

from kmonitor.base.trend import theil_sen_slope
from kmonitor.ui.charts.cards import NO_RATE, RateLabel
from kmonitor.ui.plots.chart_state import FloatArray
from kmonitor.ui.text.formats import Unit, epochs_text, rate_text, with_plain_spaces
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.unions import RunSummary

SPAN_EPOCHS: Final = 30.0
SPAN_SECONDS: Final = 120.0
_MIN_POINTS: Final = 6
_MIN_EPOCHS: Final = 2.0
_MIN_SECONDS: Final = 8.0
_WARM_UP_EPOCHS: Final = 1.0
"""Epochs ignored after a start or reload: tracing and filling of buffers are no growth."""

_JUDGED_EPOCHS: Final = 4.0
_JUDGED_FROM_S: Final = SPAN_SECONDS + 60.0
"""Seconds of data below which a slope is shown without colour."""

_BINS: Final = 60
_STEADY_PART: Final = 0.004
"""A change over the whole span below this fraction of the value counts as steady."""

_SIGMA_OF_MAD: Final = 1.4826
_INDEPENDENT: Final = 30
_BEYOND: Final = 3.0
"""A significant slope is larger than this many of its standard errors."""


def epoch_rate(
    x: FloatArray, y: FloatArray, unit: Unit, run: RunSummary, *, start_epoch: float = 0.0
) -> RateLabel:
    """Rate per epoch, or per fit where models are trained one after the other.

    Args:
        x: Epochs of all fits in a row, `[n]`.
        y: Values, `[n]`.
        start_epoch: Epoch of the run's start or last reload; values are judged after one epoch of
            warm-up.
    """
    is_warm = x >= start_epoch + _WARM_UP_EPOCHS
    x = x[is_warm]
    y = y[is_warm]
    if len(x) < _MIN_POINTS or float(x[-1] - x[0]) < _MIN_EPOCHS:
        return NO_RATE
    x, y = _evened(x, y)
    slope = theil_sen_slope(x, y)
    if slope is None:
        return NO_RATE
    epochs = float(x[-1] - x[0])
    span = tr("over the last {n} epochs").format(n=round(epochs))
    why_not = "" if epochs >= _JUDGED_EPOCHS else tr("; too few epochs to judge")
    if run.fits_done >= 2 and run.epochs_done:  # noqa: PLR2004 - a loop of models
        epochs_per_fit = run.epochs_done / run.fits_done
        rate = _rate_label(slope, epochs_per_fit, unit, tr("fit"), x=x, y=y, span=span)
    else:
        rate = _rate_label(slope, 1.0, unit, tr("epoch"), x=x, y=y, span=span)
    return _judged(rate, why_not)


def time_rate(x: FloatArray, y: FloatArray, unit: Unit, *, start_s: float = 0.0) -> RateLabel:
    """Rate per minute, used while too few epochs have ended.

    Args:
        x: Run time, seconds, `[n]`.
        y: Values, `[n]`.
        start_s: Run time of the start or of the last reload, seconds.
    """
    if len(x) < _MIN_POINTS or float(x[-1] - x[0]) < _MIN_SECONDS:
        return NO_RATE
    slope = theil_sen_slope(x, y)
    if slope is None:
        return NO_RATE
    span = tr("over the last {n} s").format(n=round(float(x[-1] - x[0])))
    rate = _rate_label(slope, 60.0, unit, tr("min"), x=x, y=y, span=span)
    is_warm = float(x[-1]) - start_s >= _JUDGED_FROM_S
    return _judged(rate, "" if is_warm else tr("; too early to judge"))


def pending_rate(metric: LimitMetric, *, epoch_now: float, start_epoch: float) -> RateLabel:
    """Text shown instead of the rate while there is too little data since a reload.

    Args:
        metric: Metric of the rate; step times come once an epoch.
        epoch_now: Current position of the run, in epochs of all fits in a row.
        start_epoch: Position of the last reload, in the same epochs.
    """
    wanted = float(_MIN_POINTS) if metric == "step_time" else _MIN_EPOCHS
    left = math.ceil(start_epoch + _WARM_UP_EPOCHS + wanted - epoch_now)
    text = tr("rate available in {epochs}").format(
        epochs=with_plain_spaces(epochs_text(max(1, left)))
    )
    return RateLabel(
        text, 0, tr("Starts over after each reload, once one warm-up epoch has passed")
    )


def _evened(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At most `_BINS` points, one per equal stretch: a slow epoch has no more weight."""
    is_finite = np.isfinite(x) & np.isfinite(y)
    x = x[is_finite]
    y = y[is_finite]
    if len(x) <= _BINS or x[0] == x[-1]:
        return x, y
    width = float(x[-1] - x[0]) / _BINS
    bins = np.minimum(((x - x[0]) / width).astype(np.intp), _BINS - 1)
    edges = np.flatnonzero(np.diff(bins)) + 1
    pairs = zip(np.split(x, edges), np.split(y, edges), strict=True)
    medians = np.array([(np.median(xs), np.median(ys)) for xs, ys in pairs])
    return medians[:, 0], medians[:, 1]


def _judged(rate: RateLabel, why_not: str) -> RateLabel:
    if not (why_not and rate.direction):
        return rate
    return RateLabel(rate.text, 0, rate.tooltip + why_not)


def _rate_label(  # noqa: PLR0913 - all of it belongs to one sentence
    slope: float,
    per: float,
    unit: Unit,
    per_what: str,
    *,
    x: FloatArray,
    y: FloatArray,
    span: str,
) -> RateLabel:
    tooltip = tr("Theil-Sen slope {span}, since the last reload").format(span=span)
    change = abs(slope) * float(x[-1] - x[0])
    level = float(np.nanmedian(np.abs(y)))
    if change < _STEADY_PART * level or (slope == 0.0):
        return RateLabel(tr("steady"), 0, tooltip)
    text = rate_text(slope * per, unit, per_what)
    if not _is_significant(slope, x, y):
        return RateLabel(text, 0, tooltip + tr("; within the scatter of the values"))
    return RateLabel(text, 1 if slope > 0 else -1, tooltip)


def _is_significant(slope: float, x: FloatArray, y: FloatArray) -> bool:
    """True if the change exceeds the scatter of the values, also in the later half."""
    is_finite = np.isfinite(x) & np.isfinite(y)
    x = x[is_finite]
    y = y[is_finite]
    rest = y - slope * x
    sigma = _SIGMA_OF_MAD * float(np.median(np.abs(rest - np.median(rest))))
    # Error of a slope over n points of independent noise. More points are not independent: they
    # follow each other fast.
    error = sigma * math.sqrt(12.0 / min(len(x), _INDEPENDENT)) / float(x[-1] - x[0])
    if abs(slope) <= _BEYOND * error:
        return False
    later = x >= (x[0] + x[-1]) / 2
    recent = theil_sen_slope(x[later], y[later])
    return recent is None or recent * slope > 0.0
