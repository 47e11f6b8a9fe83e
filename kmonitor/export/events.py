"""Stored events of a run: decoding, and plain data."""

from typing import Any, Final

import msgspec

from kmonitor.base.plain_data import fields_of
from kmonitor_agent.wire.messages.codec import ProtocolError, check_unknown_event, decode_event
from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.messages.unions import EventRow

UNREADABLE: Final = "unreadable"
"""Field with the reason why a stored event cannot be read."""


def decode_row(row: EventRow) -> AnyEvent | None:
    """Decode the event of a row; None for an event that this version does not know."""
    try:
        return decode_event(row.body)
    except ProtocolError:
        return None


def event_object(row: EventRow) -> dict[str, Any]:
    """A row as data: `seq`, `t_s` (run time), `type` and every field of the type.

    An event of unknown type from a newer agent keeps its fields; an unreadable event has the field
    `unreadable` with the reason.
    """
    event = decode_row(row)
    fields: dict[str, Any]
    if event is None:
        fields = _foreign(row.body)
    else:
        fields = {"type": event.__struct_config__.tag, **fields_of(event)}
    return {"seq": row.seq, "t_s": row.t_s, "type": "", **_without(fields, "seq", "t_s")}


def _foreign(body: bytes) -> dict[str, Any]:
    try:
        check_unknown_event(body)
    except ProtocolError as exc:
        return {UNREADABLE: str(exc)}
    return msgspec.msgpack.decode(body, type=dict[str, Any])


def _without(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in names}
