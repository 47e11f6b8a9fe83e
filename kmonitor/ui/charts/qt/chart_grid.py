"""Grid of chart cards, with as many columns as fit; the grid scrolls if it is too tall."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QPoint, QRect, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QMenu, QScrollArea, QWidget
from typing_extensions import override

from kmonitor.ui.charts.qt.chart_card import ChartCard
from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.widgets.keyboard import set_tab_order, tab_stop_before

_WIDE_FROM: Final = 1080
"""Width, pixels, from which there are three columns."""

_USUAL: Final = 4
_LEAST_ROW: Final = 216
"""Least height of a card, pixels; the grid scrolls instead of shrinking cards further."""


class ChartGrid(QScrollArea):
    """Lays cards out; holds no logic. Main thread only.

    Signals:
        card_dropped: Key of a card, and the position at which it was dropped, from 0.
        moved: Other cards may be in view than before.
        picture_requested: Key of a card, "png" or "svg".
        menu_opening: Key of a card, and its menu.
        evidence_requested: Key of a card.
    """

    card_dropped = Signal(str, int)
    moved = Signal()
    picture_requested = Signal(str, str)
    menu_opening = Signal(str, QMenu)
    evidence_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._cards: dict[str, ChartCard] = {}
        self._shown: tuple[str, ...] = ()
        self._columns = 0
        self._inner = QWidget()
        self._grid = QGridLayout(self._inner)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(SIZES.gutter)
        self._inner.setObjectName("grid")
        self.setWidget(self._inner)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verticalScrollBar().setSingleStep(48)
        self.verticalScrollBar().valueChanged.connect(self._on_bar_value_changed)

    def card(self, key: str, title: str = "") -> ChartCard:
        """Return the card of a key; it is created at its first use."""
        card = self._cards.get(key)
        if card is None:
            card = ChartCard(key, title, self._theme, self._inner)
            card.hide()
            card.picture_requested.connect(self.picture_requested)
            card.menu_opening.connect(self.menu_opening)
            card.evidence_requested.connect(self.evidence_requested)
            card.dragged.connect(self._on_card_dragged)
            card.dropped.connect(self._on_card_dropped)
            self._cards[key] = card
        return card

    def show_cards(self, keys: Sequence[str]) -> None:
        """Show these cards from left to right and top to bottom, and hide the others."""
        for key, card in self._cards.items():
            if key not in keys:
                self._grid.removeWidget(card)
                card.hide()
        self._shown = tuple(keys)
        self._lay_out_cards()

    def drop(self, key: str) -> None:
        """Delete a card that is no longer needed, with its chart."""
        card = self._cards.pop(key, None)
        if card is not None:
            self._grid.removeWidget(card)
            card.hide()
            card.deleteLater()

    def is_in_sight(self, key: str) -> bool:
        """True if any part of a card is within the scrolled area."""
        card = self._cards.get(key)
        if card is None or key not in self._shown:
            return False
        top = self.verticalScrollBar().value()
        seen = QRect(0, top, self._inner.width(), max(self.viewport().height(), 1))
        return card.geometry().intersects(seen)

    def scroll_to(self, key: str) -> None:
        card = self._cards.get(key)
        if card is not None:
            self._grid.activate()
            self.ensureWidgetVisible(card, 0, SIZES.gutter)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._wanted_columns() != self._columns:
            self._lay_out_cards()
        self.moved.emit()

    def _lay_out_cards(self) -> None:
        columns = self._wanted_columns()
        rows = -(-len(self._shown) // columns) if self._shown else 0
        for at, key in enumerate(self._shown):
            card = self._cards[key]
            self._grid.addWidget(card, at // columns, at % columns)
            card.show()
        for column in range(max(columns, self._columns)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        for row in range(self._grid.rowCount()):
            self._grid.setRowStretch(row, 1 if row < rows else 0)
            is_many = len(self._shown) > _USUAL and row < rows
            self._grid.setRowMinimumHeight(row, _LEAST_ROW if is_many else 0)
        self._columns = columns
        before = tab_stop_before(self)
        stops = [stop for key in self._shown for stop in self._cards[key].stops()]
        set_tab_order(stops if before is None else [before, *stops])

    def _wanted_columns(self) -> int:
        n = len(self._shown)
        if n <= _USUAL:
            return min(max(n, 1), 2)
        return 3 if self.width() >= _WIDE_FROM else 2

    def _index_at(self, at: QPoint) -> int | None:
        """Position of the card under a point of the screen."""
        inside = self._inner.mapFromGlobal(at)
        for index, key in enumerate(self._shown):
            if self._cards[key].geometry().contains(inside):
                return index
        return None

    @Slot(str, QPoint)
    def _on_card_dragged(self, key: str, at: QPoint) -> None:
        target = self._index_at(at)
        for number, other in enumerate(self._shown):
            self._cards[other].mark_target(is_target=number == target and other != key)

    @Slot(str, QPoint)
    def _on_card_dropped(self, key: str, at: QPoint) -> None:
        target = self._index_at(at)
        for other in self._shown:
            self._cards[other].mark_target(is_target=False)
        if target is not None:
            self.card_dropped.emit(key, target)

    @Slot()
    def _on_bar_value_changed(self) -> None:
        self.moved.emit()
