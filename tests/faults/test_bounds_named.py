"""Numbers beyond their bounds, as an attacker sent them: the hub and all readers go on."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import zmq

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, ipc_endpoint
from kmonitor_agent.wire.messages.codec import encode_event, pack, unpack_to_agent
from kmonitor_agent.wire.messages.events import Sample, SessionStarted
from kmonitor_agent.wire.messages.fields import MAGIC, new_id
from kmonitor_agent.wire.messages.unions import Batch, Nack
from kmonitor_agent.wire.spool.format import (
    SessionFacts,
    encode_record,
    segment_head,
    segment_name,
)
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_MS

pytestmark = pytest.mark.slow

HUGE = 2**63 - 1
YEAR_10000 = 253402300800.0


@pytest.fixture
def plain(live_hub: LiveHub, folders: Folders) -> Iterator["zmq.Socket[bytes]"]:
    context = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.linger, socket.rcvtimeo = 0, DEADLINE_MS
    socket.connect(ipc_endpoint(ingest_socket_path(folders)))
    yield socket
    socket.close(0)
    context.destroy(0)


def hello(run: str, session: str, first: int) -> dict[str, object]:
    return {
        "type": "hello",
        "run": run,
        "session": session,
        "minor_versions": [1, 1],
        "first": first,
        "last": first,
        "pid": 1,
        "host": "h",
        "started_wall_s": time.time(),
        "monotonic_s": 0.0,
    }


def still_serves(live_hub: LiveHub, folders: Folders) -> None:
    """An honest training is recorded by the same process."""
    with SimulatedAgent(folders) as agent:
        agent.sample()
        agent.wait_acked()
    with live_hub.client() as client:
        assert client.hub().pid == live_hub.process.pid
        assert agent.run in {run.run for run in client.runs()}


def crafted_spool(root: Path, first: int, started_wall_s: float = 1.8e9) -> str:
    """A spool whose first event has this number."""
    run, session = new_id(), new_id()
    facts = SessionFacts(run=run, session=session, host="h", pid=1, started_wall_s=started_wall_s)
    body = encode_event(
        SessionStarted(
            t_s=0.0,
            session=session,
            name="crafted",
            host="h",
            pid=1,
            started_wall_s=started_wall_s,
        )
    )
    folder = root / run
    folder.mkdir(parents=True)
    segment = segment_head(facts) + encode_record(first, body)
    if first < 2**64 - 1:
        segment += encode_record(first + 1, encode_event(Sample(t_s=1.0)))
    (folder / segment_name(first)).write_bytes(segment)
    return run


@pytest.mark.parametrize("first", [2**53, 2**53 + 1, HUGE - 1, HUGE, 2**64 - 1])
def test_huge_sequence_numbers_do_not_end_the_hub(
    plain: "zmq.Socket[bytes]", live_hub: LiveHub, folders: Folders, first: int
):
    body = encode_event(Sample(t_s=1.0))
    run, session = new_id(), new_id()
    plain.send_multipart([MAGIC, msgspec.msgpack.encode(hello(run, session, first))])
    batch = {"type": "batch", "run": run, "session": session, "first": first, "events": [body] * 2}
    plain.send_multipart([MAGIC, msgspec.msgpack.encode(batch)])

    still_serves(live_hub, folders)


@pytest.mark.parametrize("first", [2**53, HUGE - 1, HUGE, 2**64 - 1])
def test_a_crafted_spool_cannot_end_the_hub_it_is_shipped_to(
    tmp_path: Path, live_hub: LiveHub, folders: Folders, first: int
):
    crafted_spool(tmp_path / "shared", first)
    kmonitor("ship", str(tmp_path / "shared"))

    still_serves(live_hub, folders)


@pytest.mark.parametrize("first", [2**53, HUGE - 1, HUGE, 2**64 - 1])
def test_a_crafted_spool_does_not_keep_a_folder_from_being_shown(tmp_path: Path, first: int):
    crafted_spool(tmp_path / "shared", first)
    sound = crafted_spool(tmp_path / "shared", 1)
    ran = kmonitor("runs", "--json", "--folder", str(tmp_path / "shared"))

    assert ran.status == 0, ran.err
    assert sound in {run["run"] for run in ran.json}


def test_a_start_beyond_the_year_9999_breaks_no_list(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders
):
    run, session = new_id(), new_id()
    started = SessionStarted(
        t_s=0.0, session=session, name="far", host="h", pid=1, started_wall_s=YEAR_10000
    )
    plain.send_multipart([MAGIC, msgspec.msgpack.encode(hello(run, session, 1))])
    body = msgspec.msgpack.encode(started)
    plain.send_multipart(pack(Batch(run=run, session=session, first=1, events=[body])))
    with SimulatedAgent(folders) as agent:
        agent.start_fit()
        agent.sample()
        agent.wait_acked()
    listed = kmonitor("runs")
    shown = kmonitor("show", agent.run)

    assert (listed.status, shown.status) == (0, 0), listed.err + shown.err
    assert agent.run[:8] in listed.out


def test_a_run_without_an_accepted_event_hides_no_other(
    plain: "zmq.Socket[bytes]", client: HubClient, folders: Folders
):
    run, session = new_id(), new_id()
    with SimulatedAgent(folders) as agent:
        agent.wait_acked()
        plain.send_multipart([MAGIC, msgspec.msgpack.encode(hello(run, session, 1))])
        plain.send_multipart(pack(Batch(run=run, session=session, first=1, events=[b"no event"])))
        while not isinstance(unpack_to_agent(plain.recv_multipart()), Nack):
            pass
        runs = client.runs()

    assert [each.run for each in runs] == [agent.run]


def test_an_event_with_bad_utf8_does_not_end_an_export(client: HubClient, folders: Folders):
    body = b"\x83\xa4type\xa7tensors\xa3t_s\x01\xa1x\xa2\xff\xfe"
    with SimulatedAgent(folders) as agent:
        agent.start_fit()
        agent.emit_bytes(body)
        agent.sample()
        agent.wait_acked()
        ran = kmonitor("export", agent.run, "--format", "json")
        shown = kmonitor("show", agent.run, "--json")

    assert (ran.status, shown.status) == (0, 0), ran.err + shown.err
    assert ran.lines[-1]["type"] == "sample"
