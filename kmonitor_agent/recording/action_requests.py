"""Requests for safe points: made of commands, put by any thread, taken by the training thread.

The end of an epoch takes requests until none is left, so a request that arrives while another one
runs there is run at the same end. A later one waits for the next safe point: after the last epoch
that is in the next fit of the process, until the request expires or the process ends, which is
reported as *expired*.
"""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

from kmonitor_agent.limit_watch import LimitWatch
from kmonitor_agent.recording.process_facts import why_not_possible
from kmonitor_agent.wire.limits import why_limits_invalid
from kmonitor_agent.wire.messages.commands import (
    Command,
    CommandName,
    CommandState,
    ReloadArguments,
    ReloadMode,
    SafePoint,
    SaveArguments,
    SetLimits,
)

if TYPE_CHECKING:  # `import kmonitor_agent` stays light
    from kmonitor_agent.recording.process_session import ProcessSession

Action = Literal[
    "save", "collect", "reload", "restart", "auto", "diagnose", "pause", "resume", "stop"
]
"""Actions that can run at a safe point."""

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)

MOST_WAITING: Final = 16
"""Maximum number of waiting requests, as in the protocol."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """One requested action.

    Attributes:
        at: Safe point that the request waits for.
        requested_by: "script", "limit ram 80%", or the desktop user's name.
        command: Command that requested it; None for limits and the script.
        until_s: Session time after which it is not started any more, seconds; None: never expires.
        watch: Watch of the limit that requested it; None for others.
        mode: Mode of a reload; None: the one that is always safe.
        export: True if a save also writes a `.keras` file.
        part_of: "auto" if this is one level of it; else empty.
        of: For a stop: one fit, or all nested fits at the place where it runs.
        fit: Ordinal of the fit that a stop ends; None: the fit that runs the request.
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
    """Requests in the order of arrival. Every method may be called from any thread."""

    def __init__(self, on_put: Callable[[], None]) -> None:
        """Args: `on_put`: Called after each put and by `remind`, outside of the lock."""
        self._on_put = on_put
        self._changed = threading.Condition()
        self._waiting: list[ActionRequest] = []

    def put(self, request: ActionRequest) -> bool:
        """Add a request; False if too many wait, or the same limit action waits already."""
        with self._changed:
            if len(self._waiting) >= MOST_WAITING or self._is_repeated(request):
                return False
            self._waiting.append(request)
            self._changed.notify_all()
        self._on_put()
        return True

    def remind(self) -> None:
        """Have the trainings check the queue again."""
        self._on_put()

    def take(self, at: SafePoint, but_for: Collection[int] = ()) -> ActionRequest | None:
        """Take the oldest request that this safe point serves; an epoch's end serves all.

        Args:
            but_for: Ordinals of fits whose own requests stay in the queue.
        """
        with self._changed:
            for index, request in enumerate(self._waiting):
                if (at == "epoch" or request.at == "batch") and request.fit not in but_for:
                    return self._waiting.pop(index)
        return None

    def take_or_wait(self, timeout_s: float) -> ActionRequest | None:
        """Take the oldest request of any kind, waiting for one; Ctrl+C interrupts the wait."""
        with self._changed:
            if not self._waiting:
                self._changed.wait(timeout_s)
            return self._waiting.pop(0) if self._waiting else None

    def take_expired(self, now_s: float) -> list[ActionRequest]:
        """Remove and return expired requests.

        Args:
            now_s: Seconds since the session started.
        """
        with self._changed:
            late = [each for each in self._waiting if is_expired(each, now_s)]
            self._waiting = [each for each in self._waiting if each not in late]
        return late

    def take_all(self) -> list[ActionRequest]:
        """Remove and return all requests; the process ends."""
        with self._changed:
            waiting, self._waiting = self._waiting, []
        return waiting

    def waits(self, at: SafePoint) -> bool:
        """True if a request waits for this kind of safe point."""
        return any(request.at == at for request in tuple(self._waiting))

    def holds(self, action: Action) -> bool:
        """True if a request for this action waits."""
        return any(request.action == action for request in tuple(self._waiting))

    def _is_repeated(self, request: ActionRequest) -> bool:
        return request.watch is not None and any(
            each.watch is not None and each.action == request.action for each in self._waiting
        )


