"""Window for a model file: the cost of each way to load it, and its content."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.memory.load_cost import REPEATS, CostRow, LoadCostState
from kmonitor.ui.memory.model_file import ModelFileState
from kmonitor.ui.memory.qt.stacked_bar import StackedBar
from kmonitor.ui.theme.qt.theme import Theme, role_label, set_tone
from kmonitor.ui.widgets.buttons import MenuButton
from kmonitor.ui.widgets.labels import LegendRow
from kmonitor.ui.widgets.row_table import RowTableView
from kmonitor.ui.widgets.table_models import TextTableModel


class LoadCostPanel(QWidget):
    """Shows a `LoadCostState`.

    Signals (main thread):
        measure_requested: With the number of processes for each way.
        cancel_requested: The measurement should be cancelled.
    """

    measure_requested = Signal(int)
    cancel_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.cost_state = LoadCostState()
        self._title = role_label("title")
        self._repeats = MenuButton(theme, "", self._counts(), is_prominent=False)
        self._repeats.choose(str(REPEATS[1]))
        self.measure = QPushButton()
        self.measure.setProperty("kind", "primary")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self.progress = role_label("sub")
        self.text = role_label("sub")
        self.text.setWordWrap(True)
        self.recommended = role_label("strong")
        self.recommended.setWordWrap(True)
        self._legend = LegendRow(theme)
        self._inside = QWidget()
        self._rows = QVBoxLayout(self._inside)
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self._title.setText(self.tr("Cost of loading"))
        self._repeats.rename(self.tr("Processes per method"), self._counts())
        self._bar.setAccessibleName(self.tr("Finished processes"))
        self._name_button()

    def show_state(self, state: LoadCostState) -> None:
        before, self.cost_state = self.cost_state, state
        self._name_button()
        self._repeats.setVisible(not state.is_running)
        self._bar.setVisible(state.is_running)
        self._bar.setRange(0, max(1, state.total))
        self._bar.setValue(state.n_done)
        self.progress.setText(state.progress)
        self.progress.setVisible(bool(state.progress))
        self.text.setText(state.text)
        self.text.setVisible(bool(state.text))
        set_tone(self.text, state.tone)
        self.recommended.setText("\n".join(state.recommended))
        self.recommended.setVisible(bool(state.recommended))
        parts = next((row.bar for row in state.rows if row.bar), ())
        self._legend.show_entries([(part.title, part.hue) for part in parts])
        self._legend.setVisible(bool(parts))
        if state.rows != before.rows:
            self._show_rows(state)

    def _show_rows(self, state: LoadCostState) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row in state.rows:
            self._rows.addWidget(self._row(row, state.reach))
        self._rows.addStretch(1)

    def _row(self, row: CostRow, reach: float) -> QWidget:
        widget = QWidget()
        column = QVBoxLayout(widget)
        column.setContentsMargins(0, 0, 0, 6)
        column.setSpacing(3)
        head = QHBoxLayout()
        head.addWidget(role_label("strong_small", row.title))
        mark = role_label("strong_small", row.marks)
        set_tone(mark, "accent")
        head.addWidget(mark)
        head.addStretch(1)
        column.addLayout(head)
        if row.bar:
            bar = StackedBar(self._theme)
            bar.show_parts(row.bar, reach=reach)
            bar.setAccessibleName(row.title)
            bar.setAccessibleDescription(row.figures)
            column.addWidget(bar)
            column.addWidget(role_label("body", row.figures))
        label = role_label("sub", row.text)
        label.setWordWrap(True)
        set_tone(label, row.tone)
        column.addWidget(label)
        return widget

    def _counts(self) -> dict[str, str]:
        return {str(n): str(n) for n in REPEATS}

    def _name_button(self) -> None:
        is_running = self.cost_state.is_running
        text = self.tr("Cancel") if is_running else self.tr("Measure")
        self.measure.setText(text)
        self.measure.setAccessibleName(text)
        self.measure.setToolTip(
            self.tr("Stop the current process and do not start any more")
            if is_running
            else self.tr("Load the file with each method, in separate processes")
        )

    def _build(self) -> None:
        tools = QHBoxLayout()
        tools.setSpacing(8)
        tools.addWidget(self._title, 1)
        tools.addWidget(self._repeats)
        tools.addWidget(self.measure)
        self._inside.setObjectName("scrolled")
        self._rows.setContentsMargins(1, 1, 8, 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._inside)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(tools)
        for part in (self._bar, self.progress, self.recommended, self.text, self._legend):
            column.addWidget(part)
        column.addWidget(scroll, 1)
        self.measure.clicked.connect(self._on_measure_clicked)

    @Slot()
    def _on_measure_clicked(self) -> None:
        if self.cost_state.is_running:
            self.cancel_requested.emit()
        else:
            self.measure_requested.emit(int(self._repeats.key))


_NUMBER_COLUMNS = (2, 3)


class ModelFileWindow(QDialog):
    """Window for a model file; not modal. Its controller sets the states.

    Signals (main thread):
        closed: The window was closed: the measurement should be cancelled.

    Attributes:
        cost: Left side of the window.
        file_state: Content of the file.
        model: Rows of the layers in the file.
    """

    closed = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("guide_page", "memory-map.md")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(1060, 640)
        self._name = name
        self.file_state = ModelFileState()
        self.cost = LoadCostPanel(theme)
        self._title = role_label("title")
        self._text = role_label("sub")
        self._facts = QFormLayout()
        self.model = TextTableModel(_NUMBER_COLUMNS, self)
        self._table_view = RowTableView()
        self._build()
        self._set_texts()
        self.finished.connect(self.closed)

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("{file}: load cost and contents").format(file=self._name))
        self._title.setText(self.tr("Contents of the file"))
        self._table_view.setAccessibleName(self.tr("Layers in the file"))

    def show_file(self, state: ModelFileState) -> None:
        if state == self.file_state:
            return
        self.file_state = state
        self._text.setText(state.text)
        self._text.setVisible(bool(state.text))
        while self._facts.rowCount():
            self._facts.removeRow(0)
        for fact in state.facts:
            value = role_label("body", fact.value)
            value.setWordWrap(True)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._facts.addRow(_top(role_label("sub", fact.title)), value)
        heads = (self.tr("Layer"), self.tr("Type"), self.tr("Parameters"), self.tr("In the file"),
                 self.tr("Shapes"))  # fmt: skip
        self.model.show(heads, state.layers)
        self._table_view.setVisible(bool(state.layers))
        for at, width in enumerate((150, 96, 78, 78)):
            self._table_view.size_column(at, width)

    def _build(self) -> None:
        self._text.setWordWrap(True)
        self._facts.setHorizontalSpacing(14)
        self._facts.setVerticalSpacing(4)
        self._facts.setContentsMargins(0, 0, 0, 4)
        self._table_view.setModel(self.model)
        self._table_view.horizontalHeader().setSectionResizeMode(
            QHeaderView.ResizeMode.Interactive
        )
        left = QFrame()
        right = QFrame()
        for card in (left, right):
            card.setObjectName("card")
        inside = QVBoxLayout(left)
        inside.setContentsMargins(14, 12, 10, 12)
        inside.addWidget(self.cost)
        column = QVBoxLayout(right)
        column.setContentsMargins(14, 12, 10, 12)
        column.setSpacing(8)
        column.addWidget(self._title)
        column.addWidget(self._text)
        column.addLayout(self._facts)
        column.addWidget(self._table_view, 1)
        column.addStretch(0)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 14, 14, 14)
        row.setSpacing(12)
        row.addWidget(left, 1)
        row.addWidget(right, 1)


def _top(label: QLabel) -> QLabel:
    label.setAlignment(Qt.AlignmentFlag.AlignTop)
    return label
