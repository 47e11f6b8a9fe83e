"""A slider over named steps, with its title and what it stands at above it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from kmonitor.ui.theme.qt.theme import role_label


class NamedSlider(QWidget):
    """One of several steps is chosen; each has words.

    Signals (main thread):
        moved: With the number of the step that the user chose.
    """

    moved = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._steps: tuple[str, ...] = ()
        self._title = role_label("sub")
        self._value = role_label("strong_small")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setPageStep(3)
        self._is_showing = False
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(self._value)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self.slider)
        self.slider.valueChanged.connect(self._on_slider_value_changed)

    def call(self, title: str, tooltip: str) -> None:
        """Say what it is called and what it changes."""
        self._title.setText(title)
        self.slider.setAccessibleName(title)
        self.setToolTip(tooltip)

    def show_step(self, steps: Sequence[str], at: int) -> None:
        """Offer these steps, and stand at one of them, without telling anyone."""
        self._is_showing = True
        self._steps = tuple(steps)
        self.slider.setRange(0, max(0, len(self._steps) - 1))
        self.slider.setValue(at)
        self._is_showing = False
        self._show_value()

    def _show_value(self) -> None:
        at = self.slider.value()
        text = self._steps[at] if at < len(self._steps) else ""
        self._value.setText(text)
        self.slider.setAccessibleDescription(text)

    @Slot(int)
    def _on_slider_value_changed(self, at: int) -> None:
        if not self._is_showing:
            self._show_value()
            self.moved.emit(at)
