"""A DEALER with the agreed options that survives whatever a peer sends."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import zmq

from kmonitor_agent.link.hub_socket import BAD_FRAMES_LIMIT, HubSocket
from kmonitor_agent.wire.local.hub_address import DirectAddress, ipc_endpoint
from kmonitor_agent.wire.messages.codec import pack
from kmonitor_agent.wire.messages.fields import MAGIC, MAX_AGENT_FRAME_BYTES
from kmonitor_agent.wire.messages.unions import ErrorMessage, Ping, Pong, ToAgent
from tests.support.waiting import DEADLINE_MS, wait_until


class _Pair:
    """An agent's socket and the ROUTER that it talks to."""

    def __init__(self, path: Path) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.router = self.context.socket(zmq.ROUTER)
        self.router.setsockopt(zmq.LINGER, 0)
        self.router.bind(ipc_endpoint(path))
        self.agent = HubSocket(self.context, path)
        self.agent.connect()
        self.agent.send(Ping(n=1))
        self.identity, *self.first = self.router.recv_multipart()

    def say(self, *frames: bytes) -> None:
        self.router.send_multipart([self.identity, *frames])

    def heard(self, n: int) -> list[ToAgent]:
        found: list[ToAgent] = []
        wait_until(lambda: found.extend(self.agent.received()) or len(found) >= n)
        return found

    def close(self) -> None:
        self.agent.raw.close()
        self.router.close()
        self.context.term()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[_Pair]:
    pair = _Pair(tmp_path / "s")
    yield pair
    pair.close()


def test_messages_go_both_ways(pair: _Pair):
    assert tuple(pair.first) == pack(Ping(n=1))

    pair.say(*pack(Pong(n=1)))
    assert pair.heard(1) == [Pong(n=1)]


def test_the_options_are_those_of_the_protocol(pair: _Pair):
    socket = pair.agent.raw

    assert socket.getsockopt(zmq.LINGER) == 0
    assert socket.getsockopt(zmq.SNDHWM) == 64
    assert socket.getsockopt(zmq.HANDSHAKE_IVL) == 3000
    assert socket.getsockopt(zmq.MAXMSGSIZE) == MAX_AGENT_FRAME_BYTES
    assert (socket.getsockopt(zmq.RECONNECT_IVL), socket.getsockopt(zmq.RECONNECT_IVL_MAX)) == (
        100,
        2000,
    )


@pytest.mark.parametrize(
    "frames",
    [
        (b"KM1",),
        (b"KM9", b"\x80"),
        (b"KM1", b"\xc1"),
        (b"KM1", b"\x91" * 60_000),
        (b"KM1", b"\x81\xa4type\xa4ping"),
        (b"",) * 500,
        (b"KM1", b"\x80", b"one more"),
    ],
)
def test_what_makes_no_sense_is_counted_and_dropped(pair: _Pair, frames: tuple[bytes, ...]):
    pair.say(*frames)
    pair.say(*pack(Pong(n=2)))

    assert pair.heard(1) == [Pong(n=2)]
    assert pair.agent.bad_frames == 1
    assert not pair.agent.is_bad


def test_too_much_nonsense_makes_the_peer_bad(pair: _Pair):
    for _ in range(BAD_FRAMES_LIMIT + 1):
        pair.say(b"nonsense")
    wait_until(lambda: list(pair.agent.received()) or pair.agent.is_bad)

    pair.say(*pack(Pong(n=2)))
    pair.agent.raw.poll(DEADLINE_MS)
    assert list(pair.agent.received()) == []


def test_a_type_of_a_newer_hub_is_answered_and_not_held_against_it(pair: _Pair):
    pair.say(MAGIC, msgspec.msgpack.encode({"type": "from_the_future"}))
    pair.say(*pack(Pong(n=2)))

    assert pair.heard(1) == [Pong(n=2)]
    assert pair.agent.bad_frames == 0
    told = msgspec.msgpack.decode(pair.router.recv_multipart()[2], type=ErrorMessage)
    assert (told.code, told.text) == ("unsupported", "from_the_future")


def test_sending_never_blocks(tmp_path: Path):
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    agent = HubSocket(context, tmp_path / "nobody")
    agent.connect()
    taken = [agent.send(Ping(n=n)) for n in range(200)]
    agent.raw.close()
    context.term()

    assert taken[0]
    assert not taken[-1]


def test_it_connects_again_with_the_same_socket(pair: _Pair):
    raw, descriptors = pair.agent.raw, sum(1 for _ in Path("/proc/self/fd").iterdir())
    for number in range(2, 5):
        pair.agent.close()
        pair.agent.connect()
        pair.agent.send(Ping(n=number))
        wait_until(lambda: pair.router.poll(10))
        pair.identity, *frames = pair.router.recv_multipart()
        assert tuple(frames) == pack(Ping(n=number))
        pair.say(*pack(Pong(n=number)))
        assert pair.heard(1) == [Pong(n=number)]

    assert pair.agent.raw is raw
    wait_until(lambda: sum(1 for _ in Path("/proc/self/fd").iterdir()) == descriptors)


def test_without_keys_a_hub_on_the_network_is_not_connected_to():
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = HubSocket(context, DirectAddress("gpu-01", 5577, "ab" * 32))
    with pytest.raises(ValueError, match="tcp://gpu-01:5577"):
        socket.connect()
    socket.raw.close()
    context.term()
