"""Entry point of the command: signals end it quietly at any time, even during imports."""

import os
import signal
from collections.abc import Sequence
from types import FrameType
from typing import Final, NoReturn

_SIGNAL_STATUS: Final = 128
"""Added to a signal's number, a shell's exit status for a process ended by that signal."""

_ENDINGS: Final = (signal.SIGTERM, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line of this process and return its exit status.

    SIGINT, SIGTERM and SIGHUP during the imports end the process at once, as no resources are held
    yet. Afterwards SIGINT raises `KeyboardInterrupt`, the others `SystemExit`, so that files and
    child processes are cleaned up; a command with its own handlers (the hub, the window) sets them
    later.

    Args:
        arguments: Arguments without the program's name; None: those of the process.
    """
    for number in (signal.SIGINT, *_ENDINGS):
        # Ignored by who started us (nohup, a shell's background job): so it stays.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    from kmonitor.cli.main import main as run_command  # noqa: PLC0415 - what takes the time

    for number in _ENDINGS:
        if signal.getsignal(number) is _leave:
            signal.signal(number, _exit)
    try:
        if signal.getsignal(signal.SIGINT) is _leave:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        status = run_command(arguments)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:
        return _SIGNAL_STATUS + signal.SIGINT
    return status


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(_SIGNAL_STATUS + number)


def _exit(number: int, _frame: FrameType | None) -> NoReturn:
    # Once: what is put away now is not to be cut off by a second one.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(_SIGNAL_STATUS + number)


if __name__ == "__main__":
    raise SystemExit(main())
