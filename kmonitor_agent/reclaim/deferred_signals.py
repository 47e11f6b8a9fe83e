"""Deferred delivery of signals, so that the script's handlers harm no model during an action.

A reload releases variables and step functions before it recreates them, and finalizers of freed
objects swallow any exception. A Ctrl+C, or a handler that raises at a time limit, would leave half
a model there, or be lost; a held signal arrives a moment later, when the reload is done. In the
rest of an action, and in each hook of an epoch or fit, a handler is called at once, and exceptions
that it raises pass our guards. Python runs handlers on the main thread only, so all this happens
there.
"""

import contextlib
import ctypes
import functools
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Final

from kmonitor_agent.guard import FaultLog, is_from_signal_handler

Handler = Callable[[int, FrameType | None], Any]


class HandlerException(BaseException):
    """Carries an exception of the script's handler through our own guards."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


_VALID_SIGNALS: Final = tuple(signal.valid_signals())


class DeferredSignals:
    """Signals of the process; owned by the main thread.

    The methods raise only exceptions of the script's handlers.
    """

    def __init__(self) -> None:
        self._is_open = False
        self._is_held = False
        self._handlers: dict[int, Handler] = {}
        self._actions: dict[int, bytes | None] = {}
        self._pending: list[int] = []
        self._failed: Exception | None = None

    @property
    def is_open(self) -> bool:
        """True in a section, and after one that was left without `close`."""
        return self._is_open

    def open(self, *, is_watched: bool = False) -> bool:
        """Begin a section; True if the caller delivers the signals held in it, by calling `close`.

        Args:
            is_watched: True to let exceptions of handlers pass from here on, as after `watch`.
        """
        if self._is_open or not _is_main_thread():
            return False
        if self._handlers:
            self._restore_handlers()  # a handler that raised had ended that too early
        self._is_open = True
        if is_watched:
            try:
                self.watch()
            except HandlerException as passing:
                self.close()
                raise passing.error from None
        return True

    def close(self, faults: FaultLog | None = None) -> None:
        """Restore the script's handlers, and deliver the held signals.

        Args:
            faults: Log for failures here; None: the log of the next `close`.
        """
        self._is_open = False
        try:
            if self._handlers:
                self._restore_handlers()
        finally:
            pending = self._release()
            if faults is not None and self._failed is not None:
                failed, self._failed = self._failed, None
                faults.record("signals", failed)
            self._raise_again(pending)

    def close_left(self, faults: FaultLog) -> None:
        """Close a section whose `close` was not reached: a handler raised just before it."""
        if self._is_open:
            self.close(faults)

    @contextlib.contextmanager
    def delivered_after(self) -> Generator[None]:
        """Deliver held signals at the end of the block, unless an outer block does."""
        is_open = False
        try:
            try:
                is_open = self.open()
                yield
            finally:
                if is_open:
                    self.close()
        except HandlerException as passing:
            if is_open:
                raise passing.error from None
            raise

    def watch(self) -> None:
        """Let exceptions of handlers pass from here on, inside an open section only."""
        if not self._is_open or self._handlers:
            return
        try:
            if _is_main_thread():
                self._watch()
        except Exception as exc:  # noqa: BLE001 - the work goes on unwatched
            if is_from_signal_handler(exc):
                raise HandlerException(exc) from None
            self._failed = exc

    def hold(self) -> None:
        """Hold signals from here on, inside an open section only."""
        self.watch()
        # It is watched on the main thread only, and what runs beside it holds nothing.
        if self._handlers and not self._is_held:
            try:
                self._is_held = _is_main_thread()
            except Exception as exc:  # noqa: BLE001 - likewise
                self._failed = exc

    @contextlib.contextmanager
    def held(self) -> Generator[None]:
        """Hold signals in the block, inside an open section only, and deliver them at its end.

        For calls into C that call Python and lose what it raises.
        """
        self.watch()
        if not self._handlers or self._is_held or not _is_main_thread():
            yield
            return
        self._is_held = True
        try:
            yield
        finally:
            self._raise_again(self._release())

    def _release(self) -> list[int]:
        """End the hold; the signals that came in it."""
        self._is_held = False
        pending = self._pending
        self._pending = []
        return pending

    def _watch(self) -> None:
        for number in _VALID_SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):  # not one of C's, nor one that ends the process
                action = self._actions[number] = read_sigaction(number)
                self._handlers[number] = handler
                signal.signal(number, self._on_signal)
                if not _is_same_handler(action, read_sigaction(number)):  # C's, set since
                    self._restore_handler(number)
                    del self._handlers[number]

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._is_held:
            self._pending.append(number)
            return
        try:
            self._handlers[number](number, frame)
        except Exception as exc:
            if not self._is_open:  # while handlers are put back
                raise
            raise HandlerException(exc) from None

    def _restore_handlers(self) -> None:
        self._is_held = True  # until its own handler is back, nothing of a signal raises here
        raised: Exception | None = None
        left: dict[int, Handler] = {}
        for number in self._handlers:
            try:
                if (
                    signal.getsignal(number) == self._on_signal
                ):  # else somebody has set another since
                    self._restore_handler(number)
            except Exception as exc:  # noqa: BLE001 - the others must be put back all the same
                if is_from_signal_handler(exc):
                    raised = exc
                else:
                    self._failed = exc
                # It goes on being called by `_on_signal`, and is tried again.
                left[number] = self._handlers[number]
        self._handlers = left
        if raised is not None:
            raise raised

    def _restore_handler(self, number: int) -> None:
        try:
            signal.signal(number, self._handlers[number])
        finally:
            write_sigaction(number, self._actions.get(number))

    def _raise_again(self, numbers: list[int]) -> None:
        # One handler that raises must not keep the others from being called.
        if not numbers:
            return
        try:
            signal.raise_signal(numbers[0])
        except Exception as exc:
            if is_from_signal_handler(exc):
                raise
            self._failed = exc
        finally:
            self._raise_again(numbers[1:])


SIGNALS: Final = DeferredSignals()


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


_BYTES: Final = 512  # of a `struct sigaction`, 152 with glibc; its handler comes first


def read_sigaction(number: int) -> bytes | None:
    """Complete `sigaction` of a signal; None if it cannot be read."""
    buffer = ctypes.create_string_buffer(_BYTES)
    call = _sigaction()
    if call is None or call(number, None, buffer) != 0:
        return None
    return buffer.raw


def write_sigaction(number: int, action: bytes | None) -> None:
    """Set a `sigaction` that was read; None changes nothing."""
    call = _sigaction()
    if call is not None and action is not None:
        call(number, ctypes.create_string_buffer(action, _BYTES), None)


def _is_same_handler(one: bytes | None, other: bytes | None) -> bool:
    """True if both refer to the same function; also True if one cannot be read."""
    width = ctypes.sizeof(ctypes.c_void_p)
    return one is None or other is None or one[:width] == other[:width]


@functools.cache
def _sigaction() -> Any:
    call = getattr(ctypes.PyDLL(None), "sigaction", None)  # Windows has none
    if call is not None:
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
    return call
