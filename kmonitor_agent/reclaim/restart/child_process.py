"""Child process of the script, transparent for it: same terminal, same signals, same end.

The child stays in our process group, as under `env` or `time`: in a pipeline and under job control
the shell treats both as one. Signals of the terminal reach the whole group; only signals sent to
us alone are passed on.
"""

import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_PASSED_ON: Final = frozenset(
    {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGWINCH,
        signal.SIGTSTP,
        signal.SIGCONT,
        signal.SIGALRM,
    }
)
_ENDING: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
_FROM_TERMINAL: Final = frozenset(
    {signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH, signal.SIGHUP}
)
_BY_KERNEL: Final = 0
"""`si_code` is above this if the kernel sent a signal, for the terminal; else a process did."""

_PYTHONS_OWN: Final = frozenset(
    {signal.SIGPIPE, signal.SIGXFSZ} if hasattr(signal, "SIGXFSZ") else {signal.SIGPIPE}
)
"""Signals that Python itself ignores and that a child must not inherit as ignored."""


@dataclass(frozen=True, slots=True)
class ScriptExit:
    """End of a child process.

    Attributes:
        status: Exit status; 0 if a signal ended it.
        signal: Number of the signal that ended it; 0 if it exited by itself.
        forwarded_signal: Number of the terminating signal that we received, by Ctrl+C for example;
            0: none.
    """

    status: int = 0
    signal: int = 0
    forwarded_signal: int = 0


class ScriptProcess:
    """One process of the script; `wait` once."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start the process.

        Args:
            argv: Program, looked up in PATH, and its arguments.

        Raises:
            OSError: The program cannot be started.
        """
        signal.signal(signal.SIGCHLD, _nothing)
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
        self._forwarded_signal = 0
        try:
            self.pid = os.posix_spawnp(
                argv[0], list(argv), dict(environ), setsigmask=self._before, setsigdef=_PYTHONS_OWN
            )
        except OSError:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)
            raise

    def wait(self) -> ScriptExit:
        """Forward signals until the process has ended."""
        try:
            while True:
                number, by_terminal = _next_signal()
                if number != signal.SIGCHLD:
                    self._pass_on(number, by_terminal=by_terminal)
                    continue
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    return self._exit(status)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def _pass_on(self, number: int, *, by_terminal: bool) -> None:
        if number in _ENDING:
            self._forwarded_signal = number
        if not by_terminal:
            os.kill(self.pid, number)
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    def _exit(self, status: int) -> ScriptExit:
        code = os.waitstatus_to_exitcode(status)
        return ScriptExit(max(0, code), max(0, -code), self._forwarded_signal)


def exit_as(script_exit: ScriptExit) -> int:
    """End this process by the child's signal.

    If there was none, return the status to exit with.
    """
    if not script_exit.signal:
        return script_exit.status
    sys.stdout.flush()
    sys.stderr.flush()
    # The child has left its memory dump, if it leaves one; ours says nothing.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if script_exit.signal not in {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(script_exit.signal, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {script_exit.signal})
    os.kill(os.getpid(), script_exit.signal)
    return 128 + script_exit.signal  # a signal that ends no process here


def _next_signal() -> tuple[int, bool]:
    """(next signal, True if the terminal sent it, to the whole group)."""
    wanted = {*_PASSED_ON, signal.SIGCHLD}
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(wanted)
        return info.si_signo, info.si_code > _BY_KERNEL
    # macOS does not say who sent it.
    number = signal.sigwait(wanted)
    return number, number in _FROM_TERMINAL and os.isatty(sys.stdin.fileno())


def _nothing(number: int, frame: object) -> None:
    """Handler that does nothing.

    Without a handler a system may drop a signal before it is waited for.
    """
