"""Commands on their arrival in the agent's thread: answered at once, or queued as requests."""

from typing import Final, cast

from kmonitor_agent.recording.action_executor import ActionExecutor
from kmonitor_agent.recording.action_requests import ACTIONS, Action, ActionRequest, RequestQueue
from kmonitor_agent.recording.limit_enforcer import LimitEnforcer, why_limits_invalid
from kmonitor_agent.recording.process_facts import why_not_possible
from kmonitor_agent.recording.process_session import ProcessSession
from kmonitor_agent.wire.messages.commands import (
    Command,
    CommandName,
    ReloadArguments,
    SaveArguments,
    SetLimits,
)

_NO_COMMANDS: Final = "this run does not accept commands: it was started with commands=False"
_TOO_MANY: Final = "too many requests are already waiting"
_OTHERS: Final = "the arguments belong to a different command"
_SPECIAL: Final[dict[type, frozenset[CommandName]]] = {
    SetLimits: frozenset({"set_limits"}),
    SaveArguments: frozenset({"save"}),
    ReloadArguments: frozenset({"reload", "auto"}),
}
"""Which commands take which arguments; those of the rest, and plain ones of all but `set_limits`,
say no more than when."""


class CommandHandler:
    """Decides on each command; runs on the agent's thread and touches no model."""

    def __init__(
        self,
        *,
        takes_commands: bool,
        session: ProcessSession,
        queue: RequestQueue,
        limits: LimitEnforcer,
        executor: ActionExecutor,
    ) -> None:
        """No command has come yet.

        Args:
            takes_commands: False refuses all.
            session: Knows the time and what the framework lacks.
            queue: Where actions wait for a safe point.
            limits: Takes new limits.
            executor: Reports states, knows whether the training is paused.
        """
        self._takes_commands = takes_commands
        self._process_session = session
        self._queue = queue
        self._limits = limits
        self._action_executor = executor

    def receive(self, command: Command) -> None:
        """Report that a command arrived, and refuse, do or queue it."""
        request = ActionRequest(action="stop", command=command)
        self._action_executor.report_progress(request, "received")
        refusal = self._refusal(command)
        if refusal:
            self._action_executor.report_progress(request, "refused", refusal)
        elif isinstance(command.args, SetLimits):
            self._action_executor.report_progress(request, "started")
            self._limits.set_by_command(command.args, command.requested_by)
            self._action_executor.report_progress(request, "done")
        elif not self._queue.put(self._request(command)):
            self._action_executor.report_progress(request, "refused", _TOO_MANY)

    def expire(self) -> None:
        """Report what waited too long; called each second."""
        for request in self._queue.take_expired(self._process_session.now_s()):
            self._action_executor.report_progress(
                request, "expired", "it expired before a safe point was reached"
            )

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
        """Why this command is not carried out; empty when it is."""
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
        return self._action_executor.is_paused or self._queue.holds("pause")
