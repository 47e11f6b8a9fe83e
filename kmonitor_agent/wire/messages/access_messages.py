"""Messages about the keys that may reach a hub on the network, and about its audit.

Operators only: `hub.access.roles` says which role may send what.
"""

from typing import Annotated, Literal

import msgspec

from kmonitor_agent.wire.messages.agent_messages import Message
from kmonitor_agent.wire.messages.fields import Count, Name, Text, Wall

KeyText = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
"""A public key: the 32 bytes of a Curve25519 key as hexadecimal digits."""

KeyName = Annotated[str, msgspec.Meta(pattern=r"^[\w.@][\w.@ -]{0,63}\Z")]
"""The name of a key: letters, digits, and `. @ _ -` and spaces inside; at most 64."""

Role = Literal["agent", "viewer", "operator"]
"""Role of a key: a training sends its own runs, a viewer looks, an operator also acts."""


class KeyGrant(msgspec.Struct, frozen=True, omit_defaults=True):
    """A device that may connect.

    Attributes:
        key: Its public key.
        name: Given by who let it in.
        role: What it may do.
        since_wall_s: When it was let in, UTC epoch seconds.
    """

    key: KeyText
    name: KeyName
    role: Role
    since_wall_s: Wall = 0.0


class KeysRequest(Message, frozen=True, tag="keys"):
    """Desktop to hub: who may connect; or change that first.

    Attributes:
        request_id: Number of the question.
        authorize: Let this key in; one that is in gets this name and role.
        revoke: Name or key of one that may connect no more, and is disconnected; empty: none.
    """

    request_id: Count
    authorize: KeyGrant | None = None
    revoke: Name = ""


class KeysReply(Message, frozen=True, tag="keys_reply"):
    """Answer: who may connect now.

    Attributes:
        request_id: The question.
        keys: At most 1000 of them, by name.
        address: `tcp://ADDRESS:PORT?key=KEY` where the hub listens; empty: not at all.
        fault: Why the list cannot be trusted, so that nobody may connect, and what to do; empty:
            nothing is wrong with it.
    """

    request_id: Count
    keys: Annotated[list[KeyGrant], msgspec.Meta(max_length=1000)]
    address: Text = ""
    fault: Text = ""


class AuditRequest(Message, frozen=True, tag="audit"):
    """Desktop to hub: what was done through it, newest first.

    Attributes:
        request_id: Number of the question.
        before: Only rows older than this one; 0: from the newest.
        limit: Most rows wanted.
    """

    request_id: Count
    before: Count = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


class AuditRow(msgspec.Struct, frozen=True):
    """One thing that was done.

    Attributes:
        row: Its number, rising.
        wall_s: When, UTC epoch seconds.
        who: Name and beginning of the key, or this user.
        what: In words: "command reload", "authorize".
        run: Run id; empty: of no run.
        subject: Id of the command, name of the run, or name and key.
        result: What came of it.
    """

    row: Count
    wall_s: Wall
    who: Text
    what: Text
    run: Text
    subject: Text
    result: Text


class AuditReply(Message, frozen=True, tag="audit_reply"):
    """Answer.

    Attributes:
        request_id: The question.
        rows: Newest first.
        more: Whether older ones exist.
    """

    request_id: Count
    rows: Annotated[list[AuditRow], msgspec.Meta(max_length=1000)]
    more: bool = False
