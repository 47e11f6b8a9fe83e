"""How a fit or the process ends when nobody says so: exception hooks, IPython's event, exit."""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True)
class Uncaught:
    """An exception that nobody caught.

    Attributes:
        exc: The exception.
        thread: Ident of its thread; None unknown.
        is_last: The process ends with it.
    """

    exc: BaseException
    thread: int | None
    is_last: bool


ExceptionMet = Callable[[Uncaught], None]
"""Told of each."""

_KEYBOARD: Final = (KeyboardInterrupt, GeneratorExit)


class ExitWatch:
    """Chains the process's exception hooks; one per process, installed once, never removed.

    Hooks that were there before are always called.
    """

    def __init__(self, met: ExceptionMet) -> None:
        """Keep what to tell.

        Args:
            met: See `ExceptionMet`.
        """
        self._met = met
        self._has_ipython = False

    def install(self) -> None:
        """Chain `sys.excepthook` and `threading.excepthook`."""
        self._chain_main()
        self._chain_threads()
        self.install_ipython()

    def install_ipython(self) -> None:
        """Follow the cells of a notebook, once there is one; costs nothing when done."""
        module: Any = sys.modules.get("IPython")
        if self._has_ipython or module is None:
            return
        shell = module.get_ipython()
        if shell is None:
            return
        self._has_ipython = True
        shell.events.register("post_run_cell", self._on_cell_run)

    def _chain_main(self) -> None:
        before = sys.excepthook
        met = self._met

        def kmonitor_excepthook(
            kind: type[BaseException], exc: BaseException, trace: TracebackType | None
        ) -> None:
            """Tell of what ends the process, then do as before."""
            _tell(met, exc, threading.get_ident(), is_last=True)
            before(kind, exc, trace)

        sys.excepthook = kmonitor_excepthook

    def _chain_threads(self) -> None:
        before = threading.excepthook
        met = self._met

        def kmonitor_excepthook(args: Any) -> None:
            """Tell of what ends a thread, then do as before."""
            if args.exc_value is not None and args.thread is not None:
                _tell(met, args.exc_value, args.thread.ident, is_last=False)
            before(args)

        threading.excepthook = kmonitor_excepthook

    def _on_cell_run(self, result: Any = None) -> None:
        exc = getattr(result, "error_in_exec", None) or getattr(result, "error_before_exec", None)
        if isinstance(exc, BaseException):
            _tell(self._met, exc, threading.get_ident(), is_last=False)


def _tell(met: ExceptionMet, exc: BaseException, thread: int | None, *, is_last: bool) -> None:
    # The hook that was there before, which prints the script's traceback, comes in every case.
    # Sessions count their own faults: what comes here is memory that `suppress` would need too.
    try:  # noqa: SIM105
        met(Uncaught(exc, thread, is_last=is_last))
    except Exception:  # noqa: BLE001, S110
        pass


def how_ended(exc: BaseException) -> Literal["failed", "interrupted"]:
    """How a fit or process ended that this exception left."""
    return "interrupted" if isinstance(exc, _KEYBOARD) else "failed"
