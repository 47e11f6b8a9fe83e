"""At start the hub tries its own door: a key that nobody let in, and no key, must be refused."""

import time
from typing import Final

import zmq
from zmq.utils.monitor import recv_monitor_message

from kmonitor.hub.access.network_endpoint import BindAddress, DirectDoor, DirectRefused
from kmonitor.hub.access.zap import ZapDesk
from kmonitor_agent.wire.local.host_identity import KeyPair

_WITHIN_S: Final = 5.0
_POLL_MS: Final = 20

_LET_IN: Final = zmq.EVENT_HANDSHAKE_SUCCEEDED
_REFUSED: Final = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)


def prove_refusal(door: DirectDoor, zap: ZapDesk, hub: KeyPair) -> None:
    """See that strangers stay outside, or refuse to listen.

    Raises:
        DirectRefused: One was let in, or it could not be tried.
    """
    stranger = KeyPair(*zmq.curve_keypair())
    zap.tried.add(stranger.public_text)
    for who, keys in (("a key that nobody let in", stranger), ("no key", None)):
        outcome = _try(door.bound, zap, hub.public, keys)
        if outcome == "refused":
            continue
        raise DirectRefused(
            f"The hub tried its own door with {who} and was {outcome}; it was closed again.",
            "Please report this, with the output of: kmonitor doctor",
        )


def _try(bound: BindAddress, zap: ZapDesk, hub_key: bytes, keys: KeyPair | None) -> str:
    # A context of its own: in the hub's the answer could come from inside.
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    client = context.socket(zmq.DEALER)
    monitor = client.get_monitor_socket(_LET_IN | _REFUSED)
    try:
        client.setsockopt(zmq.LINGER, 0)
        client.setsockopt(zmq.IPV6, int(bound.ip.version == 6))  # noqa: PLR2004 - IPv6
        if keys is not None:
            client.setsockopt(zmq.CURVE_SERVERKEY, hub_key)
            client.setsockopt(zmq.CURVE_PUBLICKEY, keys.public)
            client.setsockopt(zmq.CURVE_SECRETKEY, keys.secret)
        client.connect(_near(bound))
        return _outcome(monitor, zap)
    finally:
        client.disable_monitor()
        monitor.close(linger=0)
        client.close(linger=0)
        context.destroy(linger=0)


def _outcome(monitor: "zmq.Socket[bytes]", zap: ZapDesk) -> str:
    end_s = time.monotonic() + _WITHIN_S
    poller = zmq.Poller()
    poller.register(monitor, zmq.POLLIN)
    poller.register(zap.socket, zmq.POLLIN)
    while time.monotonic() < end_s:
        ready = dict(poller.poll(_POLL_MS))
        zap.serve()
        if monitor in ready:
            event = recv_monitor_message(monitor)["event"]
            return "let in" if event == _LET_IN else "refused"
    return "not answered"


def _near(bound: BindAddress) -> str:
    if not bound.ip.is_unspecified:
        return bound.endpoint
    here = "[::1]" if bound.ip.version == 6 else "127.0.0.1"  # noqa: PLR2004 - IPv6
    return f"tcp://{here}:{bound.port}"
