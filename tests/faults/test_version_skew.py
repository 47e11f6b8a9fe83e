"""Older and newer versions together: what both know still works, the rest is said in words."""

import typing
from typing import Any

import msgspec
import pytest

from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path, ipc_endpoint
from kmonitor_agent.wire.messages.codec import unpack_to_agent
from kmonitor_agent.wire.messages.events import AnyEvent, Sample, SessionStarted, Verdict
from kmonitor_agent.wire.messages.fields import MAGIC, MINOR_VERSIONS
from kmonitor_agent.wire.messages.unions import HubReply, HubRequest, Welcome
from tests.support.direct_hub import RawPeer
from tests.support.golden_frames import full, kinds, path_of
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent

pytestmark = pytest.mark.slow


class Teleport(msgspec.Struct, frozen=True, tag="teleport"):
    """A question of the future."""

    request_id: int


class HubAskedLater(HubRequest, frozen=True, tag="hub"):
    """A question of today with what a later version adds."""

    of_a_newer_version: int = 7


EVENTS: list[type[msgspec.Struct]] = list(typing.get_args(AnyEvent))


def barest(event: msgspec.Struct) -> bytes:
    """An event with nothing but what it must have: as its first version was."""
    needed = [
        field.encode_name
        for field in msgspec.structs.fields(event)
        if field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
    ]
    told = msgspec.to_builtins(event, builtin_types=(bytes,))
    return msgspec.msgpack.encode({"type": told["type"], **{name: told[name] for name in needed}})


def stored_event(kind: type[msgspec.Struct]) -> bytes:
    return path_of("event", kind).read_bytes()


def test_all_that_an_older_agent_ever_told_is_taken(client: HubClient, folders: Folders):
    told = [kind for kind in EVENTS if kind not in {SessionStarted, Verdict}]  # only hubs judge
    agent = SimulatedAgent(folders)
    agent.bodies[0] = barest(
        SessionStarted(
            t_s=0.0,
            session=agent.session,
            name="old",
            host=agent.host,
            pid=agent.pid,
            started_wall_s=agent.started_wall_s,
        )
    )
    bodies = [body for kind in told for body in (barest(full(kind)), stored_event(kind))]
    for body in bodies:
        agent.emit_bytes(body)
    with agent:
        agent.wait_acked()
        rows = list(client.all_rows(agent.run))
        (run,) = client.runs()
        faults = client.hub().faults

    assert [row.body for row in rows] == agent.bodies
    assert run.name == "old"
    assert {where: n for where, n in faults.items() if where.startswith("ingest")} == {}


def test_a_newer_agent_is_welcomed_in_the_version_that_both_speak(
    live_hub: LiveHub, folders: Folders
):
    hello = msgspec.msgpack.decode(path_of("from_agent", _kind("hello")).read_bytes())
    newest = MINOR_VERSIONS[1]
    hello |= {"minor_versions": [newest, newest + 5], "of_a_newer_version": {"x": [1]}, "first": 1}
    hello |= {"last": 0}
    with RawPeer(ipc_endpoint(ingest_socket_path(folders))) as peer:
        peer.say_body(msgspec.msgpack.encode(hello))
        body = peer.hear()

    assert body is not None
    welcome = unpack_to_agent((MAGIC, body))
    assert isinstance(welcome, Welcome)
    assert welcome.minor_version == newest


def test_a_newer_window_is_told_what_an_older_hub_cannot_and_goes_on(client: HubClient):
    question: Any = Teleport(request_id=client.next_id())
    with pytest.raises(HubRefused) as refused:
        client.request(question, HubReply)

    assert refused.value.code == "unsupported"
    assert client.hub().pid > 0


def test_what_a_newer_window_adds_to_a_question_is_passed_over(client: HubClient):
    asked = HubAskedLater(request_id=client.next_id(), of_a_newer_version=8)

    assert client.request(asked, HubReply).pid > 0


def test_an_older_window_passes_over_what_a_newer_hub_stores(client: HubClient, folders: Folders):
    newer = msgspec.msgpack.encode(
        {**msgspec.msgpack.decode(stored_event(Sample)), "of_a_newer_version": {"x": [1]}}
    )
    with SimulatedAgent(folders) as agent:
        agent.emit_bytes(newer)
        agent.wait_acked()
        rows = list(client.all_rows(agent.run))

    assert rows[-1].body == newer, "kept as it came, for windows that know it"


def _kind(tag: str) -> type[msgspec.Struct]:
    (found,) = [
        kind
        for side, kind, _ in kinds()
        if side == "from_agent" and kind.__struct_config__.tag == tag
    ]
    return found
