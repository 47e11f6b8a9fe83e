"""The four linked charts: range, curves, limits, forecast, and the text on their cards."""

import math
from dataclasses import dataclass, replace
from typing import Final

import msgspec
import numpy as np

from kmonitor.ui.charts.cards import (
    NO_RATE,
    ChartCardState,
    RateLabel,
    card_title,
    chart_card_state,
    is_native,
    with_native,
)
from kmonitor.ui.charts.feed import STEP_TAILS, ChartFeed
from kmonitor.ui.charts.rates import (
    SPAN_EPOCHS,
    SPAN_SECONDS,
    epoch_rate,
    pending_rate,
    time_rate,
)
from kmonitor.ui.charts.series_store import STEP_TIME_COLUMN, SeriesStore, VisibleRange
from kmonitor.ui.limits.dry_run import dry_run, dry_run_text
from kmonitor.ui.limits.limit_store import (
    LimitLine,
    metric_reading,
    round_threshold,
    strongest_limit,
)
from kmonitor.ui.plots.chart_state import (
    ChartState,
    CrosshairCard,
    CrosshairRow,
    CurveState,
    FlagState,
    FloatArray,
    ForecastState,
    GapState,
    LimitLineState,
    XKind,
)
from kmonitor.ui.runs.epoch_parts import share_texts
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.runs.step_times import LEAST_SLOW_PART
from kmonitor.ui.text.formats import amount_text, duration_text, seconds_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS, metric_name
from kmonitor.ui.verdicts.evidence import judged_rate
from kmonitor.ui.verdicts.forecast_text import forecast_limit_text
from kmonitor.ui.verdicts.verdict_label import verdict_label
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.commands import LimitMetric, LimitSpec
from kmonitor_agent.wire.messages.events import LimitForecast, Verdict
from kmonitor_agent.wire.messages.readings import step_time_column
from kmonitor_agent.wire.messages.unions import RunSummary

_MOST_SHARES: Final = 3
"""Most shares of an epoch's time named on the card of the step time."""

_OFFER: Final = 1.12
_RATE_EVERY_S: Final = 1.0


