"""The page that compares runs: one chart, its legend, and a table of differences."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from PySide6.QtCore import QAbstractTableModel, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.compare.compare_state import CompareCell, CompareRow, LegendEntry
from kmonitor.ui.history.selection import MIN_COMPARED
from kmonitor.ui.limits.limit_store import CHART_METRICS
from kmonitor.ui.text.metrics import metric_name
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.buttons import SegmentedControl
from kmonitor.ui.widgets.keyboard import add_shortcut
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor.ui.widgets.row_table import CellDelegate, CellStyle, RowTableView
from kmonitor.ui.widgets.table_models import NOWHERE, Index

_TITLE_COLUMN_PX: Final = 190
_LEAST_COLUMN_PX: Final = 110


class ComparePanel(QFrame):
    """Switches above, the legend, the chart, and the table below it.

    Signals (main thread):
        axis_chosen: "epochs", "seconds" or "models".
        metric_chosen: Metric to draw.
        removal_requested: Id of the run to remove.
        differences_toggled: True if the table shall show only differences.
        close_requested: The user returns to the history.
    """

    axis_chosen = Signal(str)
    metric_chosen = Signal(str)
    removal_requested = Signal(str)
    differences_toggled = Signal()
    close_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("guide_page", "history.md")
        self._theme = theme
        self._model = CompareModel(self)
        self._table_view = RowTableView()
        self._legend = CompareLegend(theme)
        self._back = QPushButton()
        self._only = QPushButton()
        self._copy = QPushButton()
        self._title = role_label("title")
        self._table_title = role_label("name")
        self._axis = SegmentedControl(self._axis_titles(), "")
        self._metrics = SegmentedControl(_metric_titles(), "")
        self._chart_box = QVBoxLayout()
        self._build()
        self._connect()
        self._on_theme_palette_changed()
        self._set_texts()

    def _set_texts(self) -> None:
        self._back.setText(self.tr("History"))
        self._back.setToolTip(self.tr("Back to the history (Esc)"))
        self._only.setText(self.tr("Differences only"))
        self._only.setToolTip(self.tr("Hide rows that are the same for all runs"))
        for button in (self._back, self._only):
            button.setAccessibleName(button.text())
        self._copy.setText(self.tr("Copy"))
        self._copy.setToolTip(self.tr("Copy the selected rows, or all rows, as text (Ctrl+C)"))
        self._copy.setAccessibleName(self.tr("Copy the table"))
        self._metrics.rename(_metric_titles(), self.tr("Metric"))
        self._axis.rename(self._axis_titles(), self.tr("Horizontal axis"))
        self._axis.explain("epochs", self.tr("Epochs, counted across all fits"))
        self._axis.explain("seconds", self.tr("Time since each run started"))
        self._axis.explain("models", self.tr("Models built, one per fit of a run"))
        self._title.setText(self.tr("Compare"))
        self._table_title.setText(self.tr("Differences"))
        self._table_view.setAccessibleName(self.tr("Differences"))

    @property
    def shows_differences_only(self) -> bool:
        return self._only.isChecked()

    def attach_chart(self, chart: QWidget) -> None:
        chart.setMinimumHeight(140)
        self._chart_box.addWidget(chart)

    def show_choices(self, axis: str, metric: str) -> None:
        self._axis.choose(axis)
        self._metrics.choose(metric)

    def show_legend(self, entries: Sequence[LegendEntry]) -> None:
        """Show the legend of these runs above the chart."""
        self._legend.show_entries(entries)

    def show_rows(self, rows: Sequence[CompareRow], entries: Sequence[LegendEntry]) -> None:
        """Show the table.

        Args:
            entries: Runs, from left to right.
        """
        scale = self.devicePixelRatioF()
        heads = [(entry.name, swatch_icon(self._theme, entry.hue, scale)) for entry in entries]
        self._model.show_rows(rows, heads)
        self._fit_columns()
        self._table_view.viewport().update()

    def focus_first(self) -> None:
        """Give the focus to the table, which the arrow keys move in."""
        self._table_view.setFocus(Qt.FocusReason.OtherFocusReason)

    def copy(self) -> str:
        """Copy the selected rows, or else all, to the clipboard; return the copied text."""
        chosen = sorted(
            {index.row() for index in self._table_view.selectionModel().selectedRows()}
        )
        rows = self._model.rows()
        wanted = [rows[at] for at in chosen] if len(chosen) > 1 else list(rows)
        lines = ["\t".join(("", *self._model.names())), *(row.as_text() for row in wanted)]
        text = "\n".join(lines)
        QGuiApplication.clipboard().setText(text)
        return text

    def _axis_titles(self) -> dict[str, str]:
        return {
            "epochs": self.tr("Epochs"),
            "seconds": self.tr("Time"),
            "models": self.tr("Models"),
        }

    def _build(self) -> None:
        self._only.setCheckable(True)
        self._only.setProperty("kind", "filter")
        self._copy.setProperty("kind", "small")
        table = self._table_view
        head = self._table_view.horizontalHeader()
        table.setModel(self._model)
        table.setItemDelegate(CellDelegate(self._theme, _cell_of, table))
        head.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        head.setSectionsMovable(False)
        head.setStretchLastSection(False)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        top = QHBoxLayout()
        top.setSpacing(10)
        top.addWidget(self._back)
        top.addSpacing(4)
        top.addWidget(self._title)
        top.addStretch(1)
        top.addWidget(self._metrics)
        top.addWidget(self._axis)
        self._lay_out(top)

    def _lay_out(self, top: QHBoxLayout) -> None:
        chart = QFrame()
        table = QFrame()
        for card in (chart, table):
            card.setObjectName("card")
        inside = QVBoxLayout(chart)
        inside.setContentsMargins(10, 8, 10, 8)
        inside.addLayout(self._chart_box)
        tools = QHBoxLayout()
        tools.addWidget(self._table_title)
        tools.addStretch(1)
        tools.addWidget(self._only)
        tools.addWidget(self._copy)
        below = QVBoxLayout(table)
        below.setContentsMargins(10, 7, 10, 8)
        below.setSpacing(4)
        below.addLayout(tools)
        below.addWidget(self._table_view, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SIZES.gutter, SIZES.gutter, SIZES.gutter, SIZES.gutter)
        column.setSpacing(10)
        column.addLayout(top)
        column.addWidget(self._legend)
        column.addWidget(chart, 3)
        column.addWidget(table, 2)

    def _connect(self) -> None:
        self._axis.chosen.connect(self.axis_chosen)
        self._metrics.chosen.connect(self.metric_chosen)
        self._legend.removal_requested.connect(self.removal_requested)
        self._only.clicked.connect(self._on_only_clicked)
        self._copy.clicked.connect(self._on_copy_clicked)
        self._table_view.copy_requested.connect(self._on_copy_clicked)
        self._back.clicked.connect(self.close_requested)
        add_shortcut("compare_close", self).activated.connect(self.close_requested)
        self._theme.palette_changed.connect(self._on_theme_palette_changed)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        """Give all runs the same width; longer text is elided, and complete in the tooltip."""
        n = self._model.columnCount() - 1
        room = self._table_view.viewport().width() - _TITLE_COLUMN_PX
        self._table_view.size_column(0, _TITLE_COLUMN_PX)
        for at in range(1, n + 1):
            if not self._table_view.is_sized(at):
                self._table_view.size_column(at, max(_LEAST_COLUMN_PX, room // n))

    @Slot()
    def _on_only_clicked(self) -> None:
        self.differences_toggled.emit()

    @Slot()
    def _on_copy_clicked(self) -> None:
        self.copy()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._back.setIcon(self._theme.icon("back", "mute"))
        self._copy.setIcon(self._theme.icon("copy"))
        self._table_view.viewport().update()


def _metric_titles() -> dict[str, str]:
    return {metric: metric_name(metric) for metric in CHART_METRICS}


def _cell_of(index: Index, colours: Palette) -> CellStyle | None:
    cell = index.data(CELL_ROLE)
    if not isinstance(cell, CompareCell):
        return None
    return CellStyle(cell.text, colours.tone(cell.tone))


_SWATCH_PX = 11


class CompareLegend(QWidget):
    """Legend with one chip per run, all of the same width.

    Signals (main thread):
        removal_requested: Id of the run to remove.
    """

    removal_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._entries: tuple[LegendEntry, ...] = ()
        self._chips: list[QFrame] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(8)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def show_entries(self, entries: Sequence[LegendEntry]) -> None:
        if tuple(entries) == self._entries:
            return
        self._entries = tuple(entries)
        self._rebuild()

    def _rebuild(self) -> None:
        for chip in self._chips:
            self._row.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self._chips = [self._chip(entry) for entry in self._entries]
        for chip in self._chips:
            self._row.addWidget(chip, 1)

    def _chip(self, entry: LegendEntry) -> QFrame:
        chip = QFrame()
        chip.setObjectName("chip")
        chip.setToolTip(entry.tooltip)
        swatch = QLabel()
        swatch.setPixmap(swatch_pixmap(self._theme, entry.hue, self.devicePixelRatioF()))
        name = ElidedLabel("strong_small", entry.name)
        row = QHBoxLayout(chip)
        row.setContentsMargins(10, 4, 6, 4)
        row.setSpacing(7)
        row.addWidget(swatch, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(name, 1)
        if len(self._entries) > MIN_COMPARED:
            row.addWidget(self._remove_button(entry))
        return chip

    def _remove_button(self, entry: LegendEntry) -> QPushButton:
        out = QPushButton()
        out.setProperty("kind", "more")
        out.setFixedSize(20, 20)
        out.setIcon(self._theme.icon("close", "mute"))
        title = self.tr("Remove {name}").format(name=entry.name)
        out.setAccessibleName(title)
        out.setToolTip(title)
        out.clicked.connect(partial(self._leave_out, entry.run))
        return out

    def _leave_out(self, run: str, checked: object = None) -> None:
        del checked
        self.removal_requested.emit(run)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._rebuild()


def swatch_pixmap(theme: Theme, hue: int, scale: float) -> QPixmap:
    """Round spot in a run's colour."""
    pixmap = QPixmap(round(_SWATCH_PX * scale), round(_SWATCH_PX * scale))
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.palette.hue(hue)))
    painter.drawRoundedRect(0, 0, _SWATCH_PX, _SWATCH_PX, 3, 3)
    painter.end()
    return pixmap


