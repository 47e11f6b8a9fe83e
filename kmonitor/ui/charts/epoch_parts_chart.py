"""Chart of where the time of each epoch goes: its parts as stacked bars."""

from typing import Final

import numpy as np

from kmonitor.ui.charts.cards import NO_RATE, ChartCardState
from kmonitor.ui.charts.chart_kinds import PARTS_KEY, chart_title
from kmonitor.ui.charts.feed import PART_COLUMNS, ChartFeed
from kmonitor.ui.charts.series_store import EpochBars, VisibleRange
from kmonitor.ui.charts.standard_charts import StandardCharts
from kmonitor.ui.plots.chart_state import (
    NO_STACK,
    ChartState,
    CrosshairCard,
    CrosshairRow,
    FloatArray,
    GapState,
    LayerState,
    StackState,
)
from kmonitor.ui.runs.epoch_parts import LEAST_PART, part_title, share_texts
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.text.formats import NOT_KNOWN, count_text, percent_text, seconds_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.verdicts.verdict_label import verdict_label
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.events import EPOCH_PARTS
from kmonitor_agent.wire.messages.unions import RunSummary

_HUES: Final = {
    "input": 1,
    "compute": 0,
    "callbacks": 3,
    "checkpoints": 4,
    "validation": 2,
    "compiling": 5,
    "between_epochs": -3,
    "between_fits": -1,
    "ours": -4,
    "rest": -2,
}
"""Hues of the parts, as indices for `Palette.hue`."""


class EpochPartsChart:
    """Builds the chart's state for the selected run; main thread only."""

    def __init__(self, workspace: Workspace, feed: ChartFeed, charts: StandardCharts) -> None:
        """Args: `charts`: Source of the time range and of the axis kind."""
        self._workspace = workspace
        self._feed = feed
        self._charts = charts

    def state(self, run: RunSummary, width_px: int) -> ChartState:
        """Return the state of the chart.

        Args:
            width_px: Width of the drawn range, pixels.
        """
        x_kind = self._charts.x_kind
        bars = self._bars(run, width_px)
        store = self._feed.store
        verdict = self._workspace.verdicts.get(run.run, "epoch_time")
        is_opened = verdict is not None and self._charts.evidence_of == "epoch_time"
        return ChartState(
            unit="seconds",
            x_kind=x_kind,
            x_range=self._charts.x_range(),
            flags=self._feed.flags.flags(run.run, store, x_kind) if len(bars.first) else (),
            gaps=_gaps(bars),
            epoch_marks=store.epoch_marks(run.run, x_kind),
            empty_text=self._empty_text(run),
            title=chart_title(PARTS_KEY),
            evidence=self._charts.evidence_span(run, verdict) if is_opened and verdict else None,
            stack=_stack(bars),
        )

    def card(self, run: RunSummary) -> ChartCardState:
        """Text above the chart, on the last epoch."""
        title = chart_title(PARTS_KEY)
        seconds = self._feed.last_epoch_parts(run.run)
        whole_s = sum(seconds.values())
        absent = "" if whole_s > 0.0 else self._empty_text(run)
        value = NOT_KNOWN if absent else seconds_text(whole_s)
        texts = share_texts(seconds)
        age = "" if has_ended(run) else self._workspace.age_text(run.run)
        verdict = self._workspace.verdicts.get(run.run, "epoch_time")
        label = verdict_label(run, verdict, now_wall_s=self._workspace.now_wall_s())
        described = [title, absent or value, *texts, label.text]
        return ChartCardState(
            title=title,
            note=age or ("" if absent else tr("last epoch")),
            hint="",
            value=value,
            rate=NO_RATE,
            limit="",
            limit_tone="mute",
            tooltip=absent or ", ".join(texts),
            absent=absent,
            can_limit=False,
            has_limit=False,
            description=", ".join(filter(None, described)),
            verdict=label,
        )

    def crosshair(
        self, run: RunSummary, x: float, *, is_shown: bool, width_px: int
    ) -> CrosshairCard:
        """Parts of the epoch at the crosshair, the longest first."""
        bars = self._bars(run, width_px)
        stack = _stack(bars)
        at = stack.bar_at(x)
        if at is None:
            return CrosshairCard(tr("no data"), (), is_shown)
        first = int(bars.first[at]) + 1
        last = int(bars.last[at]) + 1
        whole_s = sum(float(layer.y[at]) for layer in stack.layers)
        title = f"{tr('epoch {n}').format(n=count_text(first))} \u00b7 {seconds_text(whole_s)}"
        if last > first:
            title = tr("epochs {first} to {last} \u00b7 {time} each").format(
                first=count_text(first), last=count_text(last), time=seconds_text(whole_s)
            )
        amounts = sorted(
            ((float(layer.y[at]), layer) for layer in stack.layers), key=_seconds, reverse=True
        )
        rows = tuple(
            CrosshairRow(layer.hue, layer.label, None, _amount_text(seconds, whole_s))
            for seconds, layer in amounts
            if seconds >= LEAST_PART * whole_s
        )
        return CrosshairCard(title, rows, is_shown)

    def _bars(self, run: RunSummary, width_px: int) -> EpochBars:
        visible = VisibleRange(self._charts.x_kind, *self._charts.x_range(), width_px)
        return self._feed.epoch_bars(run.run, PART_COLUMNS, visible)

    def _empty_text(self, run: RunSummary) -> str:
        if not self._feed.is_loaded(run.run):
            return self._feed.loading_text(run.run)
        if has_ended(run):
            return tr("This was not measured in this run.")
        return tr("Shown once an epoch has ended.")


def _stack(bars: EpochBars) -> StackState:
    if not len(bars.first):
        return NO_STACK
    heights = np.nan_to_num(bars.values)
    whole = heights.sum(axis=0)
    n_epochs = bars.last - bars.first + 1
    shares = (heights * n_epochs).sum(axis=1) / max(float((whole * n_epochs).sum()), 1e-12)
    return StackState(bars.x_from, bars.x_to, tuple(_layers(heights, whole, shares, bars.values)))


def _gaps(bars: EpochBars) -> tuple[GapState, ...]:
    """Gaps between bars: epochs without data."""
    missing = np.flatnonzero(bars.first[1:] > bars.last[:-1] + 1)
    return tuple(
        GapState(float(bars.x_to[at]), float(bars.x_from[at + 1]), tr("No data here"))
        for at in missing.tolist()
    )


def _layers(
    heights: FloatArray, whole: FloatArray, shares: FloatArray, values: FloatArray
) -> list[LayerState]:
    """Layers with a noticeable share of any bar."""
    is_input_known = bool(np.isfinite(values[EPOCH_PARTS.index("input")]).any())
    return [
        LayerState(
            part_title(name, is_input_known=is_input_known), _HUES[name], float(share), height
        )
        for name, share, height in zip(EPOCH_PARTS, shares, heights, strict=True)
        if (height >= LEAST_PART * whole).any() and height.any()
    ]


def _seconds(amount: tuple[float, LayerState]) -> float:
    return amount[0]


def _amount_text(seconds: float, whole_s: float) -> str:
    return f"{seconds_text(seconds)} \u00b7 {percent_text(seconds / whole_s)}"
