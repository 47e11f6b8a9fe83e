"""Every type of message from every role: what the table says is what a live hub does."""

import typing
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kmonitor.hub.access.authorization import MAY_SEND, may_send
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import (
    ingest_socket_path,
    ipc_endpoint,
    view_socket_path,
)
from kmonitor_agent.wire.messages.access_messages import Role
from kmonitor_agent.wire.messages.unions import (
    FromAgent,
    FromDesktop,
    HubRequest,
    KeysRequest,
    ToAgent,
    ToDesktop,
)
from tests.support.direct_hub import ListeningHub, RawPeer
from tests.support.golden_frames import full

pytestmark = pytest.mark.slow

# Written down a second time, by hand: a slip in the table is not a slip here.
AGENT = {"hello", "batch", "bye", "error", "ping", "pong"}
VIEWER = {"runs", "rows", "series", "verdicts", "hub", "ping", "pong"}
OPERATOR = VIEWER | {"command_request", "edit", "keys", "audit"}
MAY: dict[Role, set[str]] = {"agent": AGENT, "viewer": VIEWER, "operator": OPERATOR}

EVERY_TYPE = sorted(
    {
        kind
        for union in (FromAgent, ToAgent, FromDesktop, ToDesktop)
        for kind in typing.get_args(union)
    },
    key=lambda kind: str(kind.__struct_config__.tag),
)
TAKEN = {str(kind.__struct_config__.tag) for kind in MAY_SEND}


def tag_of(kind: type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)


@pytest.mark.promise(30)
@pytest.mark.parametrize("role", typing.get_args(Role))
def test_the_table_lets_every_role_send_what_it_may_and_nothing_else(role: Role):
    assert {tag_of(kind) for kind in EVERY_TYPE if may_send(role, tag_of(kind))} == MAY[role]
    assert not may_send(role, "teleport")


@pytest.mark.promise(10)
def test_the_table_has_every_type_that_a_hub_takes():
    taken = {*typing.get_args(FromAgent), *typing.get_args(FromDesktop)}

    assert set(MAY_SEND) == taken


@pytest.mark.promise(30)
@pytest.mark.parametrize("role", typing.get_args(Role))
def test_a_live_hub_does_what_the_table_says_for_every_type(
    listening_hub: ListeningHub, role: Role
):
    unauthorized: set[str] = set()
    unsupported: set[str] = set()
    with RawPeer.of(listening_hub.device(role)) as peer:
        for kind in EVERY_TYPE:
            codes = _refusals(peer, _sample(kind))
            unauthorized |= {tag_of(kind)} if "unauthorized" in codes else set()
            unsupported |= {tag_of(kind)} if "unsupported" in codes else set()

    assert unauthorized == TAKEN - MAY[role]
    # The sample of a hello is of a version that this hub does not speak.
    assert unsupported - {"hello"} == {tag_of(kind) for kind in EVERY_TYPE} - TAKEN


@pytest.mark.parametrize(
    ("door", "role"), [(ingest_socket_path, "agent"), (view_socket_path, "operator")]
)
def test_the_sockets_of_this_host_take_what_they_are_for(
    listening_hub: ListeningHub, door: Callable[[Folders], Path], role: Role
):
    with RawPeer(ipc_endpoint(door(listening_hub.live.folders))) as peer:
        refused = {
            tag_of(kind) for kind in EVERY_TYPE if "unauthorized" in _refusals(peer, _sample(kind))
        }

    assert refused == TAKEN - MAY[role]


def test_only_its_own_user_ends_a_hub(listening_hub: ListeningHub):
    with RawPeer.of(listening_hub.device("operator")) as peer:
        assert _refusals(peer, HubRequest(request_id=1, stop=True)) == {"unauthorized"}

    assert listening_hub.client.hub().pid == listening_hub.live.process.pid


def _refusals(peer: RawPeer, message: msgspec.Struct) -> set[str]:
    """Codes of the errors that a message brings, up to the answer to a type that no one knows."""
    peer.say(message)
    peer.say_body(msgspec.msgpack.encode({"type": "fence"}))
    codes: set[str] = set()
    while True:
        body = peer.hear()
        assert body is not None
        told = msgspec.msgpack.decode(body)
        if "'fence'" in told.get("text", ""):
            return codes
        if told["type"] == "error":
            codes.add(told["code"])


def _sample(kind: type[msgspec.Struct]) -> msgspec.Struct:
    # With something in every field, but for what would end the hub or change its keys.
    without = {HubRequest: HubRequest(request_id=5), KeysRequest: KeysRequest(request_id=6)}
    return without.get(kind) or full(kind)
