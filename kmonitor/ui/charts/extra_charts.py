"""All charts but the standard four (`standard_charts`): sampled columns, logs and devices.

The chart of an epoch's parts has a builder of its own, `epoch_parts_chart`.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kmonitor.ui.charts.arrangement import ChartSetup
from kmonitor.ui.charts.cards import NO_RATE, ChartCardState, RateLabel
from kmonitor.ui.charts.chart_kinds import (
    PARTS_KEY,
    ChartKind,
    better_direction,
    chart_title,
)
from kmonitor.ui.charts.epoch_parts_chart import EpochPartsChart
from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.series_store import SeriesStore, VisibleRange
from kmonitor.ui.charts.standard_charts import StandardCharts, x_position_text
from kmonitor.ui.plots.chart_state import (
    ChartState,
    CrosshairCard,
    CrosshairRow,
    CurveState,
    FloatArray,
    GapState,
)
from kmonitor.ui.plots.thinning import smoothed
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.text.formats import NOT_KNOWN, amount_text, count_text, number_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.events import FieldSource
from kmonitor_agent.wire.messages.readings import EPOCH_PREFIX, LEARNING_RATE
from kmonitor_agent.wire.messages.unions import RunSummary

_MAX_CACHED_CURVES: Final = 400


@dataclass(frozen=True, slots=True)
class _CachedCurve:
    """Curve computed from one column; valid while column and style stay the same."""

    y: FloatArray
    style: tuple[float, bool]
    result: FloatArray


class ExtraCharts:
    """Builds chart states for the selected run and those shown with it; main thread only."""

    def __init__(self, workspace: Workspace, feed: ChartFeed, charts: StandardCharts) -> None:
        """Args: `charts`: Source of the time range and of the axis kind."""
        self._workspace = workspace
        self._feed = feed
        self._charts = charts
        self._parts_chart = EpochPartsChart(workspace, feed, charts)
        self._drawn_by_key: dict[tuple[str, str, bool], _CachedCurve] = {}

    def state(self, kind: ChartKind, setup: ChartSetup, width_px: int) -> ChartState:
        """Return the state of a chart.

        Args:
            setup: Style of the chart.
            width_px: Width of the drawn range, pixels.
        """
        run = self._workspace.run_store.current()
        x_kind = self._charts.x_kind
        if run is None:
            return ChartState(unit=kind.unit, x_kind=x_kind, x_range=(0.0, 1.0))
        if kind.key == PARTS_KEY:
            return self._parts_chart.state(run, width_px)
        visible_range = VisibleRange(x_kind, *self._charts.x_range(), width_px)
        curves = [
            curve
            for summary in self._workspace.run_store.shown()
            for curve in self._curves_of(summary, kind, setup, visible_range)
        ]
        has_points = any(len(curve.x) for curve in curves)
        store = self._feed.store
        return ChartState(
            unit=kind.unit,
            x_kind=x_kind,
            x_range=(visible_range.x_from, visible_range.x_to),
            curves=tuple(curves),
            flags=self._feed.flags.flags(run.run, store, x_kind) if has_points else (),
            epoch_marks=store.epoch_marks(run.run, x_kind),
            gaps=tuple(
                GapState(lo, hi, tr("No data here"))
                for lo, hi in store.gaps(run.run, self._column(run.run, kind, setup), x_kind)
            ),
            empty_text=self._empty_text(run, kind),
            title=chart_title(kind.key),
            is_log=setup.is_log,
        )

    def card(self, kind: ChartKind, setup: ChartSetup) -> ChartCardState | None:
        """Text above the chart; None while there is no run."""
        run = self._workspace.run_store.current()
        if run is None:
            return None
        if kind.key == PARTS_KEY:
            return self._parts_chart.card(run)
        store = self._feed.store
        title = chart_title(kind.key)
        column = self._column(run.run, kind, setup)
        value_now = store.last_value(run.run, column)
        absent = "" if value_now is not None else self._empty_text(run, kind)
        value = NOT_KNOWN if value_now is None else amount_text(value_now, kind.unit)
        is_within = bool(kind.within) and column == kind.within
        notes = [self._validation(run, kind), drawn_as(setup, is_within=is_within)]
        age = "" if has_ended(run) else self._workspace.age_text(run.run)
        note = age or ", ".join(each for each in notes if each)
        rate = best_value_label(store, run.run, kind) if value_now is not None else NO_RATE
        return ChartCardState(
            title=title,
            note=note,
            hint="",
            value=value,
            rate=rate,
            limit="",
            limit_tone="mute",
            tooltip=source_text(kind, self._field_source(run, kind)) or absent,
            absent=absent,
            can_limit=False,
            has_limit=False,
            description=", ".join(
                part for part in (title, absent or value, note, rate.text) if part
            ),
        )

    def crosshair(
        self, kind: ChartKind, setup: ChartSetup, x: float, *, is_shown: bool, width_px: int
    ) -> CrosshairCard:
        """Text beside the crosshair, with the values of the curves as drawn."""
        run = self._workspace.run_store.current()
        if kind.key == PARTS_KEY and run is not None:
            return self._parts_chart.crosshair(run, x, is_shown=is_shown, width_px=width_px)
        lines = [
            self._crosshair_row(curve, kind, setup, x)
            for curve in self.state(kind, setup, width_px).curves
            if not curve.faint
        ]
        return CrosshairCard(x_position_text(x, self._charts.x_kind), tuple(lines), is_shown)

    def _curves_of(
        self, run: RunSummary, kind: ChartKind, setup: ChartSetup, visible_range: VisibleRange
    ) -> list[CurveState]:
        run_store = self._workspace.run_store
        is_selected = run.run == run_store.selected
        column = self._column(run.run, kind, setup)
        x, y = self._feed.points(run.run, column, visible_range)
        plain = CurveState(
            run=run.run,
            label=run.name,
            hue=run_store.hue(run.run),
            x=x,
            y=self._drawn(run.run, column, y, setup),
            dashed=run_store.is_dashed(run.run),
            selected=is_selected,
            stale=not self._workspace.is_reached(run.run) and not has_ended(run),
        )
        curves = [plain]
        if setup.smoothing > 0.0 and is_selected:
            raw = self._drawn(run.run, column, y, ChartSetup(setup.key, is_log=setup.is_log))
            curves.insert(0, replace(plain, label="", y=raw, selected=False, faint=True))
        for second in kind.columns[1:]:
            x, y = self._feed.points(run.run, second, visible_range)
            drawn = self._drawn(run.run, second, y, setup)
            beside = replace(plain, label="", x=x, y=drawn, selected=False)
            beside = replace(beside, dashed=not plain.dashed, dotted=plain.dashed)
            curves += [replace(beside, strong=is_selected)] if len(x) else []
        return curves

    def _drawn(self, run: str, column: str, y: FloatArray, setup: ChartSetup) -> FloatArray:
        """Values of a column as drawn; the same array again while nothing changed."""
        if setup.smoothing <= 0.0 and not setup.is_log:
            return y
        key = (run, column, setup.smoothing > 0.0)
        style = (setup.smoothing, setup.is_log)
        cached = self._drawn_by_key.get(key)
        if cached is not None and cached.y is y and cached.style == style:
            return cached.result
        result = smoothed(y, setup.smoothing)
        if setup.is_log:
            # Values without a logarithm are gaps.
            result = np.log10(np.where(result > 0.0, result, np.nan))
        if len(self._drawn_by_key) >= _MAX_CACHED_CURVES:
            self._drawn_by_key.clear()
        self._drawn_by_key[key] = _CachedCurve(y, style, result)
        return result

    def _column(self, run: str, kind: ChartKind, setup: ChartSetup) -> str:
        """Column to draw: values within epochs if chosen, or as long as no epoch has ended."""
        store = self._feed.store
        plain = kind.columns[0]
        if not kind.within or store.last_value(run, kind.within) is None:
            return plain
        is_first = store.last_value(run, plain) is None
        return kind.within if setup.is_within or is_first else plain

    def _crosshair_row(
        self, curve: CurveState, kind: ChartKind, setup: ChartSetup, x: float
    ) -> CrosshairRow:
        value = _value_at(curve, x)
        name = self._workspace.run_store.get(curve.run)
        label = curve.label or tr("{run}, validation").format(run=name.name if name else "")
        if value is None:
            return CrosshairRow(curve.hue, label, None, tr("no data"))
        text = amount_text(10.0**value if setup.is_log else value, kind.unit)
        if setup.smoothing > 0.0:
            text = tr("{value} smoothed").format(value=text)
        return CrosshairRow(curve.hue, label, value, text)

    def _validation(self, run: RunSummary, kind: ChartKind) -> str:
        values = [self._feed.store.last_value(run.run, column) for column in kind.columns[1:]]
        if not values or values[0] is None:
            return ""
        return tr("validation {value}").format(value=amount_text(values[0], kind.unit))

    def _field_source(self, run: RunSummary, kind: ChartKind) -> FieldSource | None:
        return self._workspace.readings(run.run).source(kind.key.removeprefix(EPOCH_PREFIX))

    def _empty_text(self, run: RunSummary, kind: ChartKind) -> str:
        if not self._feed.is_loaded(run.run):
            return self._feed.loading_text(run.run)
        source = self._field_source(run, kind)
        if source is not None and source.absent:
            return translated_text(source.absent)
        if has_ended(run):
            return tr("This was not measured in this run.")
        if kind.log:
            return tr("Shown once an epoch has reported this metric.")
        return tr("Waiting for the first reading\u2026")


def _value_at(curve: CurveState, x: float) -> float | None:
    """The last drawn value at or before x; None before the first, in a gap, or beyond the end."""
    at = int(np.searchsorted(curve.x, x + 1e-9, side="right")) - 1
    if at < 0 or x > float(curve.x[-1]) + 1e-9 or np.isnan(curve.y[at]):
        return None
    return float(curve.y[at])


def best_value_label(store: SeriesStore, run: str, kind: ChartKind) -> RateLabel:
    """Best value so far with its epoch, and the last change; of validation if there is any."""
    if not kind.is_of_epochs:
        return _range_label(store, run, kind)
    if kind.key == LEARNING_RATE:
        return _first_value_label(store, run, kind)
    for column in reversed(kind.columns):
        t_s, values = store.known_points(run, column)
        finite = np.isfinite(values)
        t_s = t_s[finite]
        values = values[finite]
        if len(values):
            is_validation = column != kind.columns[0]
            best = _best_text(store, run, kind, t_s, values)
            # As Keras calls it: the whole word would take the room of the number.
            parts = [tr("val {best}").format(best=best) if is_validation else best]
            parts.append(_change_text(values, kind))
            text = " \u00b7 ".join(part for part in parts if part)
            whose = tr("On the validation data") if is_validation else tr("On the training data")
            return RateLabel(text, 0, f"{whose}: {text}")
    return NO_RATE


def _best_text(
    store: SeriesStore, run: str, kind: ChartKind, t_s: FloatArray, values: FloatArray
) -> str:
    which = better_direction(kind.log) if kind.log else None
    if which is None:
        return _range_text(values, kind)
    at = int(values.argmin() if which == "lower" else values.argmax())
    epoch = max(1, math.ceil(store.x_of(run, float(t_s[at]), "epochs") - 1e-3))
    return tr("best {value}, epoch {n}").format(
        value=amount_text(float(values[at]), kind.unit), n=count_text(epoch)
    )


def _change_text(values: FloatArray, kind: ChartKind) -> str:
    if len(values) < 2 or kind.unit != "number":  # noqa: PLR2004 - a change takes two
        return ""
    change = float(values[-1] - values[-2])
    if change == 0.0:
        return tr("unchanged")
    return f"{'+' if change > 0.0 else ''}{number_text(float(f'{change:.2g}'))}"


def _range_label(store: SeriesStore, run: str, kind: ChartKind) -> RateLabel:
    values = store.known_values(run, kind.columns[0])
    if not len(values):
        return NO_RATE
    text = _range_text(values, kind)
    return RateLabel(text, 0, tr("Range of all values: {range}").format(range=text))


def _range_text(values: FloatArray, kind: ChartKind) -> str:
    low, high = (amount_text(float(value), kind.unit) for value in (values.min(), values.max()))
    return low if low == high else tr("{low} to {high}").format(low=low, high=high)


def _first_value_label(store: SeriesStore, run: str, kind: ChartKind) -> RateLabel:
    values = store.known_values(run, kind.columns[0])
    if not len(values):
        return NO_RATE
    text = tr("first {value}").format(value=amount_text(float(values[0]), kind.unit))
    return RateLabel(text, 0, text)


def drawn_as(setup: ChartSetup, *, is_within: bool) -> str:
    """Text on the drawing of values that are not drawn as measured; else empty."""
    parts: list[str] = []
    if setup.smoothing > 0.0:
        parts.append(tr("smoothed {weight}").format(weight=f"{setup.smoothing:g}"))
    if is_within:
        parts.append(tr("mean over the epoch so far"))
    if setup.is_log:
        parts.append(tr("log axis"))
    return ", ".join(parts)


def source_text(kind: ChartKind, source: FieldSource | None) -> str:
    if source is not None and source.source:
        return translated_text(source.source)
    return tr("Keras logs, at the end of each epoch") if kind.log else ""
