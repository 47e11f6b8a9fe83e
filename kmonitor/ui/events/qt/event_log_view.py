"""The event log, a page of the card below the charts: one line per event, newest first."""

from collections.abc import Hashable, Sequence
from typing import Any

from PySide6.QtCore import (
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.events.event_log import EventLogRow
from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.theme import Theme, icon_pixmap, role_label
from kmonitor.ui.widgets.buttons import SegmentedControl
from kmonitor.ui.widgets.table_models import ROW_ROLE, Index, NumberedRowModel

_ROW_HEIGHT = 27


class EventLogPanel(QWidget):
    """Shows the event log.

    Signals (main thread):
        filter_chosen: "all", "warnings" or "actions".
        row_opened: Run id, and the hub's row id, of a line opened by double-click or Enter.

    Attributes:
        filter_switch: Switch to place in the row above, which belongs to the card.
        list_view: The events.
    """

    filter_chosen = Signal(str)
    row_opened = Signal(str, int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = EventLogModel(self)
        self.list_view = QListView()
        self.filter_switch = SegmentedControl(self._filter_titles(), "")
        self._empty = role_label("meta")
        self._build(theme)
        self.filter_switch.choose("all")
        self.filter_switch.chosen.connect(self.filter_chosen)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._set_texts()

    def _set_texts(self) -> None:
        self.filter_switch.rename(self._filter_titles(), self.tr("Events shown"))
        self.list_view.setAccessibleName(self.tr("Events"))

    def show_rows(self, rows: Sequence[EventLogRow], empty_text: str) -> None:
        self._model.show_rows(rows)
        self._empty.setText(empty_text)
        self._empty.setVisible(not rows)
        self.list_view.setVisible(bool(rows))

    def show_filter(self, key: str) -> None:
        self.filter_switch.choose(key)

    def _filter_titles(self) -> dict[str, str]:
        return {
            "all": self.tr("All"),
            "warnings": self.tr("Warnings"),
            "actions": self.tr("Actions"),
        }

    def _build(self, theme: Theme) -> None:
        self.list_view.setModel(self._model)
        self.list_view.setItemDelegate(_LogRowDelegate(theme, self.list_view))
        self.list_view.setFrameShape(QFrame.Shape.NoFrame)
        self.list_view.setUniformItemSizes(True)
        self.list_view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.list_view.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list_view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list_view.activated.connect(self._on_list_activated)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        column.addWidget(self._empty)
        column.addWidget(self.list_view, 1)
        column.addStretch(0)

    @Slot(QModelIndex)
    def _on_list_activated(self, index: QModelIndex) -> None:
        row = index.data(ROW_ROLE)
        if isinstance(row, EventLogRow):
            self.row_opened.emit(row.run, row.row)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.list_view.viewport().update()


class EventLogModel(NumberedRowModel[EventLogRow]):
    """A list of one column."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(1, parent)

    @override
    def key_of(self, row: EventLogRow) -> Hashable:
        return row.key

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        if role == ROW_ROLE:
            return row
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return f"{row.time} {row.run_name}: {row.line.text}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{row.time} \u00b7 {row.run_name}\n{row.line.text}"
        return None


class _LogRowDelegate(QStyledItemDelegate):
    """Paints a `EventLogRow`: icon, time, run, sentence."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @override
    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(200, _ROW_HEIGHT)

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row = index.data(ROW_ROLE)
        if not isinstance(row, EventLogRow):
            return
        area: QRect = option.rect  # type: ignore[attr-defined]
        state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
        colours = self._theme.palette
        painter.save()
        if state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.fillRect(area, QColor(colours.raised))
        tone = {"info": "mute", "warning": "warn", "error": "crit"}[row.line.level]
        if row.line.is_action and tone == "mute":
            tone = "accent"
        colour: str = getattr(colours, tone)
        icon = icon_pixmap(row.line.icon, colour, 14, painter.device().devicePixelRatioF())
        painter.drawPixmap(area.left() + 4, area.center().y() - 6, icon)
        self._texts(painter, area, row)
        painter.restore()

    def _texts(self, painter: QPainter, area: QRect, row: EventLogRow) -> None:
        colours = self._theme.palette
        font = QFont(painter.font())
        font.setPixelSize(SIZES.body_px)
        painter.setFont(font)
        name_width = min(170, max(90, area.width() // 6))
        left = area.left() + 30
        rest = area.right() - left - 90 - name_width
        parts = (
            (row.time, 62, colours.mute, Qt.TextElideMode.ElideRight),
            (row.run_name, name_width, colours.sub, Qt.TextElideMode.ElideMiddle),
            (row.line.text, rest, colours.text, Qt.TextElideMode.ElideRight),
        )
        for text, width, colour, mode in parts:
            painter.setPen(QColor(colour))
            shown = painter.fontMetrics().elidedText(text, mode, width)
            box = QRect(left, area.top(), width + 4, area.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, shown)
            left += width + 14