def is_expired(request: ActionRequest, now_s: float) -> bool:
    """True if a request's time to live has passed.

    Args:
        now_s: Seconds since the session started.
    """
    return request.until_s is not None and now_s > request.until_s


_NO_COMMANDS: Final = "this run does not accept commands: it was started with commands=False"
_TOO_MANY: Final = "too many requests are already waiting"
_OTHERS: Final = "the arguments belong to a different command"
_SPECIAL: Final[dict[type, frozenset[CommandName]]] = {
    SetLimits: frozenset({"set_limits"}),
    SaveArguments: frozenset({"save"}),
    ReloadArguments: frozenset({"reload", "auto"}),
}
"""Special types of arguments, and the commands that take them.

All commands except `set_limits` also take plain arguments, which only say when to run.
"""

ReportProgress = Callable[[ActionRequest, CommandState, str], None]
"""Reports a command's state, with a reason."""


class CommandHandler:
    """Decides on each command; runs on the agent's thread and touches no model.

    Args:
        takes_commands: False to refuse all commands.
        session: Session with the time and the framework's missing capabilities.
        queue: Queue of actions that wait for a safe point.
        report: Reports states.
        set_limits: Called with new limits and the name of the user who set them.
        is_paused: Returns True if the training is paused.
    """

    def __init__(
        self,
        *,
        takes_commands: bool,
        session: "ProcessSession",
        queue: RequestQueue,
        report: ReportProgress,
        set_limits: Callable[[SetLimits, str], None],
        is_paused: Callable[[], bool],
    ) -> None:
        self._takes_commands = takes_commands
        self._process_session = session
        self._queue = queue
        self._report = report
        self._set_limits = set_limits
        self._is_paused = is_paused

    def receive(self, command: Command) -> None:
        """Report that a command arrived, and refuse, run or queue it."""
        request = ActionRequest(action="stop", command=command)
        self._report(request, "received", "")
        refusal = self._refusal(command)
        if refusal:
            self._report(request, "refused", refusal)
        elif isinstance(command.args, SetLimits):
            self._report(request, "started", "")
            self._set_limits(command.args, command.requested_by)
            self._report(request, "done", "")
        elif not self._queue.put(self._request(command)):
            self._report(request, "refused", _TOO_MANY)

    def expire(self) -> None:
        """Report expired requests; called each second."""
        for request in self._queue.take_expired(self._process_session.now_s()):
            self._report(request, "expired", "it expired before a safe point was reached")

    def _request(self, command: Command) -> ActionRequest:
        args = command.args
        return ActionRequest(
            action=cast("Action", command.name),
            at="epoch" if isinstance(args, SetLimits) else args.at,
            requested_by=command.requested_by or "app",
            command=command,
            until_s=self._process_session.now_s() + command.ttl_s,
            mode=args.mode if isinstance(args, ReloadArguments) else None,
            export=isinstance(args, SaveArguments) and args.export,
            of="run",
        )

    def _refusal(self, command: Command) -> str:
        """Reason why this command is refused; empty if it is not."""
        if not self._takes_commands:
            return _NO_COMMANDS
        takers = _SPECIAL.get(type(command.args))
        if takers is not None and command.name not in takers:
            return _OTHERS
        if isinstance(command.args, SetLimits):
            return why_limits_invalid(command.args)
        if command.name not in ACTIONS:
            return f"{command.name} is not available in this version of kmonitor"
        if command.name == "resume" and not self._will_be_paused():
            return "training is not paused"
        return why_not_possible(command.name, self._process_session.unavailable)

    def _will_be_paused(self) -> bool:
        return self._is_paused() or self._queue.holds("pause")
