"""State of one chart as plain data: the interface between `charts` and the painters.

`charts` builds a new `ChartState` when something changed, and keeps the array objects of unchanged
curves: a chart compares arrays by identity and redraws only changed parts.
"""

from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from kmonitor.ui.text.formats import Unit

FloatArray = NDArray[np.float64]
NO_POINTS: Final[FloatArray] = np.empty(0, np.float64)
NO_POINTS.setflags(write=False)


XKind = Literal["epochs", "seconds", "models"]
"""Unit of the horizontal axis: epochs of all fits in a row, seconds of run time, or fits."""

LimitLook = Literal["in_force", "pending", "offered"]
"""`in_force`: the agent enforces it. `pending`: set here, not yet acknowledged by the agent.
`offered`: there is no limit; a faint line can be dragged to set one."""


@dataclass(frozen=True, slots=True, eq=False)
class CurveState:
    """One run's line.

    Attributes:
        run: Run id.
        label: Name at the line's end; elided by the chart where there is no room.
        hue: Index of the series colour, 0..5.
        dashed: Drawn dashed: a second run with this hue.
        dotted: Drawn dotted: replaces dashed beside the line of a dashed run.
        selected: Drawn heavier, with a gradient below.
        stale: Greyed: the host is lost, the last data are shown.
        strong: As heavy as the selected curve, without a gradient, so that all curves are equal.
        faint: As thin and pale as possible: the values from which another curve was smoothed.
        x: Epochs or seconds, rising, `[n_points]`, thinned to the chart's width.
        y: Values in the chart's unit, `[n_points]`; NaN marks a gap, which breaks the line.
    """

    run: str
    label: str
    hue: int
    x: FloatArray
    y: FloatArray
    dashed: bool = False
    dotted: bool = False
    selected: bool = False
    stale: bool = False
    strong: bool = False
    faint: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LayerState:
    """One layer of stacked bars.

    Attributes:
        label: Name in the legend: "waiting for input".
        hue: Index for `Palette.hue`.
        share: Share of the total of all drawn bars, 0..1.
        y: Height of the layer in each bar, in the chart's unit, `[n_bars]`.
    """

    label: str
    hue: int
    share: float
    y: FloatArray

    def is_painted_like(self, other: "LayerState") -> bool:
        is_same = (self.label, self.hue, self.share) == (other.label, other.hue, other.share)
        return is_same and np.array_equal(self.y, other.y)


@dataclass(frozen=True, slots=True, eq=False)
class StackState:
    """Stacked bars in place of curves; where there is no bar, there is a gap.

    Attributes:
        x_from: Left edges, rising, `[n_bars]`.
        x_to: Right edges, `[n_bars]`.
        layers: Layers from the bottom up.
    """

    x_from: FloatArray
    x_to: FloatArray
    layers: tuple[LayerState, ...] = ()

    @property
    def highest(self) -> float:
        """Height of the highest bar; 0 without bars."""
        heights = np.sum([layer.y for layer in self.layers], axis=0)
        return float(heights.max()) if self.layers else 0.0

    def bar_at(self, x: float) -> int | None:
        """Index of the bar at x; None where there is no bar."""
        at = int(np.searchsorted(self.x_from, x, side="right")) - 1
        return at if at >= 0 and x <= self.x_to[at] else None

    def is_painted_like(self, other: "StackState") -> bool:
        return (
            np.array_equal(self.x_from, other.x_from)
            and np.array_equal(self.x_to, other.x_to)
            and len(self.layers) == len(other.layers)
            and all(map(LayerState.is_painted_like, self.layers, other.layers))
        )


NO_STACK: Final = StackState(NO_POINTS, NO_POINTS)


@dataclass(frozen=True, slots=True)
class LimitLineState:
    """The limit line.

    Attributes:
        value: Limit in the chart's unit.
        text: Label, for example "limit 72 GiB, reload" or "limit 72 GiB, reload · requested".
        style: See `LimitLook`.
        is_draggable: True if the line has a grip.
    """

    value: float
    text: str
    style: LimitLook = "in_force"
    is_draggable: bool = True

    @property
    def colour(self) -> str:
        """Name of the palette colour: critical in force, quieter while pending or offered."""
        return {"in_force": "crit", "pending": "warn", "offered": "mute"}[self.style]


@dataclass(frozen=True, slots=True)
class FlagState:
    """A vertical line with a flag on top: an action that was carried out.

    Attributes:
        x: Position on the horizontal axis.
        text: Label, for example "reload".
        tooltip: Result of the action.
        ok: False if the action failed; the flag is drawn in the warning colour.
        row: The hub's row id of the record, emitted on a click; None: a click does nothing.
        is_quiet: True if only the pole is drawn, without a label.
    """

    x: float
    text: str
    tooltip: str = ""
    ok: bool = True
    row: int | None = None
    is_quiet: bool = False


