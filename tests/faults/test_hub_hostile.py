"""Bytes that no agent or desktop of ours would send: dropped, counted, answered at most."""

from collections.abc import Iterator

import msgspec
import pytest
import zmq

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import (
    ingest_socket_path,
    ipc_endpoint,
    view_socket_path,
)
from kmonitor_agent.wire.messages.codec import pack, unpack_to_agent, unpack_to_desktop
from kmonitor_agent.wire.messages.fields import MAGIC, MAX_HUB_FRAME_BYTES
from kmonitor_agent.wire.messages.unions import (
    Batch,
    ErrorMessage,
    Hello,
    HelloAgain,
    Ping,
    Welcome,
)
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_MS, wait_until

pytestmark = pytest.mark.slow

NESTED = b"\x81\xa4type\xa5hello" + b"\x91" * 200_000
HOSTILE = [
    [b"KM2", b"\x80"],
    [b"", b""],
    [MAGIC],
    [MAGIC, b"\x80", b"more"],
    [MAGIC, b""],
    [MAGIC, b"\xc1"],
    [MAGIC, b"\x91" * 200_000],
    [MAGIC, NESTED],
    [MAGIC, b"\x82\xa4type\xa5hello\xa3run\xa1\xff"],
    [MAGIC, msgspec.msgpack.encode({"type": "hello", "run": "../../etc", "session": "b"})],
    [MAGIC, msgspec.msgpack.encode({"type": "hub", "request_id": -1})],
    [MAGIC, msgspec.msgpack.encode({"type": "hub", "request_id": float("nan")})],
    [MAGIC, msgspec.msgpack.encode({"type": "rows", "request_id": 1, "cursor": 2**63})],
]


@pytest.fixture
def plain(live_hub: LiveHub) -> Iterator["zmq.Socket[bytes]"]:
    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.linger = 0
    yield socket
    socket.close(0)
    context.destroy(0)


@pytest.mark.parametrize("door", ["ingest", "view"])
def test_hostile_frames_are_dropped_and_counted(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders, door: str
):
    path = ingest_socket_path(folders) if door == "ingest" else view_socket_path(folders)
    plain.connect(ipc_endpoint(path))
    for frames in HOSTILE:
        plain.send_multipart(frames)

    def n_counted() -> int:
        faults = client.hub().faults
        return sum(count for where, count in faults.items() if where.startswith(door))

    wait_until(lambda: n_counted() == len(HOSTILE), what="every one counted")
    with SimulatedAgent(folders) as agent:
        agent.sample()
        agent.wait_acked()


def test_hostile_frames_are_told_in_a_few_lines_without_tracebacks(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders
):
    plain.connect(ipc_endpoint(ingest_socket_path(folders)))
    forged = msgspec.msgpack.encode({"type": "line\n2026-01-01 INFO 1 forged"})
    for frames in [*HOSTILE * 20, [MAGIC, forged]]:
        plain.send_multipart(frames)
    n_sent = 20 * len(HOSTILE) + 1

    def n_counted() -> int:
        faults = client.hub().faults
        return sum(count for where, count in faults.items() if where.startswith("ingest"))

    wait_until(lambda: n_counted() == n_sent, what="every one counted")
    lines = (folders.logs / "hub.log").read_text().splitlines()

    told = [line for line in lines if "ingest: " in line]
    assert 2 <= len(told) <= 20
    assert not [line for line in lines if "Traceback" in line or "INFO 1 forged" in line[:30]]
    assert any("BadFrames" in line for line in told)


@pytest.mark.parametrize("door", ["ingest", "view"])
def test_an_unknown_type_is_answered_with_unsupported(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders, door: str
):
    path = ingest_socket_path(folders) if door == "ingest" else view_socket_path(folders)
    unpack = unpack_to_agent if door == "ingest" else unpack_to_desktop
    plain.connect(ipc_endpoint(path))
    plain.send_multipart([MAGIC, msgspec.msgpack.encode({"type": "teleport", "x": 1})])
    assert plain.poll(DEADLINE_MS)
    answer = unpack(plain.recv_multipart())

    assert isinstance(answer, ErrorMessage)
    assert (answer.code, answer.fatal) == ("unsupported", False)
    assert "teleport" in answer.text
    assert client.hub().faults[f"{door}: unknown type"] == 1


def test_an_oversized_message_ends_its_connection_only(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders
):
    plain.connect(ipc_endpoint(ingest_socket_path(folders)))
    plain.send_multipart([MAGIC, b"\x00" * (MAX_HUB_FRAME_BYTES + 1)])
    plain.send_multipart(pack(Ping(n=1)))

    with SimulatedAgent(folders) as agent:
        agent.sample()
        agent.wait_acked()
        wait_until(lambda: client.hub().agents >= 1, what="it is there")


def test_a_batch_without_hello_is_asked_to_say_hello(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders
):
    plain.connect(ipc_endpoint(ingest_socket_path(folders)))
    plain.send_multipart(pack(Batch(run="r", session="b", first=1, events=[b"\x80"])))
    assert plain.poll(DEADLINE_MS)

    assert unpack_to_agent(plain.recv_multipart()) == HelloAgain(run="r", acked=0)
    assert client.hub().rows == 0


def test_a_batch_ahead_of_its_turn_is_not_taken(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders
):
    plain.connect(ipc_endpoint(ingest_socket_path(folders)))
    hello = Hello(
        run="r",
        session="b",
        minor_versions=(1, 1),
        first=1,
        last=9,
        pid=1,
        host="h",
        started_wall_s=1.0,
        monotonic_s=0.0,
    )
    plain.send_multipart(pack(hello))
    plain.send_multipart(pack(Batch(run="r", session="b", first=5, events=[b"\x80"])))
    answers = []
    for _ in range(2):
        assert plain.poll(DEADLINE_MS)
        answers.append(unpack_to_agent(plain.recv_multipart()))

    assert {type(answer) for answer in answers} == {Welcome, HelloAgain}
    assert client.hub().rows == 0


def test_many_connections_that_say_nothing_do_not_stop_the_hub(
    live_hub: LiveHub, folders: Folders
):
    context = zmq.Context()
    sockets = []
    for _ in range(300):
        socket = context.socket(zmq.DEALER)
        socket.linger = 0
        socket.connect(ipc_endpoint(ingest_socket_path(folders)))
        socket.send_multipart(pack(Ping(n=1)))
        sockets.append(socket)
    with SimulatedAgent(folders) as agent:
        agent.sample()
        agent.wait_acked()
    context.destroy(0)

    with live_hub.client() as client:
        assert client.hub().pid == live_hub.process.pid


def test_the_same_number_with_other_content_keeps_the_first_and_counts(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders
):
    with SimulatedAgent(folders) as agent:
        agent.sample(ram_bytes=1.0)
        agent.wait_acked()
    plain.connect(ipc_endpoint(ingest_socket_path(folders)))
    hello = Hello(
        run=agent.run,
        session=agent.session,
        minor_versions=(1, 1),
        first=1,
        last=2,
        pid=1,
        host="h",
        started_wall_s=agent.started_wall_s,
        monotonic_s=0.0,
    )
    plain.send_multipart(pack(hello))
    forged = Batch(run=agent.run, session=agent.session, first=1, events=[agent.bodies[0]] * 2)
    plain.send_multipart(pack(forged))

    wait_until(lambda: client.hub().faults.get("ingest: conflict"), what="conflict")
    assert [row.body for row in client.all_rows(agent.run)] == agent.bodies
