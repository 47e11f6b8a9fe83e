"""All messages, and the unions that each side accepts.

A new message to the hub also needs the role that may send it: `kmonitor.hub.access.authorization`.
"""

from kmonitor_agent.wire.messages.access_messages import (
    AuditReply,
    AuditRequest,
    AuditRow,
    KeyGrant,
    KeysReply,
    KeysRequest,
    Role,
)
from kmonitor_agent.wire.messages.agent_messages import (
    Ack,
    Batch,
    Bye,
    ErrorMessage,
    EventBytes,
    Hello,
    HelloAgain,
    Message,
    MinorVersion,
    Nack,
    Ping,
    Pong,
    Welcome,
)
from kmonitor_agent.wire.messages.commands import Command
from kmonitor_agent.wire.messages.fields import Wall
from kmonitor_agent.wire.messages.view_messages import (
    ENDED_STATES,
    MOST_COLUMNS,
    ChangeHint,
    CommandReply,
    CommandRequest,
    EditReply,
    EditRequest,
    EventRow,
    HubReply,
    HubRequest,
    MetricReading,
    ReplyPending,
    RowsReply,
    RowsRequest,
    RunsReply,
    RunsRequest,
    RunState,
    RunSummary,
    SeriesColumn,
    SeriesReply,
    SeriesRequest,
    ThinnedColumn,
    VerdictsReply,
    VerdictsRequest,
    troubles_checksum,
)

FromAgent = Hello | Batch | Ping | Pong | Bye | ErrorMessage
"""Messages that a hub accepts on its ingest socket."""

ToAgent = Welcome | Ack | HelloAgain | Nack | Ping | Pong | ErrorMessage | Command
"""Messages that an agent accepts."""

FromDesktop = (
    RunsRequest
    | RowsRequest
    | SeriesRequest
    | VerdictsRequest
    | CommandRequest
    | EditRequest
    | HubRequest
    | KeysRequest
    | AuditRequest
    | Ping
    | Pong
)
"""Messages that a hub accepts on its view socket."""

ToDesktop = (
    RunsReply
    | RowsReply
    | SeriesReply
    | VerdictsReply
    | ReplyPending
    | CommandReply
    | EditReply
    | HubReply
    | KeysReply
    | AuditReply
    | ChangeHint
    | Ping
    | Pong
    | ErrorMessage
)
"""Messages that a desktop accepts."""

__all__ = [
    "ENDED_STATES",
    "MOST_COLUMNS",
    "Ack",
    "AuditReply",
    "AuditRequest",
    "AuditRow",
    "Batch",
    "Bye",
    "ChangeHint",
    "CommandReply",
    "CommandRequest",
    "EditReply",
    "EditRequest",
    "ErrorMessage",
    "EventBytes",
    "EventRow",
    "FromAgent",
    "FromDesktop",
    "Hello",
    "HelloAgain",
    "HubReply",
    "HubRequest",
    "KeyGrant",
    "KeysReply",
    "KeysRequest",
    "Message",
    "MetricReading",
    "MinorVersion",
    "Nack",
    "Ping",
    "Pong",
    "ReplyPending",
    "Role",
    "RowsReply",
    "RowsRequest",
    "RunState",
    "RunSummary",
    "RunsReply",
    "RunsRequest",
    "SeriesColumn",
    "SeriesReply",
    "SeriesRequest",
    "ThinnedColumn",
    "ToAgent",
    "ToDesktop",
    "VerdictsReply",
    "VerdictsRequest",
    "Wall",
    "Welcome",
    "troubles_checksum",
]
