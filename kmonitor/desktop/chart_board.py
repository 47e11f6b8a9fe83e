"""The four charts and what moves them together. Importing this loads numpy and pyqtgraph."""

import time

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QKeyEvent

from kmonitor.desktop.controls.look import Look
from kmonitor.desktop.panels.chart_card import ChartCard
from kmonitor.desktop.plots.chart_colours import ChartColours
from kmonitor.desktop.plots.live_chart import LiveChart
from kmonitor.presenters.chart_desk import ChartDesk
from kmonitor.presenters.chart_feed import ChartFeed
from kmonitor.presenters.command_desk import Ask
from kmonitor.presenters.compare import CompareDesk
from kmonitor.presenters.compare_table import CompareTable
from kmonitor.presenters.desk import Desk
from kmonitor_agent.protocol.commands import (
    LIMIT_ACTIONS,
    LIMIT_METRICS,
    LimitAction,
    LimitMetric,
)


class ChartBoard(QObject):
    """Binds four cards to a `ChartDesk`; main thread only.

    Signals:
        view_changed: What part of time is shown, or whether it follows, changed by the user.
        limit_changed: A limit was asked for.
        flag_chosen: With the hub's row id of the record whose flag was clicked.
    """

    view_changed = Signal()
    limit_changed = Signal()
    flag_chosen = Signal(int)

    def __init__(
        self,
        cards: dict[LimitMetric, ChartCard],
        desk: Desk,
        ask: Ask,
        look: Look,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._cards = cards
        self._desk = desk
        self._look = look
        self._ask = ask
        self._feed = ChartFeed(ask)
        self.presenter = ChartDesk(desk, self._feed)
        self._charts: dict[LimitMetric, LiveChart] = {}
        for metric, card in cards.items():
            self._charts[metric] = LiveChart()
            self._bind(card, self._charts[metric])
        self._others: list[LiveChart] = []
        self._is_placed = False
        desk.attach_charts(self._feed)
        look.palette_changed.connect(self._on_look_palette_changed)
        self._on_look_palette_changed()

    @property
    def is_loaded(self) -> bool:
        """Whether the selected run's columns have come."""
        run = self._desk.book.current()
        return run is not None and self._feed.is_loaded(run.run)

    def chart(self, metric: LimitMetric) -> LiveChart:
        """The chart of a metric."""
        return self._charts[metric]

    def press_key(self, event: QKeyEvent) -> None:
        """Give a key to the chart that has the focus, else to the first that is shown."""
        shown = [chart for chart in self._charts.values() if chart.isVisible()]
        chart = next((chart for chart in shown if chart.hasFocus()), next(iter(shown), None))
        if chart is not None:
            chart.keyPressEvent(event)

    def make_comparison(self) -> tuple[CompareDesk, CompareTable]:
        """What compares runs by the columns that the charts hold."""
        desk = CompareDesk(self._desk, self._feed, self._ask)
        return desk, CompareTable(self._desk, self._feed)

    def make_chart(self) -> LiveChart:
        """One more chart, for whoever asks, in the colours in force from now on."""
        chart = LiveChart()
        chart.set_theme(ChartColours(palette=self._look.palette))
        self._others.append(chart)
        return chart

    def refresh(self) -> None:
        """Draw what changed; cards and charts of the selected run."""
        if self._desk.book.current() is None:
            return
        self._place_charts()
        now_s = time.monotonic()
        for metric, chart in self._charts.items():
            card = self.presenter.card(metric, now_s=now_s)
            if card is None:
                continue
            self._cards[metric].show_picture(card)
            chart.setAccessibleDescription(card.description)
            chart.set_picture(self.presenter.picture(metric, chart.plot_width_px()))

    def _bind(self, card: ChartCard, chart: LiveChart) -> None:
        chart.resized.connect(self._on_chart_resized)
        chart.flag_clicked.connect(self.flag_chosen)
        card.limit_action_chosen.connect(self._on_card_limit_action_chosen)
        card.limit_dropped.connect(self._on_card_limit_dropped)
        card.limit_wanted.connect(self._on_card_limit_wanted)
        card.limit_removed.connect(self._on_card_limit_removed)
        card.crosshair_moved.connect(self._on_card_crosshair_moved)
        card.crosshair_left.connect(self._on_card_crosshair_left)
        card.range_zoomed.connect(self._on_card_range_zoomed)
        card.zoom_reset.connect(self._on_card_zoom_reset)

    def _place_charts(self) -> None:
        # Until a run is known the grey drawings say more than empty axes.
        if not self._is_placed:
            self._is_placed = True
            for metric, card in self._cards.items():
                card.attach_chart(self._charts[metric], self._charts[metric])

    @Slot()
    def _on_chart_resized(self) -> None:
        self._desk.changed.add("series")

    @Slot(str, float)
    def _on_card_limit_dropped(self, metric: str, value: float) -> None:
        run, known = self._desk.book.current(), _metric(metric)
        if run is not None and known is not None:
            self._desk.limits.place(run, known, value)
            self._after_limit()

    @Slot(str)
    def _on_card_limit_wanted(self, metric: str) -> None:
        run, known = self._desk.book.current(), _metric(metric)
        if run is None or known is None:
            return
        limit = self.presenter.picture(known, self._charts[known].plot_width_px()).limit
        if limit is not None:
            self._desk.limits.place(run, known, limit.value)
            self._after_limit()

    @Slot(str)
    def _on_card_limit_removed(self, metric: str) -> None:
        run, known = self._desk.book.current(), _metric(metric)
        if run is not None and known is not None:
            self._desk.limits.remove(run, known)
            self._after_limit()

    @Slot(str, str)
    def _on_card_limit_action_chosen(self, metric: str, action: str) -> None:
        run, known = self._desk.book.current(), _metric(metric)
        chosen = _action(action)
        if run is not None and known is not None and chosen is not None:
            self._desk.limits.change_action(run, known, chosen)
            self._after_limit()

    @Slot(str, float)
    def _on_card_crosshair_moved(self, metric: str, x: float) -> None:
        for other, chart in self._charts.items():
            card = self.presenter.crosshair(other, x, is_shown=other == metric)
            chart.set_crosshair(x, card)

    @Slot(str)
    def _on_card_crosshair_left(self, metric: str) -> None:
        del metric
        for chart in self._charts.values():
            chart.set_crosshair(None)

    @Slot(float, float)
    def _on_card_range_zoomed(self, lo: float, hi: float) -> None:
        self.presenter.zoom(lo, hi)
        self._after_view()

    @Slot()
    def _on_card_zoom_reset(self) -> None:
        self.presenter.follow()
        self._after_view()

    @Slot()
    def _on_look_palette_changed(self) -> None:
        colours = ChartColours(palette=self._look.palette)
        for chart in (*self._charts.values(), *self._others):
            chart.set_theme(colours)

    def _after_limit(self) -> None:
        self._desk.changed |= {"series", "commands"}
        self.refresh()
        self.limit_changed.emit()

    def _after_view(self) -> None:
        self.refresh()
        self.view_changed.emit()


def _metric(text: str) -> LimitMetric | None:
    return next((metric for metric in LIMIT_METRICS if metric == text), None)


def _action(text: str) -> LimitAction | None:
    return next((action for action in LIMIT_ACTIONS if action == text), None)
