"""What is said above a chart of a training's metric: best so far, change, and how it is drawn."""

import math

import numpy as np

from kmonitor.ui.charts.arrangement import ChartSetup
from kmonitor.ui.charts.chart_kinds import RATE_COLUMN, ChartKind, better
from kmonitor.ui.charts.rate_words import NO_RATE, RatePicture
from kmonitor.ui.charts.series_store import SeriesStore
from kmonitor.ui.plots.chart_state import FloatArray
from kmonitor.ui.text.formats import amount_text, count_text, number_text
from kmonitor.ui.text.hub_text import said
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import SourceOf


def best_words(store: SeriesStore, run: str, kind: ChartKind) -> RatePicture:
    """Best so far with its epoch, and the last change; of validation where there is some.

    Args:
        store: Holds the columns.
        run: Run id.
        kind: Of what.
    """
    if not kind.is_of_epochs:
        return _extremes(store, run, kind)
    if kind.key == RATE_COLUMN:
        return _first(store, run, kind)
    for column in reversed(kind.columns):
        t_s, values = store.known_points(run, column)
        finite = np.isfinite(values)
        t_s, values = t_s[finite], values[finite]
        if len(values):
            is_validation = column != kind.columns[0]
            best = _best(store, run, kind, t_s, values)
            # As Keras calls it: the whole word would take the room of the number.
            parts = [tr("val {best}").format(best=best) if is_validation else best]
            parts.append(_change(values, kind))
            text = " \u00b7 ".join(part for part in parts if part)
            whose = tr("Of the validation data") if is_validation else tr("Of the training data")
            return RatePicture(text, 0, f"{whose}: {text}")
    return NO_RATE


def drawn_as(setup: ChartSetup, *, is_within: bool) -> str:
    """How the values are drawn, where it is not as they are."""
    parts: list[str] = []
    if setup.smoothing > 0.0:
        parts.append(tr("smoothed {weight}").format(weight=f"{setup.smoothing:g}"))
    if is_within:
        parts.append(tr("mean of the epoch so far"))
    if setup.is_log:
        parts.append(tr("log axis"))
    return ", ".join(parts)


def source_words(kind: ChartKind, told: SourceOf | None) -> str:
    """Where the values come from."""
    if told is not None and told.source:
        return said(told.source)
    return tr("Keras' logs, at each epoch's end") if kind.log else ""


def _best(
    store: SeriesStore, run: str, kind: ChartKind, t_s: FloatArray, values: FloatArray
) -> str:
    which = better(kind.log) if kind.log else None
    if which is None:
        return _range_words(values, kind)
    at = int(values.argmin() if which == "lower" else values.argmax())
    epoch = max(1, math.ceil(store.x_of(run, float(t_s[at]), "epochs") - 1e-3))
    return tr("best {value}, epoch {n}").format(
        value=amount_text(float(values[at]), kind.unit), n=count_text(epoch)
    )


def _change(values: FloatArray, kind: ChartKind) -> str:
    if len(values) < 2 or kind.unit != "number":  # noqa: PLR2004 - a change takes two
        return ""
    change = float(values[-1] - values[-2])
    if change == 0.0:
        return tr("unchanged")
    return f"{'+' if change > 0.0 else ''}{number_text(float(f'{change:.2g}'))}"


def _extremes(store: SeriesStore, run: str, kind: ChartKind) -> RatePicture:
    values = store.known_values(run, kind.columns[0])
    if not len(values):
        return NO_RATE
    text = _range_words(values, kind)
    return RatePicture(text, 0, tr("Of all that was measured: {range}").format(range=text))


def _range_words(values: FloatArray, kind: ChartKind) -> str:
    low, high = (amount_text(float(value), kind.unit) for value in (values.min(), values.max()))
    return low if low == high else tr("{low} to {high}").format(low=low, high=high)


def _first(store: SeriesStore, run: str, kind: ChartKind) -> RatePicture:
    values = store.known_values(run, kind.columns[0])
    if not len(values):
        return NO_RATE
    text = tr("{value} at first").format(value=amount_text(float(values[0]), kind.unit))
    return RatePicture(text, 0, text)
