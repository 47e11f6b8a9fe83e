"""Desktops' commands, checked before they are queued: refused at once, with a reason."""

from collections.abc import Callable
from typing import Literal

from kmonitor.hub.runs.command_queue import MAX_OPEN_PER_RUN, CommandEntry
from kmonitor.hub.runs.hub_event_log import HubEventLog
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.views.edits import OF_ANOTHER
from kmonitor_agent.wire.local.clock import Clock
from kmonitor_agent.wire.messages.unions import CommandReply, CommandRequest, ErrorMessage


class CommandService:
    """Owned by the hub's main thread."""

    def __init__(
        self, log: HubEventLog, clock: Clock, is_gone: Callable[[RunRecord], bool]
    ) -> None:
        """Args: `is_gone`: True if the process of a run that is not over is seen to be dead."""
        self._is_gone = is_gone
        self._event_log = log
        self._clock = clock

    def submit(self, request: CommandRequest) -> Callable[[], CommandReply | ErrorMessage]:
        """Take a command, or one asked again; returns its status."""
        entry = self._known(request.id)
        if entry is None:
            record = self._event_log.registry.get(request.run)
            if self._event_log.registry.is_of_another(request.run):
                return lambda: _command_error(request, "invalid", OF_ANOTHER)
            if record is None:
                return lambda: _command_error(request, "not_found", "this hub has no such run")
            entry = self._add(request)
            if entry is None:
                return lambda: _command_error(
                    request, "invalid", f"{self._event_log.trouble}; the command was not sent"
                )
        elif (entry.run, entry.name) != (request.run, request.name):
            return lambda: _command_error(request, "invalid", "this id belongs to another command")
        return lambda: CommandReply(request_id=request.request_id, status=entry.status())

    def _add(self, request: CommandRequest) -> CommandEntry | None:
        """The command in the queue; None if it cannot be written: it is not done later either."""
        queue = self._event_log.command_queue
        refusal = self._refusal(request)
        result = f"refused: {refusal}" if refusal else "queued"
        is_added = self._event_log.attempt(
            lambda: queue.add(request, self._clock.wall_s(), refusal),
            lambda: queue.forget(request.id),
            [(request.requested_by, f"command {request.name}", request.run, request.id, result)],
        )
        return queue.get(request.id) if is_added else None

    def _known(self, command: str) -> CommandEntry | None:
        found = self._event_log.command_queue.get(command)
        if found is not None:
            return found
        body = self._event_log.database.command(command)
        return None if body is None else self._event_log.command_queue.remember(body)

    def _refusal(self, request: CommandRequest) -> str:
        record = self._event_log.registry.get(request.run)
        if record is None or record.is_over:
            return "the run has ended"
        if request.session != record.session:
            return "the run was restarted in a new process after this command was sent"
        if self._is_gone(record):
            return "the training's process has ended"
        if record.is_shipped or request.name not in record.actions:
            return _cannot(record, request.name)
        if len(self._event_log.command_queue.open_of(request.run)) >= MAX_OPEN_PER_RUN:
            return f"{MAX_OPEN_PER_RUN} commands are already waiting"
        return ""


def _cannot(record: RunRecord, name: str) -> str:
    if record.is_shipped:
        return "this run was read from a folder: commands cannot be sent to its process"
    if not record.actions:
        return "this run does not accept commands (it was started with commands=False)"
    return f"this run does not support {name}"


def _command_error(
    request: CommandRequest, code: Literal["not_found", "invalid"], text: str
) -> ErrorMessage:
    return ErrorMessage(code=code, text=text, request_id=request.request_id)