@dataclass(frozen=True, slots=True)
class GapState:
    """A stretch without data, drawn as a faint band.

    Attributes:
        x_from: Last point before the gap.
        x_to: First point after the gap.
        text: Reason for the gap, shown as a tooltip.
    """

    x_from: float
    x_to: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class ForecastState:
    """Forecast of continued growth up to a limit.

    Attributes:
        x: Position of the newest moment.
        y: The newest value, in the chart's unit.
        limit: The limit that growth reaches, in the chart's unit.
        x_meets: Most likely position at which the limit is reached.
        x_earliest: Earliest position.
        x_latest: Latest position; None: the limit may never be reached.
        limit_text: "host limit 15.6 GiB"; empty where the chart already has a line for the limit.
    """

    x: float
    y: float
    limit: float
    x_meets: float
    x_earliest: float
    x_latest: float | None
    limit_text: str = ""

    def y_at(self, x: float) -> float:
        """Height of the most likely line at x, at most the limit."""
        width = self.x_meets - self.x
        part = (x - self.x) / width if width > 0.0 else 1.0
        return self.y + min(max(part, 0.0), 1.0) * (self.limit - self.y)


@dataclass(frozen=True, slots=True, eq=False)
class ChartState:
    """Everything that one chart shows.

    Attributes:
        unit: Unit of all values; determines the format of ticks.
        x_kind: Unit of the horizontal axis.
        x_range: Start and end of the horizontal axis, in that unit.
        curves: Curves in the order of the run tree; the selected one is drawn on top.
        y_range: Start and end of the vertical axis; None: the range of curves and limit.
        limit: Limit line, or None.
        flags: Actions of the selected run, rising in x.
        epoch_marks: Starts of epochs, rising, `[n_epochs]`, drawn as small ticks above the axis.
        gaps: Gaps of the selected run.
        empty_text: Text shown in the middle when no curve has a point.
        title: Name of the metric, for the accessible description: "RAM".
        forecast: Forecast of the selected run's growth, or None.
        evidence: Start and end of the window of an open verdict's evidence, or None.
        is_log: True if all values are decadic logarithms of the actual ones.
        stack: Bars, in a chart that has bars instead of curves.
    """

    unit: Unit
    x_kind: XKind
    x_range: tuple[float, float]
    curves: tuple[CurveState, ...] = ()
    y_range: tuple[float, float] | None = None
    limit: LimitLineState | None = None
    flags: tuple[FlagState, ...] = ()
    epoch_marks: FloatArray = field(default_factory=lambda: NO_POINTS)
    gaps: tuple[GapState, ...] = ()
    empty_text: str = ""
    title: str = ""
    forecast: ForecastState | None = None
    evidence: tuple[float, float] | None = None
    is_log: bool = False
    stack: StackState = NO_STACK

    @property
    def has_points(self) -> bool:
        """True if there is something to draw."""
        return bool(self.stack.layers) or any(len(curve.x) for curve in self.curves)

    def without_offer(self) -> "ChartState":
        """Copy of the state without an offered limit, which is meaningless on paper."""
        is_offer = self.limit is not None and self.limit.style == "offered"
        return replace(self, limit=None) if is_offer else self

    def with_limit_value(self, value: float, text: str) -> "ChartState":
        """Copy of the state with the limit line at another value, while the line is dragged."""
        if self.limit is None:
            return self
        return replace(self, limit=replace(self.limit, value=value, text=text))

    def is_painted_like(self, other: "ChartState") -> bool:
        """True if the other state would be painted the same.

        Arrays are compared by identity, marks by value.
        """
        return (
            len(self.curves) == len(other.curves)
            and all(map(_same_curve, self.curves, other.curves))
            and _paint_key(self) == _paint_key(other)
            and np.array_equal(self.epoch_marks, other.epoch_marks)
            and self.stack.is_painted_like(other.stack)
        )


def _paint_key(state: ChartState) -> tuple[object, ...]:
    """All painted fields except curves and marks."""
    return (
        *(state.unit, state.x_kind, state.x_range, state.y_range, state.limit),
        *(state.flags, state.gaps, state.empty_text, state.title),
        *(state.forecast, state.evidence, state.is_log),
    )


def _curve_paint_key(curve: CurveState) -> tuple[object, ...]:
    style = (curve.dashed, curve.dotted, curve.selected, curve.stale, curve.strong, curve.faint)
    return (curve.run, curve.label, curve.hue, *style)


def _same_curve(one: CurveState, other: CurveState) -> bool:
    return one is other or (
        one.x is other.x and one.y is other.y and _curve_paint_key(one) == _curve_paint_key(other)
    )


@dataclass(frozen=True, slots=True)
class CrosshairRow:
    """One run's row in the crosshair's card.

    Attributes:
        hue: Index of the series colour.
        label: Run name.
        value: Position of the run's dot, in the chart's unit; None: no data there.
        text: Text of the value: "58.9 GiB".
    """

    hue: int
    label: str
    value: float | None
    text: str


@dataclass(frozen=True, slots=True)
class CrosshairCard:
    """Text beside the crosshair.

    Attributes:
        title: For example "epoch 28 · step 469".
        lines: One row per run, the selected run first.
        is_shown: False: only line and dots, as on charts without the pointer.
    """

    title: str
    lines: tuple[CrosshairRow, ...] = ()
    is_shown: bool = True
