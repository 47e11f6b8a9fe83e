"""A column of cards that is filled anew when what it shows changes."""

from collections.abc import Iterable

from PySide6.QtWidgets import QVBoxLayout, QWidget


class CardColumn(QVBoxLayout):
    """Owns the widgets that it was given last; main thread only."""

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
