"""Page of the memory map: totals, icicle and table by layer, and the device."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.memory.device_split import DeviceSplitRow, DeviceSplitState
from kmonitor.ui.memory.layers import MAP_COLUMNS, MapRow
from kmonitor.ui.memory.map_estimator import MapPageState
from kmonitor.ui.memory.qt.icicle import Icicle
from kmonitor.ui.memory.qt.stacked_bar import StackedBar
from kmonitor.ui.memory.qt.what_if_view import WhatIfSidebar
from kmonitor.ui.memory.subjects import Missing
from kmonitor.ui.memory.totals import MapTotalsState
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme, role_label, set_tone
from kmonitor.ui.widgets.buttons import SegmentedControl
from kmonitor.ui.widgets.keyboard import add_shortcut
from kmonitor.ui.widgets.labels import ElidedLabel, LegendRow
from kmonitor.ui.widgets.row_table import CellDelegate, CellStyle, Index, RowTableView
from kmonitor.ui.widgets.table_models import ROW_ROLE, CellTableModel


class DeviceSplitPanel(QScrollArea):
    """Shows a `DeviceSplitState`; scrolls if there is too little room."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._split_state: DeviceSplitState | None = None
        self._title = role_label("title")
        self._bar = StackedBar(theme)
        self._legend = LegendRow(theme)
        self._rows = QGridLayout()
        self._explanation = role_label("sub")
        self._explanation.setWordWrap(True)
        self._explanation.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setObjectName("keys")
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self.setAccessibleName(self.tr("Memory on the device"))

    def show_state(self, state: DeviceSplitState) -> None:
        if state == self._split_state:
            return
        self._split_state = state
        self._title.setText(state.title)
        self._bar.show_parts(state.parts, reach=state.reach)
        self._bar.setAccessibleName(state.title)
        self._bar.setAccessibleDescription(state.description)
        self.setAccessibleDescription(state.description)
        self._legend.show_entries([(part.title, part.hue) for part in state.parts])
        self._explanation.setText("\n\n".join(state.paragraphs))
        self._show_rows(state.rows)

    def _show_rows(self, rows: tuple[DeviceSplitRow, ...]) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for at, row in enumerate(rows):
            title = _wrapped(role_label("body", row.title))
            size = role_label("number", row.text or self.tr("not read"))
            if not row.text:
                size.setProperty("role", "meta")
            source = _wrapped(role_label("meta", row.source))
            top = Qt.AlignmentFlag.AlignTop
            self._rows.addWidget(title, at, 0, top)
            self._rows.addWidget(size, at, 1, top | Qt.AlignmentFlag.AlignRight)
            self._rows.addWidget(source, at, 2, top)

    def _build(self) -> None:
        inside = QWidget()
        inside.setObjectName("scrolled")
        card = QFrame()
        card.setObjectName("card")
        self._rows.setHorizontalSpacing(18)
        self._rows.setVerticalSpacing(7)
        self._rows.setColumnStretch(0, 3)
        self._rows.setColumnStretch(2, 4)
        column = QVBoxLayout(card)
        column.setContentsMargins(16, 13, 16, 14)
        column.setSpacing(10)
        for part in (self._title, self._bar, self._legend):
            column.addWidget(part)
        column.addLayout(self._rows)
        line = QFrame()
        line.setObjectName("line")
        line.setFixedHeight(1)
        column.addWidget(line)
        column.addWidget(self._explanation)
        outer = QVBoxLayout(inside)
        outer.setContentsMargins(1, 1, 1, 1)
        outer.addWidget(card)
        outer.addStretch(1)
        self.setWidget(inside)


def _wrapped(label: QLabel) -> QLabel:
    label.setWordWrap(True)
    return label


_WIDTHS: Final = {"layer": 172, "kind": 118, "note": 150}
_NUMBER_PX: Final = 76
_TEXT_PX: Final = 560


