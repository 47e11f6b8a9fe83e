"""The right panel: readings, actions, and what happens at a limit."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from kmonitor.desktop.controls.action_button import ActionButton
from kmonitor.desktop.controls.look import Look, role_label
from kmonitor.desktop.controls.switch import Switch
from kmonitor.desktop.panels.readings import ReadingsPanel
from kmonitor.desktop.theme import SIZES
from kmonitor.presenters.action_panel import ActionsPicture
from kmonitor.presenters.readings import ReadingGroup

_N_BUTTONS = 4


class ActionsPanel(QFrame):
    """Bound to the selected run.

    Signals (main thread):
        command_requested: With the name of a command.
        reload_switched: Whether limits shall reload.
    """

    command_requested = Signal(str)
    reload_switched = Signal(bool)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("right")
        self._readings = ReadingsPanel()
        self._buttons = [ActionButton(look) for _ in range(_N_BUTTONS)]
        self._waiting = role_label("sub")
        self._checkpoint = role_label("meta")
        self._switch = Switch(look, self.tr("Reload automatically"))
        self._sentence = role_label("sub")
        self._area = QScrollArea()
        self._build()
        for button in self._buttons:
            button.command_requested.connect(self.command_requested)
        self._switch.clicked.connect(self._on_switch_clicked)

    def show_picture(self, picture: ActionsPicture) -> None:
        """Show what can be asked of the selected run."""
        for button, shown in zip(self._buttons, picture.buttons, strict=True):
            button.show_picture(shown)
        self._waiting.setText(picture.waiting)
        self._waiting.setVisible(bool(picture.waiting))
        self._checkpoint.setText(picture.checkpoint)
        at_limit = picture.at_limit
        self._switch.setChecked(at_limit.is_on)
        self._switch.setEnabled(at_limit.is_enabled)
        self._switch.setToolTip(at_limit.tooltip)
        self._switch.setAccessibleDescription(at_limit.sentence)
        self._sentence.setText(at_limit.sentence)

    def show_blank(self, *, is_blank: bool) -> None:
        """Show nothing while no run is known, and keep the place."""
        self._area.setVisible(not is_blank)

    def show_readings(self, groups: Sequence[ReadingGroup]) -> None:
        """Show the selected run's readings."""
        self._readings.show_groups(groups)

    def limit_sentence(self) -> str:
        """What the panel says will happen at the limit."""
        return self._sentence.text()

    def _build(self) -> None:
        self._waiting.setProperty("tone", "accent")
        for label in (self._waiting, self._checkpoint, self._sentence):
            label.setWordWrap(True)
        scrolled = QWidget()
        scrolled.setObjectName("scrolled")
        column = QVBoxLayout(scrolled)
        column.setContentsMargins(SIZES.padding, 14, SIZES.padding, 14)
        column.setSpacing(9)
        column.addWidget(self._readings)
        column.addSpacing(8)
        column.addWidget(role_label("section", self.tr("ACTIONS")))
        for button in self._buttons:
            column.addWidget(button)
        column.addWidget(self._waiting)
        column.addWidget(self._checkpoint)
        column.addSpacing(8)
        column.addWidget(role_label("section", self.tr("AT THE LIMIT")))
        column.addWidget(self._switch)
        column.addWidget(self._sentence)
        column.addStretch(1)
        area = self._area
        area.setWidget(scrolled)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 0, 0, 0)
        outer.addWidget(area)

    @Slot(bool)
    def _on_switch_clicked(self, checked: bool) -> None:
        self.reload_switched.emit(checked)
