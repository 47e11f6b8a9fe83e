"""A window of its own about a model file: what a load takes, and what is in it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.memory.model_file import FilePicture
from kmonitor.ui.memory.qt.model_file_window import LoadCostPanel
from kmonitor.ui.theme.qt.theme import Look, role_label
from kmonitor.ui.widgets.row_table import RowTable
from kmonitor.ui.widgets.text_table_model import TextTableModel

_NUMBERS = (2, 3)


class ModelFileWindow(QDialog):
    """Not modal; its controller brings the pictures.

    Signals (main thread):
        closed: It is closed: nothing more is to be measured.

    Attributes:
        cost: Its left side.
    """

    closed = Signal()

    def __init__(self, look: Look, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("guide_page", "memory-map.md")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(1060, 640)
        self._name = name
        self._picture = FilePicture()
        self.cost = LoadCostPanel(look)
        self._title = role_label("title")
        self._text = role_label("sub")
        self._facts = QFormLayout()
        self._model = TextTableModel(_NUMBERS, self)
        self._table = RowTable()
        self._build()
        self._set_texts()
        self.finished.connect(self.closed)

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("{file}: load cost and content").format(file=self._name))
        self._title.setText(self.tr("What is in the file"))
        self._table.setAccessibleName(self.tr("Layers in the file"))

    def show_file(self, picture: FilePicture) -> None:
        """Show what is in the file."""
        if picture == self._picture:
            return
        self._picture = picture
        self._text.setText(picture.text)
        self._text.setVisible(bool(picture.text))
        while self._facts.rowCount():
            self._facts.removeRow(0)
        for fact in picture.facts:
            value = role_label("body", fact.value)
            value.setWordWrap(True)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._facts.addRow(_top(role_label("sub", fact.title)), value)
        heads = (self.tr("Layer"), self.tr("Kind"), self.tr("Parameters"), self.tr("In the file"),
                 self.tr("Shapes"))  # fmt: skip
        self._model.show(heads, picture.layers)
        self._table.setVisible(bool(picture.layers))
        for at, width in enumerate((150, 96, 78, 78)):
            self._table.size_column(at, width)

    def _build(self) -> None:
        self._text.setWordWrap(True)
        self._facts.setHorizontalSpacing(14)
        self._facts.setVerticalSpacing(4)
        self._facts.setContentsMargins(0, 0, 0, 4)
        self._table.setModel(self._model)
        self._table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        left, right = QFrame(), QFrame()
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
        column.addWidget(self._table, 1)
        column.addStretch(0)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 14, 14, 14)
        row.setSpacing(12)
        row.addWidget(left, 1)
        row.addWidget(right, 1)


def _top(label: QLabel) -> QLabel:
    label.setAlignment(Qt.AlignmentFlag.AlignTop)
    return label
