"""No one gets in over the network but keys that were let in, and no one takes another's place."""

import os
import shutil
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import psutil
import pytest
import zmq

from kmonitor.connect.follower import Connected, Disconnected, HubFollower
from kmonitor.connect.hub_client import HubAccessDenied, HubClient, HubRefused
from kmonitor.connect.hub_socket import NetworkHub
from kmonitor.hub.access import network_endpoint
from kmonitor.hub.access import network_endpoint as access_network_endpoint
from kmonitor.hub.access.endpoints import HubEndpoints
from kmonitor.hub.access.keys import KeyList, KeyListUntrusted
from kmonitor.hub.access.network_endpoint import NetworkRefused
from kmonitor.hub.faults import HubFaults
from kmonitor.hub.log import LOG
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.host_identity import keys_folder, own_keys
from kmonitor_agent.wire.local.hub_address import (
    ingest_socket_path,
    ipc_endpoint,
    parse_direct_address,
    view_socket_path,
)
from kmonitor_agent.wire.local.private_files import make_private_folder
from kmonitor_agent.wire.messages.access_messages import KeyGrant
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import Batch, Hello, HubRequest, RunsRequest
from tests.support.clock import MovedClock
from tests.support.direct_hub import (
    BIND,
    ListeningHub,
    RawPeer,
    listening,
    new_keys,
)
from tests.support.links import LinkUnderTest, sample, session_started
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.mark.promise(30)
def test_a_viewer_looks_and_is_told_what_it_may_not(listening_hub: ListeningHub):
    with HubClient(listening_hub.device("viewer")) as client:
        assert client.hub().role == "viewer"
        client.runs()
        with pytest.raises(HubRefused, match=r"may not rename.*kmonitor authorize") as caught:
            client.edit("some-run", name="mine now")

    assert caught.value.code == "unauthorized"


@pytest.mark.promise(24)
def test_an_unknown_key_is_refused_and_told_how_to_be_let_in(listening_hub: ListeningHub):
    device = listening_hub.device(None)

    with (
        HubClient(device) as client,
        pytest.raises(HubAccessDenied, match="kmonitor authorize") as caught,
    ):
        client.hub()

    assert device.keys.public_text in str(caught.value)


@pytest.mark.promise(29, 34)
def test_a_hub_with_another_key_is_not_talked_to(listening_hub: ListeningHub):
    device = listening_hub.device("operator")
    elsewhere = NetworkHub(replace(device.address, key="ab" * 32), device.keys)

    with (
        HubClient(elsewhere) as client,
        pytest.raises(HubAccessDenied, match="has a different key"),
    ):
        client.hub()


@pytest.mark.promise(29)
def test_what_takes_no_keys_is_not_talked_to(listening_hub: ListeningHub):
    device = listening_hub.device("operator")
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    plain = context.socket(zmq.ROUTER)
    port = plain.bind_to_random_port("tcp://127.0.0.1")
    fake = NetworkHub(replace(device.address, port=port), device.keys)
    # Microseconds decide the end that notices first.
    why = "not a hub that accepts keys|has a different key"
    try:
        with HubClient(fake) as client, pytest.raises(HubAccessDenied, match=why):
            client.hub()
        assert not plain.poll(0)
    finally:
        context.destroy(linger=0)


@pytest.mark.promise(24)
def test_a_peer_without_keys_gets_nothing(listening_hub: ListeningHub):
    before = listening_hub.client.hub().faults
    with RawPeer(listening_hub.address.endpoint) as peer:
        peer.say(HubRequest(request_id=1, stop=True))
        wait_until(peer.is_refused, what="refused")
        assert peer.hear(0.0) is None

    after = listening_hub.client.hub()
    assert after.pid == listening_hub.live.process.pid
    assert after.faults == before


