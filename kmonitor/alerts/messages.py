"""Alerts on their way from the hub to the process that hands them over, or to the next hub."""

import msgspec

from kmonitor.alerts.evaluator import Alert, HeldAlerts

_decoder = msgspec.msgpack.Decoder(list[Alert])
_held_decoder = msgspec.msgpack.Decoder(HeldAlerts)


def encode_alerts(alerts: list[Alert]) -> bytes:
    """Alerts with their events."""
    return msgspec.msgpack.encode(alerts)


def decode_alerts(data: bytes) -> list[Alert]:
    """The same alerts. Raises: `msgspec.MsgspecError`."""
    return _decoder.decode(data)


def encode_held(held: HeldAlerts) -> bytes:
    """What is held back; empty: nothing."""
    return b"" if held == HeldAlerts() else msgspec.msgpack.encode(held)


def decode_held(data: bytes) -> HeldAlerts:
    """The same. Raises: `msgspec.MsgspecError`."""
    return _held_decoder.decode(data)
