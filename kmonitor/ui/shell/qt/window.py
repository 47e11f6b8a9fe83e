"""The window's frame: header, runs, charts, actions, events, status."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QCloseEvent,
    QGuiApplication,
    QKeyEvent,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QHBoxLayout,
    QMainWindow,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.actions.qt.action_panel_view import ActionsPanel
from kmonitor.ui.charts.qt.chart_grid import ChartGrid
from kmonitor.ui.events.qt.records_view import RecordsPanel
from kmonitor.ui.hosts.qt.connection_views import Banner, StatusBar
from kmonitor.ui.limits.limit_store import CHART_METRICS
from kmonitor.ui.run_tree.qt.run_tree_view import RunTreePanel
from kmonitor.ui.shell.qt.crash_views import CrashNoticeBar
from kmonitor.ui.shell.qt.first_start_view import FirstStartPanel
from kmonitor.ui.shell.qt.header_view import HeaderPanel
from kmonitor.ui.text.metrics import metric_name
from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.style_sheet import set_window_theme
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.widgets.keyboard import add_shortcut
from kmonitor.ui.widgets.panel_sizes import EDGE_PX, PanelSizes

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.chart_card import ChartCard
    from kmonitor_agent.wire.messages.commands import LimitMetric

_ROOM_FOR_ALL = 720
_SMALLEST = QSize(1000, 640)
"""Minimum size, below which charts are unreadable; on a smaller screen, the window fills it."""
_CHART_KEYS = (
    *(Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right),
    *(Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus, Qt.Key.Key_0),
)
_SHIFT = Qt.KeyboardModifier.ShiftModifier
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class MainWindow(QMainWindow):
    """Arranges the panels and adapts them to small windows; has no logic.

    Signals (main thread):
        closed: The window was closed.
        visibility_changed: The window was shown, hidden, minimised or restored.
        key_left_over: A key without modifiers that no control took, while the charts are shown.

    Attributes:
        crash_notice: The bar that offers a crash report.
        event_log: The log's page in `records`.
        cards: Cards of the four metrics, also while they are hidden.
        panel_sizes: Sizes of the panels around the charts.
        centre: The charts, or the page in their place.
    """

    closed = Signal()
    visibility_changed = Signal()
    key_left_over = Signal(QKeyEvent)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setWindowTitle("kmonitor")
        set_window_theme(self, theme.palette)
        self.setMinimumSize(_SMALLEST.boundedTo(self.screen().availableSize()))
        self.resize(1400, 860)
        self.header = HeaderPanel(theme)
        self.run_tree = RunTreePanel(theme)
        self.actions_panel = ActionsPanel(theme)
        self.banner = Banner(theme)
        self.crash_notice = CrashNoticeBar(theme)
        self.first_start = FirstStartPanel(theme)
        self.records = RecordsPanel(theme)
        self.event_log = self.records.log
        self.status = StatusBar(theme)
        self.charts = ChartGrid(theme)
        self.cards: dict[LimitMetric, ChartCard] = {
            metric: self.charts.card(metric, metric_name(metric)) for metric in CHART_METRICS
        }
        self.charts.show_cards(CHART_METRICS)
        self.panel_sizes = PanelSizes(self)
        self._central = QWidget()
        self._charts_page = QWidget()
        self._pages = QStackedWidget()
        self.centre = QStackedWidget()
        self._has_runs: bool | None = None
        self._has_hosts = False
        self._study: QWidget | None = None
        self._build()
        self._fit_to_size()
        for bar in (self.banner, self.crash_notice):
            bar.toggled.connect(self._fit_to_size)
        self.records.tab_shown.connect(self._fit_to_size)
        self.panel_sizes.changed.connect(self._fit_to_size)

    def show_charts(self, *, is_first_start: bool, has_hosts: bool = False) -> None:
        """Show either the charts with all panels, or the page before the first run.

        Args:
            is_first_start: True if there is no run yet.
            has_hosts: True if the tree has hosts to show even without runs.
        """
        has_runs = not is_first_start
        if (self._has_runs, self._has_hosts) == (has_runs, has_hosts):
            return
        self._has_runs = has_runs
        self._has_hosts = has_hosts
        self._study = None
        self.centre.setCurrentWidget(self.charts if has_runs else self.first_start)
        self.run_tree.setVisible(has_runs or has_hosts)
        self.actions_panel.setVisible(has_runs)
        self._fit_to_size()

    def hold_study(self, page: QWidget) -> None:
        """Add a page that can replace the charts."""
        self.centre.addWidget(page)

    def show_study(self, page: QWidget | None) -> None:
        """Show a study's page, which also covers actions and records; None: the charts."""
        if self._study is page or self._has_runs is not True:
            return
        self._study = page
        self.centre.setCurrentWidget(self.charts if page is None else page)
        self.actions_panel.setVisible(page is None)
        self.panel_sizes.edges["right"].setVisible(page is None)
        self._show_other_page()
        self._fit_to_size()

    def place(self, saved: QRect | None) -> None:
        """Restore the saved position and size, or the default, limited to the screen.

        Args:
            saved: Saved geometry without the frame; None at the first start.
        """
        screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
        room = next((r for r in screens if saved is not None and r.intersects(saved)), None)
        if saved is None or room is None:
            room = self.screen().availableGeometry()
            if room.contains(QRect(room.topLeft(), self.size())):
                return
            saved = QRect(room.topLeft(), self.size())
        self.setMinimumSize(_SMALLEST.boundedTo(room.size()))
        size = saved.size().boundedTo(room.size())
        left = min(max(saved.x(), room.x()), room.x() + room.width() - size.width())
        top = min(max(saved.y(), room.y()), room.y() + room.height() - size.height())
        self.setGeometry(left, top, size.width(), size.height())

    def leave_focus_alone(self) -> None:
        """Focus the central area, so that no control shows the focus ring."""
        self._central.setFocus(Qt.FocusReason.OtherFocusReason)

    def shortcut(self, name: str) -> QShortcut:
        """Return a shortcut for the whole window, by its name in the table of keys."""
        return add_shortcut(name, self)

    def charts_shortcut(self, name: str) -> QShortcut:
        """Return a shortcut for the charts and the panels around them; inactive on other pages."""
        return add_shortcut(name, self._charts_page)

    def add_page(self, page: QWidget) -> None:
        """Add a page that can replace charts and side panels."""
        self._pages.addWidget(page)

    def show_page(self, page: QWidget | None) -> None:
        """Show one of the pages; None: the charts."""
        self._pages.setCurrentWidget(self._charts_page if page is None else page)
        self._show_other_page()

    def regions(self) -> tuple[QWidget, ...]:
        """Parts of the window in reading order: from left to right and top to bottom."""
        if self._pages.currentWidget() is not self._charts_page:
            return (self.header, self._pages)
        notices = (self.crash_notice, self.banner)
        sides = (self.actions_panel, self.records)
        return (self.header, self.run_tree, *notices, self.centre, *sides)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_to_size()

    @override
    def event(self, event: QEvent) -> bool:
        # Space is the window's key for holding the charts, but of a button that has the focus.
        is_button = isinstance(self.focusWidget(), QAbstractButton)
        if is_button and isinstance(event, QKeyEvent) and _claims_space(event):
            event.accept()
            return True
        return super().event(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Space presses a button by itself; Enter does so in dialogs only.
        focused = self.focusWidget()
        if event.key() in _ENTER and isinstance(focused, QAbstractButton):
            focused.click()
            return
        is_bare = not event.modifiers() & ~(_SHIFT | Qt.KeyboardModifier.KeypadModifier)
        is_for_charts = event.key() in _CHART_KEYS and is_bare
        if is_for_charts and self._pages.currentWidget() is self._charts_page:
            self.key_left_over.emit(event)
            return
        super().keyPressEvent(event)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self.closed.emit()
        super().closeEvent(event)

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self.visibility_changed.emit()

    def _show_other_page(self) -> None:
        is_other_page = self._pages.currentWidget() is not self._charts_page
        self.header.show_other_page(is_other_page=is_other_page, has_charts=self._study is None)

    def _build(self) -> None:
        self._build_charts_page()
        self._pages.addWidget(self._charts_page)
        central = self._central
        central.setObjectName("desk")
        column = QVBoxLayout(central)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self._pages, 1)
        column.addWidget(self.status)
        self.setCentralWidget(central)
        central.setFocusPolicy(Qt.FocusPolicy.ClickFocus)

    def _build_charts_page(self) -> None:
        self.centre.addWidget(self.charts)
        self.centre.addWidget(self.first_start)
        middle = QVBoxLayout()
        beside = SIZES.gutter - EDGE_PX
        middle.setContentsMargins(beside, SIZES.gutter, beside, SIZES.gutter)
        middle.setSpacing(SIZES.gutter)
        middle.addWidget(self.crash_notice)
        middle.addWidget(self.banner)
        charts = QVBoxLayout()
        charts.setSpacing(0)
        charts.addWidget(self.centre, 1)
        charts.addWidget(self.panel_sizes.edges["below"])
        charts.addWidget(self.records)
        middle.addLayout(charts, 1)
        row = QHBoxLayout(self._charts_page)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.run_tree)
        row.addWidget(self.panel_sizes.edges["left"])
        row.addLayout(middle, 1)
        row.addWidget(self.panel_sizes.edges["right"])
        row.addWidget(self.actions_panel)

    @Slot()
    def _fit_to_size(self) -> None:
        is_table = self.records.tab == "reclaims"
        extents = self.panel_sizes.extents(has_table=is_table)
        self.run_tree.setFixedWidth(extents.left)
        self.header.set_left_width(extents.left + SIZES.gutter - 8)
        self.actions_panel.setFixedWidth(extents.right)
        # Charts that are cut off say less than the log, which comes back with the banner's end.
        has_notice = self.banner.is_up or not self.crash_notice.isHidden()
        has_room = self.height() >= _ROOM_FOR_ALL or not has_notice
        is_below = self._has_runs is not False and has_room and self._study is None
        self.records.setVisible(is_below)
        self.panel_sizes.edges["below"].setVisible(is_below)
        self.actions_panel.set_close(is_close=self.panel_sizes.is_low)
        self.records.setFixedHeight(extents.below)


def _claims_space(event: QKeyEvent) -> bool:
    is_override = event.type() == QEvent.Type.ShortcutOverride
    is_bare = event.modifiers() == Qt.KeyboardModifier.NoModifier
    return is_override and is_bare and event.key() == Qt.Key.Key_Space