class MemoryMapPanel(QFrame):
    """Page of the memory map; its controller sets the states.

    Signals (main thread):
        close_requested: The charts should be shown again.
        file_requested: The user wants to choose a model file.
        details_requested: The user wants the content of the file and the cost of loading it.
        missing_requested: The user wants to choose the file that would complete this one.
        view_chosen: "layers" or "device".
        sort_requested: With the key of a column.

    Attributes:
        view: The view that is shown.
        views: Switch between the views.
        title: Name of the run or file.
        table_view: The layers; `model` has its rows.
        text: Reason why there is no map.
        remedy: How to get a map.
        missing: Button that chooses the file that would complete this one.
    """

    close_requested = Signal()
    file_requested = Signal()
    details_requested = Signal()
    missing_requested = Signal()
    view_chosen = Signal(str)
    sort_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("guide_page", "memory-map.md")
        self._theme = theme
        self.view = "layers"
        self.totals = MapTotals(theme)
        self.icicle = Icicle(theme)
        self.if_sidebar = WhatIfSidebar(theme)
        self.split = DeviceSplitPanel(theme)
        self._legend = LegendRow(theme)
        self.model = MapModel(self)
        self.table_view = RowTableView()
        self._back = QPushButton()
        self._open = QPushButton()
        self._details = QPushButton()
        self._copy = QPushButton()
        self.missing = QPushButton()
        self.title = ElidedLabel("title")
        self._subtitle = ElidedLabel("meta", at_end=True)
        self.views = SegmentedControl(self._view_titles(), "")
        self.text = role_label("title")
        self.remedy = role_label("sub")
        self._body = QWidget()
        self._pages = QStackedWidget()
        self._empty = QWidget()
        self._has_map = False
        self._needs: Missing = ""
        self._build()
        self._connect()
        self._on_theme_palette_changed()
        self._set_texts()

    def _set_texts(self) -> None:
        self._back.setText(self.tr("Charts"))
        self._back.setToolTip(self.tr("Back to the charts (Esc)"))
        self._open.setText(self.tr("Open model file\u2026"))
        self._open.setToolTip(self.tr("Memory map of a .keras, .h5 or .json file (Ctrl+Shift+O)"))
        self._details.setText(self.tr("File and load cost\u2026"))
        self._details.setToolTip(
            self.tr("Contents of the file, and the cost of each loading method")
        )
        self._name_missing()
        for button in (self._back, self._open, self._details):
            button.setAccessibleName(button.text())
        self._copy.setToolTip(self.tr("Copy the table as text (Ctrl+C)"))
        self._copy.setAccessibleName(self.tr("Copy the table"))
        self.views.rename(self._view_titles(), self.tr("View"))
        self.table_view.setAccessibleName(self.tr("Layers"))

    def show_page(self, state: MapPageState, *, needs: Missing = "") -> None:
        """Show the heading, and the map if there is one.

        Args:
            needs: File that would complete the displayed one.
        """
        self.title.setText(state.title)
        self._subtitle.setText(state.subtitle)
        self.views.setVisible(state.has_device)
        self._details.setVisible(state.has_file)
        for label, text in ((self.text, state.text), (self.remedy, state.remedy)):
            label.setText(text)
            label.setVisible(bool(text))
            # A centred part of a box gets the height of one line, however many it wraps into.
            label.ensurePolished()
            label.setFixedHeight(max(0, label.heightForWidth(_TEXT_PX)))
        self._needs = needs
        self.missing.setVisible(bool(needs))
        self._name_missing()
        self._has_map = state.is_filled
        if not state.has_device:
            self.view = "layers"
        self.views.choose(self.view)
        self._show_view()

    def show_layers(self, rows: Sequence[MapRow], legend: Sequence[tuple[str, int]]) -> None:
        self._legend.show_entries(legend)
        chosen = self.chosen_path()
        self.model.show_rows(rows)
        self._choose(chosen)
        self.table_view.viewport().update()

    def show_order(self, key: str) -> None:
        """Highlight the column that the rows are sorted by."""
        head = self.table_view.horizontalHeader()
        head.setSortIndicatorShown(key != "layer")
        is_text = key in ("kind", "note")
        sort_order = Qt.SortOrder.AscendingOrder if is_text else Qt.SortOrder.DescendingOrder
        head.setSortIndicator(MAP_COLUMNS.index(key), sort_order)

    def focus_first(self) -> None:
        """Focus the table, whose keys are the arrows."""
        focused = self.table_view if self._has_map and self.view == "layers" else self._back
        focused.setFocus(Qt.FocusReason.OtherFocusReason)

    def copy(self) -> str:
        """Copy the whole table to the clipboard as text; returns the text."""
        lines = ["\t".join(self.model.titles())]
        lines += ["\t".join(row.cells) for row in self.model.rows()]
        text = "\n".join(lines)
        QGuiApplication.clipboard().setText(text)
        return text

    def _name_missing(self) -> None:
        if self._needs == "config":
            text = self.tr("Architecture\u2026")
            tooltip = self.tr("A JSON file from to_json")
        else:
            text = self.tr("Custom classes\u2026")
            tooltip = self.tr(
                "A Python file with the model's classes, which runs in a separate process"
            )
        self.missing.setText(text)
        self.missing.setAccessibleName(text)
        self.missing.setToolTip(tooltip)

    def _view_titles(self) -> dict[str, str]:
        return {"layers": self.tr("Layers"), "device": self.tr("Device")}

    def chosen_path(self) -> str:
        row = self.table_view.currentIndex().data(ROW_ROLE)
        return row.path if isinstance(row, MapRow) else ""

    def _choose(self, path: str) -> None:
        at = self.model.index_of_layer(path)
        if at is not None and at != self.table_view.currentIndex().row():
            self.table_view.choose_row(at)

    def _show_view(self) -> None:
        if self.view == "device":
            self._pages.setCurrentWidget(self.split)
        else:
            self._pages.setCurrentWidget(self._body if self._has_map else self._empty)

    def _build(self) -> None:
        self._copy.setProperty("kind", "small")
        self._build_table()
        titles = QVBoxLayout()
        titles.setSpacing(0)
        titles.addWidget(self.title)
        titles.addWidget(self._subtitle)
        top = QHBoxLayout()
        top.setSpacing(10)
        top.addWidget(self._back)
        top.addLayout(titles, 1)
        for part in (self.views, self._details, self._open):
            top.addWidget(part)
        self._build_body()
        self._build_empty()
        for page in (self._body, self.split, self._empty):
            self._pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(SIZES.gutter, SIZES.gutter, SIZES.gutter, SIZES.gutter)
        column.setSpacing(10)
        column.addLayout(top)
        column.addWidget(self._pages, 1)

    def _build_table(self) -> None:
        table = self.table_view
        head = self.table_view.horizontalHeader()
        table.setModel(self.model)
        table.setItemDelegate(CellDelegate(self._theme, _cell_of, table))
        table.name_columns(MAP_COLUMNS)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        head.setSectionsClickable(True)
        for at, key in enumerate(MAP_COLUMNS):
            table.size_column(at, _WIDTHS.get(key, _NUMBER_PX))

    def _build_body(self) -> None:
        card = QFrame()
        card.setObjectName("card")
        tools = QHBoxLayout()
        tools.addWidget(self._legend, 1)
        tools.addWidget(self._copy)
        inside = QVBoxLayout(card)
        inside.setContentsMargins(10, 8, 10, 8)
        inside.setSpacing(6)
        inside.addLayout(tools)
        inside.addWidget(self.icicle, 2)
        inside.addWidget(self.table_view, 3)
        left = QVBoxLayout()
        left.setSpacing(10)
        left.addWidget(self.totals)
        left.addWidget(card, 1)
        row = QHBoxLayout(self._body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addLayout(left, 1)
        row.addWidget(self.if_sidebar)

    def _build_empty(self) -> None:
        column = QVBoxLayout(self._empty)
        column.setSpacing(10)
        column.addStretch(1)
        for label in (self.text, self.remedy):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            label.setFixedWidth(_TEXT_PX)
            column.addWidget(label, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.missing, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(2)

    def _connect(self) -> None:
        self._back.clicked.connect(self.close_requested)
        self._open.clicked.connect(self.file_requested)
        self._details.clicked.connect(self.details_requested)
        self.missing.clicked.connect(self.missing_requested)
        self._copy.clicked.connect(self._on_copy_clicked)
        self.table_view.copy_requested.connect(self._on_copy_clicked)
        self.views.chosen.connect(self._on_views_chosen)
        self.icicle.chosen.connect(self._on_icicle_chosen)
        self.table_view.selectionModel().currentRowChanged.connect(self._on_table_row_changed)
        self.table_view.horizontalHeader().sectionClicked.connect(self._on_head_section_clicked)
        add_shortcut("map_close", self).activated.connect(self.close_requested)
        self._theme.palette_changed.connect(self._on_theme_palette_changed)

    @Slot(str)
    def _on_views_chosen(self, view: str) -> None:
        self.view = view
        self._show_view()
        self.view_chosen.emit(view)

    @Slot(str)
    def _on_icicle_chosen(self, path: str) -> None:
        self._choose(path)

    @Slot(QModelIndex, QModelIndex)
    def _on_table_row_changed(self, current: QModelIndex, before: QModelIndex) -> None:
        del before
        row = current.data(ROW_ROLE)
        if isinstance(row, MapRow):
            self.icicle.choose(row.path)

    @Slot(int)
    def _on_head_section_clicked(self, at: int) -> None:
        self.sort_requested.emit(MAP_COLUMNS[at])

    @Slot()
    def _on_copy_clicked(self) -> None:
        self.copy()

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._back.setIcon(self._theme.icon("back", "mute"))
        self._copy.setIcon(self._theme.icon("copy"))
        self.table_view.viewport().update()


def _cell_of(index: Index, colours: Palette) -> CellStyle | None:
    row = index.data(ROW_ROLE)
    if not isinstance(row, MapRow):
        return None
    key = MAP_COLUMNS[index.column()]
    text = row.cells[index.column()]
    if key == "note":
        return CellStyle(text, colours.warn if row.tone == "warn" else colours.sub)
    return CellStyle(text, colours.sub if key == "kind" else colours.text)


class MapTotals(QFrame):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._peak_title = role_label("name")
        self.peak = role_label("value")
        self._tier = ElidedLabel("strong_small", at_end=True)
        self._interval = role_label("sub")
        self._interval.setWordWrap(True)
        self._measured = role_label("body")
        self._measured.setWordWrap(True)
        self._notes = role_label("sub")
        self._notes.setWordWrap(True)
        set_tone(self._notes, "warn")
        self._bar = StackedBar(theme)
        self._legend = LegendRow(theme)
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self._peak_title.setText(self.tr("Peak of a training step"))
        self._bar.setAccessibleName(self.tr("Memory at the peak"))

    def show_state(self, state: MapTotalsState) -> None:
        self.peak.setText(state.peak)
        self._tier.setText(state.tier)
        self._tier.setToolTip(state.tier_tooltip)
        set_tone(self._tier, state.tone)
        self._interval.setText(state.interval)
        self._measured.setText(state.measured)
        self._notes.setText("\n".join(state.notes))
        self._notes.setVisible(bool(state.notes))
        self._bar.show_parts(state.parts, reach=state.reach, marks=state.marks, span=state.span)
        self._bar.setAccessibleDescription(state.description)
        self._legend.show_entries([(f"{p.title} {p.text}", p.hue) for p in state.parts])

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._peak_title, 0, Qt.AlignmentFlag.AlignBaseline)
        head.addWidget(self.peak, 0, Qt.AlignmentFlag.AlignBaseline)
        head.addWidget(self._tier, 1, Qt.AlignmentFlag.AlignBaseline)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 9, 14, 11)
        column.setSpacing(5)
        column.addLayout(head)
        for part in (self._interval, self._bar, self._legend, self._measured, self._notes):
            column.addWidget(part)


