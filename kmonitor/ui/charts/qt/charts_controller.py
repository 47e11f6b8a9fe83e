"""Controller of the linked charts. Importing this module loads numpy and pyqtgraph."""

import time
from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QKeyEvent

from kmonitor.ui.charts.arrangement import Arrangement
from kmonitor.ui.charts.cards import ChartCardState
from kmonitor.ui.charts.chart_kinds import chart_kind, chart_title, standard_metric
from kmonitor.ui.charts.extra_charts import ExtraCharts
from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.qt.chart_card import ChartCard
from kmonitor.ui.charts.qt.chart_grid import ChartGrid
from kmonitor.ui.charts.standard_charts import StandardCharts
from kmonitor.ui.compare.compare_table import CompareTable
from kmonitor.ui.compare.comparison import Comparison
from kmonitor.ui.plots.chart_state import ChartState, CrosshairCard
from kmonitor.ui.plots.qt.live_chart import LiveChart
from kmonitor.ui.plots.qt.scene import ChartColours
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.commands import (
    LIMIT_ACTIONS,
    LIMIT_METRICS,
    LimitAction,
    LimitMetric,
)


class ChartsController(QObject):
    """Binds cards to the states of their charts; main thread only.

    Charts that are scrolled out of view are not drawn until they are back in view.

    Signals:
        view_changed: The user changed the shown range, or turned following on or off.
        limit_changed: A limit was requested.
        flag_chosen: Row id (in the hub) of the record whose flag was clicked.
    """

    view_changed = Signal()
    limit_changed = Signal()
    flag_chosen = Signal(int)

    def __init__(
        self,
        grid: ChartGrid,
        workspace: Workspace,
        theme: Theme,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._grid = grid
        self.arrangement = Arrangement()
        self._workspace = workspace
        self._theme = theme
        self._feed = ChartFeed(workspace.send_request)
        self.standard_charts = StandardCharts(workspace, self._feed)
        self._extra_charts = ExtraCharts(workspace, self._feed, self.standard_charts)
        self._charts: dict[str, LiveChart] = {}
        self._others: list[LiveChart] = []
        self._is_placed = False
        self._arrange()
        workspace.attach_charts(self._feed)
        grid.moved.connect(self._on_grid_moved)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._on_theme_palette_changed()

    @property
    def is_loaded(self) -> bool:
        """True if the selected run's columns have been received."""
        run = self._workspace.run_store.current()
        return run is not None and self._feed.is_loaded(run.run)

    def chart(self, key: str) -> LiveChart:
        """Chart of a shown metric or column."""
        return self._charts[key]

    def have(self) -> set[str]:
        """Columns of the drawn runs."""
        return self._feed.have(run.run for run in self._workspace.run_store.shown())

    def arrange(self, arrangement: Arrangement) -> None:
        """Show the charts of an arrangement; call again after each change."""
        self.arrangement = arrangement
        self._arrange()
        self.refresh()

    def state(self, key: str, width_px: int) -> ChartState:
        metric = standard_metric(key)
        kind = chart_kind(key)
        if metric is not None or kind is None:
            return self.standard_charts.state(metric or "ram", width_px)
        return self._extra_charts.state(kind, self.arrangement.setup(key), width_px)

    def card(self, key: str, *, now_s: float) -> ChartCardState | None:
        """Text above a chart."""
        metric = standard_metric(key)
        kind = chart_kind(key)
        if metric is not None or kind is None:
            return self.standard_charts.card(metric or "ram", now_s=now_s)
        return self._extra_charts.card(kind, self.arrangement.setup(key))

    def press_key(self, event: QKeyEvent) -> None:
        """Pass a key to the chart with the focus, else to the first shown chart."""
        shown = [chart for chart in self._charts.values() if chart.isVisible()]
        chart = next((chart for chart in shown if chart.hasFocus()), next(iter(shown), None))
        if chart is not None:
            chart.keyPressEvent(event)

    def make_comparison(self) -> tuple[Comparison, CompareTable]:
        """Create the comparison of runs, based on the columns of the charts."""
        comparison = Comparison(self._workspace, self._feed)
        return comparison, CompareTable(self._workspace, self._feed)

    def make_chart(self) -> LiveChart:
        """Create a chart outside the grid that follows changes of the theme."""
        chart = LiveChart()
        chart.set_theme(ChartColours(palette=self._theme.palette))
        self._others.append(chart)
        return chart

    def refresh(self) -> None:
        """Redraw changed cards and charts of the selected run."""
        self._draw([key for key in self.arrangement.keys if self._grid.is_in_sight(key)])

    def refresh_texts(self) -> None:
        """Update every text, also on charts that are scrolled out of view."""
        self.standard_charts.refresh_texts()
        self._draw(self.arrangement.keys)

    def _draw(self, keys: Iterable[str]) -> None:
        if self._workspace.run_store.current() is None:
            return
        self._place_charts()
        now_s = time.monotonic()
        for key in keys:
            card = self.card(key, now_s=now_s)
            if card is None:
                continue
            chart = self._charts[key]
            self._grid.card(key).show_state(card)
            chart.setAccessibleDescription(card.description)
            chart.set_state(self.state(key, chart.plot_width_px()))

    def _bind(self, card: ChartCard, chart: LiveChart) -> None:
        chart.resized.connect(self._on_chart_resized)
        chart.flag_clicked.connect(self.flag_chosen)
        card.limit_action_chosen.connect(self._on_card_limit_action_chosen)
        card.limit_dropped.connect(self._on_card_limit_dropped)
        card.limit_requested.connect(self._on_card_limit_requested)
        card.limit_removed.connect(self._on_card_limit_removed)
        card.crosshair_moved.connect(self._on_card_crosshair_moved)
        card.crosshair_left.connect(self._on_card_crosshair_left)
        card.range_zoomed.connect(self._on_card_range_zoomed)
        card.zoom_reset.connect(self._on_card_zoom_reset)

    def _arrange(self) -> None:
        keys = self.arrangement.keys
        for key in [each for each in self._charts if each not in keys]:
            if standard_metric(key) is None:
                # It goes with its card.
                self._charts.pop(key)
                self._grid.drop(key)
        for key in keys:
            if key not in self._charts:
                chart = self._charts[key] = LiveChart()
                chart.set_theme(ChartColours(palette=self._theme.palette))
                self._bind(self._grid.card(key, chart_title(key)), chart)
                if self._is_placed:
                    self._grid.card(key).attach_chart(chart, chart)
        self._grid.show_cards(keys)
        kinds = [kind for key in keys if (kind := chart_kind(key)) is not None]
        self._feed.want(
            column
            for kind in kinds
            if standard_metric(kind.key) is None
            for column in kind.requested_columns
        )

    def _place_charts(self) -> None:
        # Until a run is known the grey drawings say more than empty axes.
        if not self._is_placed:
            self._is_placed = True
            for key, chart in self._charts.items():
                self._grid.card(key).attach_chart(chart, chart)

    @Slot()
    def _on_grid_moved(self) -> None:
        self.refresh()

    @Slot()
    def _on_chart_resized(self) -> None:
        self._workspace.changed.add("series")

    @Slot(str, float)
    def _on_card_limit_dropped(self, metric: str, value: float) -> None:
        run = self._workspace.run_store.current()
        known = _metric(metric)
        if run is not None and known is not None:
            self._workspace.limits.request_value(run, known, value)
            self._after_limit()

    @Slot(str)
    def _on_card_limit_requested(self, metric: str) -> None:
        run = self._workspace.run_store.current()
        known = _metric(metric)
        if run is None or known is None:
            return
        limit = self.standard_charts.state(known, self._charts[known].plot_width_px()).limit
        if limit is not None:
            self._workspace.limits.request_value(run, known, limit.value)
            self._after_limit()

    @Slot(str)
    def _on_card_limit_removed(self, metric: str) -> None:
        run = self._workspace.run_store.current()
        known = _metric(metric)
        if run is not None and known is not None:
            self._workspace.limits.remove(run, known)
            self._after_limit()

    @Slot(str, str)
    def _on_card_limit_action_chosen(self, metric: str, action: str) -> None:
        run = self._workspace.run_store.current()
        known = _metric(metric)
        chosen = _action(action)
        if run is not None and known is not None and chosen is not None:
            self._workspace.limits.change_action(run, known, chosen)
            self._after_limit()

    @Slot(str, float)
    def _on_card_crosshair_moved(self, metric: str, x: float) -> None:
        for other in self.arrangement.keys:
            if self._grid.is_in_sight(other):
                self._charts[other].set_crosshair(x, self._crosshair(other, x, metric))

    def _crosshair(self, key: str, x: float, hovered: str) -> CrosshairCard:
        metric = standard_metric(key)
        kind = chart_kind(key)
        if metric is not None or kind is None:
            return self.standard_charts.crosshair(metric or "ram", x, is_shown=key == hovered)
        setup = self.arrangement.setup(key)
        width_px = self._charts[key].plot_width_px()
        return self._extra_charts.crosshair(
            kind, setup, x, is_shown=key == hovered, width_px=width_px
        )

    @Slot(str)
    def _on_card_crosshair_left(self, metric: str) -> None:
        del metric
        for chart in self._charts.values():
            chart.set_crosshair(None)

    @Slot(float, float)
    def _on_card_range_zoomed(self, lo: float, hi: float) -> None:
        self.standard_charts.zoom(lo, hi)
        self._after_view()

    @Slot()
    def _on_card_zoom_reset(self) -> None:
        self.standard_charts.follow()
        self._after_view()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        colours = ChartColours(palette=self._theme.palette)
        for chart in (*self._charts.values(), *self._others):
            chart.set_theme(colours)

    def _after_limit(self) -> None:
        self._workspace.changed |= {"series", "commands"}
        self.refresh()
        self.limit_changed.emit()

    def _after_view(self) -> None:
        self.refresh()
        self.view_changed.emit()


def _metric(text: str) -> LimitMetric | None:
    return next((metric for metric in LIMIT_METRICS if metric == text), None)


def _action(text: str) -> LimitAction | None:
    return next((action for action in LIMIT_ACTIONS if action == text), None)
