"""Messages about the keys that may reach a hub on the network, and about its audit.

Operators only: `kmonitor.hub.access.authorization` defines which role may send which message.
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
        name: Chosen by the person who authorized it.
        role: See `Role`.
        since_wall_s: Time of the authorization, UTC epoch seconds.
    """

    key: KeyText
    name: KeyName
    role: Role
    since_wall_s: Wall = 0.0


class KeysRequest(Message, frozen=True, tag="keys"):
    """Desktop to hub: list the authorized keys, optionally after a change.

    Attributes:
        request_id: Number of the request.
        authorize: Key to authorize; a key that is already authorized gets this name and role.
        revoke: Name or key of a device to revoke and disconnect; empty: none.
    """

    request_id: Count
    authorize: KeyGrant | None = None
    revoke: Name = ""


class KeysReply(Message, frozen=True, tag="keys_reply"):
    """Reply: the keys that may connect now.

    Attributes:
        request_id: Number of the request.
        keys: At most 1000 of them, by name.
        address: `tcp://ADDRESS:PORT?key=KEY` where the hub listens; empty: it does not listen on
            the network.
        fault: Why the list cannot be trusted, so that no device may connect, and what to do;
            empty: the list is in order.
    """

    request_id: Count
    keys: Annotated[list[KeyGrant], msgspec.Meta(max_length=1000)]
    address: Text = ""
    fault: Text = ""


class AuditRequest(Message, frozen=True, tag="audit"):
    """Desktop to hub: list the audited actions, newest first.

    Attributes:
        request_id: Number of the request.
        before: Only rows older than this one; 0: from the newest.
        limit: Maximum number of rows.
    """

    request_id: Count
    before: Count = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


class AuditRow(msgspec.Struct, frozen=True):
    """One audited action.

    Attributes:
        row: Row number, rising.
        wall_s: Time of the action, UTC epoch seconds.
        who: Name and beginning of the key, or the hub's own user.
        what: Action as text: "command reload", "authorize".
        run: Run id; empty: it concerns no run.
        subject: Id of the command, name of the run, or name and key.
        result: Result of the action.
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
        request_id: Number of the request.
        rows: Newest first.
        more: True if older rows exist.
    """

    request_id: Count
    rows: Annotated[list[AuditRow], msgspec.Meta(max_length=1000)]
    more: bool = False