_TEXT_COLUMNS = ("layer", "kind", "note")


class MapModel(CellTableModel[MapRow]):
    """The table by layer; a row is identified by its layer's path."""

    def show_rows(self, rows: Sequence[MapRow]) -> None:
        is_same = [row.path for row in rows] == [row.path for row in self._rows]
        if not is_same:
            # Another model, or another order: both only by the user.
            self.beginResetModel()
        self._rows = list(rows)
        if not is_same:
            self.endResetModel()
        elif rows:
            self._emit_rows_changed(0, len(rows) - 1)

    def index_of_layer(self, path: str) -> int | None:
        return next((at for at, row in enumerate(self._rows) if row.path == path), None)

    @override
    def titles(self) -> list[str]:
        return [
            self.tr("Layer"),
            self.tr("Type"),
            self.tr("Total"),
            self.tr("Weights"),
            self.tr("Optimizer"),
            self.tr("Gradients"),
            self.tr("Activations"),
            self.tr("Workspace"),
            self.tr("Note"),
        ]

    @override
    def n_columns(self) -> int:
        return len(MAP_COLUMNS)

    @override
    def cells_of(self, row: MapRow) -> Sequence[str]:
        return row.cells

    @override
    def tooltip_of(self, row: MapRow, column: int) -> str:
        return row.tooltip

    @override
    def is_number(self, column: int) -> bool:
        return MAP_COLUMNS[column] not in _TEXT_COLUMNS

    @override
    def explained(self, column: int) -> str | None:
        return {
            "total": self.tr("Share of the peak; all rows add up to the peak"),
            "weights": self.tr("Parameters and states; exact"),
            "slots": self.tr("Optimizer state for the weights; exact"),
            "gradients": self.tr("Gradients of trainable weights that exist at the peak"),
            "kept": self.tr("Activations still needed for the backward pass"),
            "workspace": self.tr("Everything else at the peak"),
        }.get(MAP_COLUMNS[column])
