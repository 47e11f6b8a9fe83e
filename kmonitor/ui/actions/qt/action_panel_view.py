"""The right panel: readings, actions, and what happens at a limit."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.actions.action_panel import ACTION_KEYS, ActionPanelState, ShortcutState
from kmonitor.ui.actions.qt.action_button import ActionButton
from kmonitor.ui.limits.qt.limit_actions_view import LimitActionsPanel
from kmonitor.ui.runs.readings import ReadingGroup
from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.keyboard import add_shortcut

_READINGS_APART = 5
_READINGS_CLOSE = 2
"""Vertical gap between two lines, pixels: usual, and in a low window."""


class ReadingsPanel(QWidget):
    """A small table that grows and shrinks with its readings; labels are reused."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(_READINGS_APART)
        self._grid.setColumnStretch(0, 1)
        self._shape: tuple[tuple[str, tuple[str, ...], bool], ...] = ()
        self._labels: list[QLabel] = []
        self._numbers: list[QLabel] = []
        self._notes: list[QLabel] = []

    def set_close(self, *, is_close: bool) -> None:
        self._grid.setVerticalSpacing(_READINGS_CLOSE if is_close else _READINGS_APART)

    def show_groups(self, groups: Sequence[ReadingGroup]) -> None:
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


_APART = 9
_CLOSE = 6
"""Vertical gap between two parts, pixels: usual, and in a low window."""


class ActionsPanel(QFrame):
    """Shows the actions and readings of the selected run.

    Signals (main thread):
        command_requested: With the name of a command and the key of its variant.
        key_refused: With the reason why the run cannot carry out the action of a key.
        reload_switched: True: limits act; False: they only notify.
        answer_chosen: With the action of limits.
    """

    command_requested = Signal(str, str)
    key_refused = Signal(str)
    reload_switched = Signal(bool)
    answer_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("right")
        self._readings = ReadingsPanel()
        self._theme = theme
        self._buttons: list[ActionButton] = []
        self._grid = QGridLayout()
        self._shape: tuple[bool, ...] = ()
        self._why_not = role_label("sub")
        self._waiting = role_label("sub")
        self._checkpoint = role_label("meta")
        self.at_limit = LimitActionsPanel(theme)
        self.scroll_area = QScrollArea()
        self._column = QVBoxLayout()
        self._heading = role_label("section")
        self._is_close = False
        self._keys: Mapping[str, ShortcutState] = {}
        for name in ACTION_KEYS:
            # Not the buttons': one that is off, or not there, would leave its key without a word.
            add_shortcut(name, self, self._on_key_activated).setAutoRepeat(False)
        self._build()
        self.at_limit.switched.connect(self.reload_switched)
        self.at_limit.answer_chosen.connect(self.answer_chosen)
        self._set_texts()

    def _set_texts(self) -> None:
        self._heading.setText(self.tr("ACTIONS"))

    def show_state(self, state: ActionPanelState) -> None:
        shape = tuple(shown.is_half for shown in state.buttons)
        if shape != self._shape:
            self._shape = shape
            self._lay_out_buttons()
        for button, shown in zip(self._buttons, state.buttons, strict=True):
            button.show_state(shown)
        self._why_not.setText(state.why_not)
        self._why_not.setVisible(bool(state.why_not))
        self._waiting.setText(state.waiting)
        self._waiting.setVisible(bool(state.waiting))
        self._checkpoint.setText(state.checkpoint)
        self.at_limit.show_state(state.at_limit)
        self._keys = state.keys

    def set_close(self, *, is_close: bool) -> None:
        """Reduce the gaps, so that the part about limits is visible in a low window too."""
        if is_close == self._is_close:
            return
        self._is_close = is_close
        self._readings.set_close(is_close=is_close)
        self._column.setSpacing(_CLOSE if is_close else _APART)
        self._grid.setSpacing(6 if is_close else 8)
        for button in self._buttons:
            button.set_close(is_close=is_close)

    def show_blank(self, *, is_blank: bool) -> None:
        """Hide the content while no run is known, and keep the panel's place."""
        self.scroll_area.setVisible(not is_blank)
        if is_blank:
            self._keys = {}

    def show_readings(self, groups: Sequence[ReadingGroup]) -> None:
        self._readings.show_groups(groups)

    def limit_outcome_text(self) -> str:
        return self.at_limit.outcome_text()

    def _build(self) -> None:
        self._waiting.setProperty("tone", "accent")
        for label in (self._why_not, self._waiting, self._checkpoint):
            label.setWordWrap(True)
        scrolled = QWidget()
        scrolled.setObjectName("scrolled")
        column = self._column
        scrolled.setLayout(column)
        column.setContentsMargins(SIZES.padding, 14, SIZES.padding, 14)
        column.setSpacing(_APART)
        column.addWidget(self._readings)
        column.addSpacing(8)
        column.addWidget(self._heading)
        self._grid.setSpacing(8)
        for part in (0, 1):
            self._grid.setColumnStretch(part, 1)
        column.addWidget(self._why_not)
        column.addLayout(self._grid)
        column.addWidget(self._waiting)
        column.addWidget(self._checkpoint)
        column.addSpacing(8)
        column.addWidget(self.at_limit)
        column.addStretch(1)
        area = self.scroll_area
        area.setWidget(scrolled)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 0, 0, 0)
        outer.addWidget(area)

    @Slot()
    def _on_key_activated(self) -> None:
        shortcut = self._keys.get(self.sender().objectName())
        if shortcut is None:
            return
        if shortcut.refusal:
            self.key_refused.emit(shortcut.refusal)
        else:
            self.command_requested.emit(shortcut.command, shortcut.variant)

    def _lay_out_buttons(self) -> None:
        """Place the buttons: two half-width ones share a line, a single one takes it all."""
        while len(self._buttons) < len(self._shape):
            button = ActionButton(self._theme)
            button.command_requested.connect(self.command_requested)
            button.set_close(is_close=self._is_close)
            self._buttons.append(button)
        while len(self._buttons) > len(self._shape):
            spare = self._buttons.pop()
            spare.hide()
            spare.deleteLater()
        line = 0
        side = 0
        previous: QWidget | None = None
        for at, (button, is_half) in enumerate(zip(self._buttons, self._shape, strict=True)):
            self._grid.removeWidget(button)
            follows = at + 1 < len(self._shape) and self._shape[at + 1]
            if is_half and (side or follows):
                self._grid.addWidget(button, line, side)
                line = line + side
                side = 1 - side
            else:
                self._grid.addWidget(button, line, 0, 1, 2)
                line += 1
            if previous is not None:
                QWidget.setTabOrder(previous, button)
            previous = button.lead_to_menu()
        if previous is not None:
            self.at_limit.follow(previous)
