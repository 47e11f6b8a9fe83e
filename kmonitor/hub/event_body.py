"""An event's bytes as the hub takes them: known, of a newer agent, or none."""

from kmonitor_agent.protocol.codec import decode_event
from kmonitor_agent.protocol.errors import UnsupportedType
from kmonitor_agent.protocol.facts import AnyEvent

TakenEvent = tuple[int, str, AnyEvent | None, bytes]
"""seq, kind, event (None: a type of a newer agent, kept as it is), body."""


def read_event(seq: int, body: bytes) -> TakenEvent:
    """One event ready to be taken. Raises: `ProtocolError` when it is none."""
    try:
        event = decode_event(body)
    except UnsupportedType as exc:
        return seq, exc.type_name, None, body
    return seq, str(event.__struct_config__.tag), event, body
