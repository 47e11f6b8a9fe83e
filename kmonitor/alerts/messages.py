"""Alerts on their way from the hub to the process that hands them over, as msgpack."""

import msgspec

from kmonitor.alerts.evaluator import Alert

_decoder = msgspec.msgpack.Decoder(list[Alert])


def encode_alerts(alerts: list[Alert]) -> bytes:
    """Alerts with their events."""
    return msgspec.msgpack.encode(alerts)


def decode_alerts(data: bytes) -> list[Alert]:
    """The same alerts. Raises: `msgspec.MsgspecError`."""
    return _decoder.decode(data)