@pytest.mark.promise(32)
def test_a_revoked_key_loses_its_live_connection_and_the_others_go_on(
    listening_hub: ListeningHub,
):
    leaver, stayer = listening_hub.device("operator"), listening_hub.device("viewer")
    with HubClient(leaver) as gone, HubClient(stayer) as here:
        gone.runs()
        here.runs()
        ours = psutil.Process(listening_hub.live.process.pid)

        listening_hub.revoke(leaver)

        with pytest.raises((HubAccessDenied, HubRefused)):
            gone.runs()
        wait_until(lambda: _refused(gone), what="its connection ended")
        here.runs()
        established = [c for c in ours.net_connections("tcp") if c.status == "ESTABLISHED"]
        assert len(established) <= 1


def test_a_window_that_is_let_in_no_more_stops_knocking_until_it_is_asked_to(
    listening_hub: ListeningHub,
):
    device = listening_hub.device("viewer")
    follower = HubFollower(device, wake_reader=lambda: None)

    def told(kind: type[Connected | Disconnected]) -> Connected | Disconnected | None:
        news = [follower.inbox.popleft() for _ in range(len(follower.inbox))]
        follower.drained()
        wanted = [each for each in news if isinstance(each, kind)]
        return next((n for n in wanted if isinstance(n, Connected) or n.retry_in_s is None), None)

    follower.start()
    try:
        wait_until(lambda: told(Connected), what="accepted")
        listening_hub.revoke(device)
        out = wait_until(lambda: told(Disconnected), what="told that it is out")
        assert isinstance(out, Disconnected)
        assert "kmonitor authorize" in out.why

        listening_hub.device("viewer", device.keys)
        follower.retry_now()
        wait_until(lambda: told(Connected), what="let in again")
    finally:
        follower.stop()


def _refused(client: HubClient) -> bool:
    try:
        client.runs()
    except HubAccessDenied as exc:
        return "does not recognize this machine's key" in str(exc)
    except HubRefused:
        return False
    return False


def test_a_revocation_by_an_operator_far_away_is_answered(listening_hub: ListeningHub):
    victim = listening_hub.device("viewer")
    with HubClient(listening_hub.device("operator")) as operator:
        told = operator.keys(revoke=victim.keys.public_text)
        assert victim.keys.public_text not in {grant.key for grant in told.keys}
        rows = operator.audit(limit=5).rows

    assert (rows[0].what, rows[0].result) == ("revoke", "done")
    assert rows[0].who.startswith("operator ")


@pytest.mark.promise(32)
def test_a_key_taken_from_the_file_by_hand_is_out_too(listening_hub: ListeningHub):
    device = listening_hub.device("viewer")
    path = keys_folder(listening_hub.live.folders) / "authorized.json"
    with HubClient(device) as client:
        client.runs()
        kept = [
            each
            for each in msgspec.json.decode(path.read_bytes())["keys"]
            if each["key"] != device.keys.public_text
        ]
        fresh = path.with_name("by-hand")
        fresh.touch(0o600)
        fresh.write_bytes(msgspec.json.encode({"keys": kept}))
        fresh.replace(path)

        wait_until(lambda: _refused(client), what="it is out")


@pytest.mark.promise(31)
def test_a_routing_id_gives_nobody_the_place_of_another(listening_hub: ListeningHub):
    owner, thief = listening_hub.device("agent"), listening_hub.device("agent")
    run, session = new_id(), new_id()
    body = encode_event(session_started(session))
    with RawPeer.of(owner, b"same-id") as first:
        first.say(_hello(run, session))
        assert _type(first) == "welcome"
        first.say(Batch(run=run, session=session, first=1, events=[body]))
        assert _type(first) == "ack"
        with RawPeer.of(thief, b"same-id") as second:
            second.say(Batch(run=run, session=session, first=2, events=[body]))
            wait_until(second.is_connected, what="it is heard")
            for seq in (2, 3):
                first.say(Batch(run=run, session=session, first=seq, events=[body]))
                assert _type(first) == "ack"
            assert second.hear(0.0) is None, "its connection was not taken"
    with RawPeer.of(thief, b"same-id") as second:
        second.say(Batch(run=run, session=session, first=4, events=[body]))
        assert _type(second) == "hello_again", "the session behind the id was the other key's"
        second.say(_hello(run, session))
        told = _told(second)

    assert (told["type"], told["code"]) == ("error", "unauthorized")
    assert "started with another key" in told["text"]


