"""How fast a metric grows, for the words above its chart."""

import math
from typing import Final

import numpy as np

from kmonitor.analysis.trend import theil_sen_slope
from kmonitor.presenters.chart_picture import FloatArray
from kmonitor.presenters.formats import Unit, rate_text
from kmonitor.presenters.language import tr
from kmonitor.presenters.rate_words import NO_RATE, RatePicture
from kmonitor_agent.protocol.messages import RunSummary

SPAN_EPOCHS: Final = 30.0
SPAN_SECONDS: Final = 120.0
_MIN_POINTS: Final = 6
_MIN_EPOCHS: Final = 2.0
_MIN_SECONDS: Final = 8.0
_STEADY_PART: Final = 0.004
"""A change over the whole span below this part of the value is called steady."""

_SIGMA_OF_MAD: Final = 1.4826
_INDEPENDENT: Final = 30
_BEYOND: Final = 3.0
"""A slope that stands out is larger than so many of its standard errors."""


def epoch_rate(x: FloatArray, y: FloatArray, unit: Unit, run: RunSummary) -> RatePicture:
    """The rate by epoch, or by model where models are trained one after the other.

    Args:
        x: Epochs of all fits in a row, since the last reload, `[n]`.
        y: Values, `[n]`.
        unit: Of the values.
        run: The run.
    """
    if len(x) < _MIN_POINTS or float(x[-1] - x[0]) < _MIN_EPOCHS:
        return NO_RATE
    slope = theil_sen_slope(x, y)
    if slope is None:
        return NO_RATE
    span = tr("over the last {n} epochs").format(n=round(float(x[-1] - x[0])))
    if run.fits_done >= 2 and run.epochs_done:  # noqa: PLR2004 - a loop of models
        epochs_per_fit = run.epochs_done / run.fits_done
        return _picture(slope, epochs_per_fit, unit, tr("model"), x=x, y=y, span=span)
    return _picture(slope, 1.0, unit, tr("epoch"), x=x, y=y, span=span)


def time_rate(x: FloatArray, y: FloatArray, unit: Unit) -> RatePicture:
    """The rate by minute, while too few epochs have ended.

    Args:
        x: Run time, seconds, `[n]`.
        y: Values, `[n]`.
        unit: Of the values.
    """
    if len(x) < _MIN_POINTS or float(x[-1] - x[0]) < _MIN_SECONDS:
        return NO_RATE
    slope = theil_sen_slope(x, y)
    if slope is None:
        return NO_RATE
    span = tr("over the last {n} s").format(n=round(float(x[-1] - x[0])))
    return _picture(slope, 60.0, unit, tr("min"), x=x, y=y, span=span)


def _picture(  # noqa: PLR0913 - all of it belongs to one sentence
    slope: float,
    per: float,
    unit: Unit,
    per_what: str,
    *,
    x: FloatArray,
    y: FloatArray,
    span: str,
) -> RatePicture:
    tooltip = tr("Theil-Sen slope {span}, since the last reload").format(span=span)
    change = abs(slope) * float(x[-1] - x[0])
    level = float(np.nanmedian(np.abs(y)))
    if change < _STEADY_PART * level or (slope == 0.0):
        return RatePicture(tr("steady"), 0, tooltip)
    text = rate_text(slope * per, unit, per_what)
    if not _stands_out(slope, x, y):
        return RatePicture(text, 0, tooltip + tr("; no more than the values scatter"))
    return RatePicture(text, 1 if slope > 0 else -1, tooltip)


def _stands_out(slope: float, x: FloatArray, y: FloatArray) -> bool:
    """Whether values go that way by more than they scatter, and still do in the later half."""
    is_there = np.isfinite(x) & np.isfinite(y)
    x, y = x[is_there], y[is_there]
    rest = y - slope * x
    sigma = _SIGMA_OF_MAD * float(np.median(np.abs(rest - np.median(rest))))
    # Of a slope over n points of independent noise; more are not, they follow each other fast.
    error = sigma * math.sqrt(12.0 / min(len(x), _INDEPENDENT)) / float(x[-1] - x[0])
    if abs(slope) <= _BEYOND * error:
        return False
    later = x >= (x[0] + x[-1]) / 2
    recent = theil_sen_slope(x[later], y[later])
    return recent is None or recent * slope > 0.0
