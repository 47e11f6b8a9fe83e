"""Queue of requests for safe points: put by any thread, taken by the training thread.

The end of an epoch takes requests until none is left, so one that comes while another is carried
out there is carried out at that same end. One that comes later waits for the next safe point:
after the last epoch that is the next fit of the process, until the request expires or the process
ends, which is reported as *expired*.
"""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal, get_args

from kmonitor_agent.limit_watch import LimitWatch
from kmonitor_agent.wire.messages.commands import Command, ReloadMode, SafePoint

Action = Literal[
    "save", "collect", "reload", "restart", "auto", "diagnose", "pause", "resume", "stop"
]
"""What can be done at a safe point."""

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)

MOST_WAITING: Final = 16
"""Most requests that wait at once, as the protocol says."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """One requested action.

    Attributes:
        action: What.
        at: The safe point it waits for.
        requested_by: "script", "limit ram 80%", or the desktop user's name.
        command: The command that requested it; None for limits and the script.
        until_s: The session's time after which it is not started any more; None: never expires.
        watch: The limit that requested it.
        mode: How a reload restores; None: as is always safe.
        export: Whether a save also writes a `.keras` file.
        part_of: "auto" when this is one level of it.
        of: For a stop: one fit, or all that run one in another where it is carried out.
        fit: Ordinal of the fit that a stop is meant for; None: the one that carries it out.
    """

    action: Action
    at: SafePoint = "epoch"
    requested_by: str = "script"
    command: Command | None = None
    until_s: float | None = None
    watch: LimitWatch | None = None
    mode: ReloadMode | None = None
    export: bool = False
    part_of: str = ""
    of: Literal["fit", "run"] = "fit"
    fit: int | None = None


class RequestQueue:
    """Requests in the order in which they came. Every method may be called from any thread."""

    def __init__(self, on_put: Callable[[], None]) -> None:
        """Begin empty.

        Args:
            on_put: Called after each put and by `remind`, outside of the lock.
        """
        self._on_put = on_put
        self._changed = threading.Condition()
        self._waiting: list[ActionRequest] = []

    def put(self, request: ActionRequest) -> bool:
        """Add a request; False when too many wait, or the same limit action waits already."""
        with self._changed:
            if len(self._waiting) >= MOST_WAITING or self._is_repeated(request):
                return False
            self._waiting.append(request)
            self._changed.notify_all()
        self._on_put()
        return True

    def remind(self) -> None:
        """Have the trainings look again for what still waits."""
        self._on_put()

    def take(self, at: SafePoint, but_for: Collection[int] = ()) -> ActionRequest | None:
        """The oldest request that this safe point serves; an epoch's end serves all.

        Args:
            but_for: Ordinals of fits whose own requests are left.
        """
        with self._changed:
            for index, request in enumerate(self._waiting):
                if (at == "epoch" or request.at == "batch") and request.fit not in but_for:
                    return self._waiting.pop(index)
        return None

    def take_or_wait(self, timeout_s: float) -> ActionRequest | None:
        """The oldest request of any kind, waiting for one; Ctrl+C interrupts the wait."""
        with self._changed:
            if not self._waiting:
                self._changed.wait(timeout_s)
            return self._waiting.pop(0) if self._waiting else None

    def take_expired(self, now_s: float) -> list[ActionRequest]:
        """Remove and return what may not be started any more.

        Args:
            now_s: Seconds since the session started.
        """
        with self._changed:
            late = [each for each in self._waiting if is_expired(each, now_s)]
            self._waiting = [each for each in self._waiting if each not in late]
        return late

    def take_all(self) -> list[ActionRequest]:
        """Remove and return everything: the process ends."""
        with self._changed:
            waiting, self._waiting = self._waiting, []
        return waiting

    def waits(self, at: SafePoint) -> bool:
        """Whether something waits for such a safe point."""
        return any(request.at == at for request in tuple(self._waiting))

    def holds(self, action: Action) -> bool:
        """Whether such an action waits."""
        return any(request.action == action for request in tuple(self._waiting))

    def _is_repeated(self, request: ActionRequest) -> bool:
        return request.watch is not None and any(
            each.watch is not None and each.action == request.action for each in self._waiting
        )


def is_expired(request: ActionRequest, now_s: float) -> bool:
    """Whether a request's time to live has passed.

    Args:
        now_s: Seconds since the session started.
    """
    return request.until_s is not None and now_s > request.until_s
