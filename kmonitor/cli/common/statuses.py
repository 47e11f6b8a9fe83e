"""Exit statuses of the command line."""

from typing import Final

from kmonitor.base.errors import Expected

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
STILL_WAITING: Final = 3
"""`command --wait` gave up before the training came to a safe point."""

INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
"""The last two are 128 + the signal's number, as a shell would say it."""


class Misuse(Expected):
    """What was asked for cannot be; nothing was started. Ends with the status `USAGE`."""
