"""Every message under one roof, and which side accepts which."""

from kmonitor_agent.wire.messages.access_messages import (
    AuditAsked,
    AuditRow,
    AuditTold,
    KeyGrant,
    KeysAsked,
    KeysTold,
    Role,
)
from kmonitor_agent.wire.messages.agent_messages import (
    Ack,
    Again,
    Batch,
    Bye,
    ErrorMessage,
    EventBytes,
    Hello,
    Message,
    Minor,
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
    Column,
    CommandAsked,
    CommandTold,
    EditAsked,
    EditTold,
    Head,
    HubAsked,
    HubTold,
    MetricNow,
    Row,
    RowsAsked,
    RowsTold,
    RunsAsked,
    RunState,
    RunsTold,
    RunSummary,
    SeriesAsked,
    SeriesColumn,
    SeriesTold,
    VerdictsAsked,
    VerdictsTold,
    Working,
    mark_of,
)

FromAgent = Hello | Batch | Ping | Pong | Bye | ErrorMessage
"""What a hub accepts on its ingest socket."""

ToAgent = Welcome | Ack | Again | Nack | Ping | Pong | ErrorMessage | Command
"""What an agent accepts."""

FromDesktop = (
    RunsAsked
    | RowsAsked
    | SeriesAsked
    | VerdictsAsked
    | CommandAsked
    | EditAsked
    | HubAsked
    | KeysAsked
    | AuditAsked
    | Ping
    | Pong
)
"""What a hub accepts on its view socket."""

ToDesktop = (
    RunsTold
    | RowsTold
    | SeriesTold
    | VerdictsTold
    | Working
    | CommandTold
    | EditTold
    | HubTold
    | KeysTold
    | AuditTold
    | Head
    | Ping
    | Pong
    | ErrorMessage
)
"""What a desktop accepts."""

__all__ = [
    "ENDED_STATES",
    "MOST_COLUMNS",
    "Ack",
    "Again",
    "AuditAsked",
    "AuditRow",
    "AuditTold",
    "Batch",
    "Bye",
    "Column",
    "CommandAsked",
    "CommandTold",
    "EditAsked",
    "EditTold",
    "ErrorMessage",
    "EventBytes",
    "FromAgent",
    "FromDesktop",
    "Head",
    "Hello",
    "HubAsked",
    "HubTold",
    "KeyGrant",
    "KeysAsked",
    "KeysTold",
    "Message",
    "MetricNow",
    "Minor",
    "Nack",
    "Ping",
    "Pong",
    "Role",
    "Row",
    "RowsAsked",
    "RowsTold",
    "RunState",
    "RunSummary",
    "RunsAsked",
    "RunsTold",
    "SeriesAsked",
    "SeriesColumn",
    "SeriesTold",
    "ToAgent",
    "ToDesktop",
    "VerdictsAsked",
    "VerdictsTold",
    "Wall",
    "Welcome",
    "Working",
    "mark_of",
]