class StandardCharts:
    """Builds the charts' states for the selected run; main thread only.

    Attributes:
        x_kind: Unit of the horizontal axis.
        evidence_of: Metric whose verdict is open; the window of its evidence is shaded.
    """

    def __init__(self, workspace: Workspace, feed: ChartFeed) -> None:
        self.x_kind: XKind = "epochs"
        self.evidence_of: LimitMetric | None = None
        self._workspace = workspace
        self._feed = feed
        self._range: tuple[float, float] | None = None
        self._rates: dict[LimitMetric, tuple[float, RateLabel]] = {}
        self._rates_of = ""

    @property
    def is_live(self) -> bool:
        """True if the charts follow the newest data."""
        return self._range is None

    def refresh_texts(self) -> None:
        """Drop cached texts after a change of language or unit."""
        self._rates.clear()

    def count(self, kind: XKind) -> None:
        """Set the unit of the horizontal axis."""
        if kind != self.x_kind:
            self.x_kind = kind
            self._range = None

    def hold_range(self) -> None:
        self._range = self.x_range()

    def follow(self) -> None:
        """Show the whole range and follow new data."""
        self._range = None

    def zoom(self, lo: float, hi: float) -> None:
        """Show and hold this range, kept within the full range."""
        self._range = zoomed_range(lo, hi, self._full_range(), self.x_kind)

    def x_range(self) -> tuple[float, float]:
        return self._range or self._full_range()

    def held_span_s(self, run: str | None = None) -> tuple[float, float] | None:
        """Run times that are shown while the view is held, seconds; None while all is shown.

        Args:
            run: A drawn run; None: the selected one.
        """
        current = self._workspace.run_store.current()
        run = run or (current.run if current is not None else None)
        if run is None or self._range is None:
            return None
        store = self._feed.store
        kind = self.x_kind
        begin, end = (store.t_s_of(run, x, kind) for x in self._range)
        return begin, end

    def state(self, metric: LimitMetric, width_px: int) -> ChartState:
        """Return the state of the chart of one metric.

        Args:
            width_px: Width of the drawn range, pixels.
        """
        run = self._workspace.run_store.current()
        unit = METRIC_UNITS[metric]
        if run is None:
            return ChartState(unit=unit, x_kind=self.x_kind, x_range=(0.0, 1.0))
        visible_range = VisibleRange(self.x_kind, *self.x_range(), width_px)
        curves = self._curves(metric, visible_range)
        highest = _highest(curves[:1]) or _highest(curves)
        limit = self._limit(run, metric, highest)
        verdict = self._verdict(run, metric)
        forecasts = self._forecasts(run)
        is_opened = verdict is not None and metric == self.evidence_of
        return ChartState(
            unit=unit,
            x_kind=self.x_kind,
            x_range=(visible_range.x_from, visible_range.x_to),
            curves=curves,
            y_range=_range_below(limit, highest, curves),
            limit=limit,
            flags=() if highest is None else self._flags(run),
            epoch_marks=self._feed.store.epoch_marks(run.run, self.x_kind),
            gaps=self._gaps(run, metric),
            empty_text=self._empty_text(run, metric),
            title=card_title(self._as_charted(run), metric),
            forecast=forecasts.state(
                verdict, self._feed.column(run.run, metric), self._known_range()[1]
            ),
            evidence=self.evidence_span(run, verdict) if is_opened and verdict else None,
        )

    def evidence_span(self, run: RunSummary, verdict: Verdict) -> tuple[float, float]:
        """Start and end of the window of a verdict's evidence on the axis."""
        return self._forecasts(run).evidence(verdict)

    def card(self, metric: LimitMetric, *, now_s: float) -> ChartCardState | None:
        """Text above one chart; None while there is no run.

        Args:
            now_s: Monotonic time, seconds; rates are computed once a second.
        """
        run = self._workspace.run_store.current()
        if run is None:
            return None
        verdict = self._verdict(run, metric)
        cleared_s = self._feed.flags.last_clearing_s(run.run)
        since = verdict if verdict and verdict.to_s >= cleared_s else None
        card = chart_card_state(
            self._as_charted(run),
            metric,
            rate=judged_rate(since, self._rate(run, metric, now_s)),
            line=self._workspace.limits.line(run, metric),
            is_connected=self._can_set_limits(run),
            device_absent=self._device_absent(run),
        )
        judged = verdict_label(run, verdict, now_wall_s=self._workspace.now_wall_s())
        texts = [card.description, judged.text, judged.forecast]
        card = replace(card, verdict=judged, description=", ".join(text for text in texts if text))
        age = "" if has_ended(run) else self._workspace.age_text(run.run)
        if metric == "step_time":
            hint = self._slow_steps_hint(run.run) or self._last_epoch_hint(run.run)
            card = replace(card, hint=hint)
        note = age or self._feed.outline_text(run.run, self._feed.column(run.run, metric))
        return replace(card, note=note) if note else card

    def crosshair(self, metric: LimitMetric, x: float, *, is_shown: bool) -> CrosshairCard:
        lines = tuple(
            self._crosshair_row(summary, metric, x)
            for summary in self._workspace.run_store.shown()
        )
        return CrosshairCard(x_position_text(x, self.x_kind), lines, is_shown)

    def dry_run(self) -> tuple[str, ...]:
        """Text on what the limits of the selected run would have done with its data so far."""
        run = self._workspace.run_store.current()
        found: list[str] = []
        for metric in METRIC_UNITS if run is not None else ():
            line = self._workspace.limits.line(run, metric) if run is not None else None
            if run is None or line is None:
                continue
            column = self._feed.column(run.run, metric)
            t_s, y = self._feed.store.recent_points(
                run.run, column, span_x=math.inf, kind="seconds"
            )
            limit = strongest_limit(run, metric) or LimitSpec(metric)
            counted = dry_run(
                t_s,
                y,
                LimitSpec(
                    metric=metric,
                    value=line.value,
                    action=line.action,
                    hold_s=limit.hold_s,
                    cooldown_s=limit.cooldown_s,
                ),
            )
            text = dry_run_text(
                counted,
                metric=metric,
                threshold=line.value,
                action=line.action,
                hold_s=limit.hold_s,
            )
            found.append(f"{metric_name(metric)}: {text}")
        if run is not None and found:
            head = tr("What the limits of {run} would have done:")
            found.insert(0, head.format(run=run.name))
        return tuple(found)

    def _verdict(self, run: RunSummary, metric: LimitMetric) -> Verdict | None:
        """Verdict on a metric; None also where the chart shows other values than those judged."""
        if is_native(self._as_charted(run), metric):
            return None
        return self._workspace.verdicts.get(run.run, metric)

    def _slow_steps_hint(self, run: str) -> str:
        """Remark for the median where a few slow steps take much of the time."""
        store = self._feed.store
        columns = [STEP_TIME_COLUMN, *map(step_time_column, STEP_TAILS)]
        median, mean, most, longest = (store.last_value(run, column) for column in columns)
        if median is None or mean is None or most is None or longest is None:
            return ""
        if mean - median < LEAST_SLOW_PART * mean:
            return ""
        return tr("mean {mean} \u00b7 p99 {most} \u00b7 max {longest}").format(
            mean=seconds_text(mean), most=seconds_text(most), longest=seconds_text(longest)
        )

    def _last_epoch_hint(self, run: str) -> str:
        """Largest shares of the last epoch's time."""
        shares = share_texts(self._feed.last_epoch_parts(run))[:_MOST_SHARES]
        return tr("last epoch: {shares}").format(shares=" \u00b7 ".join(shares)) if shares else ""

    def _can_set_limits(self, run: RunSummary) -> bool:
        return self._workspace.is_reached(run.run) and not self._workspace.why_no_command(run.run)

    def _device_absent(self, run: RunSummary) -> str:
        source = self._workspace.readings(run.run).source("device_used_bytes")
        return translated_text(source.absent) if source is not None else ""

    def _as_charted(self, run: RunSummary) -> RunSummary:
        """The run with the last values of its charts."""
        native_bytes = self._feed.native_bytes(run.run)
        if native_bytes is not None:
            run = with_native(run, native_bytes)
        value = self._feed.step_time_s(run.run)
        if value is None:
            return run
        reading = msgspec.structs.replace(run.step_time, value=value, absent="")
        return msgspec.structs.replace(run, step_time=reading)

    def _crosshair_row(self, run: RunSummary, metric: LimitMetric, x: float) -> CrosshairRow:
        column = self._feed.column(run.run, metric)
        value = self._feed.store.value_at(run.run, column, x, self.x_kind)
        text = tr("no data") if value is None else amount_text(value, METRIC_UNITS[metric])
        return CrosshairRow(self._workspace.run_store.hue(run.run), run.name, value, text)

    def _full_range(self) -> tuple[float, float]:
        start, end = self._known_range()
        run = self._workspace.run_store.current()
        if run is None:
            return start, end
        verdicts = self._workspace.verdicts.of_run(run.run)
        return start, end + self._forecasts(run).shown_ahead(verdicts, end - start)

    def _forecasts(self, run: RunSummary) -> "ForecastBuilder":
        return ForecastBuilder(self._feed.store, run, self.x_kind)

    def _known_range(self) -> tuple[float, float]:
        run = self._workspace.run_store.current()
        return self._feed.store.full_range([run.run] if run else [], self.x_kind)

    def _curves(self, metric: LimitMetric, visible_range: VisibleRange) -> tuple[CurveState, ...]:
        run_store = self._workspace.run_store
        curves = list[CurveState]()
        for summary in run_store.shown():
            column = self._feed.column(summary.run, metric)
            x, y = self._feed.points(summary.run, column, visible_range)
            curves.append(
                CurveState(
                    run=summary.run,
                    label=summary.name,
                    hue=run_store.hue(summary.run),
                    x=x,
                    y=y,
                    dashed=run_store.is_dashed(summary.run),
                    selected=summary.run == run_store.selected,
                    stale=not self._workspace.is_reached(summary.run) and not has_ended(summary),
                )
            )
        return tuple(curves)

    def _limit(
        self, run: RunSummary, metric: LimitMetric, highest: float | None
    ) -> LimitLineState | None:
        line = self._workspace.limits.line(run, metric)
        can_set = self._can_set_limits(run) and not has_ended(run) and "set_limits" in run.actions
        if line is not None:
            return _limit_line_state(line, can_set=can_set)
        if not can_set or not highest or metric_reading(run, metric).value is None:
            return None
        if is_native(self._as_charted(run), metric):
            return None
        value = round_threshold(metric, highest * _OFFER)
        return LimitLineState(value, tr("drag to set a limit"), "offered")

    def _flags(self, run: RunSummary) -> tuple[FlagState, ...]:
        return self._feed.flags.flags(run.run, self._feed.store, self.x_kind)

    def _gaps(self, run: RunSummary, metric: LimitMetric) -> tuple[GapState, ...]:
        column = self._feed.column(run.run, metric)
        found = self._feed.store.gaps(run.run, column, self.x_kind)
        return tuple(GapState(lo, hi, tr("No data here")) for lo, hi in found)

    def _empty_text(self, run: RunSummary, metric: LimitMetric) -> str:
        if not self._feed.is_loaded(run.run):
            return self._feed.loading_text(run.run)
        card = chart_card_state(run, metric, line=None, is_connected=True)
        return card.absent or tr("No data in this range")

    def _rate(self, run: RunSummary, metric: LimitMetric, now_s: float) -> RateLabel:
        if run.run != self._rates_of:
            self._rates.clear()
            self._rates_of = run.run
        at_s, rate = self._rates.get(metric, (-math.inf, NO_RATE))
        if rate is NO_RATE or now_s - at_s >= _RATE_EVERY_S:
            rate = self._compute_rate(run, metric)
            self._rates[metric] = (now_s, rate)
        return rate

    def _compute_rate(self, run: RunSummary, metric: LimitMetric) -> RateLabel:
        store = self._feed.store
        column = self._feed.column(run.run, metric)
        unit = METRIC_UNITS[metric]
        cleared_s = self._feed.flags.last_clearing_s(run.run)
        x, y = store.recent_points(run.run, column, span_x=SPAN_EPOCHS, kind="epochs")
        start_epoch = store.x_of(run.run, cleared_s, "epochs") if cleared_s else 0.0
        rate = epoch_rate(x, y, unit, run, start_epoch=start_epoch)
        if rate is not NO_RATE:
            return rate
        at_s, values = store.recent_points(run.run, column, span_x=SPAN_SECONDS, kind="seconds")
        after = _after(at_s, values, cleared_s or -math.inf)
        rate = time_rate(*after, unit, start_s=cleared_s or 0.0)
        if rate is NO_RATE and cleared_s and len(x) and not has_ended(run):
            return pending_rate(metric, epoch_now=float(x[-1]), start_epoch=start_epoch)
        return rate