def swatch_icon(theme: Theme, hue: int, scale: float) -> QIcon:
    """Round spot in a run's colour, as an icon."""
    return QIcon(swatch_pixmap(theme, hue, scale))


CELL_ROLE = Qt.ItemDataRole.UserRole + 1
"""Role of the `CompareCell` of an index; in the first column, a cell with the row's title."""


class CompareModel(QAbstractTableModel):
    """Table with one titled row per quantity and one column per run, at most six."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[CompareRow] = []
        self._heads: list[tuple[str, QIcon]] = []

    def show_rows(self, rows: Sequence[CompareRow], heads: Sequence[tuple[str, QIcon]]) -> None:
        """Replace the content of the table.

        Args:
            heads: Name and swatch of each run.
        """
        titles = [row.title for row in rows]
        same_form = titles == [row.title for row in self._rows] and len(heads) == len(self._heads)
        if not same_form:
            # Another table: which runs or which rows is only changed by the user.
            self.beginResetModel()
        self._rows = list(rows)
        self._heads = list(heads)
        if not same_form:
            self.endResetModel()
        elif rows:
            last = self.index(len(rows) - 1, len(heads))
            self.dataChanged.emit(self.index(0, 0), last, [])
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(heads))

    def rows(self) -> Sequence[CompareRow]:
        return self._rows

    def names(self) -> list[str]:
        """Names of the runs, from left to right."""
        return [name for name, _ in self._heads]

    @override
    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._heads) + 1

    @override
    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        is_run = orientation == Qt.Orientation.Horizontal and 0 < section <= len(self._heads)
        if not is_run:
            return None
        name, icon = self._heads[section - 1]
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.ToolTipRole:
                return name
            case Qt.ItemDataRole.DecorationRole:
                return icon
            case Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            case _:
                return None

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        row = self._rows[index.row()]
        at = index.column()
        tone = "plain" if row.differs else "mute"
        cell = CompareCell(row.title, tone=tone) if at == 0 else row.cells[at - 1]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return cell.text
            case Qt.ItemDataRole.ToolTipRole:
                return "\n".join(part for part in (cell.text, cell.tooltip) if part)
            case Qt.ItemDataRole.AccessibleTextRole:
                return (
                    cell.text if at == 0 else f"{row.title}, {self.names()[at - 1]}: {cell.text}"
                )
            case Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            case _:
                return _as_shown(cell, row) if role == CELL_ROLE else None


def _as_shown(cell: CompareCell, row: CompareRow) -> CompareCell:
    """The cell, muted if all runs have the same value."""
    if row.differs or cell.tone in {"warn", "crit"}:
        return cell
    return CompareCell(cell.text, cell.tooltip, "mute")
