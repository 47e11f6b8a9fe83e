"""Commands asked from this window, each followed until its end is known."""

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
"""Sends a message to the hub; returns the number that its answer will carry."""


@dataclass(frozen=True, slots=True)
class SentCommand:
    """A command that was asked from here.

    Attributes:
        message: As it goes to the hub.
        state: Its state.
        why: Why it failed; empty otherwise.
        request_number: Number of the newest question.
    """

    message: CommandRequest
    state: CommandState
    why: str
    request_number: int

    @property
    def is_open(self) -> bool:
        """True while it has not ended."""
        return self.state not in FINAL_STATES


class CommandStore:
    """Sends commands and keeps their states; main thread only.

    The follower repeats each with its id until the end is known.
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
        """Ask a run's process to do something; returns the command's id."""
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
        """Note the state of a command; returns it if that is news."""
        command = self._commands.get(reply.status.id)
        if command is None or command.state == reply.status.state:
            return None
        after = replace(command, state=reply.status.state, why=reply.status.why)
        self._commands[reply.status.id] = after
        return after

    def refuse(self, error: ErrorMessage) -> SentCommand | None:
        """Note that the hub refused a question; returns the command it was about."""
        if error.code == "busy":
            return None
        for key, command in self._commands.items():
            if command.request_number == error.request_id and command.is_open:
                self._commands[key] = replace(command, state="refused", why=error.text)
                return self._commands[key]
        return None

    def get(self, command: str) -> SentCommand | None:
        """One command by its id."""
        return self._commands.get(command)

    def newest(self, run: str, name: CommandName) -> SentCommand | None:
        """The last command of this name that was asked of a run; None if there was none."""
        commands = [
            c for c in self._commands.values() if (c.message.run, c.message.name) == (run, name)
        ]
        return commands[-1] if commands else None

    def open_for(self, run: str) -> list[SentCommand]:
        """Commands of a run whose end is unknown, oldest first."""
        return [c for c in self._commands.values() if c.message.run == run and c.is_open]
