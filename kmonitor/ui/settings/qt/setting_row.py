"""A row of the settings: what it is called, its control, what it means, and what is wrong."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from kmonitor.ui.theme.qt.theme import role_label, set_tone


class SettingRow(QFrame):
    """Title and control in one line, words below."""

    def __init__(self, controls: Sequence[QWidget], parent: QWidget | None = None) -> None:
        """Without words yet."""
        super().__init__(parent)
        self._title = role_label("strong_small")
        self._words = role_label("sub")
        self._words.hide()
        self._why = role_label("body")
        set_tone(self._why, "crit")
        self._why.hide()
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._title, 1)
        for control in controls:
            line.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(line)
        for label in (self._why, self._words):
            label.setWordWrap(True)
            column.addWidget(label)

    def call(self, title: str) -> None:
        """Say what it is called."""
        self._title.setText(title)

    def explain(self, words: str) -> None:
        """Say what it means now."""
        self._words.setText(words)
        self._words.setVisible(bool(words))

    def refuse(self, why: str) -> None:
        """Say what is wrong with what was typed; empty: nothing is."""
        self._why.setText(why)
        self._why.setVisible(bool(why))
