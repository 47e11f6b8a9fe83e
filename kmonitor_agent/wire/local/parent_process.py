"""A child process that does not outlive the process that started it."""

import ctypes
import os
import signal
from contextlib import suppress
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, in whatever way; on Linux.

    Args:
        parent: Process id of the parent; if it is gone already, this process ends at once.
    """
    with suppress(OSError, AttributeError, TypeError):  # not Linux
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
