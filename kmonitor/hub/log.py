"""The hub's log: a file, rotated 5 x 2 MB below `<state>/logs`, or systemd's journal."""

import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from typing_extensions import override

from kmonitor.base.log_file import OwnLogHandler

LOG = logging.getLogger("kmonitor.hub")

_FORMAT = "%(asctime)s %(levelname)s %(process)d %(message)s"


class _PatientHandler(OwnLogHandler):
    """Silently loses records that a full disk does not take; the hub counts its faults besides."""

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


class _JournalFormatter(logging.Formatter):
    """A line with its level in front, as the journal reads it from standard error.

    Source: sd-daemon(3).
    """

    _LEVELS = ((logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))

    @override
    def format(self, record: logging.LogRecord) -> str:
        level = next((n for least, n in self._LEVELS if record.levelno >= least), 7)
        return "\n".join(f"<{level}>{line}" for line in super().format(record).splitlines())


def is_journal(environ: Mapping[str, str], descriptor: int = 2) -> bool:
    """True if output to a descriptor goes to systemd's journal.

    Source: `JOURNAL_STREAM` in systemd.exec(5): device and inode, since a process may have passed
    the variable on and its standard error not.
    """
    journal_stream = environ.get("JOURNAL_STREAM", "")
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return journal_stream == f"{found.st_dev}:{found.st_ino}"


def open_log(folder: Path) -> logging.Handler:
    """Send the hub's log records to the journal if standard error is that, else to a file.

    Args:
        folder: Where `hub.log` lies. Close the handler at the end with `close_log`.

    Raises:
        OSError: The folder or file cannot be made.
    """
    LOG.setLevel(logging.INFO)
    if is_journal(os.environ):
        journal = logging.StreamHandler(sys.stderr)
        journal.setFormatter(_JournalFormatter("%(message)s"))
        LOG.addHandler(journal)
        return journal
    handler = _PatientHandler(folder / "hub.log", max_bytes=2_000_000, old_files=4)
    handler.setFormatter(logging.Formatter(_FORMAT))
    LOG.addHandler(handler)
    return handler


def close_log(handler: logging.Handler) -> None:
    """Stop writing to what `open_log` opened."""
    LOG.removeHandler(handler)
    with suppress(OSError):  # a full disk takes not even the last line
        handler.close()
