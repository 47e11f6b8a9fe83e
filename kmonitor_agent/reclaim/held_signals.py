"""What the script's signal handlers do in the middle of an action arrives, and harms no model.

A reload lets variables and step functions go before it makes them again, and the finalizers of
what it frees swallow any exception. A Ctrl+C, or a handler that raises at a time limit, would
leave half a model there, or be lost; held, it arrives a moment later, when all is done. In the
rest of an action a handler is called at once, and what it raises passes our guards. Python runs
handlers on the main thread only, so all this happens on no other.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Final

from kmonitor_agent.guard import FaultLog

Handler = Callable[[int, FrameType | None], Any]


class Passing(BaseException):
    """Carries what a handler of the script raised through everything that answers for ours."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class HeldSignals:
    """The process' signals. Owned by the main thread.

    Nothing of it raises but what handlers of the script raise.
    """

    def __init__(self) -> None:
        """Nothing is held."""
        self._is_open = False
        self._is_held = False
        self._handlers: dict[int, Handler] = {}
        self._came: list[int] = []
        self._failed: Exception | None = None

    def open(self) -> bool:
        """Whether what is held from here on is delivered by the caller, who then calls `close`."""
        if self._is_open or not _is_main_thread():
            return False
        if self._handlers:
            self._put_back()  # a handler that raised had ended that too early
        self._is_open = True
        return True

    def close(self, faults: FaultLog | None = None) -> None:
        """Let the script's handlers answer by themselves again, and deliver what came.

        Args:
            faults: Where what failed here is counted; None: with whoever closes next.
        """
        self._is_open = False
        try:
            if self._handlers:
                self._put_back()
        finally:
            self._is_held = False
            came, self._came = self._came, []
            if faults is not None and self._failed is not None:
                failed, self._failed = self._failed, None
                faults.record("signals", failed)
            self._raise_again(came)

    @contextlib.contextmanager
    def delivered_after(self) -> Generator[None]:
        """Deliver at the end of the block what is held in it, unless one around it will."""
        is_open = False
        try:
            try:
                is_open = self.open()
                yield
            finally:
                if is_open:
                    self.close()
        except Passing as passing:
            if is_open:
                raise passing.error from None
            raise

    def watch(self) -> None:
        """Let what handlers raise pass from here on, where somebody will deliver it."""
        if not self._is_open or self._handlers:
            return
        try:
            if _is_main_thread():
                self._watch()
        except Exception as exc:  # noqa: BLE001 - the work goes on unwatched
            if came_from_a_handler(exc):
                raise Passing(exc) from None
            self._failed = exc

    def hold(self) -> None:
        """Keep signals back from here on, where somebody will deliver them."""
        self.watch()
        # It is watched on the main thread only, and what runs beside it holds nothing.
        if self._handlers and not self._is_held:
            try:
                self._is_held = _is_main_thread()
            except Exception as exc:  # noqa: BLE001 - likewise
                self._failed = exc

    def _watch(self) -> None:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):  # not one of C's, nor one that ends the process
                self._handlers[number] = handler
                signal.signal(number, self._meet)

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
        self._is_held = True  # until its own handler is back, nothing of a signal raises here
        raised: Exception | None = None
        left: dict[int, Handler] = {}
        for number in self._handlers:
            try:
                if signal.getsignal(number) == self._meet:  # else somebody has set another since
                    signal.signal(number, self._handlers[number])
            except Exception as exc:  # noqa: BLE001 - the others must be put back all the same
                if came_from_a_handler(exc):
                    raised = exc
                else:
                    self._failed = exc
                # It goes on being called by `_meet`, and is tried again.
                left[number] = self._handlers[number]
        self._handlers = left
        if raised is not None:
            raise raised

    def _raise_again(self, numbers: list[int]) -> None:
        # One handler that raises must not keep the others from being called.
        if not numbers:
            return
        try:
            signal.raise_signal(numbers[0])
        except Exception as exc:
            if came_from_a_handler(exc):
                raise
            self._failed = exc
        finally:
            self._raise_again(numbers[1:])


def came_from_a_handler(error: BaseException) -> bool:
    """Whether a signal handler of the script raised it, in the midst of what ran."""
    try:
        handlers = map(signal.getsignal, signal.valid_signals())
        codes = {_code_of(each) for each in handlers if callable(each)} - {None}
        trace = error.__traceback__ if codes else None
        while trace is not None:
            if trace.tb_frame.f_code in codes:
                return True
            trace = trace.tb_next
    except Exception:  # noqa: BLE001 - then it is taken for one of ours
        return False
    return False


def _code_of(handler: Any) -> object:
    handler = getattr(handler, "func", handler)  # of a `functools.partial`
    called = handler if hasattr(handler, "__code__") else handler.__call__  # of an object
    return getattr(called, "__code__", None)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


SIGNALS: Final = HeldSignals()
