"""The row of filters above the table of all runs."""

from collections.abc import Sequence
from typing import get_args

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from kmonitor.ui.history.history_table import history_heads
from kmonitor.ui.history.run_history import (
    EndFilter,
    HistoryColumn,
    HistoryFilter,
    StartFilter,
    VerdictFilter,
)
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.widgets.buttons import MenuButton


class HistoryFilters(QWidget):
    """Menus for time, end, verdict and host of the runs, for pinned runs only, and for the order.

    Signals (main thread):
        changed: The filters changed.
        clear_requested: All filters should be cleared.
        sort_requested: With the key of the column to sort by.
    """

    changed = Signal()
    clear_requested = Signal()
    sort_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pinned = QPushButton()
        self._clear = QPushButton()
        self._since = MenuButton(theme, "", self._times())
        self._ending = MenuButton(theme, "", self._endings())
        self._judged = MenuButton(theme, "", self._verdicts())
        self._host = MenuButton(theme, "", self._any_host())
        self._sort = MenuButton(theme, "", _columns(), is_prominent=False)
        self._build()
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._on_theme_palette_changed()
        self._set_texts()

    def _set_texts(self) -> None:
        self._pinned.setText(self.tr("Pinned"))
        self._pinned.setToolTip(self.tr("Only pinned runs"))
        self._clear.setText(self.tr("Clear filters"))
        self._clear.setToolTip(self.tr("Show all runs again"))
        for button in (self._pinned, self._clear):
            button.setAccessibleName(button.text())
        self._since.rename(self.tr("Started"), self._times())
        self._ending.rename(self.tr("State"), self._endings())
        self._judged.rename(self.tr("Verdict"), self._verdicts())
        self._host.rename(self.tr("Host"), self._any_host())
        self._sort.rename(self.tr("Sort"), _columns())

    def filter_for(self, search_text: str) -> HistoryFilter:
        """Return the filter that the menus select.

        Args:
            search_text: Text of the search field.
        """
        return HistoryFilter(
            search_text=search_text,
            start_filter=next(each for each in get_args(StartFilter) if each == self._since.key),
            end_filter=next(each for each in get_args(EndFilter) if each == self._ending.key),
            verdict_filter=next(
                each for each in get_args(VerdictFilter) if each == self._judged.key
            ),
            host=self._host.key,
            is_pinned=self._pinned.isChecked(),
        )

    def show_order(self, column: HistoryColumn) -> None:
        self._sort.choose(column)

    def show_hosts(self, hosts: Sequence[str]) -> None:
        self._host.offer({**self._any_host(), **{host: host for host in hosts}})
        self._host.setVisible(len(hosts) > 1 or bool(self._host.key))

    def show_clear(self, *, is_needed: bool) -> None:
        """Show or hide the button that clears the filters."""
        self._clear.setVisible(is_needed)

    def clear(self) -> None:
        """Reset all filters; emits nothing."""
        for menu in (self._since, self._ending, self._judged):
            menu.choose("any")
        self._host.choose("")
        self._pinned.setChecked(False)

    def _any_host(self) -> dict[str, str]:
        return {"": self.tr("all")}

    def _times(self) -> dict[str, str]:
        return {
            "any": self.tr("any time"),
            "day": self.tr("last 24 hours"),
            "week": self.tr("last 7 days"),
            "month": self.tr("last 30 days"),
            "year": self.tr("last 12 months"),
            "older": self.tr("more than 30 days ago"),
        }

    def _endings(self) -> dict[str, str]:
        return {
            "any": self.tr("any"),
            "running": self.tr("active"),
            "finished": self.tr("finished or stopped"),
            "failed": self.tr("failed, lost or interrupted"),
        }

    def _verdicts(self) -> dict[str, str]:
        return {
            "any": self.tr("any"),
            "suspected": self.tr("leak suspected"),
            "growing": self.tr("growing"),
            "slowing": self.tr("slowing down"),
            "quiet": self.tr("nothing growing"),
        }

    def _build(self) -> None:
        self._pinned.setCheckable(True)
        self._pinned.setProperty("kind", "filter")
        self._clear.setProperty("kind", "filter")
        self._clear.hide()
        for menu in (self._since, self._ending, self._judged, self._host):
            menu.chosen.connect(self.changed)
        self._pinned.clicked.connect(self._on_pinned_clicked)
        self._clear.clicked.connect(self.clear_requested)
        self._sort.chosen.connect(self.sort_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        for part in (self._since, self._ending, self._judged, self._host, self._pinned):
            row.addWidget(part)
        row.addWidget(self._clear)
        row.addStretch(1)
        row.addWidget(self._sort)

    @Slot()
    def _on_pinned_clicked(self) -> None:
        self.changed.emit()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._pinned.setIcon(self._theme.icon("pin", "mute"))


def _columns() -> dict[str, str]:
    return {head.key: head.title for head in history_heads()}