def test_a_training_reports_over_the_network_and_takes_commands(
    listening_hub: ListeningHub, folders: Folders
):
    folders.state.mkdir(parents=True)
    device = listening_hub.device("agent", own_keys(folders, "agent"))
    run = new_id()
    with LinkUnderTest(folders, run=run, hub=HubChoice(direct=device.address)) as test:
        for step in range(100):
            test.link.emit(sample(step))
        wait_until(lambda: test.link.status().acked >= 100, what="all is confirmed")
        summary = next(each for each in listening_hub.client.runs() if each.run == run)
        with HubClient(listening_hub.device("operator")) as operator:
            operator.command(summary, "save", requested_by="somebody else")
        newest = listening_hub.client.audit(limit=1).rows[0]
        assert (newest.what, newest.run) == ("command save", run)
        assert newest.who.startswith("operator "), "its key's name, whatever it called itself"


def test_a_training_with_an_unknown_key_keeps_all_and_delivers_once_it_is_let_in(
    listening_hub: ListeningHub, folders: Folders
):
    folders.state.mkdir(parents=True)
    keys = own_keys(folders, "agent")
    device = listening_hub.device(None, keys)
    with LinkUnderTest(folders, run=new_id(), hub=HubChoice(direct=device.address)) as test:
        test.link.emit(sample(1))
        refused = "access: key refused"
        before = listening_hub.client.hub().faults.get(refused, 0)
        wait_until(
            lambda: listening_hub.client.hub().faults.get(refused, 0) > before, what="refused"
        )
        listening_hub.device("agent", keys)
        wait_until(lambda: test.link.status().acked >= 1, what="delivered")


# --- the hub refuses to listen where it could not keep strangers out ---


@pytest.fixture
def doors(folders: Folders) -> Iterator[HubEndpoints]:
    folders.state.mkdir(parents=True)
    make_private_folder(folders.runtime)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    doors = HubEndpoints(
        folders,
        context,
        HubFaults(LOG),
        MovedClock(),
        audit=lambda *_: None,
        on_ended=lambda _: None,
    )
    yield doors
    doors.close()
    context.destroy(linger=0)


def nobody_listens() -> bool:
    found = psutil.Process().net_connections("tcp")
    return not [each for each in found if each.status == psutil.CONN_LISTEN]


@pytest.mark.parametrize(
    "bind", ["gpu-01", "*:5577", "127.0.0.1:99999", "tcp://1.2.3.4:5", ":5577"]
)
def test_what_is_no_address_is_refused_with_an_example(doors: HubEndpoints, bind: str):
    with pytest.raises(NetworkRefused, match="Use the form ADDRESS:PORT"):
        doors.listen(bind)


@pytest.mark.parametrize("bind", [BIND, "0.0.0.0:0"])
def test_without_encryption_the_hub_listens_nowhere(
    doors: HubEndpoints, monkeypatch: pytest.MonkeyPatch, bind: str
):
    monkeypatch.setattr(zmq, "has", lambda what: what != "curve")

    with pytest.raises(NetworkRefused, match="does not support encryption"):
        doors.listen(bind)
    wait_until(nobody_listens, what="nobody listens")


def test_a_secret_that_others_can_read_is_not_used(doors: HubEndpoints, folders: Folders):
    own_keys(folders, "hub")
    (keys_folder(folders) / "hub.key").chmod(0o644)

    with pytest.raises(NetworkRefused, match="can be read by others"):
        doors.listen("0.0.0.0:0")
    wait_until(nobody_listens, what="nobody listens")


