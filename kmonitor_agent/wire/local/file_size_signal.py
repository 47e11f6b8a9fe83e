"""SIGXFSZ, which ends a process that writes beyond its file limit unless it is ignored.

Python ignores it; a script that sets it to its default would be killed by a write of ours.
"""

import contextlib
import signal
from collections.abc import Generator


def block_file_size_signal() -> None:
    """Block it in the calling thread for good: a write beyond the limit raises `OSError`."""
    if hasattr(signal, "SIGXFSZ"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGXFSZ})


@contextlib.contextmanager
def file_size_signal_blocked() -> Generator[None]:
    """Block it for the block's writes; what they caused is taken away before it could arrive."""
    if not hasattr(signal, "SIGXFSZ"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGXFSZ})
    try:
        yield
    finally:
        if signal.SIGXFSZ not in before:
            signal.sigtimedwait({signal.SIGXFSZ}, 0)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGXFSZ})
