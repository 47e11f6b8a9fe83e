"""The hub's log file, rotated 5 x 2 MB below `<state>/logs`."""

import logging
import sys
from contextlib import suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path

from typing_extensions import override

LOG = logging.getLogger("kmonitor.hub")
"""The hub's logger."""

_FORMAT = "%(asctime)s %(levelname)s %(process)d %(message)s"


class _PatientHandler(RotatingFileHandler):
    """Loses what a full disk does not take, in silence; the hub counts its faults besides."""

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


def open_log(folder: Path) -> RotatingFileHandler:
    """Send the hub's log records to `hub.log` in `folder`; close the handler at the end.

    Raises:
        OSError: The folder or file cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handler = _PatientHandler(
        folder / "hub.log", maxBytes=2_000_000, backupCount=4, encoding="utf-8"
    )
    handler.setFormatter(logging.Formatter(_FORMAT))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    return handler


def close_log(handler: RotatingFileHandler) -> None:
    """Stop writing to the file that `open_log` opened."""
    LOG.removeHandler(handler)
    with suppress(OSError):  # a full disk takes not even the last line
        handler.close()
