"""The selected run's readings: title and number, the source as tooltip."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from kmonitor.ui.runs.readings import ReadingGroup
from kmonitor.ui.theme.qt.theme import role_label

_APART = 5
_CLOSE = 2
"""Between two lines, pixels: usually, and where there is little height."""


class ReadingsPanel(QWidget):
    """A small table that grows and shrinks with what is read; labels are kept and reused."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(_APART)
        self._grid.setColumnStretch(0, 1)
        self._shape: tuple[tuple[str, tuple[str, ...], bool], ...] = ()
        self._labels: list[QLabel] = []
        self._numbers: list[QLabel] = []
        self._notes: list[QLabel] = []

    def set_close(self, *, is_close: bool) -> None:
        """Stand closer together, where there is little height."""
        self._grid.setVerticalSpacing(_CLOSE if is_close else _APART)

    def show_groups(self, groups: Sequence[ReadingGroup]) -> None:
        """Show these readings."""
        shape = tuple(
            (group.title, tuple(row.title for row in group.rows), bool(group.absent))
            for group in groups
        )
        if shape != self._shape:
            self._rebuild(groups)
            self._shape = shape
        rows = [row for group in groups for row in group.rows]
        for number, row in zip(self._numbers, rows, strict=True):
            number.setText(row.value)
            number.setToolTip(row.tooltip)
            number.setAccessibleName(f"{row.title}: {row.value}")
        absent = [group.absent for group in groups if group.absent]
        for note, text in zip(self._notes, absent, strict=True):
            note.setText(text)

    def _rebuild(self, groups: Sequence[ReadingGroup]) -> None:
        for label in self._labels:
            self._grid.removeWidget(label)
            label.hide()
            label.deleteLater()
        self._labels = []
        self._numbers = []
        self._notes = []
        line = 0
        for group in groups:
            heading = role_label("section", group.title.upper())
            heading.setContentsMargins(0, 6 if line else 0, 0, 2)
            self._add(heading, line, columns=2)
            line += 1
            for row in group.rows:
                title = role_label("reading", row.title)
                title.setToolTip(row.tooltip)
                number = role_label("number")
                number.setAlignment(Qt.AlignmentFlag.AlignRight)
                self._add(title, line)
                self._add(number, line, column=1)
                self._numbers.append(number)
                line += 1
            if group.absent:
                note = role_label("meta")
                note.setWordWrap(True)
                self._add(note, line, columns=2)
                self._notes.append(note)
                line += 1

    def _add(self, label: QLabel, line: int, *, column: int = 0, columns: int = 1) -> None:
        self._labels.append(label)
        self._grid.addWidget(label, line, column, 1, columns)
