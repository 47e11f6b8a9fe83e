"""A table of whole rows, and the painting of its cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import (
    QAbstractItemModel,
    QItemSelectionModel,
    QModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QColor, QFont, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.settings.window_settings import TableLayout
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme, icon_pixmap
from kmonitor.ui.widgets.table_models import Index

CELL_PAD: Final = 8
"""Distance between a cell's edge and its text, pixels."""

CELL_ICON: Final = 22
"""Space for an icon before the text, pixels."""

SORT_ARROW: Final = 14
"""Space for the arrow in the sorted column's head, pixels."""

_ROW_HEIGHT: Final = 27


@dataclass(frozen=True, slots=True)
class CellStyle:
    """Contents and colours of a cell.

    Attributes:
        text: Text, elided if it does not fit.
        colour: Colour of the text, "#rrggbb".
        icon: Name of an icon before the text; empty: none.
        icon_colour: "#rrggbb"; empty: the colour of the text.
    """

    text: str
    colour: str
    icon: str = ""
    icon_colour: str = ""


CellOf = Callable[[Index, Palette], CellStyle | None]
"""Returns the contents of an index in these colours; None: nothing to paint."""


class RowTableView(QTableView):
    """A table of whole rows whose Tab key moves to the next control.

    Signals (main thread):
        copy_requested: Ctrl+C was pressed.
    """

    copy_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setMinimumSectionSize(_ROW_HEIGHT)
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
        head = self.horizontalHeader()
        head.setHighlightSections(False)
        head.setMinimumSectionSize(40)
        head.setSectionsMovable(True)
        head.setStretchLastSection(True)
        self._names: tuple[str, ...] = ()
        self._sized: set[int] = set()
        self._is_sizing = False
        head.sectionResized.connect(self._on_head_section_resized)

    @override
    def setModel(self, model: QAbstractItemModel) -> None:  # type: ignore[override]
        super().setModel(model)
        # A head that knows the selection asks of each column, at each paint, whether all its
        # cells are selected: a tenth of a second for thousands of rows, to look the same.
        head = self.horizontalHeader()
        head.setSelectionModel(QItemSelectionModel(model, head))

    def choose_row(self, at: int) -> None:
        """Select only this row, whatever keys are held: Ctrl+Shift+H also leads here."""
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(
            self.model().index(at, 0), flags.ClearAndSelect | flags.Rows
        )

    def size_column(self, at: int, width: int) -> None:
        """Set the width of a column; the user may change it."""
        self._is_sizing = True
        self.horizontalHeader().resizeSection(at, width)
        self._is_sizing = False

    def name_columns(self, names: Sequence[str]) -> None:
        """Name the columns for saved layouts, in the model's order."""
        self._names = tuple(names)

    def current_layout(self) -> TableLayout:
        """Return the columns' order, unless it is the default, and the widths set by the user."""
        head = self.horizontalHeader()
        names = self._names
        order = tuple(names[head.logicalIndex(at)] for at in range(len(names)))
        widths = {names[at]: head.sectionSize(at) for at in sorted(self._sized) if at < len(names)}
        return TableLayout(() if order == names else order, widths)

    def apply_layout(self, layout: TableLayout) -> None:
        """Apply a saved layout; unknown columns are ignored."""
        head = self.horizontalHeader()
        names = self._names
        known = [names.index(name) for name in layout.order if name in names]
        if len(known) == len(names):
            for visual_index, at in enumerate(known):
                head.moveSection(head.visualIndex(at), visual_index)
        for name, width in layout.widths.items():
            if name in names:
                self.size_column(names.index(name), width)
                self._sized.add(names.index(name))

    def is_sized(self, at: int) -> bool:
        """True if the user has set the width of a column."""
        return at in self._sized

    @override
    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        # Qt's Home and End lead along the row, where a table of whole rows has nothing to choose.
        n = self.model().rowCount()
        at = max(0, self.currentIndex().column())
        if n and action == QAbstractItemView.CursorAction.MoveHome:
            return self.model().index(0, at)
        if n and action == QAbstractItemView.CursorAction.MoveEnd:
            return self.model().index(n - 1, at)
        return super().moveCursor(action, modifiers)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
            event.accept()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            # Qt activates only the current cell, and on no platform the same key.
            if self.currentIndex().isValid():
                self.activated.emit(self.currentIndex())
            event.accept()
        else:
            super().keyPressEvent(event)

    @Slot(int, int, int)
    def _on_head_section_resized(self, at: int, before: int, after: int) -> None:
        del before, after
        # The last one is stretched by the view itself.
        if not self._is_sizing and at < self.model().columnCount() - 1:
            self._sized.add(at)


class CellDelegate(QStyledItemDelegate):
    """Paints a table's cells in the theme's colours."""

    def __init__(self, theme: Theme, cell_of: CellOf, parent: QWidget) -> None:
        """The parent is the table.

        Args:
            cell_of: Returns the contents of an index.
        """
        super().__init__(parent)
        self._theme = theme
        self._cell_of = cell_of

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        colours = self._theme.palette
        cell = self._cell_of(index, colours)
        if cell is not None:
            _paint_cell(painter, option, index, cell, colours)


def _paint_cell(
    painter: QPainter,
    option: QStyleOptionViewItem,
    index: Index,
    cell: CellStyle,
    colours: Palette,
) -> None:
    """Paint one cell of a `RowTableView`, with the background of selection and pointer."""
    area = option.rect  # type: ignore[attr-defined]
    state: QStyle.StateFlag = option.state  # type: ignore[attr-defined]
    painter.save()
    if state & QStyle.StateFlag.State_Selected:
        painter.fillRect(area, QColor(colours.hover))
    elif state & QStyle.StateFlag.State_MouseOver:
        painter.fillRect(area, QColor(colours.raised))
    box = area.adjusted(CELL_PAD, 0, -CELL_PAD, 0)
    if cell.icon:
        colour = cell.icon_colour or cell.colour
        icon = icon_pixmap(cell.icon, colour, 14, painter.device().devicePixelRatioF())
        painter.drawPixmap(box.left(), box.center().y() - 6, icon)
        box.setLeft(box.left() + CELL_ICON)
    font = QFont(painter.font())
    font.setPixelSize(SIZES.body_px)
    painter.setFont(font)
    painter.setPen(QColor(cell.colour))
    shown = painter.fontMetrics().elidedText(cell.text, Qt.TextElideMode.ElideRight, box.width())
    side = index.data(Qt.ItemDataRole.TextAlignmentRole)
    painter.drawText(box, int(side), shown)
    painter.restore()
