"""Part of the right panel about the action of limits, and the menu of choices for it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.limits.limit_actions import LimitActionChoice, LimitActionsState
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.buttons import Switch


class LimitActionsPanel(QWidget):
    """A switch for the action of limits, and one sentence about the result.

    Signals (main thread):
        switched: True: limits act; False: they only notify.
        answer_chosen: With the chosen action of limits.
    """

    switched = Signal(bool)
    answer_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions_state: LimitActionsState | None = None
        self.switch = Switch(theme, "")
        self._heading = role_label("section")
        self._choose = QPushButton()
        self.outcome = role_label("sub")
        self._build()
        self.switch.clicked.connect(self.switched)
        self._choose.clicked.connect(self._on_choose_clicked)
        self._set_texts()

    def _set_texts(self) -> None:
        self._heading.setText(self.tr("LIMIT ACTION"))
        self._choose.setText(self.tr("Change"))
        self._choose.setToolTip(self.tr("Choose what happens when a limit is exceeded"))
        self._choose.setAccessibleName(self.tr("Action when a limit is exceeded"))
        if self._actions_state is None:
            self.switch.setText(self.tr("Reload automatically"))
            self.switch.setAccessibleName(self.switch.text())

    def show_state(self, state: LimitActionsState) -> None:
        self._actions_state = state
        self.switch.setText(state.title)
        self.switch.setAccessibleName(state.title)
        self.switch.setChecked(state.is_on)
        self.switch.setEnabled(state.is_enabled)
        self.switch.setToolTip(state.tooltip)
        self.switch.setAccessibleDescription(state.outcome_text)
        self._choose.setVisible(state.is_enabled and len(state.choices) > 1)
        self.outcome.setText(state.outcome_text)

    def follow(self, widget: QWidget) -> None:
        """Let the Tab key lead here from another control."""
        QWidget.setTabOrder(widget, self.switch)
        QWidget.setTabOrder(self.switch, self._choose)

    def outcome_text(self) -> str:
        return self.outcome.text()

    def menu(self) -> QMenu:
        """Return a new menu of the choices; it is deleted when it is closed."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        choices = self._actions_state.choices if self._actions_state is not None else ()
        add_choices(menu, choices).triggered.connect(self._on_choices_triggered)
        return menu

    def _build(self) -> None:
        self._choose.setProperty("kind", "small")
        self._choose.hide()
        self.outcome.setWordWrap(True)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._heading)
        row.addStretch(1)
        row.addWidget(self._choose)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(9)
        column.addLayout(row)
        column.addWidget(self.switch)
        column.addWidget(self.outcome)

    @Slot()
    def _on_choose_clicked(self) -> None:
        self.menu().popup(self._choose.mapToGlobal(self._choose.rect().bottomLeft()))

    @Slot(QAction)
    def _on_choices_triggered(self, entry: QAction) -> None:
        self.answer_chosen.emit(str(entry.data()))


def add_choices(menu: QMenu, choices: Sequence[LimitActionChoice]) -> QActionGroup:
    """Add one entry per choice; the group's `triggered` passes it, its `data` is the action."""
    group = QActionGroup(menu)
    for choice in choices:
        entry = QAction(choice.title, menu, checkable=True, checked=choice.is_chosen)
        entry.setData(choice.action)
        group.addAction(entry)
        menu.addAction(entry)
    return group
