"""Commands of the hub on their way to the session: each once, at most 16 at a time.

The ids of commands that came are kept in the run's folder, so that no later process of the run
carries one out again.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.wire.local.private_files import read_own, write_private
from kmonitor_agent.wire.messages.commands import FINAL_STATES, Command, CommandState
from kmonitor_agent.wire.messages.events import CommandProgress, Event

HELD_LIMIT: Final = 16
"""Commands that may be waiting or running."""

OnCommand = Callable[[Command], None]


class CommandInbox:
    """Accepts, refuses or ignores commands; on the agent's thread only.

    Args:
        session_id: This process's id.
        on_command: Called with each accepted command, when it is received.
        emit: Emits an event.
        now_s: The session's `t_s`.
        faults: Where our own faults go.
    """

    def __init__(
        self,
        session_id: str,
        on_command: OnCommand,
        *,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        faults: FaultLog,
    ) -> None:
        self.seen_commands = SeenCommands()
        self._session_id = session_id
        self._on_command = on_command
        self._emit = emit
        self._now_s = now_s
        self._faults = faults
        self._held: set[str] = set()

    def receive(self, command: Command) -> None:
        """Accept, refuse or (a repetition) ignore a command; never raises."""
        if command.id in self.seen_commands:
            return
        self._remember(command.id)
        if command.session != self._session_id:
            self._report(command, "refused", "it was for another process of this run")
        elif len(self._held) >= HELD_LIMIT:
            self._report(command, "refused", f"{HELD_LIMIT} commands are already waiting")
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
            self.seen_commands.add(command_id)
        except OSError as exc:
            self._faults.record("link.commands", exc)

    def _hand_over(self, command: Command) -> None:
        try:
            self._on_command(command)
        except Exception as exc:  # noqa: BLE001 - the session's fault must not end this thread
            self._faults.record("link.on_command", exc)
            self._report(command, "failed", f"internal kmonitor error: {type(exc).__name__}")

    def _report(self, command: Command, state: CommandState, why: str) -> None:
        self._emit(
            CommandProgress(
                t_s=self._now_s(), id=command.id, name=command.name, state=state, why=why
            )
        )


COMMANDS_NAME: Final = "commands"
"""File name in the run's folder: one id a line, oldest first."""

SEEN_LIMIT: Final = 1024
"""Ids remembered; a hub repeats one for as long as its time to live, 16 can be open at once."""

COMMANDS_BYTES: Final = SEEN_LIMIT * 65
"""Most that the file holds."""

_ID: Final = re.compile(r"^[0-9A-Za-z_-]{1,64}$")


class SeenCommands:
    """A bounded set of ids that survives the process; on the agent's thread only."""

    def __init__(self, folder: Path | None = None) -> None:
        """Begin with what the folder holds; None remembers in memory only."""
        self._ids: dict[str, None] = {}
        self._path: Path | None = None
        if folder is not None:
            self.store_in(folder)

    def __contains__(self, command_id: str) -> bool:
        return command_id in self._ids

    def store_in(self, folder: Path) -> None:
        """Add the ids that the folder holds, and write new ones there from now on."""
        self._path = folder / COMMANDS_NAME
        try:
            lines = read_own(self._path, COMMANDS_BYTES).decode("ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            lines = []
        known = [line for line in lines if _ID.match(line)]
        self._ids = dict.fromkeys([*known, *self._ids])
        self._cut()

    def add(self, command_id: str) -> None:
        """Remember an id.

        Raises:
            OSError: It is remembered, but only as long as this process lives.
        """
        self._ids[command_id] = None
        self._cut()
        if self._path is not None:
            write_private(self._path, "".join(f"{i}\n" for i in self._ids).encode("ascii"))

    def _cut(self) -> None:
        while len(self._ids) > SEEN_LIMIT:
            del self._ids[next(iter(self._ids))]
