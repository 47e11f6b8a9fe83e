"""The card below the charts: the event log and the table of reclaims."""

from typing import Final, Literal

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.events.qt.event_log_view import EventLogPanel
from kmonitor.ui.events.qt.reclaims_view import ReclaimTablePanel
from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.widgets.buttons import SegmentedControl

RecordsTab = Literal["events", "reclaims"]
_EVENTS: Final = "events"
_RECLAIMS: Final = "reclaims"
_LEAST_PAGE: Final = 27
"""Height of one row, pixels."""


class RecordsPanel(QFrame):
    """Two pages with one row of switches above them.

    Signals (main thread):
        tab_chosen: "events" or "reclaims", by the user.
        tab_shown: Another page is shown, by the user or the program.

    Attributes:
        table: The table of reclaims.
        tab: Key of the shown page.
    """

    tab_chosen = Signal(str)
    tab_shown = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._theme = theme
        self.log = EventLogPanel(theme)
        self.table = ReclaimTablePanel(theme)
        self.tab: RecordsTab = "events"
        self._n = 0
        self._tabs = SegmentedControl(self._titles(), "")
        self._copy = QPushButton()
        self._pages = QStackedWidget()
        self._top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._build()
        self._tabs.chosen.connect(self._on_tabs_chosen)
        self._copy.clicked.connect(self._on_copy_clicked)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._on_theme_palette_changed()
        self.show_tab("events")
        self._set_texts()

    def _set_texts(self) -> None:
        self._tabs.rename(self._titles(), self.tr("Events and reclaims"))
        self._tabs.explain(_EVENTS, self.tr("All events (Ctrl+1)"))
        self._tabs.explain(
            _RECLAIMS, self.tr("Memory freed by each save, collect, reload and restart (Ctrl+2)")
        )
        self._copy.setText(self.tr("Copy"))
        self._copy.setAccessibleName(self.tr("Copy the table"))
        self._copy.setToolTip(
            self.tr("Copy the selected rows, or all rows, as text (Ctrl+C in the table)")
        )
        self.show_count(self._n)

    def show_tab(self, tab: str) -> None:
        """Show a page: "events" or "reclaims"."""
        self.tab = "reclaims" if tab == _RECLAIMS else "events"
        is_table = self.tab == "reclaims"
        self._tabs.choose(self.tab)
        self._pages.setCurrentWidget(self.table if is_table else self.log)
        self.log.filter_switch.setVisible(not is_table)
        self._copy.setVisible(is_table)
        self._fit_switches()
        self.tab_shown.emit()

    def show_count(self, n: int) -> None:
        """Show the number of reclaims in the table's switch."""
        self._n = n
        title = self.tr("Reclaims")
        self._tabs.button(_RECLAIMS).setText(f"{title} {n}" if n else title)

    def _titles(self) -> dict[str, str]:
        return {_EVENTS: self.tr("Events"), _RECLAIMS: self.tr("Reclaims")}

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_switches()

    def _fit_switches(self) -> None:
        other = self._copy if self.tab == "reclaims" else self.log.filter_switch
        needed = self._tabs.sizeHint().width() + other.sizeHint().width() + 3 * SIZES.padding
        directions = QBoxLayout.Direction
        is_narrow = self.width() < needed
        self._top.setDirection(directions.TopToBottom if is_narrow else directions.LeftToRight)

    def _build(self) -> None:
        self._copy.setProperty("kind", "small")
        self._pages.addWidget(self.log)
        self._pages.addWidget(self.table)
        # It scrolls; the switches' letters would be cut off.
        self._pages.setMinimumHeight(_LEAST_PAGE)
        # Without room for both the switches are below each other, and neither is cut off.
        self.setMinimumWidth(1)
        left = QHBoxLayout()
        right = QHBoxLayout()
        left.addWidget(self._tabs)
        left.addStretch(1)
        for part in (self.log.filter_switch, self._copy):
            right.addWidget(part)
        self._top.setSpacing(5)
        self._top.addLayout(left, 1)
        self._top.addLayout(right)
        column = QVBoxLayout(self)
        column.setContentsMargins(SIZES.padding - 4, 9, 10, 8)
        column.setSpacing(5)
        column.addLayout(self._top)
        column.addWidget(self._pages, 1)

    @Slot(str)
    def _on_tabs_chosen(self, tab: str) -> None:
        self.show_tab(tab)
        self.tab_chosen.emit(self.tab)

    @Slot()
    def _on_copy_clicked(self) -> None:
        self.table.copy()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._copy.setIcon(self._theme.icon("copy"))
