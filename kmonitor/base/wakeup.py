"""A pipe that wakes a thread waiting in a poll, from any other thread or from a signal."""

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class WakeupPipe:
    """A socket pair: `wake` sends a byte, the waiting thread polls `fileno`."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)  # noqa: FBT003 - as the library has it
        self._writer.setblocking(False)  # noqa: FBT003 - as the library has it

    def fileno(self) -> int:
        """Descriptor for the poll of the waiting thread."""
        return self._reader.fileno()

    def wake(self) -> None:
        """Wake the waiting thread; from any thread. Several calls before `clear` count once."""
        try:
            self._writer.send(b"w")
        except OSError:
            return  # full: it is awake already; closed: it has ended

    def clear(self) -> None:
        """Read all sent bytes."""
        try:
            while self._reader.recv(4096):
                pass
        except BlockingIOError:
            return

    def close(self) -> None:
        self._reader.close()
        self._writer.close()

    @contextmanager
    def on_signals(self, stop: Callable[[], None]) -> Generator[None]:
        """Call `stop` on SIGTERM and SIGINT inside the block; main thread only.

        Raises:
            KeyboardInterrupt: At the block's end, after a SIGINT.
        """
        seen: set[int] = set()

        def _stop(number: int, _frame: FrameType | None) -> None:
            seen.add(number)
            stop()

        before = {number: signal.signal(number, _stop) for number in _SIGNALS}
        fd = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(fd)
            for number, handler in before.items():
                signal.signal(number, handler)
        if signal.SIGINT in seen:
            raise KeyboardInterrupt
