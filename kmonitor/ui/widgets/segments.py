"""A choice of one among few, side by side."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QWidget,
)


class Segments(QFrame):
    """Shows its choices as buttons of which one is down.

    Signals:
        chosen: With the key of a choice that the user made; main thread.
    """

    chosen = Signal(str)

    def __init__(
        self, choices: Mapping[str, str], name: str, parent: QWidget | None = None
    ) -> None:
        """With the first choice at the left and none down.

        Args:
            choices: Titles by key.
            name: What is chosen.
            parent: Its parent.
        """
        super().__init__(parent)
        self.setObjectName("segments")
        # What has too little room gives way beside it: letters would be cut off.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._buttons: dict[str, QPushButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(2)
        for key in choices:
            button = QPushButton()
            button.setCheckable(True)
            # A click leaves the focus where it is, and with it what the Space key does.
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setProperty("key", key)
            self._group.addButton(button)
            self._buttons[key] = button
            row.addWidget(button)
        self._group.buttonClicked.connect(self._on_group_button_clicked)
        self.rename(choices, name)

    def rename(self, choices: Mapping[str, str], name: str) -> None:
        """Call the same choices, and what is chosen, by other words."""
        self.setAccessibleName(name)
        for key, text in choices.items():
            self._buttons[key].setText(text)
            self._buttons[key].setAccessibleName(f"{name}: {text}")

    def choose(self, key: str) -> None:
        """Set the choice without telling anyone."""
        self._buttons[key].setChecked(True)

    def explain(self, key: str, tooltip: str) -> None:
        """Say what a choice means."""
        self._buttons[key].setToolTip(tooltip)

    def button(self, key: str) -> QPushButton:
        """The button of a choice."""
        return self._buttons[key]

    @property
    def buttons(self) -> list[QPushButton]:
        """All of them, from the left."""
        return list(self._buttons.values())

    @Slot(QAbstractButton)
    def _on_group_button_clicked(self, button: QAbstractButton) -> None:
        self.chosen.emit(str(button.property("key")))
