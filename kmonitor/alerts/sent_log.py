"""Alerts that were sent from this host: a line of JSON for each try at a target, in a small file.

The file is written by every process that delivers alerts: the process started by the hub, so that
no line is missing if the hub has ended meanwhile; the window; and `kmonitor alerts test`. The text
is kept as sent. A line is appended in one step. Once the file is full, its newer half replaces it;
only a line that another process appends at that very moment is lost then.
"""

import logging
from pathlib import Path
from typing import Final

import msgspec

from kmonitor.alerts.retries import Target
from kmonitor_agent.wire.local.private_files import (
    SETTING_BYTES,
    make_own_folder,
    open_own,
    read_own,
    write_private,
)

_NAME: Final = "alerts.sent"
_FULL_BYTES: Final = SETTING_BYTES // 2
_log = logging.getLogger(__name__)


class SentAlert(msgspec.Struct, frozen=True, omit_defaults=True):
    """One try.

    Attributes:
        sent_wall_s: Time of the try, UTC epoch seconds.
        target: The target.
        facts: The alert, as JSON values.
        why: Reason for the failure; empty: the alert was delivered.
        again_wall_s: Time of the next try, UTC epoch seconds; None: there is none.
    """

    sent_wall_s: float
    target: Target
    facts: dict[str, str | float]
    why: str = ""
    again_wall_s: float | None = None


_decoder = msgspec.json.Decoder(SentAlert)


class SentAlertLog:
    """The log file of sent alerts; for any thread and process."""

    def __init__(self, folder: Path) -> None:
        """Args: `folder`: Folder of the hub's database."""
        self._path = folder / _NAME

    def add(self, sent: SentAlert) -> None:
        """Append a try; a failure to write is only logged, since the alert itself was sent."""
        try:
            make_own_folder(self._path.parent)
            with open_own(self._path, "a") as file:
                file.write(f"{msgspec.json.encode(sent).decode()}\n")
                is_full = file.tell() > _FULL_BYTES
            if is_full:
                lines = read_own(self._path).splitlines(keepends=True)
                write_private(self._path, b"".join(lines[len(lines) // 2 :]))
        except OSError as exc:
            _log.warning("a sent alert could not be recorded: %s", exc)

    def newest(self, n: int) -> list[SentAlert]:
        """The last tries, newest first; damaged lines are left out.

        Raises:
            OSError: The file cannot be read.
        """
        try:
            lines = read_own(self._path).splitlines()
        except FileNotFoundError:
            return []
        found: list[SentAlert] = []
        for line in reversed(lines):
            try:
                found.append(_decoder.decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            if len(found) == n:
                break
        return found