def test_a_door_that_lets_a_stranger_in_is_closed_at_start(
    doors: HubEndpoints, monkeypatch: pytest.MonkeyPatch
):
    def everybody(_keys: KeyList, key: str) -> KeyGrant:
        return KeyGrant(key=key, name="x", role="viewer")

    monkeypatch.setattr(KeyList, "find", everybody)

    with pytest.raises(NetworkRefused, match="an unauthorized key and was accepted"):
        doors.listen(BIND)
    wait_until(nobody_listens, what="nobody listens")


@pytest.mark.parametrize(
    ("option", "value"),
    [(zmq.ZAP_ENFORCE_DOMAIN, 0), (zmq.ZAP_DOMAIN, b"other"), (zmq.CURVE_SERVER, 0)],
)
def test_a_door_that_is_not_fully_guarded_is_closed_at_start(
    doors: HubEndpoints, monkeypatch: pytest.MonkeyPatch, option: int, value: int | bytes
):
    opened = network_endpoint.NetworkEndpoint.open_socket

    def careless(door: network_endpoint.NetworkEndpoint, endpoint: str) -> "zmq.Socket[bytes]":
        careless_door = opened(door, endpoint)
        careless_door.setsockopt(option, value)
        return careless_door

    monkeypatch.setattr(network_endpoint.NetworkEndpoint, "open_socket", careless)

    with pytest.raises(NetworkRefused, match="open to everyone"):
        doors.listen(BIND)
    wait_until(nobody_listens, what="nobody listens")


def test_a_hub_that_listens_elsewhere_than_asked_closes_its_door(
    doors: HubEndpoints, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(network_endpoint, "_listening", lambda: {("0.0.0.0", 5577)})  # noqa: S104

    with pytest.raises(NetworkRefused, match=r"is listening on 0\.0\.0\.0 port 5577"):
        doors.listen(BIND)


@pytest.mark.promise(24)
def test_with_its_doorkeeper_dead_nobody_is_let_in(doors: HubEndpoints):
    doors.listen(BIND)
    direct = doors.direct
    assert isinstance(direct, access_network_endpoint.NetworkAccess)
    keys = new_keys()
    doors.keys.grant(KeyGrant(key=keys.public_text, name="friend", role="operator"))
    direct.zap.close()

    with RawPeer.of(NetworkHub(parse_direct_address(doors.address), keys)) as peer:
        peer.say(RunsRequest(request_id=1))
        wait_until(peer.is_refused, what="refused")
        assert not direct.network_endpoint.socket.poll(0), "nothing came in"


@pytest.mark.promise(24)
def test_a_doorkeeper_that_fails_lets_nobody_in(
    doors: HubEndpoints, monkeypatch: pytest.MonkeyPatch
):
    doors.listen(BIND)
    keys = new_keys()

    asked: list[str] = []

    def fail(_keys: KeyList, key: str) -> KeyGrant | None:
        asked.append(key)
        raise KeyError(key)

    monkeypatch.setattr(KeyList, "find", fail)
    served: list[list[bytes]] = []

    def turn() -> object:
        doors.watch(0)
        doors.wait(0)
        doors.serve(served.append, served.append)
        return asked

    with RawPeer.of(NetworkHub(parse_direct_address(doors.address), keys)) as peer:
        peer.say(RunsRequest(request_id=1))
        wait_until(turn, what="the doorkeeper is asked")
        for _ in range(30):
            turn()

    assert served == []


@pytest.mark.parametrize("damage", ["{", '{"keys": [{"key": "x"}]}', "open"])
def test_a_list_of_keys_that_cannot_be_trusted_lets_nobody_in(tmp_path: Path, damage: str):
    folder = tmp_path / "keys"
    keys = KeyList(folder, HubFaults(LOG))
    grant = KeyGrant(key="ab" * 32, name="friend", role="operator")
    keys.grant(grant)
    path = folder / "authorized.json"
    if damage == "open":
        path.chmod(0o644)
    else:
        path.write_text(damage)

    assert keys.refresh() == {grant.key}
    assert keys.find(grant.key) is None
    again = KeyList(folder, HubFaults(LOG))
    assert again.all() == []
    as_it_was = path.read_bytes()
    for change in (
        lambda: again.grant(KeyGrant(key="cd" * 32, name="new", role="viewer")),
        lambda: again.revoke("friend"),
    ):
        with pytest.raises(KeyListUntrusted, match=r"No key can connect.*(chmod 600|mv) "):
            change()
    assert path.read_bytes() == as_it_was


def test_a_list_of_keys_that_is_private_again_lets_them_in_without_another_word(tmp_path: Path):
    keys = KeyList(tmp_path / "keys", HubFaults(LOG))
    grant = KeyGrant(key="ab" * 32, name="friend", role="operator")
    keys.grant(grant)
    keys.path.chmod(0o666)
    keys.refresh()
    assert keys.fault is not None

    keys.path.chmod(0o600)
    keys.refresh()

    assert (keys.fault, keys.find(grant.key)) == (None, grant)


# --- another user of the same machine ---

NOBODY = 65534


@pytest.mark.promise(4, 22)
@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another user"
)
def test_another_user_of_this_machine_can_neither_read_nor_command():
    home = Path(tempfile.mkdtemp(prefix="kmonitor-test-"))
    home.chmod(0o755)  # as a shared folder may be: what lies in it must guard itself
    folders = find_folders({"KMONITOR_HOME": str(home / "state")})
    try:
        with contextmanager(listening)(folders) as hub:
            sockets = (view_socket_path(folders), ingest_socket_path(folders))
            places = [*map(ipc_endpoint, sockets), hub.address.endpoint]
            files = [*keys_folder(folders).iterdir(), folders.database / "hub.sqlite3"]
            assert len(files) >= 2

            assert _as_nobody(lambda: _heard_at(places)) == []
            assert _as_nobody(lambda: _readable(files)) == []
            assert _as_nobody(lambda: _taken_over(sockets)) == []
            # The folder is one wall. Behind it stands another.
            folders.runtime.chmod(0o755)
            for path in sockets:
                path.chmod(0o777)
            assert _as_nobody(lambda: _heard_at(places)) == []
            assert _heard_at(places) == places[:2], "this user itself is answered"
    finally:
        shutil.rmtree(home)


