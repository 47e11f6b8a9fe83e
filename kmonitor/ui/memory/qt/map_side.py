"""The right column of the memory map's page: what if, the curve over the batch, advice."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from kmonitor.ui.memory.qt.map_controls import MapControls
from kmonitor.ui.memory.qt.what_if_view import CurveView
from kmonitor.ui.memory.what_if import AdviceLine, BatchCurve
from kmonitor.ui.theme.qt.theme import Look, role_label, set_tone

_WIDTH = 316


class MapSide(QScrollArea):
    """Scrolls where there is no room.

    Attributes:
        controls: What can be changed.
    """

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.controls = MapControls(look)
        self._curve = CurveView(look)
        self._curve_title = role_label("name")
        self._fit = role_label("body")
        self._advice_title = role_label("name")
        self._advice_note = role_label("sub")
        self._advice = QGridLayout()
        self._advised: tuple[AdviceLine, ...] | None = None
        self._chart_card, self._advice_card = QFrame(), QFrame()
        self.setWidgetResizable(True)
        self.setFixedWidth(_WIDTH)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self._curve_title.setText(self.tr("Peak over batch"))
        self._advice_title.setText(self.tr("What would lower the peak"))
        self._advised = None

    def show_curve(self, curve: BatchCurve) -> None:
        """Show this curve and what fits."""
        self._curve.show_curve(curve)
        self._curve.setVisible(bool(curve.line))
        self._fit.setText(curve.text)
        self._fit.setVisible(bool(curve.text))
        set_tone(self._fit, curve.tone)
        self._chart_card.setVisible(bool(curve.line or curve.text))

    def show_advice(self, advised: Sequence[AdviceLine], *, is_whole: bool) -> None:
        """Show what would help, or that nothing is known to."""
        self._advice_card.setVisible(bool(advised) or is_whole)
        self._advice_note.setVisible(not advised)
        self._advice_note.setText(self.tr("No single change that is known would save a MiB."))
        if tuple(advised) == self._advised:
            return
        self._advised = tuple(advised)
        while (item := self._advice.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for at, line in enumerate(advised):
            saved, words = role_label("number", line.saved), role_label("sub", line.words)
            words.setWordWrap(True)
            for label in (saved, words):
                label.setToolTip(line.tooltip)
            top = Qt.AlignmentFlag.AlignTop
            self._advice.addWidget(saved, at, 0, top | Qt.AlignmentFlag.AlignRight)
            self._advice.addWidget(words, at, 1, top)

    def _build(self) -> None:
        inside = QWidget()
        inside.setObjectName("scrolled")
        for label in (self._fit, self._advice_note):
            label.setWordWrap(True)
        self._advice.setHorizontalSpacing(10)
        self._advice.setVerticalSpacing(5)
        self._advice.setColumnStretch(1, 1)
        column = QVBoxLayout(inside)
        column.setContentsMargins(1, 0, 1, 0)
        column.setSpacing(10)
        column.addWidget(self.controls)
        for card, parts in (
            (self._chart_card, (self._curve_title, self._curve, self._fit)),
            (self._advice_card, (self._advice_title, self._advice_note)),
        ):
            card.setObjectName("card")
            box = QVBoxLayout(card)
            box.setContentsMargins(12, 9, 12, 11)
            box.setSpacing(6)
            for part in parts:
                box.addWidget(part)
            column.addWidget(card)
        advice = self._advice_card.layout()
        if isinstance(advice, QVBoxLayout):
            advice.addLayout(self._advice)
        column.addStretch(1)
        self.setWidget(inside)
