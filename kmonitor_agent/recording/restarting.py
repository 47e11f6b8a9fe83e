"""Leaving to be started again by `kmonitor run`, and taking up in the next process."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Final

from kmonitor_agent.guard import FaultLog, described
from kmonitor_agent.reclaim.restart.fit_state import CannotResume, FitStates, SavedFit
from kmonitor_agent.wire.local.supervision import (
    LEAVE_WITHIN_S,
    RESTART_STATUS,
    Leaving,
    Supervision,
    supervision_of,
    why_not_ours,
)
from kmonitor_agent.wire.messages.identity import new_id

NOT_SUPERVISED: Final = (
    "this training was not started by kmonitor run, so nothing would start it again: start it"
    " with kmonitor run -- python train.py"
)
_FINISH: Final = "kmonitor-leave"


class Restarting:
    """What a run of this process has to do with the supervisor of the process.

    Attributes:
        why_not: Why this process cannot be started again; empty when it can.
        saves_each_epoch: Whether state is to be saved at epochs' ends, to survive a crash.
        supervisor: The supervisor's process id; 0 without one.
        run_id: The run's id: the one that it had in the process before, or a new one.
        started_by: Who asked for the restart that started this process; empty if none did.
        in_vain: Restarts in a row before it that did not help the limit that asked.
        is_leaving: State is committed and this process is on its way out.
    """

    def __init__(self, name: str) -> None:
        """Look whether this process is supervised.

        Args:
            name: The run's name.
        """
        self.why_not = why_not_restart()
        self.saves_each_epoch = False
        self.supervisor = 0
        self.run_id = new_id()
        self.started_by, self.in_vain = "", 0
        self.is_leaving = False
        self._within_s = LEAVE_WITHIN_S
        self._supervision: Supervision | None = None
        self._states: FitStates | None = None
        supervision = supervision_of(os.environ)
        if self.why_not or supervision is None:
            return
        try:
            self.run_id = supervision.run_id(name)
        except OSError as exc:
            self.why_not = f"kmonitor run's folder cannot be written: {exc}"
            return
        self._supervision = supervision
        self._states = FitStates(supervision.states(self.run_id))
        left = supervision.left()
        if left is not None and left.run == self.run_id:
            self.started_by, self.in_vain = left.asked_by, left.in_vain
        terms = supervision.terms()
        if terms is not None:
            self.supervisor = terms.supervisor
            self.saves_each_epoch = terms.saves_each_epoch
            self._within_s = terms.leave_within_s

    @property
    def states(self) -> FitStates | None:
        """Where states of fits are committed; None when this process is not supervised."""
        return self._states

    def saved(self, fit: int) -> SavedFit | None:
        """What an earlier process of the run committed of a fit.

        Raises:
            CannotResume: It cannot be read.
        """
        return None if self._states is None else self._states.read(fit)

    def announce(self, asked_by: str, in_vain: int = 0) -> None:
        """Tell the supervisor that this process leaves to be started again.

        Args:
            asked_by: Who asked.
            in_vain: Restarts in a row for the limit that asked which did not help it.

        Raises:
            OSError: It cannot be told.
        """
        if self._supervision is not None:
            self._supervision.leave(Leaving(self.run_id, asked_by[:200], in_vain))

    def leave(self) -> None:
        """Leave the process with status 75; comes back only by the `SystemExit` that it raises.

        The script's `finally` blocks and exit functions run. Where that leads nowhere (the fit
        runs in a thread of its own; a thread never ends; the script catches the exception and
        goes on to its next fit) the process is ended.
        """
        self.is_leaving = True
        with contextlib.suppress(Exception):  # no thread is left: the process leaves all the same
            threading.Thread(
                target=_end_after, args=(self._within_s,), name=_FINISH, daemon=True
            ).start()
        if threading.current_thread() is not threading.main_thread():
            end_now()
        raise SystemExit(RESTART_STATUS)

    def end_if_leaving(self) -> None:
        """End the process when the script went on although it was told to leave."""
        if self.is_leaving:
            end_now()


def why_not_restart() -> str:
    """Why this process cannot be started again; empty when it was started by `kmonitor run`."""
    supervision = supervision_of(os.environ)
    if supervision is None:
        return NOT_SUPERVISED
    return why_not_ours(supervision, supervision.terms())


def end_now() -> None:
    """Leave with status 75 at once, with what was printed written out."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # closed, broken, or not a stream at all
            stream.flush()
    os._exit(RESTART_STATUS)


def read_saved(
    restarting: Restarting, fit: int, faults: FaultLog
) -> tuple[SavedFit | None, CannotResume | None]:
    """A fit's saved state, or why there is none that could be taken up."""
    try:
        return restarting.saved(fit), None
    except CannotResume as exc:
        faults.record("session.resume", exc)
        return None, exc
    except Exception as exc:  # noqa: BLE001 - as bad as a damaged one: nothing is known of it
        faults.record("session.resume", exc)
        return None, CannotResume(described(exc))


def _end_after(seconds: float, wait: Callable[[float], object] | None = None) -> None:
    try:
        (wait or threading.Event().wait)(seconds)
    except Exception:  # noqa: BLE001 - no clock, no deadline: the process leaves by itself
        return
    end_now()
