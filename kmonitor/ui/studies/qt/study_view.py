"""Page of a study, in place of the charts: fold grid, metric, memory, attempts."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QModelIndex, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QStyle,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.studies.fold_charts import FoldMemoryState, FoldMetricState
from kmonitor.ui.studies.qt.fold_charts_view import FoldMemoryChart, FoldMetricChart
from kmonitor.ui.studies.qt.fold_grid import FoldGrid
from kmonitor.ui.studies.study_page import ATTEMPT_COLUMNS, AttemptRow, StudyState, TimeBar
from kmonitor.ui.theme.palettes import Palette
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.buttons import MenuButton
from kmonitor.ui.widgets.labels import ElidedLabel, LegendRow
from kmonitor.ui.widgets.panel_sizes import EDGE_PX
from kmonitor.ui.widgets.row_table import CELL_PAD, CellDelegate, CellStyle, Index, RowTableView
from kmonitor.ui.widgets.table_models import NOWHERE, ROW_ROLE, CellTableModel

_WIDTHS: Final = {
    "fold": 52,
    "attempt": 84,
    "state": 142,
    "time": 150,
    "steps": 66,
    "why": 120,
}

_NUMBER_PX: Final = 82
_TABLE_PX: Final = 150
_PAD_PX: Final = 12


class StudyPanel(QScrollArea):
    """Page of a study; its controller sets the states. Scrolls if there is too little room.

    Signals (main thread):
        fold_opened: With the index of the fold whose run the user wants to see.
        metric_chosen: With the name of a metric.
        guide_requested: The guide's section about studies should open.
    """

    fold_opened = Signal(int)
    metric_chosen = Signal(str)
    guide_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("guide_page", "folds.md")
        self.setObjectName("study")
        self._theme = theme
        self.fold_grid = FoldGrid(theme)
        self.metric_chart = FoldMetricChart(theme)
        self.memory_chart = FoldMemoryChart(theme)
        self.table_view = RowTableView()
        self._model = StudyModel(self)
        self._inner = QWidget()
        self._lead = ElidedLabel("title", at_end=True)
        self._forecast = ElidedLabel("sub", at_end=True)
        self._facts = ElidedLabel("meta", at_end=True)
        self._metrics = MenuButton(theme, "", {"": ""}, is_prominent=False)
        self._value = role_label("strong_small")
        self._value_label = ElidedLabel("meta", at_end=True)
        self._memory_title = role_label("name")
        self._memory_label = ElidedLabel("meta", at_end=True)
        self._legend = LegendRow(theme)
        self._attempts_title = role_label("name")
        self._copy = QPushButton()
        self._guide = QPushButton()
        self._build()
        self._connect()
        self._on_theme_palette_changed()
        self._set_texts()

    def _set_texts(self) -> None:
        self._attempts_title.setText(self.tr("Attempts"))
        self.table_view.setAccessibleName(self.tr("Attempts"))
        self._copy.setText(self.tr("Copy"))
        self._copy.setToolTip(self.tr("Copy the table as text (Ctrl+C)"))
        self._copy.setAccessibleName(self.tr("Copy the table"))
        self._guide.setText(self.tr("About studies"))
        self._guide.setToolTip(self.tr("Help on run_folds, its limits and terms (F1)"))
        self._guide.setAccessibleName(self._guide.text())

    def show_state(self, state: StudyState) -> None:
        self._lead.setText(state.lead)
        self._forecast.setText(state.forecast or state.empty)
        self._forecast.setVisible(bool(state.forecast or state.empty))
        self._facts.setText(state.facts)
        self.fold_grid.show_cells(state.cells)
        self._model.show_rows(state.rows)
        at = ATTEMPT_COLUMNS.index("vram")
        self.table_view.setColumnHidden(at, not any(row.cells[at] for row in state.rows))

    def show_metric(self, state: FoldMetricState) -> None:
        self.metric_chart.show_state(state)
        choices = {name: name for name in state.choices} or {"": "\u2013"}
        self._metrics.show_choices(self.tr("Metric"), choices, state.metric)
        self._metrics.setEnabled(len(choices) > 1)
        self._value.setText(state.value)
        self._value.setVisible(bool(state.value))
        self._value_label.setText(state.text if state.value else "")

    def show_memory(self, state: FoldMemoryState) -> None:
        self.memory_chart.show_state(state)
        self._memory_title.setText(state.title)
        self._memory_label.setText(state.text if state.bars else "")
        entries = [(self.tr("RAM"), 0), (self.tr("VRAM"), 1)]
        self._legend.show_entries(entries if state.has_vram else [])
        self._legend.setVisible(state.has_vram)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        bar_px = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        self.fold_grid.fit(self.width() - bar_px - EDGE_PX - 2 * (_PAD_PX + 1))

    def focus_first(self) -> None:
        """Focus the fold grid, whose keys are the arrows."""
        self.fold_grid.setFocus(Qt.FocusReason.OtherFocusReason)

    def copy(self) -> str:
        """Copy the whole table to the clipboard as text; returns the text."""
        lines = ["\t".join(self._model.titles())]
        lines += ["\t".join(row.cells) for row in self._model.rows()]
        text = "\n".join(lines)
        QGuiApplication.clipboard().setText(text)
        return text

    def _build(self) -> None:
        self.setWidget(self._inner)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._inner.setObjectName("grid")
        self._copy.setProperty("kind", "small")
        self._guide.setProperty("kind", "small")
        self._build_table()
        charts = QHBoxLayout()
        charts.setSpacing(10)
        charts.addWidget(self._metric_card(), 3)
        charts.addWidget(self._memory_card(), 2)
        column = QVBoxLayout(self._inner)
        # The panel at the right of the charts is hidden, and its edge with it.
        column.setContentsMargins(0, 0, EDGE_PX, 0)
        column.setSpacing(10)
        column.addWidget(self._head_card())
        column.addLayout(charts, 3)
        column.addWidget(self._attempts_card(), 3)

    def _build_table(self) -> None:
        table = self.table_view
        table.setModel(self._model)
        table.setItemDelegate(StudyDelegate(self._theme, attempt_cell_style, table))
        table.setMinimumHeight(_TABLE_PX)
        for at, key in enumerate(ATTEMPT_COLUMNS):
            table.size_column(at, _WIDTHS.get(key, _NUMBER_PX))

    def _head_card(self) -> QFrame:
        text_column = QVBoxLayout()
        text_column.setSpacing(1)
        for label in (self._lead, self._forecast, self._facts):
            text_column.addWidget(label)
        top = QHBoxLayout()
        top.addLayout(text_column, 1)
        top.addWidget(self._guide, 0, Qt.AlignmentFlag.AlignTop)
        card, inside = _card()
        inside.setSpacing(8)
        inside.addLayout(top)
        inside.addWidget(self.fold_grid)
        return card

    def _metric_card(self) -> QFrame:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._metrics)
        head.addWidget(self._value)
        head.addWidget(self._value_label, 1)
        card, inside = _card()
        inside.addLayout(head)
        inside.addWidget(self.metric_chart, 1)
        return card

    def _memory_card(self) -> QFrame:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._memory_title)
        head.addWidget(self._memory_label, 1)
        card, inside = _card()
        inside.addLayout(head)
        inside.addWidget(self._legend)
        inside.addWidget(self.memory_chart, 1)
        return card

    def _attempts_card(self) -> QFrame:
        head = QHBoxLayout()
        head.addWidget(self._attempts_title)
        head.addStretch(1)
        head.addWidget(self._copy)
        card, inside = _card()
        inside.addLayout(head)
        inside.addWidget(self.table_view, 1)
        return card

    def _connect(self) -> None:
        self.fold_grid.opened.connect(self.fold_opened)
        self.memory_chart.opened.connect(self.fold_opened)
        self.table_view.activated.connect(self._on_table_activated)
        self.table_view.doubleClicked.connect(self._on_table_activated)
        self.table_view.copy_requested.connect(self._on_copy_clicked)
        self._copy.clicked.connect(self._on_copy_clicked)
        self._guide.clicked.connect(self.guide_requested)
        self._metrics.chosen.connect(self.metric_chosen)
        self._theme.palette_changed.connect(self._on_theme_palette_changed)

    @Slot(QModelIndex)
    def _on_table_activated(self, index: QModelIndex) -> None:
        row = index.data(ROW_ROLE)
        if isinstance(row, AttemptRow):
            self.fold_opened.emit(row.fold)

    @Slot()
    def _on_copy_clicked(self) -> None:
        self.copy()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._copy.setIcon(self._theme.icon("copy"))
        self._guide.setIcon(self._theme.icon("help", "mute"))
        self.table_view.viewport().update()


def _card() -> tuple[QFrame, QVBoxLayout]:
    card = QFrame()
    card.setObjectName("card")
    inside = QVBoxLayout(card)
    inside.setContentsMargins(_PAD_PX, 9, _PAD_PX, 10)
    inside.setSpacing(6)
    return card, inside


_TEXT_COLUMNS = ("attempt", "state", "time", "why")


class StudyModel(CellTableModel[AttemptRow]):
    """The attempts as rows, added and removed at the end; others are repainted on a change."""

    def show_rows(self, rows: Sequence[AttemptRow]) -> None:
        before = self._rows
        n = len(rows)
        if list(rows) == before:
            return
        if n > len(before):
            self.beginInsertRows(NOWHERE, len(before), n - 1)
            self._rows = list(rows)
            self.endInsertRows()
        elif n < len(before):
            self.beginRemoveRows(NOWHERE, n, len(before) - 1)
            self._rows = list(rows)
            self.endRemoveRows()
        else:
            self._rows = list(rows)
        changed = [at for at, row in enumerate(rows) if at < len(before) and row != before[at]]
        if changed:
            self._emit_rows_changed(changed[0], changed[-1])

    @override
    def titles(self) -> list[str]:
        return [
            self.tr("Fold"),
            self.tr("Attempt"),
            self.tr("State"),
            self.tr("Time"),
            self.tr("Steps"),
            self.tr("RAM peak"),
            self.tr("Growth"),
            self.tr("VRAM peak"),
            self.tr("Reason"),
        ]

    @override
    def n_columns(self) -> int:
        return len(ATTEMPT_COLUMNS)

    @override
    def cells_of(self, row: AttemptRow) -> Sequence[str]:
        return row.cells

    @override
    def tooltip_of(self, row: AttemptRow, column: int) -> str:
        return row.tooltip

    @override
    def is_number(self, column: int) -> bool:
        return ATTEMPT_COLUMNS[column] not in _TEXT_COLUMNS

    @override
    def name_of(self, row: AttemptRow) -> str:
        return f"{self.titles()[0]} {row.cells[0]}"

    @override
    def explained(self, column: int) -> str | None:
        return {
            "fold": self.tr("Counted from 0, as in the script"),
            "attempt": self.tr(
                "Counted from 1; “resumed” means that the attempt continued where the previous "
                "one was killed"
            ),
            "time": self.tr("Run time; for a running attempt, also the estimated total"),
            "ram": self.tr("Peak memory of all its processes together"),
            "growth": self.tr("Memory growth of its processes from start to end"),
            "vram": self.tr("Peak of the framework's allocator on its GPU"),
        }.get(ATTEMPT_COLUMNS[column])


_BAR_PX: Final = 3
_TIME_COLUMN: Final = ATTEMPT_COLUMNS.index("time")


class StudyDelegate(CellDelegate):
    """Paints cells as in every table, and a bar below each time relative to the longest one."""

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        row = index.data(ROW_ROLE)
        if isinstance(row, AttemptRow) and index.column() == _TIME_COLUMN and row.bar is not None:
            area = QRectF(option.rect)  # type: ignore[attr-defined]
            room = area.adjusted(CELL_PAD, 0, -CELL_PAD, 0)
            _paint_bar(painter, room, row, row.bar, self._theme.palette)


def attempt_cell_style(index: Index, colours: Palette) -> CellStyle | None:
    row = index.data(ROW_ROLE)
    if not isinstance(row, AttemptRow):
        return None
    key = ATTEMPT_COLUMNS[index.column()]
    text = row.cells[index.column()]
    if key == "state":
        return CellStyle(text, colours.tone(row.tone), row.icon)
    if key == "why":
        return CellStyle(text, colours.sub)
    return CellStyle(text, colours.text)


def _paint_bar(
    painter: QPainter, room: QRectF, row: AttemptRow, bar: TimeBar, colours: Palette
) -> None:
    painter.save()
    painter.setPen(Qt.PenStyle.NoPen)
    top = room.bottom() - _BAR_PX - 2
    if bar.forecast is not None:
        # An estimate is lighter than what was measured.
        ahead = QColor(colours.tone(row.tone))
        ahead.setAlphaF(0.35)
        painter.setBrush(ahead)
        painter.drawRect(QRectF(room.left(), top, room.width() * bar.forecast, _BAR_PX))
    painter.setBrush(QColor(colours.tone(row.tone)))
    painter.drawRect(QRectF(room.left(), top, max(1.0, room.width() * bar.done), _BAR_PX))
    if bar.limit is not None:
        painter.setPen(QPen(QColor(colours.crit), 1.5))
        x = room.left() + room.width() * bar.limit
        painter.drawLine(
            QRectF(x, top - 3, 0, _BAR_PX + 4).topLeft(),
            QRectF(x, top + _BAR_PX + 1, 0, 0).topLeft(),
        )
    painter.restore()
