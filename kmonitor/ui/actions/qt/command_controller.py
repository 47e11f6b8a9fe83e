"""Sends the user's requests to the selected run: commands, and the action of limits."""

from typing import get_args

from PySide6.QtCore import QObject, Signal, Slot

from kmonitor.ui.actions.action_panel import confirmation_before, variant_arguments
from kmonitor.ui.events.event_text import COMMAND_TITLES
from kmonitor.ui.settings.window_settings import LimitAnswer, WindowSettings
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.widgets.dialogs import ConfirmationBox
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.commands import Arguments, CommandName


class CommandController(QObject):
    """Carries out the requests of the action panel; main thread only.

    Signals:
        changed: The panels have to be refreshed.
        diagnosed: A diagnosis was requested and should be shown.
        settings_changed: A setting that the window remembers changed.
    """

    changed = Signal()
    diagnosed = Signal()
    settings_changed = Signal()

    def __init__(
        self,
        window: MainWindow,
        workspace: Workspace,
        settings: WindowSettings,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._confirming: CommandName | None = None
        workspace.limits.reloads = settings.reloads
        workspace.limits.answer = settings.limit_answer
        panel = window.actions_panel
        panel.command_requested.connect(self.request)
        panel.key_refused.connect(window.status.show_note)
        panel.reload_switched.connect(self._on_actions_reload_switched)
        panel.answer_chosen.connect(self._on_actions_answer_chosen)

    @property
    def limit_answer(self) -> LimitAnswer:
        """Action of limits, as the window remembers it."""
        return _answer(self._workspace.limits.answer)

    @Slot(str, str)
    def request(self, command: str, variant: str = "") -> None:
        """Send a command to the selected run; ask for confirmation first if data would be lost."""
        run = self._workspace.run_store.current()
        name = _command(command)
        if run is None or name is None:
            return
        question = confirmation_before(run, name)
        if question is None:
            self._send(name, variant_arguments(name, variant))
            return
        self._confirming = name
        box = ConfirmationBox(question(), self._window)
        box.accepted.connect(self._on_question_accepted)
        box.open()

    @Slot()
    def diagnose(self) -> None:
        """Request a diagnosis of the selected run's memory."""
        self._send("diagnose")

    @Slot()
    def _on_question_accepted(self) -> None:
        if self._confirming is not None:
            self._send(self._confirming)

    def _send(self, command: CommandName, args: Arguments | None = None) -> None:
        self._workspace.command(command, args)
        if command == "diagnose":
            self.diagnosed.emit()
        self.changed.emit()

    @Slot(bool)
    def _on_actions_reload_switched(self, is_on: bool) -> None:
        self._workspace.limits.reload_at_limits(self._workspace.run_store.current(), on=is_on)
        self.settings_changed.emit()
        self.changed.emit()

    @Slot(str)
    def _on_actions_answer_chosen(self, action: str) -> None:
        answer = _answer(action)
        self._workspace.limits.answer_with(self._workspace.run_store.current(), answer)
        self.settings_changed.emit()
        self.changed.emit()


def _command(text: str) -> CommandName | None:
    return next((name for name in COMMAND_TITLES if name == text), None)


def _answer(text: str) -> LimitAnswer:
    return next((name for name in get_args(LimitAnswer) if name == text), "reload")