def _after(x: FloatArray, y: FloatArray, since: float) -> tuple[FloatArray, FloatArray]:
    is_after = x > since
    return x[is_after], y[is_after]


def _highest(curves: tuple[CurveState, ...]) -> float | None:
    tops = [
        float(np.max(c.y, where=np.isfinite(c.y), initial=-np.inf))
        for c in curves
        if np.isfinite(c.y).any()
    ]
    return max(tops, default=None)


def _limit_line_state(line: LimitLine, *, can_set: bool) -> LimitLineState:
    style = "pending" if line.is_pending else "in_force"
    return LimitLineState(line.value, line.text, style, is_draggable=can_set)


_TOO_FAR_ABOVE: Final = 3.0
"""A limit beyond this many times the highest value would flatten the curves."""


def _range_below(
    limit: LimitLineState | None, highest: float | None, curves: tuple[CurveState, ...]
) -> tuple[float, float] | None:
    """Vertical range that leaves a far limit beyond the top; None: the chart chooses its own."""
    top = _highest(curves)
    if limit is None or highest is None or top is None or limit.value <= _TOO_FAR_ABOVE * top:
        return None
    return (0.0, top * 1.3) if top > 0 else None


_LEAST_SPAN: Final[dict[XKind, float]] = {"epochs": 0.05, "seconds": 2.0, "models": 0.05}
"""Shortest shown stretch of the axis at the highest zoom, by unit."""


