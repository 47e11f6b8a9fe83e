"""Controller of the arrangement: adds, removes, moves and changes charts."""

from functools import partial
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu

from kmonitor.ui.charts.arrangement import (
    Arrangement,
    ChartSetup,
    chart_choices,
    smoothing_choices,
)
from kmonitor.ui.charts.chart_kinds import (
    PARTS_KEY,
    chart_kind,
    chart_title,
    group_title,
    standard_metric,
)
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kmonitor.ui.charts.qt.charts_controller import ChartsController


class ArrangementController(QObject):
    """Owns the arrangement; main thread only.

    Signals:
        changed: The arrangement changed and must be saved.
    """

    changed = Signal()

    def __init__(
        self,
        window: MainWindow,
        theme: Theme,
        saved: "Sequence[ChartSetup] | None",
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._theme = theme
        self._charts_controller: ChartsController | None = None
        self.arrangement = Arrangement(saved)
        window.charts.menu_opening.connect(self._on_charts_menu_opening)
        window.charts.card_dropped.connect(self._on_charts_card_dropped)
        window.header.add_chart_requested.connect(self._on_header_add_chart_requested)
        window.charts_shortcut("add_chart").activated.connect(self._on_header_add_chart_requested)

    def attach_controller(self, controller: "ChartsController") -> None:
        """Apply the arrangement to the charts once they are loaded."""
        self._charts_controller = controller
        controller.arrange(self.arrangement)

    def add(self, key: str) -> None:
        """Add a chart, and scroll to it."""
        if self.arrangement.add(key):
            self._show_change()
            self._window.charts.scroll_to(key)

    def remove(self, key: str) -> None:
        if self.arrangement.remove(key):
            self._show_change()

    def step(self, key: str, by: int) -> None:
        """Move a chart by a number of positions."""
        if self.arrangement.step(key, by):
            self._show_change()
            self._window.charts.scroll_to(key)

    def reset(self) -> None:
        self.arrangement.reset()
        self._show_change()

    def change(self, key: str, **style: float) -> None:
        """Change the style of a chart: fields of `ChartSetup`."""
        self.arrangement.change(msgspec.structs.replace(self.arrangement.setup(key), **style))
        self._show_change()

    def fill_add_menu(self, menu: QMenu) -> None:
        """Add one entry per chart that the drawn runs can have, in groups."""
        have = (
            self._charts_controller.have() if self._charts_controller is not None else set[str]()
        )
        for group in chart_choices(have, self.arrangement):
            # A section's title is not drawn where a style sheet draws the menu.
            menu.addSeparator()
            menu.addAction(group_title(group.group)).setEnabled(False)
            for choice in group.choices:
                entry = menu.addAction(choice.title)
                entry.setCheckable(True)
                entry.setChecked(choice.is_shown)
                toggle = self.remove if choice.is_shown else self.add
                entry.triggered.connect(partial(_without_check, partial(toggle, choice.key)))
        menu.addSeparator()
        usual = menu.addAction(self.tr("Restore default charts"))
        usual.setEnabled(not self.arrangement.is_usual)
        usual.triggered.connect(partial(_without_check, self.reset))

    def _show_change(self) -> None:
        if self._charts_controller is not None:
            self._charts_controller.arrange(self.arrangement)
        self.changed.emit()

    @Slot()
    def _on_header_add_chart_requested(self) -> None:
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill_add_menu(menu)
        button = self._window.header.add_chart
        menu.popup(button.mapToGlobal(QPoint(0, button.height())))

    @Slot(str, int)
    def _on_charts_card_dropped(self, key: str, index: int) -> None:
        if self.arrangement.move(key, index):
            self._show_change()

    @Slot(str, QMenu)
    def _on_charts_menu_opening(self, key: str, menu: QMenu) -> None:
        kind = chart_kind(key)
        keys = self.arrangement.keys
        if kind is None or key not in keys:
            return
        menu.addSeparator()
        if standard_metric(key) is None and key != PARTS_KEY:
            self._add_style_menus(key, menu)
        if key == "step_time":
            self._add_parts_entry(menu)
        left = menu.addAction(self.tr("Move left"))
        left.setEnabled(keys[0] != key)
        left.triggered.connect(partial(_without_check, partial(self.step, key, -1)))
        right = menu.addAction(self.tr("Move right"))
        right.setEnabled(keys[-1] != key)
        right.triggered.connect(partial(_without_check, partial(self.step, key, 1)))
        remove = menu.addAction(self._theme.icon("close"), self.tr("Remove this chart"))
        remove.setEnabled(len(keys) > 1)
        remove.triggered.connect(partial(_without_check, partial(self.remove, key)))
        menu.addSeparator()
        self.fill_add_menu(menu.addMenu(self._theme.icon("plus"), self.tr("Add a chart")))

    def _add_parts_entry(self, menu: QMenu) -> None:
        """Add an entry for the chart of epoch parts, which explains step time."""
        if PARTS_KEY not in self.arrangement.keys:
            entry = menu.addAction(self._theme.icon("plus"), chart_title(PARTS_KEY))
            entry.triggered.connect(partial(_without_check, partial(self.add, PARTS_KEY)))

    def _add_style_menus(self, key: str, menu: QMenu) -> None:
        setup = self.arrangement.setup(key)
        kind = chart_kind(key)
        smoothing = menu.addMenu(self.tr("Smoothing"))
        group = QActionGroup(smoothing)
        for choice in smoothing_choices(setup):
            entry = smoothing.addAction(choice.title)
            entry.setCheckable(True)
            entry.setChecked(choice.is_chosen)
            group.addAction(entry)
            entry.triggered.connect(
                partial(_without_check, partial(self.change, key, smoothing=choice.weight))
            )
        log = menu.addAction(self.tr("Logarithmic axis"))
        log.setCheckable(True)
        log.setChecked(setup.is_log)
        log.triggered.connect(
            partial(_without_check, partial(self.change, key, is_log=not setup.is_log))
        )
        have = (
            self._charts_controller.have() if self._charts_controller is not None else set[str]()
        )
        if kind is not None and kind.within in have:
            within = menu.addAction(self.tr("Values within epochs"))
            within.setCheckable(True)
            within.setChecked(setup.is_within)
            change = partial(self.change, key, is_within=not setup.is_within)
            within.triggered.connect(partial(_without_check, change))
        menu.addSeparator()


def _without_check(act: "Callable[[], object]") -> None:
    """Call `act`, and drop the check state that an entry's signal passes."""
    act()
