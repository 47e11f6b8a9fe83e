"""Decides which commands reach the session: each once, for this boot, at most 16 at a time."""

from collections.abc import Callable
from typing import Final

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.commands_seen import CommandsSeen
from kmonitor_agent.wire.messages.commands import FINAL_STATES, Command, CommandState
from kmonitor_agent.wire.messages.events import CommandProgress, Event

HELD_LIMIT: Final = 16
"""Commands that may be waiting or running."""

OnCommand = Callable[[Command], None]


class CommandInbox:
    """On the agent's thread only.

    Args:
        boot: This process's id.
        on_command: Told of each accepted command, when it is received.
        emit: Emits an event.
        now_s: The boot's `t_s`.
        faults: Where our own faults go.
    """

    def __init__(
        self,
        boot: str,
        on_command: OnCommand,
        *,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        faults: FaultLog,
    ) -> None:
        self.seen = CommandsSeen()
        self._boot = boot
        self._on_command = on_command
        self._emit = emit
        self._now_s = now_s
        self._faults = faults
        self._held: set[str] = set()

    def take(self, command: Command) -> None:
        """Accept, refuse or (a repetition) ignore a command; never raises."""
        if command.id in self.seen:
            return
        self._remember(command.id)
        if command.boot != self._boot:
            self._tell(command, "refused", "it was meant for another process of this run")
        elif len(self._held) >= HELD_LIMIT:
            self._tell(command, "refused", f"{HELD_LIMIT} commands are waiting already")
        else:
            self._held.add(command.id)
            self._hand_over(command)

    def note(self, event: Event) -> None:
        """See an event on its way to the spool: a final state frees the command's place."""
        if isinstance(event, CommandProgress) and event.state in FINAL_STATES:
            self._held.discard(event.id)

    def _remember(self, command_id: str) -> None:
        # Before it is handed over: a crash in between loses the command, never runs it twice.
        try:
            self.seen.add(command_id)
        except OSError as exc:
            self._faults.record("link.commands", exc)

    def _hand_over(self, command: Command) -> None:
        try:
            self._on_command(command)
        except Exception as exc:  # noqa: BLE001 - the session's fault must not end this thread
            self._faults.record("link.on_command", exc)
            self._tell(command, "failed", f"kmonitor's own fault: {type(exc).__name__}")

    def _tell(self, command: Command, state: CommandState, why: str) -> None:
        self._emit(
            CommandProgress(
                t_s=self._now_s(), id=command.id, name=command.name, state=state, why=why
            )
        )