def zoomed_range(
    lo: float, hi: float, whole: tuple[float, float], kind: XKind
) -> tuple[float, float] | None:
    """Range to hold after zooming to `lo..hi`, kept within the whole; None: show the whole."""
    start, end = whole
    span = min(max(hi - lo, _LEAST_SPAN[kind]), end - start)
    lo = min(max(lo, start), end - span)
    return (lo, lo + span) if span < end - start else None


def x_position_text(x: float, kind: XKind) -> str:
    """Text of a position on the horizontal axis: "epoch 28", "4 min", "model 3"."""
    if kind == "seconds":
        return duration_text(x)
    text = tr("epoch {n}") if kind == "epochs" else tr("model {n}")
    return text.format(n=math.floor(x) + 1)


_MOST_AHEAD = 0.75
"""Longest shown future, as a fraction of the known past."""

_TOO_FAR_AHEAD = 3.0
"""A limit farther ahead than this many times the known past is named in text only."""


@dataclass(frozen=True, slots=True)
class ForecastBuilder:
    """Forecasts of one run on one axis.

    Attributes:
        store: The run's columns.
        x_kind: Unit of the horizontal axis.
    """

    store: SeriesStore
    run: RunSummary
    x_kind: XKind

    def shown_ahead(self, verdicts: list[Verdict], known: float) -> float:
        """Length of the future worth showing beside `known`, in the unit of the axis."""
        wanted = 0.0
        for verdict in verdicts:
            found = self._span(verdict)
            if found is not None and found[0] <= _TOO_FAR_AHEAD * known:
                late = found[2] if found[2] is not None else 1.5 * found[0]
                wanted = max(wanted, late)
        return min(1.05 * wanted, _MOST_AHEAD * known)

    def state(self, verdict: Verdict | None, column: str, newest: float) -> ForecastState | None:
        """Forecast of one chart; None where there is none.

        Args:
            newest: Position of the newest moment on the axis.
        """
        if verdict is None or (forecast := verdict.forecast) is None:
            return None
        found = self._span(verdict)
        value = self.store.last_value(self.run.run, column)
        limit = forecast.limit
        if found is None or value is None or value >= limit:
            return None
        middle, early, late = found
        return ForecastState(
            x=newest,
            y=value,
            limit=limit,
            x_meets=newest + middle,
            x_earliest=newest + early,
            x_latest=None if late is None else newest + late,
            # The run's own limit has its line and its words.
            limit_text="" if forecast.of == "own" else forecast_limit_text(verdict, forecast),
        )

    def evidence(self, verdict: Verdict) -> tuple[float, float]:
        """Start and end of the window of the evidence on the axis."""
        run = self.run.run
        kind = self.x_kind
        begin, end = (self.store.x_of(run, t_s, kind) for t_s in (verdict.from_s, verdict.to_s))
        return begin, end

    def _span(self, verdict: Verdict) -> tuple[float, float, float | None] | None:
        """Likely, earliest and latest distance to the limit; None: no forecast for this axis."""
        forecast = verdict.forecast
        if forecast is None or has_ended(self.run):
            return None
        per_unit = self._x_per_unit(verdict, forecast)
        if per_unit is None or forecast.units <= 0.0:
            return None
        late = None if forecast.latest is None else forecast.latest * per_unit
        return forecast.units * per_unit, forecast.earliest * per_unit, late

    def _x_per_unit(self, verdict: Verdict, forecast: LimitForecast) -> float | None:
        if self.x_kind == "seconds":
            return forecast.unit_s
        if verdict.per == "epoch" or not self.run.fits_done:
            return 1.0
        return self.run.epochs_done / self.run.fits_done