def _as_nobody(act: Callable[[], list[str]]) -> list[str]:
    """Result of `act` in a process of another user."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child starts no thread of ours
        child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writer, msgspec.json.encode(act()))
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as told:  # noqa: PTH123 - a descriptor
        found = told.read()
    os.waitpid(child, 0)
    return msgspec.json.decode(found)


def _heard_at(places: list[str]) -> list[str]:
    with ExitStack() as stack:
        peers = [stack.enter_context(RawPeer(place)) for place in places]
        for peer in peers:
            peer.say(RunsRequest(request_id=1))
        for peer in peers:
            wait_until(lambda peer=peer: peer.socket.poll(0) or peer.is_refused(), what="an end")
        return [p for p, peer in zip(places, peers, strict=True) if peer.hear(0.0) is not None]


def _taken_over(sockets: tuple[Path, ...]) -> list[str]:
    taken: list[str] = []
    for path in sockets:
        with suppress(OSError):
            path.unlink()
            taken.append(str(path))
        with suppress(OSError), socket.socket(socket.AF_UNIX) as thief:
            thief.bind(str(path))
            taken.append(str(path))
    return taken


def _readable(files: list[Path]) -> list[str]:
    return [str(path) for path in files if os.access(path, os.R_OK)]


def _hello(run: str, session: str) -> Hello:
    return Hello(
        run=run,
        session=session,
        minor_versions=(1, 1),
        first=1,
        last=9,
        pid=1,
        host="h",
        started_wall_s=1.0,
        monotonic_s=0.0,
    )


def _told(peer: RawPeer) -> dict[str, str]:
    body = peer.hear()
    assert body is not None
    return msgspec.msgpack.decode(body)


def _type(peer: RawPeer) -> str:
    return _told(peer)["type"]
