"""Commands sent from this window, each followed until its end is known."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from kmonitor_agent.wire.messages.commands import (
    FINAL_STATES,
    Arguments,
    CommandName,
    CommandState,
    PlainArguments,
)
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import (
    CommandReply,
    CommandRequest,
    ErrorMessage,
    Message,
    RunSummary,
)

SendRequest = Callable[[Message], int]
"""Sends a message to the hub; returns the request number that its reply carries."""


@dataclass(frozen=True, slots=True)
class SentCommand:
    """A command that this window sent.

    Attributes:
        why: Reason of a failure; empty otherwise.
        request_number: Number of the newest request.
    """

    message: CommandRequest
    state: CommandState
    why: str
    request_number: int

    @property
    def is_open(self) -> bool:
        """True while the command has not ended."""
        return self.state not in FINAL_STATES


class CommandStore:
    """Sends commands and stores their states; main thread only.

    The follower repeats each command, with the same id, until its end is known.
    """

    def __init__(self, request: SendRequest, *, requester: str) -> None:
        self._send_request = request
        self._requester = requester[:200]
        self._commands: dict[str, SentCommand] = {}

    def send(
        self,
        run: RunSummary,
        name: CommandName,
        args: Arguments | None = None,
    ) -> str:
        """Send a command to a run's process; returns the command's id."""
        message = CommandRequest(
            request_id=0,
            id=new_id(),
            run=run.run,
            name=name,
            session=run.session,
            args=PlainArguments() if args is None else args,
            requested_by=self._requester,
        )
        number = self._send_request(message)
        self._commands[message.id] = SentCommand(message, "queued", "", number)
        return message.id

    def apply_reply(self, reply: CommandReply) -> SentCommand | None:
        """Store the state of a command; returns the command if the state changed."""
        command = self._commands.get(reply.status.id)
        if command is None or command.state == reply.status.state:
            return None
        after = replace(command, state=reply.status.state, why=reply.status.why)
        self._commands[reply.status.id] = after
        return after

    def refuse(self, error: ErrorMessage) -> SentCommand | None:
        """Record that the hub refused a request; returns the command of the request."""
        if error.code == "busy":
            return None
        for key, command in self._commands.items():
            if command.request_number == error.request_id and command.is_open:
                self._commands[key] = replace(command, state="refused", why=error.text)
                return self._commands[key]
        return None

    def get(self, command: str) -> SentCommand | None:
        return self._commands.get(command)

    def newest(self, run: str, name: CommandName) -> SentCommand | None:
        commands = [
            c for c in self._commands.values() if (c.message.run, c.message.name) == (run, name)
        ]
        return commands[-1] if commands else None

    def open_for(self, run: str) -> list[SentCommand]:
        """Return the commands of a run whose end is unknown, oldest first."""
        return [c for c in self._commands.values() if c.message.run == run and c.is_open]
