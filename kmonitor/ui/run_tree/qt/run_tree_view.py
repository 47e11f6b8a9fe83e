"""Left panel: a search field, and the tree of runs by host with its delegate."""

from collections.abc import Sequence

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QAction, QColor, QFont, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QPushButton,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QTreeView,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.run_tree.qt.run_tree_model import RunTreeModel
from kmonitor.ui.run_tree.run_tree import HostRow, RunRow
from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.theme import Theme, icon_pixmap, role_label
from kmonitor.ui.widgets.buttons import FolderButton
from kmonitor.ui.widgets.keyboard import add_shortcut
from kmonitor.ui.widgets.table_models import ROW_ROLE


class RunTreePanel(QFrame):
    """Runs by host.

    Signals (main thread):
        run_chosen: With the id of the run that the user chose.
        search_edited: With the text of the search field.
        folder_requested: The user wants to see the runs of a folder.
        connect_requested: The user wants to connect to a host.
        history_requested: The user wants to see all runs ever recorded.
        host_menu_requested: With the address of a host and the screen position for its menu.
    """

    run_chosen = Signal(str)
    search_edited = Signal(str)
    folder_requested = Signal()
    connect_requested = Signal()
    history_requested = Signal()
    host_menu_requested = Signal(str, QPoint)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("left")
        self._theme = theme
        self.model = RunTreeModel(self)
        self._search = QLineEdit()
        self.tree = QTreeView()
        self._empty = role_label("sub")
        self._folder = FolderButton()
        self._folder.clicked.connect(self.folder_requested)
        self.connect_button = QPushButton()
        self._history = QPushButton()
        self._search_icon = QAction(self)
        self._is_showing = False
        self._build()
        self._search.textChanged.connect(self.search_edited)
        self._search.returnPressed.connect(self._on_search_return_pressed)
        self.connect_button.clicked.connect(self.connect_requested)
        self._history.clicked.connect(self.history_requested)
        self.tree.customContextMenuRequested.connect(self._on_tree_menu_requested)
        self.tree.selectionModel().currentChanged.connect(self._on_tree_current_changed)
        self.model.rowsInserted.connect(self._on_model_rows_inserted)
        add_shortcut("find_run", self, self._on_find_activated)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._on_theme_palette_changed()
        self._set_texts()

    def _set_texts(self) -> None:
        self._set_search_hint()
        self._search.setAccessibleName(self.tr("Find run or host"))
        self._search.setToolTip(
            self.tr("Search runs and hosts by name (Ctrl+F); Enter selects the first match")
        )
        for part in self._search.findChildren(QToolButton):
            part.setAccessibleName(self._search.accessibleName())
        self.tree.setAccessibleName(self.tr("Runs by host"))
        self.connect_button.setText(self.tr("Connect to a host\u2026"))
        self.connect_button.setAccessibleName(self.connect_button.text())
        self.connect_button.setToolTip(
            self.tr("Show the runs on another machine, over ssh (Ctrl+H)")
        )
        self._history.setToolTip(
            self.tr("All recorded runs: find, rename, annotate and remove them (Ctrl+Shift+H)")
        )

    def show_rows(self, hosts: Sequence[HostRow], selected: str | None, empty_text: str) -> None:
        """Show these rows with this run selected.

        Args:
            selected: Run id.
            empty_text: Shown instead when there are no rows.
        """
        # A row that goes hands its place on, and with it the choice: nobody chose that.
        self._is_showing = True
        self.model.show_rows(hosts)
        index = self.model.index_of(selected or "")
        if index != self.tree.currentIndex():
            self.tree.setCurrentIndex(index)
        self._is_showing = False
        self._empty.setText(empty_text)
        self._empty.setVisible(not hosts)

    def show_history_title(self, title: str) -> None:
        self._history.setText(title)
        self._history.setAccessibleName(title)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._set_search_hint()

    def _set_search_hint(self) -> None:
        hint = self.tr("Find run or host")
        # The tooltip says the keys as well.
        has_room = self.width() >= SIZES.left
        self._search.setPlaceholderText(f"{hint}   Ctrl+F" if has_room else hint)

    def _build(self) -> None:
        self._search.setClearButtonEnabled(True)
        self._search.addAction(self._search_icon, QLineEdit.ActionPosition.LeadingPosition)
        self.tree.setModel(self.model)
        self.tree.setItemDelegate(RunRowDelegate(self._theme, self.tree))
        self.tree.setHeaderHidden(True)
        self.tree.setRootIsDecorated(False)
        self.tree.setIndentation(0)
        self.tree.setItemsExpandable(False)
        self.tree.setMouseTracking(True)
        self.tree.setFrameShape(QFrame.Shape.NoFrame)
        self.tree.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.tree.setVerticalScrollMode(QTreeView.ScrollMode.ScrollPerPixel)
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._empty.setWordWrap(True)
        self._empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._empty.setContentsMargins(6, 10, 6, 0)
        self._lay_out()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 11, 8)
        column.setSpacing(10)
        column.addWidget(self._search)
        column.addWidget(self._empty)
        column.addWidget(self.tree, 1)
        column.addWidget(self._history)
        column.addWidget(self._folder)
        column.addWidget(self.connect_button)

    @Slot(QPoint)
    def _on_tree_menu_requested(self, at: QPoint) -> None:
        # A run's menu is that of its host: the keyboard reaches runs only.
        index = self.tree.indexAt(at)
        host = self.model.host_at(index) or self.model.host_at(index.parent())
        if host is not None and host.address:
            self.host_menu_requested.emit(host.address, self.tree.viewport().mapToGlobal(at))

    @Slot(QModelIndex, QModelIndex)
    def _on_tree_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        del previous
        run = self.model.run_at(current)
        if run is not None and not self._is_showing:
            self.run_chosen.emit(run)

    @Slot()
    def _on_search_return_pressed(self) -> None:
        first = self.model.first_run()
        if first.isValid():
            self.tree.setFocus(Qt.FocusReason.OtherFocusReason)
            self.tree.setCurrentIndex(first)

    @Slot(QModelIndex, int, int)
    def _on_model_rows_inserted(self, parent: QModelIndex, first: int, last: int) -> None:
        del first, last
        self.tree.expand(parent)
        if not parent.isValid():
            self.tree.expandAll()

    @Slot()
    def _on_find_activated(self) -> None:
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._search_icon.setIcon(self._theme.icon("search", "mute"))
        self._history.setIcon(self._theme.icon("history", "mute"))
        self.connect_button.setIcon(self._theme.icon("plus", "mute"))
        self.tree.viewport().update()


