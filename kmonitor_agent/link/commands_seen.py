"""Ids of commands that a run has met, kept with its spool so that none ever runs twice."""

import re
from pathlib import Path
from typing import Final

from kmonitor_agent.wire.local.plain_files import read_own, write_private

COMMANDS_NAME: Final = "commands"
"""File name in the run's folder: one id a line, oldest first."""

SEEN_LIMIT: Final = 1024
"""Ids remembered; a hub repeats one for as long as its time to live, 16 can be open at once."""

COMMANDS_BYTES: Final = SEEN_LIMIT * 65
"""Most that the file holds."""

_ID: Final = re.compile(r"^[0-9A-Za-z_-]{1,64}$")


class CommandsSeen:
    """A bounded set of ids that survives the process; on the agent's thread only."""

    def __init__(self, folder: Path | None = None) -> None:
        """Begin with what the folder holds; None remembers in memory only."""
        self._ids: dict[str, None] = {}
        self._path: Path | None = None
        if folder is not None:
            self.keep_in(folder)

    def __contains__(self, command_id: str) -> bool:
        return command_id in self._ids

    def keep_in(self, folder: Path) -> None:
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
