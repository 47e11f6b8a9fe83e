"""Exit of a child process that leaves out Python's own clearing up."""

import os
from typing import NoReturn


def exit_now(status: int) -> NoReturn:
    """End this process: no exit hook runs, nothing is flushed."""
    os._exit(status)
