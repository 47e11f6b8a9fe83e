"""Rows of the settings' pages: a control with its title, and cards with buttons."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.theme.qt.theme import role_label, set_tone


class SettingRow(QFrame):
    """Title and control in one line, texts below."""

    def __init__(self, controls: Sequence[QWidget], parent: QWidget | None = None) -> None:
        """Without texts yet."""
        super().__init__(parent)
        self._title = role_label("strong_small")
        self._explanation = role_label("sub")
        self._explanation.hide()
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
        for label in (self._why, self._explanation):
            label.setWordWrap(True)
            column.addWidget(label)

    def call(self, title: str) -> None:
        """Say what it is called."""
        self._title.setText(title)

    def explain(self, text: str) -> None:
        """Say what it means now."""
        self._explanation.setText(text)
        self._explanation.setVisible(bool(text))

    def refuse(self, why: str) -> None:
        """Say what is wrong with what was typed; empty: nothing is."""
        self._why.setText(why)
        self._why.setVisible(bool(why))


@dataclass(frozen=True, slots=True)
class CardButton:
    """A button of a card.

    Attributes:
        title: On it.
        tooltip: What it does.
        name: The same with what the card is about, for a screen reader.
        act: Called when it is pressed.
    """

    title: str
    tooltip: str
    name: str
    act: Callable[[], object]


def text_card(labels: Iterable[QWidget], buttons: Iterable[CardButton]) -> QFrame:
    """A card with lines of text, and buttons beside them."""
    card = QFrame()
    card.setObjectName("card")
    text_column = QVBoxLayout()
    text_column.setSpacing(1)
    for label in labels:
        text_column.addWidget(label)
    row = QHBoxLayout(card)
    row.setContentsMargins(12, 8, 8, 8)
    row.setSpacing(6)
    row.addLayout(text_column, 1)
    for each in buttons:
        button = QPushButton(each.title)
        button.setProperty("kind", "filter")
        button.setToolTip(each.tooltip)
        button.setAccessibleName(each.name)
        button.setAutoDefault(False)
        button.clicked.connect(_without_check(each.act))
        row.addWidget(button)
    return card


def _without_check(act: Callable[[], object]) -> Callable[[object], None]:
    """Drop the checked state that a button's signal passes."""

    def pressed(checked: object = None) -> None:
        del checked
        act()

    return pressed


class CardColumn(QVBoxLayout):
    """A column of cards, which it owns; main thread only."""

    def __init__(self) -> None:
        super().__init__()
        self._cards: list[QWidget] = []

    def show_cards(self, cards: Iterable[QWidget]) -> None:
        """Show these in the place of the present ones, which go."""
        for card in self._cards:
            self.removeWidget(card)
            card.hide()
            card.deleteLater()
        self._cards = list(cards)
        for card in self._cards:
            self.addWidget(card)