_HOST_HEIGHT = 34
_RUN_HEIGHT = 52
_BAR_WIDTH = 44
_INDENT = 16


class RunRowDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @override
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        is_host = isinstance(index.data(ROW_ROLE), HostRow)
        return QSize(120, _HOST_HEIGHT if is_host else _RUN_HEIGHT)

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row = index.data(ROW_ROLE)
        area: QRect = option.rect  # type: ignore[attr-defined]
        state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, HostRow):
            self._paint_host(painter, area, row)
        elif isinstance(row, RunRow):
            self._paint_back(painter, area, state)
            self._paint_run(painter, area.adjusted(_INDENT * row.depth, 0, 0, 0), row)
        painter.restore()

    def _paint_host(self, painter: QPainter, area: QRect, row: HostRow) -> None:
        colours = self._theme.palette
        is_lost = row.tone == "crit"
        tint = colours.tone(row.tone) if is_lost else colours.mute
        scale = painter.device().devicePixelRatioF()
        icon = icon_pixmap("unplug" if is_lost else "host", tint, 15, scale)
        painter.drawPixmap(area.left() + 2, area.center().y() - 7, icon)
        _set_font(painter, SIZES.meta_px)
        note_width = painter.fontMetrics().horizontalAdvance(row.note)
        note_area = area.adjusted(area.width() - note_width - 4, 0, 0, 0)
        self._text(painter, note_area, row.note, row.tone, elide=Qt.TextElideMode.ElideNone)
        name_area = area.adjusted(25, 0, -note_width - 12, 0)
        _set_font(painter, SIZES.body_px, QFont.Weight.DemiBold)
        self._text(painter, name_area, row.host, "sub" if is_lost else "text")

    def _paint_back(self, painter: QPainter, area: QRect, state: QStyle.StateFlag) -> None:
        colours = self._theme.palette
        is_selected = bool(state & QStyle.StateFlag.State_Selected)
        is_hovered = bool(state & QStyle.StateFlag.State_MouseOver)
        if not is_selected and not is_hovered:
            return
        colour = _from_rgba(colours.accent, 0.16) if is_selected else QColor(colours.raised)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        box = QRectF(area).adjusted(0, 1, 0, -1)
        painter.drawRoundedRect(box, 8, 8)
        if is_selected:
            painter.setBrush(QColor(colours.accent))
            painter.drawRoundedRect(
                QRectF(box.left(), box.top() + 12, 3, box.height() - 24), 1.5, 1.5
            )

    def _paint_run(self, painter: QPainter, area: QRect, row: RunRow) -> None:
        colours = self._theme.palette
        scale = painter.device().devicePixelRatioF()
        if row.hue is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.series[row.hue]))
            painter.drawRoundedRect(QRectF(area.left() + 12, area.top() + 13, 9, 9), 2.5, 2.5)
        else:
            icon = icon_pixmap(row.state.icon, colours.mute, 12, scale)
            painter.drawPixmap(area.left() + 11, area.top() + 12, icon)
        name_area = QRect(area.left() + 30, area.top() + 7, area.width() - 38, 20)
        if row.mark:
            mark = icon_pixmap("warning", colours.tone("crit"), 13, scale)
            painter.drawPixmap(area.right() - 22, area.top() + 10, mark)
            name_area.setWidth(name_area.width() - 18)
        _set_font(painter, SIZES.control_px, QFont.Weight.Medium)
        self._text(painter, name_area, row.name, "sub" if row.is_pale else "text")
        self._paint_line(painter, area, row)

    def _paint_line(self, painter: QPainter, area: QRect, row: RunRow) -> None:
        colours = self._theme.palette
        left = area.left() + 30
        if row.state.tone in ("warn", "crit", "accent"):
            scale = painter.device().devicePixelRatioF()
            icon = icon_pixmap(row.state.icon, colours.tone(row.state.tone), 12, scale)
            painter.drawPixmap(left, area.top() + 30, icon)
            left += 17
        tone = row.state.tone if row.state.tone in ("warn", "crit", "accent") else "mute"
        _set_font(painter, SIZES.meta_px)
        room = area.right() - left - 9
        text_width = painter.fontMetrics().horizontalAdvance(row.line)
        # The bar gives way: it repeats the text.
        has_bar = row.fraction is not None and text_width <= room - _BAR_WIDTH - 9
        line_area = QRect(left, area.top() + 26, room - (_BAR_WIDTH + 9) * has_bar, 18)
        self._text(painter, line_area, row.line, tone, elide=Qt.TextElideMode.ElideRight)
        if row.fraction is None or not has_bar:
            return
        bar = QRectF(area.right() - _BAR_WIDTH - 9, area.top() + 33, _BAR_WIDTH, 4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.border))
        painter.drawRoundedRect(bar, 2, 2)
        hue = colours.series[row.hue] if row.hue is not None else colours.mute
        painter.setBrush(QColor(hue))
        painter.drawRoundedRect(
            QRectF(bar.left(), bar.top(), max(4.0, bar.width() * row.fraction), 4), 2, 2
        )

    def _text(
        self,
        painter: QPainter,
        area: QRect,
        text: str,
        colour: str,
        *,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
    ) -> None:
        painter.setPen(QColor(getattr(self._theme.palette, colour)))
        shown = painter.fontMetrics().elidedText(text, elide, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)


def _set_font(painter: QPainter, size_px: int, weight: QFont.Weight = QFont.Weight.Normal) -> None:
    font = QFont(painter.font())
    font.setPixelSize(size_px)
    font.setWeight(weight)
    painter.setFont(font)


def _from_rgba(colour: str, alpha: float) -> QColor:
    result = QColor(colour)
    result.setAlphaF(alpha)
    return result
