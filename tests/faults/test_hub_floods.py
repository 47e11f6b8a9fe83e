"""Floods: endless frames, raw bytes, mutated messages. The hub stays up, small and whole."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, view_socket_path
from kmonitor_agent.wire.messages.access_messages import Role
from kmonitor_agent.wire.messages.codec import ProtocolError
from tests.support.direct_hub import ListeningHub, RawPeer, rss_bytes
from tests.support.golden_frames import Decode, kinds, path_of
from tests.support.live_hub import LiveHub
from tests.support.raw_zmtp import EMPTY_MORE, GREETING, READY, connect_raw, shake_hands
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

MIB = 2**20
PIECE = EMPTY_MORE * (64 * 1024)


def bomb(place: Path, most_bytes: int) -> int:
    """Send endless empty frames until the hub ends the connection; bytes that went out."""
    sent = 0
    with connect_raw(place) as peer:
        shake_hands(peer)
        try:
            while sent < most_bytes:
                peer.sendall(PIECE)
                sent += len(PIECE)
        except OSError:
            return sent
    return sent


@pytest.mark.parametrize(
    "door",
    [ingest_socket_path, pytest.param(view_socket_path, marks=pytest.mark.full)],
    ids=["agents", "desktops"],
)
def test_endless_frames_are_cut_off_and_nothing_is_lost(
    live_hub: LiveHub, folders: Folders, door: Callable[[Folders], Path]
):
    pid = live_hub.process.pid
    with SimulatedAgent(folders) as agent, live_hub.client() as client:
        agent.sample()
        agent.wait_acked()
        calm = rss_bytes(pid)

        sent = bomb(door(folders), 60 * MIB)

        assert sent < 60 * MIB, "it was cut off"
        peak = rss_bytes(pid)
        for _ in range(50):
            agent.sample()
        agent.wait_acked()
        faults = client.hub().faults
        assert faults.get("flood: memory", 0) + faults.get("flood: frames", 0) >= 1
        assert [row.body for row in client.all_rows(agent.run)] == agent.bodies
        wait_until(lambda: rss_bytes(pid) < calm + 100 * MIB, what="memory given back")
        assert peak < calm + 1500 * MIB, "a machine with busy cores notices later"
    assert live_hub.process.poll() is None


# --- raw bytes on raw connections ---


def fuzz_connections(hub: ListeningHub, n: int, seed: int) -> None:
    """Open `n` connections, one after the other, and say something wrong on each."""
    random_ = random.Random(seed)  # noqa: S311 - the same bytes each time
    folders = hub.live.folders
    places: list[Path | tuple[str, int]] = [
        ingest_socket_path(folders),
        view_socket_path(folders),
        (hub.address.host, hub.address.port),
    ]
    bodies = [path_of(side, kind).read_bytes() for side, kind, _ in kinds()]
    for number in range(n):
        with connect_raw(places[number % 3]) as peer:
            try:
                peer.sendall(_wrong(random_, bodies))
            except OSError:
                continue


def _wrong(random_: random.Random, bodies: list[bytes]) -> bytes:
    ready = b"\x04" + bytes([len(READY)]) + READY
    body = _mutated(random_, random_.choice(bodies))
    frames = b"\x01\x03KM1" + b"\x02" + len(body).to_bytes(8) + body
    said = GREETING + ready + frames * random_.randint(1, 3)
    match random_.randrange(6):
        case 0:
            return random_.randbytes(random_.randint(0, 300))
        case 1:
            return _mutated(random_, GREETING) + ready + frames
        case 2:
            return GREETING + _mutated(random_, ready) + frames
        case 3:
            return said[: random_.randrange(len(said))]
        case 4:
            return GREETING + ready + b"\x02" + random_.randbytes(8) + body
        case _:
            return said


def _mutated(random_: random.Random, body: bytes) -> bytes:
    """The bytes with a few flipped, cut, doubled, or put in from elsewhere."""
    changed = bytearray(body)
    for _ in range(random_.randint(1, 4)):
        at = random_.randrange(len(changed) + 1)
        match random_.randrange(5):
            case 0 if at < len(changed):
                changed[at] = random_.randrange(256)
            case 1:
                changed[at:at] = random_.randbytes(random_.randint(1, 8))
            case 2:
                del changed[at : at + random_.randint(1, 16)]
            case 3:
                changed[at : at + 1] = random_.choice(_NASTY)
            case _:
                changed += changed[at : at + 32]
    return bytes(changed)


_NASTY = (
    b"\xc1",
    b"\xdf\xff\xff\xff\xff",
    b"\xdd\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xdb\x7f\xff\xff\xff",
    b"\xcf" + b"\xff" * 8,
    b"\xd3\x80" + bytes(7),
    b"\xcb\x7f\xf8" + bytes(6),
    b"\xcb\x7f\xf0" + bytes(6),
    b"\x91" * 300,
    b"\x81\xa1a" * 300,
    b"\xa4\xff\xfe\xfd\xfc",
    b"\xc0",
    b"\xd6\xff" + bytes(4),
)
"""Lengths that lie, numbers out of range, NaN, infinity, deep nests, no UTF-8, times."""


@pytest.mark.promise(35)
@pytest.mark.parametrize(
    ("n", "seed"), [(150, 1), pytest.param(15_000, 2, marks=pytest.mark.full)]
)
def test_raw_connections_that_say_anything_neither_end_nor_fill_the_hub(
    listening_hub: ListeningHub, n: int, seed: int
):
    pid = listening_hub.live.process.pid
    fuzz_connections(listening_hub, 50, seed=0)
    calm = rss_bytes(pid)

    fuzz_connections(listening_hub, n, seed)

    assert listening_hub.client.hub().pid == pid
    with SimulatedAgent(listening_hub.live.folders) as agent:
        agent.sample()
        agent.wait_acked()
    wait_until(lambda: rss_bytes(pid) < calm + 30 * MIB, what="memory is flat")


@pytest.mark.promise(35)
@pytest.mark.parametrize(
    ("n", "seed"), [(5_000, 3), pytest.param(1_000_000, 4, marks=pytest.mark.full)]
)
def test_mutated_messages_are_decoded_or_refused_and_nothing_else(n: int, seed: int):
    random_ = random.Random(seed)  # noqa: S311 - the same bytes each time
    corpus: list[tuple[bytes, Decode]] = [
        (path_of(side, kind).read_bytes(), decode) for side, kind, decode in kinds()
    ]
    for body, decode in corpus * 20:
        _decode(decode, _mutated(random_, body))
    calm = rss_bytes(os.getpid())
    outcomes = {True: 0, False: 0}

    for number in range(n):
        body, decode = corpus[number % len(corpus)]
        outcomes[_decode(decode, _mutated(random_, body))] += 1

    assert min(outcomes.values()) > n / 100, "both happen: the mutations are worth something"
    assert rss_bytes(os.getpid()) < calm + 30 * MIB


@pytest.mark.promise(33)
@pytest.mark.parametrize("role", ["agent", "operator"])
def test_a_key_that_was_let_in_and_sends_rubbish_ends_nothing(
    listening_hub: ListeningHub, role: Role
):
    random_ = random.Random(5)  # noqa: S311 - the same bytes each time
    bodies = [path_of(side, kind).read_bytes() for side, kind, _ in kinds()]
    with RawPeer.of(listening_hub.device(role)) as peer:
        for _ in range(600):
            peer.say_body(_mutated(random_, random_.choice(bodies)))
        peer.say_body(msgspec.msgpack.encode({"type": "fence"}))
        wait_until(lambda: b"'fence'" in (peer.hear(1.0) or b""), what="all of it was read")

    assert listening_hub.client.hub().pid == listening_hub.live.process.pid


def _decode(decode: Decode, body: bytes) -> bool:
    try:
        decode(body)
    except ProtocolError:
        return False
    return True


def test_connections_that_never_finish_their_handshake_keep_nobody_out(
    listening_hub: ListeningHub,
):
    place = (listening_hub.address.host, listening_hub.address.port)
    waiting = [connect_raw(place) for _ in range(200)]
    try:
        for peer in waiting:
            peer.sendall(GREETING[:10])
        with SimulatedAgent(listening_hub.live.folders) as agent:
            agent.sample()
            agent.wait_acked()
        with HubClient(listening_hub.device("viewer")) as client:
            assert agent.run in [run.run for run in client.runs()]
    finally:
        for peer in waiting:
            peer.close()
