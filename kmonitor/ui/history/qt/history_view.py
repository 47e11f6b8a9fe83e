"""Page of all runs ever recorded: filters, a table, and a bar with actions on the selection."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction, QFont, QFontMetrics
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.history.history_table import (
    HistoryCell,
    history_cell,
    history_heads,
)
from kmonitor.ui.history.qt.history_filters import HistoryFilters
from kmonitor.ui.history.qt.history_model import CELL_ROLE, RunHistoryModel
from kmonitor.ui.history.run_history import (
    EVERYTHING,
    HistoryColumn,
    HistoryFilter,
    HistoryRow,
)
from kmonitor.ui.history.selection import HistoryAction, HistorySelectionState
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme, role_label, set_tone
from kmonitor.ui.widgets.keyboard import add_shortcut
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor.ui.widgets.row_table import (
    CELL_ICON,
    CELL_PAD,
    SORT_ARROW,
    CellDelegate,
    CellStyle,
    Index,
    RowTableView,
)

_WIDEST: Final[dict[HistoryColumn, int]] = {
    "name": 260,
    "state": 170,
    "verdicts": 280,
    "host": 150,
    "note": 320,
}
"""Maximum width of text columns, pixels; longer text is elided, and complete in the tooltip."""

_MEASURED_ROWS: Final = 100
"""Number of rows that decide the column widths: measuring thousands of texts takes too long."""


class RunHistoryPanel(QFrame):
    """Filters above, the table, and a bar for the selected runs.

    Signals (main thread):
        filter_changed: The filters or the search text changed.
        sort_requested: With the key of the column to sort by.
        selection_changed: The selection changed.
        opened: With the id of the run to show.
        close_requested: The charts should be shown again.

    Attributes:
        filters: Filters and order of the runs.
        selection_bar: Actions on the selected runs.
        search: Field that filters the runs.
    """

    filter_changed = Signal()
    sort_requested = Signal(str)
    selection_changed = Signal()
    opened = Signal(str)
    close_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("guide_page", "history.md")
        self._theme = theme
        self._heads = history_heads()
        self._title = role_label("title")
        self._model = RunHistoryModel(self)
        self._table_view = RowTableView()
        self._count = role_label("sub")
        self._empty = role_label("sub")
        self.search = QLineEdit()
        self._search_icon = QAction(self)
        self._back = QPushButton()
        self.filters = HistoryFilters(theme)
        self._is_fitted = False
        self._is_showing = False
        self.selection_bar = HistorySelectionBar(theme)
        self._build()
        self._connect()
        self._on_theme_palette_changed()
        self._set_texts()

    def _set_texts(self) -> None:
        self._title.setText(self.tr("History"))
        self._back.setText(self.tr("Charts"))
        self._back.setToolTip(self.tr("Back to the charts (Esc)"))
        self._back.setAccessibleName(self._back.text())
        self.search.setPlaceholderText(self.tr("Name, host, model, note or date   Ctrl+F"))
        self.search.setAccessibleName(self.tr("Find runs"))
        self.search.setToolTip(
            self.tr(
                "Search by name, host, model, note, job, ID or a date such as 2026-11-22 (Ctrl+F)"
            )
        )
        for part in self.search.findChildren(QToolButton):
            part.setAccessibleName(self.search.accessibleName())
        self._table_view.setAccessibleName(self.tr("All runs"))
        self._table_view.setAccessibleDescription(
            self.tr("Enter shows a run on the charts, F2 renames it, and Delete removes it")
        )

    def current_filter(self) -> HistoryFilter:
        """Filter of the search field and the menus."""
        return self.filters.filter_for(self.search.text())

    def show_rows(
        self, rows: Sequence[HistoryRow], *, count: str, empty: str, now_wall_s: float
    ) -> None:
        """Show these runs; emits nothing if the selection changes by that.

        Args:
            rows: Runs from top to bottom.
            count: Text with the number of runs.
            empty: Text to show if there are no runs.
        """
        had_selection = self._table_view.selectionModel().hasSelection()
        self._model.now_wall_s = now_wall_s
        self._is_showing = True
        self._model.show_rows(rows)
        self._count.setText(count)
        self._empty.setText(empty)
        self._empty.setVisible(not rows)
        self._table_view.setVisible(bool(rows))
        if rows and not self._is_fitted:
            # Once a visit: columns that move with every letter that is searched for are no table.
            self._is_fitted = True
            self._fit_columns(rows[:_MEASURED_ROWS], now_wall_s)
        current = self._table_view.currentIndex()
        is_lost = had_selection and not self._table_view.selectionModel().hasSelection()
        if rows and (is_lost or not current.isValid()):
            # Select the neighbour of a run that is gone, so that the keyboard goes on from there.
            self._table_view.choose_row(max(0, current.row()))
        self._is_showing = False
        self._table_view.viewport().update()

    def show_order(self, column: HistoryColumn, *, is_falling: bool) -> None:
        at = next(at for at, head in enumerate(self._heads) if head.key == column)
        sort_order = Qt.SortOrder.DescendingOrder if is_falling else Qt.SortOrder.AscendingOrder
        self._table_view.horizontalHeader().setSortIndicator(at, sort_order)
        self.filters.show_order(column)

    def selected(self) -> list[str]:
        """Ids of the selected runs, from top to bottom."""
        # By stretches: thousands of indexes take half a second to make.
        found: set[int] = set()
        for stretch in self._table_view.selectionModel().selection().toList():
            found.update(range(stretch.top(), stretch.bottom() + 1))
        rows = self._model.rows()
        return [rows[at].run for at in sorted(found) if at < len(rows)]

    def choose(self, run: str) -> None:
        """Select this run if it is shown."""
        at = self._model.index_of_run(run)
        if at is not None:
            self._table_view.choose_row(at)
            self._table_view.scrollTo(
                self._model.index(at, 0), QAbstractItemView.ScrollHint.EnsureVisible
            )

    def begin(self) -> None:
        """Fit the column widths before the page is shown."""
        self._is_fitted = False

    @Slot()
    def focus_first(self) -> None:
        """Focus the table, or the search field if the table has no rows."""
        part = self.search if self._table_view.isHidden() else self._table_view
        part.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot()
    def clear_filters(self) -> None:
        self.filters.clear()
        self.search.clear()
        self._on_filter_edited()

    @property
    def table(self) -> RowTableView:
        """Table, whose column layout the window remembers."""
        return self._table_view

    def _build(self) -> None:
        self._build_search()
        self._build_table()
        top = QHBoxLayout()
        top.setSpacing(10)
        top.addWidget(self._back)
        top.addSpacing(4)
        top.addWidget(self._title)
        top.addWidget(self._count)
        top.addStretch(1)
        top.addWidget(self.search, 2)
        self._lay_out(top)

    def _build_search(self) -> None:
        self.search.setClearButtonEnabled(True)
        self.search.addAction(self._search_icon, QLineEdit.ActionPosition.LeadingPosition)
        self.search.setMaximumWidth(420)

    def _lay_out(self, top: QHBoxLayout) -> None:
        card = QFrame()
        card.setObjectName("card")
        inside = QVBoxLayout(card)
        inside.setContentsMargins(8, 6, 8, 8)
        inside.addWidget(self._empty)
        inside.addWidget(self._table_view, 1)
        inside.addStretch(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(SIZES.gutter, SIZES.gutter, SIZES.gutter, SIZES.gutter)
        column.setSpacing(10)
        column.addLayout(top)
        column.addWidget(self.filters)
        column.addWidget(card, 1)
        column.addWidget(self.selection_bar)

    def _build_table(self) -> None:
        table = self._table_view
        head = self._table_view.horizontalHeader()
        table.setModel(self._model)
        table.setItemDelegate(CellDelegate(self._theme, _cell_of, table))
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        table.name_columns([head.key for head in self._heads])
        head.setSectionsClickable(True)
        head.setSortIndicatorShown(True)
        self._empty.setWordWrap(True)
        self._empty.setContentsMargins(6, 10, 6, 0)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._on_filter_edited)
        self.search.returnPressed.connect(self.focus_first)
        self.filters.changed.connect(self._on_filter_edited)
        self.filters.clear_requested.connect(self.clear_filters)
        self.filters.sort_requested.connect(self.sort_requested)
        self._back.clicked.connect(self.close_requested)
        self._table_view.horizontalHeader().sectionClicked.connect(self._on_head_clicked)
        self._table_view.activated.connect(self._on_table_activated)
        self._table_view.customContextMenuRequested.connect(self._on_table_menu_requested)
        self._table_view.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self._theme.palette_changed.connect(self._on_theme_palette_changed)
        for name, slot in (
            ("history_find", self._on_find_activated),
            ("history_close", self._on_escape_activated),
            ("history_compare", self._on_compare_activated),
            ("history_rename", self._on_rename_activated),
            ("history_note", self._on_note_activated),
            ("history_pin", self._on_pin_activated),
            ("history_delete", self._on_delete_activated),
        ):
            add_shortcut(name, self, slot)

    def _fit_columns(self, rows: Sequence[HistoryRow], now_wall_s: float) -> None:
        """Fit each column to its widest text, unless the user has set widths."""
        font = QFont(self.font())
        font.setPixelSize(SIZES.body_px)
        head = self._table_view.horizontalHeader()
        metrics = QFontMetrics(font)
        head_metrics = head.fontMetrics()
        for at, column in enumerate(self._heads):
            cells = [history_cell(row, column.key, now_wall_s=now_wall_s) for row in rows]
            has_icon = any(cell.icon for cell in cells)
            widest = max((metrics.horizontalAdvance(cell.text) for cell in cells), default=0)
            widest += 2 * CELL_PAD + (CELL_ICON if has_icon else 0) + 2
            least = head_metrics.horizontalAdvance(column.title) + 2 * CELL_PAD + SORT_ARROW
            if not self._table_view.is_sized(at):
                most = _WIDEST.get(column.key, widest)
                self._table_view.size_column(at, max(least, min(widest, most)))

    @Slot()
    def _on_filter_edited(self) -> None:
        self.filters.show_clear(is_needed=self.current_filter() != EVERYTHING)
        self.filter_changed.emit()

    @Slot(int)
    def _on_head_clicked(self, at: int) -> None:
        self.sort_requested.emit(self._heads[at].key)

    @Slot(QModelIndex)
    def _on_table_activated(self, index: QModelIndex) -> None:
        row = self._model.row_at(index)
        if row is not None:
            self.opened.emit(row.run)

    @Slot()
    def _on_selection_changed(self) -> None:
        if not self._is_showing:
            self.selection_changed.emit()

    @Slot(QPoint)
    def _on_table_menu_requested(self, at: QPoint) -> None:
        index = self._table_view.indexAt(at)
        is_selected = self._table_view.selectionModel().isRowSelected(index.row(), QModelIndex())
        if index.isValid() and not is_selected:
            self._table_view.choose_row(index.row())
        self.selection_bar.open_menu(self._table_view.viewport().mapToGlobal(at))

    @Slot()
    def _on_find_activated(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    @Slot()
    def _on_escape_activated(self) -> None:
        if self.search.hasFocus() and self.search.text():
            self.search.clear()
        else:
            self.close_requested.emit()

    @Slot()
    def _on_compare_activated(self) -> None:
        self.selection_bar.do("compare")

    @Slot()
    def _on_rename_activated(self) -> None:
        self.selection_bar.do("rename")

    @Slot()
    def _on_note_activated(self) -> None:
        self.selection_bar.do("note")

    @Slot()
    def _on_pin_activated(self) -> None:
        self.selection_bar.do("pin")

    @Slot()
    def _on_delete_activated(self) -> None:
        self.selection_bar.do("delete")

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._search_icon.setIcon(self._theme.icon("search", "mute"))
        self._back.setIcon(self._theme.icon("back", "mute"))
        self._table_view.viewport().update()


def _cell_of(index: Index, colours: Palette) -> CellStyle | None:
    cell = index.data(CELL_ROLE)
    if not isinstance(cell, HistoryCell):
        return None
    return CellStyle(cell.text, colours.tone(cell.tone), cell.icon)


class HistorySelectionBar(QFrame):
    """Shows a `HistorySelectionState`.

    Signals (main thread):
        action_requested: With the key of the action to carry out.
    """

    action_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._theme = theme
        self._selection_state: HistorySelectionState | None = None
        self._title = ElidedLabel("strong")
        self._text = ElidedLabel("sub", at_end=True)
        self._why = ElidedLabel("sub", at_end=True)
        self._buttons: dict[str, QPushButton] = {}
        self._row = QHBoxLayout()
        self._build()
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def show_state(self, state: HistorySelectionState) -> None:
        if state == self._selection_state:
            return
        self._selection_state = state
        self._title.setText(state.title)
        self._text.setText(state.text)
        self._why.setText(state.trouble or state.why_not)
        self._why.setVisible(bool(state.trouble or state.why_not))
        set_tone(self._why, "crit" if state.trouble else "warn")
        for action in state.actions:
            self._show_action(action)

    def do(self, key: str) -> bool:
        """Request the action with this key if it is possible; True if it is."""
        action = self._action(key)
        if action is None or not action.is_enabled:
            return False
        self.action_requested.emit(key)
        return True

    def open_menu(self, at: QPoint) -> None:
        """Open the same actions as a menu at a position on the screen."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        menu.setAccessibleName(self._title.text())
        for action in self._selection_state.actions if self._selection_state is not None else ():
            entry = menu.addAction(self._theme.icon(action.icon), action.title)
            entry.setShortcut(action.shortcut)
            entry.setToolTip(action.tooltip)
            entry.setEnabled(action.is_enabled)
            entry.setData(action.key)
        menu.triggered.connect(self._on_menu_triggered)
        menu.popup(at)

    def _action(self, key: str) -> HistoryAction | None:
        known = self._selection_state.actions if self._selection_state is not None else ()
        return next((action for action in known if action.key == key), None)

    def _show_action(self, action: HistoryAction) -> None:
        button = self._buttons.get(action.key)
        if button is None:
            button = QPushButton()
            button.setObjectName(action.key)
            button.clicked.connect(self._on_button_clicked)
            self._buttons[action.key] = button
            self._row.addWidget(button)
        button.setText(action.title)
        button.setAccessibleName(action.title)
        button.setAccessibleDescription(action.tooltip)
        button.setToolTip(action.tooltip)
        button.setEnabled(action.is_enabled)
        button.setProperty("kind", "danger" if action.is_danger else "")
        tone = "crit" if action.is_danger else "plain"
        button.setIcon(self._theme.icon(action.icon, tone))

    def _build(self) -> None:
        text_column = QVBoxLayout()
        text_column.setSpacing(1)
        for label in (self._title, self._text, self._why):
            text_column.addWidget(label)
        self._why.hide()
        self._row.setContentsMargins(14, 9, 10, 9)
        self._row.setSpacing(8)
        self._row.addLayout(text_column, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._row)

    @Slot()
    def _on_button_clicked(self) -> None:
        self.do(self.sender().objectName())

    @Slot(QAction)
    def _on_menu_triggered(self, entry: QAction) -> None:
        self.do(str(entry.data()))

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        for action in self._selection_state.actions if self._selection_state is not None else ():
            self._show_action(action)
