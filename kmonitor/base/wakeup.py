"""Wakes the hub's loop from a signal or another thread."""

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class WakeupPipe:
    """A byte in a socket pair: any thread and any signal may send it."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)  # noqa: FBT003 - as the library has it
        self._writer.setblocking(False)  # noqa: FBT003 - as the library has it

    def fileno(self) -> int:
        """What the loop polls."""
        return self._reader.fileno()

    def wake(self) -> None:
        """Make the loop go round; from any thread."""
        try:
            self._writer.send(b"w")
        except OSError:
            return  # full: it is awake already; closed: it has ended

    def clear(self) -> None:
        """Take the bytes that were sent."""
        try:
            while self._reader.recv(4096):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        """Close both ends."""
        self._reader.close()
        self._writer.close()

    @contextmanager
    def on_signals(self, stop: Callable[[], None]) -> Generator[None]:
        """Call `stop` on SIGTERM and SIGINT meanwhile; main thread only."""

        def _stop(_number: int, _frame: FrameType | None) -> None:
            stop()

        before = {number: signal.signal(number, _stop) for number in _SIGNALS}
        fd = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(fd)
            for number, handler in before.items():
                signal.signal(number, handler)


# doorbell: Rings a thread that waits in a poll, from any other thread.


class Doorbell:
    """A socket pair: `ring` from any thread, `fileno` for the poller of the one that waits."""

    def __init__(self) -> None:
        self._inside, self._outside = socket.socketpair()
        for end in (self._inside, self._outside):
            end.setblocking(False)  # noqa: FBT003 - as the library has it

    def fileno(self) -> int:
        """What to poll."""
        return self._inside.fileno()

    def ring(self) -> None:
        """Wake the waiting thread; rings before it answers count once."""
        try:
            self._outside.send(b"r")
        except OSError:
            return  # full: it rings already; closed: nobody waits any more

    def answer(self) -> None:
        """Take all rings."""
        try:
            while self._inside.recv(4096):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        """Close both ends."""
        self._inside.close()
        self._outside.close()
