"""Alerts on their way from the hub to the process that hands them over."""

import msgspec

from kmonitor.alerts.evaluator import Alert
from kmonitor.alerts.rules import AlertKind, AlertMetric
from kmonitor_agent.wire.messages.codec import decode_event, encode_event


class _AlertMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: AlertKind
    subject: str
    metric: AlertMetric
    title: str
    host: str
    wall_s: float
    event: bytes = b""
    why: str = ""
    unseen: int = 0


_decoder = msgspec.json.Decoder(list[_AlertMessage])


def encode_alerts(alerts: list[Alert]) -> bytes:
    """Alerts as JSON; events as they are on the wire."""
    return msgspec.json.encode(
        [
            _AlertMessage(
                kind=alert.kind,
                subject=alert.subject,
                metric=alert.metric,
                title=alert.title,
                host=alert.host,
                wall_s=alert.wall_s,
                event=b"" if alert.event is None else encode_event(alert.event),
                why=alert.why,
                unseen=alert.unseen,
            )
            for alert in alerts
        ]
    )


def decode_alerts(data: bytes) -> list[Alert]:
    """The same alerts. Raises: `msgspec.MsgspecError`, `ProtocolError`."""
    return [
        Alert(
            kind=each.kind,
            subject=each.subject,
            metric=each.metric,
            title=each.title,
            host=each.host,
            wall_s=each.wall_s,
            event=decode_event(each.event) if each.event else None,
            why=each.why,
            unseen=each.unseen,
        )
        for each in _decoder.decode(data)
    ]
