"""Rings a thread that waits in a poll, from any other thread."""

import socket


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
