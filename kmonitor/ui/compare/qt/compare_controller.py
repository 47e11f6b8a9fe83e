"""Controller of a comparison: its chart, its switches and its table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from kmonitor.ui.compare.qt.compare_view import ComparePanel
from kmonitor.ui.limits.limit_store import CHART_METRICS
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor_agent.wire.messages.commands import LimitMetric

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartsController
    from kmonitor.ui.compare.compare_table import CompareTable
    from kmonitor.ui.compare.comparison import Comparison
    from kmonitor.ui.plots.qt.live_chart import LiveChart


class CompareController(QObject):
    """Controls the comparison page; refreshed by the history's controller. Main thread only.

    Signals:
        closed: The user returns to the history.
    """

    closed = Signal()

    def __init__(self, window: MainWindow, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self.panel = ComparePanel(theme)
        self._charts_controller: ChartsController | None = None
        self.comparison: Comparison | None = None
        self._table: CompareTable | None = None
        self._chart: LiveChart | None = None
        window.add_page(self.panel)
        panel = self.panel
        panel.axis_chosen.connect(self._on_panel_axis_chosen)
        panel.metric_chosen.connect(self._on_panel_metric_chosen)
        panel.removal_requested.connect(self._on_panel_removal_requested)
        panel.differences_toggled.connect(self.refresh)
        panel.close_requested.connect(self.closed)

    def attach_controller(self, controller: "ChartsController") -> None:
        """Keep the charts' controller, once the charts are loaded."""
        self._charts_controller = controller

    def open(self, runs: Sequence[str]) -> bool:
        """Compare these runs; False while the charts are still being loaded."""
        if self._charts_controller is None:
            return False
        if self.comparison is None:
            self.comparison, self._table = self._charts_controller.make_comparison()
            self._chart = self._charts_controller.make_chart()
            self._bind(self._chart)
        self.comparison.compare(runs)
        self.panel.show_choices(self.comparison.x_kind, self.comparison.metric)
        self._window.show_page(self.panel)
        self.refresh()
        self.panel.focus_first()
        return True

    @Slot()
    def refresh(self) -> None:
        """Update the page if it is shown."""
        if not self.panel.isHidden():
            self._show()

    def _show(self) -> None:
        comparison = self.comparison
        table = self._table
        chart = self._chart
        if comparison is None or table is None or chart is None:
            return
        legend = comparison.legend()
        self.panel.show_legend(legend)
        chart.set_state(comparison.state(chart.plot_width_px()))
        chart.setAccessibleDescription(comparison.description())
        rows = table.rows(comparison.runs(), only_differences=self.panel.shows_differences_only)
        self.panel.show_rows(rows, legend)

    def refresh_texts(self) -> None:
        """Update every text, also while the page is hidden."""
        self._show()

    def _bind(self, chart: "LiveChart") -> None:
        self.panel.attach_chart(chart)
        chart.crosshair_moved.connect(self._on_chart_crosshair_moved)
        chart.crosshair_left.connect(self._on_chart_crosshair_left)
        chart.range_zoomed.connect(self._on_chart_range_zoomed)
        chart.zoom_reset.connect(self._on_chart_zoom_reset)
        chart.resized.connect(self.refresh)

    @Slot(str)
    def _on_panel_axis_chosen(self, kind: str) -> None:
        if self.comparison is not None:
            self.comparison.count(
                "seconds" if kind == "seconds" else "models" if kind == "models" else "epochs"
            )
            self.refresh()

    @Slot(str)
    def _on_panel_metric_chosen(self, key: str) -> None:
        metric = _metric(key)
        if self.comparison is not None and metric is not None:
            self.comparison.metric = metric
            self.refresh()

    @Slot(str)
    def _on_panel_removal_requested(self, run: str) -> None:
        if self.comparison is not None:
            self.comparison.leave_out(run)
            self.refresh()
            # Its button is gone.
            self.panel.focus_first()

    @Slot(float)
    def _on_chart_crosshair_moved(self, x: float) -> None:
        if self.comparison is not None and self._chart is not None:
            self._chart.set_crosshair(x, self.comparison.crosshair(x))

    @Slot()
    def _on_chart_crosshair_left(self) -> None:
        if self._chart is not None:
            self._chart.set_crosshair(None)

    @Slot(float, float)
    def _on_chart_range_zoomed(self, lo: float, hi: float) -> None:
        if self.comparison is not None:
            self.comparison.zoom(lo, hi)
            self.refresh()

    @Slot()
    def _on_chart_zoom_reset(self) -> None:
        if self.comparison is not None:
            self.comparison.show_all()
            self.refresh()


def _metric(text: str) -> LimitMetric | None:
    return next((metric for metric in CHART_METRICS if metric == text), None)
