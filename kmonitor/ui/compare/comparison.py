"""Up to six runs on one chart, each with its own hue and name, and the choice of axis."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.series_store import VisibleRange
from kmonitor.ui.charts.standard_charts import x_position_text, zoomed_range
from kmonitor.ui.compare.compare_state import LegendEntry
from kmonitor.ui.history.selection import MAX_COMPARED
from kmonitor.ui.plots.chart_state import (
    ChartState,
    CrosshairCard,
    CrosshairRow,
    CurveState,
    XKind,
)
from kmonitor.ui.text.formats import amount_text, moment_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS, metric_name
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.unions import RunSummary, VerdictsRequest

if TYPE_CHECKING:
    from kmonitor_agent.wire.messages.commands import LimitMetric


@dataclass(slots=True)
class _Shown:
    """Compared runs and their range; a run keeps its hue while it is compared."""

    hues: dict[str, int] = field(default_factory=dict[str, int])
    x_range: tuple[float, float] | None = None


class Comparison:
    """Builds the chart states of a comparison; main thread only.

    Attributes:
        x_kind: Unit of the horizontal axis.
        metric: The drawn metric.
    """

    def __init__(self, workspace: Workspace, feed: ChartFeed) -> None:
        self.x_kind: XKind = "epochs"
        self.metric: LimitMetric = "ram"
        self._workspace = workspace
        self._feed = feed
        self._shown = _Shown()

    def compare(self, runs: Sequence[str]) -> None:
        """Compare these runs from now on; runs beyond the sixth are left out."""
        self._shown = _Shown({run: at for at, run in enumerate(runs[:MAX_COMPARED])})
        for run in self._shown.hues:
            # The answer is kept with all other verdicts.
            self._workspace.send_request(VerdictsRequest(request_id=0, run=run))

    def leave_out(self, run: str) -> None:
        """Remove a run from the comparison; the others keep their hues."""
        self._shown.hues.pop(run, None)

    def runs(self) -> list[RunSummary]:
        """Compared runs that are still known."""
        known = (self._workspace.run_store.get(run) for run in self._shown.hues)
        return [run for run in known if run is not None]

    def hue(self, run: str) -> int:
        """Index of a run's colour, 0..5."""
        return self._shown.hues.get(run, 0)

    def legend(self) -> tuple[LegendEntry, ...]:
        names = self._names()
        return tuple(self._entry(run, names[run.run]) for run in self.runs())

    def count(self, kind: XKind) -> None:
        """Set the unit of the horizontal axis: epochs, seconds or models."""
        if kind != self.x_kind:
            self.x_kind = kind
            self._shown.x_range = None

    def zoom(self, lo: float, hi: float) -> None:
        """Show this range, kept within the full range."""
        self._shown.x_range = zoomed_range(lo, hi, self._full_range(), self.x_kind)

    def show_all(self) -> None:
        self._shown.x_range = None

    def state(self, width_px: int) -> ChartState:
        """Return the state of the chart.

        Args:
            width_px: Width of the drawn range, pixels.
        """
        runs = self.runs()
        # Asks once a run, and again where a hub was too busy to answer.
        self._feed.show_runs(runs)
        visible_range = VisibleRange(
            self.x_kind, *(self._shown.x_range or self._full_range()), width_px
        )
        names = self._names()
        return ChartState(
            unit=METRIC_UNITS[self.metric],
            x_kind=self.x_kind,
            x_range=(visible_range.x_from, visible_range.x_to),
            curves=tuple(self._curve(run, names[run.run], visible_range) for run in runs),
            empty_text=self._empty_text(runs),
            title=tr("Comparison, {metric}").format(metric=metric_name(self.metric)),
        )

    def crosshair(self, x: float) -> CrosshairCard:
        names = self._names()
        lines = tuple(self._crosshair_row(run, names[run.run], x) for run in self.runs())
        return CrosshairCard(x_position_text(x, self.x_kind), lines)

    def description(self) -> str:
        """The chart in one sentence, for a screen reader."""
        unit = METRIC_UNITS[self.metric]
        names = self._names()
        parts = list[str]()
        for run in self.runs():
            value = self._feed.store.last_value(run.run, self._column(run))
            text = tr("no data") if value is None else amount_text(value, unit)
            parts.append(f"{names[run.run]} {text}")
        return f"{metric_name(self.metric)}: {', '.join(parts)}"

    def _names(self) -> dict[str, str]:
        return distinct_run_names(self.runs(), now_wall_s=self._workspace.now_wall_s())

    def _entry(self, run: RunSummary, name: str) -> LegendEntry:
        lines = [name, run.host]
        if not self._feed.is_loaded(run.run):
            lines.append(
                tr("Loading\u2026")
                if self._workspace.is_reached(run.run)
                else tr("Not connected to the hub.")
            )
        return LegendEntry(run.run, name, self.hue(run.run), "\n".join(lines))

    def _curve(self, run: RunSummary, name: str, visible_range: VisibleRange) -> CurveState:
        x, y = self._feed.points(run.run, self._column(run), visible_range)
        return CurveState(run.run, name, self.hue(run.run), x, y, strong=True)

    def _crosshair_row(self, run: RunSummary, name: str, x: float) -> CrosshairRow:
        value = self._feed.store.value_at(run.run, self._column(run), x, self.x_kind)
        unit = METRIC_UNITS[self.metric]
        text = tr("no data") if value is None else amount_text(value, unit)
        return CrosshairRow(self.hue(run.run), name, value, text)

    def _column(self, run: RunSummary) -> str:
        return self._feed.column(run.run, self.metric)

    def _full_range(self) -> tuple[float, float]:
        return self._feed.store.full_range(list(self._shown.hues), self.x_kind)

    def _empty_text(self, runs: Sequence[RunSummary]) -> str:
        if all(self._feed.is_loaded(run.run) for run in runs):
            return tr("None of these runs measured this.")
        return tr("Loading\u2026")


_ID_LETTERS = 8


def distinct_run_names(runs: Sequence[RunSummary], *, now_wall_s: float) -> dict[str, str]:
    """Names by run id; equal names are distinguished by start time, or else by run id.

    Args:
        now_wall_s: Now, UTC epoch seconds; runs from another day show their date.
    """
    naming_functions: tuple[Callable[[RunSummary], str], ...] = (
        lambda run: run.name,
        lambda run: f"{run.name} \u00b7 {_started(run, now_wall_s)}",
        lambda run: f"{run.name} \u00b7 {run.run[:_ID_LETTERS]}",
    )
    names: dict[str, str] = {}
    left = list(runs)
    for name_of in naming_functions:
        # The last way names whatever is left.
        many = (
            Counter(name_of(run) for run in left)
            if name_of is not naming_functions[-1]
            else Counter[str]()
        )
        names |= {run.run: name_of(run) for run in left if many[name_of(run)] <= 1}
        left = [run for run in left if many[name_of(run)] > 1]
    return names


def _started(run: RunSummary, now_wall_s: float) -> str:
    return moment_text(run.started_wall_s, now_wall_s=now_wall_s)
