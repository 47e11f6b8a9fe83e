"""What the script's signal handlers do in the middle of an action arrives, and harms no model.

A reload lets variables and step functions go before it makes them again, and the finalizers of
what it frees swallow any exception. A Ctrl+C, or a handler that raises at a time limit, would
leave half a model there, or be lost; held, it arrives a moment later, when all is done. In the
rest of an action a handler is called at once, and what it raises passes our guards. Python runs
handlers on the main thread only, so all this happens on no other.
"""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Final

Handler = Callable[[int, FrameType | None], Any]


class Passing(BaseException):
    """Carries what a handler of the script raised through everything that answers for ours."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class HeldSignals:
    """The process' signals. Owned by the main thread."""

    def __init__(self) -> None:
        """Nothing is held."""
        self._is_open = False
        self._is_held = False
        self._handlers: dict[int, Handler] = {}
        self._came: list[int] = []

    def open(self) -> bool:
        """Whether what is held from here on is delivered by the caller, who then calls `close`."""
        if self._is_open or not _is_main_thread():
            return False
        if self._handlers:
            self._put_back()  # a handler that raised had ended that too early
        self._is_open = True
        return True

    def close(self) -> None:
        """Let the script's handlers answer by themselves again, and deliver what came."""
        raised = sys.exc_info()[1]
        self._is_open = self._is_held = False
        if self._handlers:
            try:
                self._put_back()
            finally:
                came, self._came = self._came, []
                _raise_again(came)
        if isinstance(raised, Passing):
            raise raised.error

    @contextlib.contextmanager
    def delivered_after(self) -> Generator[None]:
        """Deliver at the end of the block what is held in it, unless one around it will."""
        is_open = False
        try:
            is_open = self.open()
            yield
        finally:
            if is_open:
                self.close()

    def watch(self) -> None:
        """Let what handlers raise pass from here on, where somebody will deliver it."""
        if self._is_open and not self._handlers and _is_main_thread():
            for number in signal.valid_signals():
                handler = signal.getsignal(number)
                if callable(handler):  # not one of C's, nor one that ends the process
                    self._handlers[number] = handler
                    signal.signal(number, self._meet)

    def hold(self) -> None:
        """Keep signals back from here on, where somebody will deliver them."""
        self.watch()
        self._is_held = bool(self._handlers) and _is_main_thread()

    def _meet(self, number: int, frame: FrameType | None) -> None:
        if self._is_held:
            self._came.append(number)
            return
        try:
            self._handlers[number](number, frame)
        except Exception as exc:
            if not self._is_open:  # while handlers are put back
                raise
            raise Passing(exc) from None

    def _put_back(self) -> None:
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._meet:  # else somebody has set another since
                signal.signal(number, handler)
        self._handlers = {}


def _raise_again(numbers: list[int]) -> None:
    # One handler that raises must not keep the others from being called.
    if numbers:
        try:
            signal.raise_signal(numbers[0])
        finally:
            _raise_again(numbers[1:])


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


SIGNALS: Final = HeldSignals()
