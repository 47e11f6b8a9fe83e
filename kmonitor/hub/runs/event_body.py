"""An event's bytes as the hub takes them: known, of a newer agent, or none."""

from collections.abc import Iterable

from kmonitor.hub.faults import HubFaults
from kmonitor_agent.wire.local.spool_folder import SpooledEvent, lost_body
from kmonitor_agent.wire.messages.codec import check_foreign, decode_event
from kmonitor_agent.wire.messages.errors import Malformed, ProtocolError, UnsupportedType
from kmonitor_agent.wire.messages.events import AnyEvent, Verdict

TakenEvent = tuple[int, str, AnyEvent | None, bytes]
"""seq, kind, event (None: a type of a newer agent, kept as it is), body."""


def read_event(seq: int, body: bytes) -> TakenEvent:
    """One event ready to be taken. Raises: `ProtocolError` when it is none of a training's."""
    try:
        event = decode_event(body)
    except UnsupportedType as exc:
        check_foreign(body)
        return seq, exc.type_name, None, body
    if isinstance(event, Verdict):
        raise Malformed("only the hub judges")
    return seq, str(event.__struct_config__.tag), event, body


def take_spooled(run: str, events: Iterable[SpooledEvent], faults: HubFaults) -> list[TakenEvent]:
    """Events of a run's spool ready to be taken; a `Lost` stands for each that is none."""
    return [_taken(run, event, faults) for event in events]


def _taken(run: str, event: SpooledEvent, faults: HubFaults) -> TakenEvent:
    try:
        return read_event(event.seq, event.body)
    except ProtocolError as exc:
        faults.record("spools: event", exc, of=run)
        return read_event(event.seq, lost_body(event.seq, 0.0, str(exc)))
