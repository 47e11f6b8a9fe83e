"""Hubs on other hosts, over a real sshd on loopback."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest

from kmonitor.connect.follower import Connected, Disconnected, News, RouteChanged
from kmonitor.connect.host_errors import HostError
from kmonitor.connect.host_follower import HostFollower
from kmonitor.connect.local_hub import ensure_hub, request_local_hub
from kmonitor.connect.remembered_hosts import RememberedHost
from kmonitor.connect.remote_hub import ConnectCancelled, ensure_remote
from kmonitor.connect.ssh import make_socket_path
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import view_socket_path
from kmonitor_agent.wire.messages.unions import RowsReply, RunsReply
from tests.support.simulated_agent import SimulatedAgent
from tests.support.ssh_host import NAME, SshHost, live_ssh_host, ssh_host
from tests.support.waiting import wait_until

__all__ = ["live_ssh_host", "ssh_host"]

pytestmark = [pytest.mark.ssh, pytest.mark.slow]


class Followed:
    """A host as a window follows it, and all that it reported."""

    def __init__(self, follower: HostFollower) -> None:
        self.follower = follower
        self.news: list[News] = []
        self._waited_for = 0

    def pump(self) -> None:
        while self.follower.inbox:
            self.news.append(self.follower.inbox.popleft())
        self.follower.drained()

    def wait(self, condition: Callable[[News], bool], what: str) -> None:
        """Wait for news of a kind, the first after those waited for before."""

        def found() -> bool:
            self.pump()
            while self._waited_for < len(self.news):
                self._waited_for += 1
                if condition(self.news[self._waited_for - 1]):
                    return True
            return False

        wait_until(found, what=what)

    def wait_connected(self) -> None:
        self.wait(lambda news: isinstance(news, Connected), "connected")

    def rows(self) -> list[int]:
        return [row.row for told in self.news if isinstance(told, RowsReply) for row in told.rows]


@contextmanager
def following(folders: Folders, socket: str = "") -> Iterator[Followed]:
    host = RememberedHost(NAME, socket=socket)
    followed = Followed(HostFollower(host, make_socket_path(folders), wake_reader=lambda: None))
    followed.follower.start()
    try:
        yield followed
    finally:
        followed.follower.stop()


@pytest.fixture(autouse=True)
def no_ssh_is_left() -> Iterator[None]:
    yield
    assert not _tunnels()


def _tunnels() -> list[psutil.Process]:
    return [each for each in psutil.Process().children(recursive=True) if _is_tunnel(each)]


def _is_tunnel(process: psutil.Process) -> bool:
    try:
        return process.name() == "ssh" and "-N" in process.cmdline()
    except psutil.Error:
        return False


@pytest.mark.exposed
def test_a_hub_is_started_there_followed_and_comes_back_when_ssh_is_killed(
    live_ssh_host: SshHost, folders: Folders
) -> None:
    with following(folders) as followed:
        followed.wait_connected()
        told = request_local_hub(live_ssh_host.there)
        assert told is not None
        with SimulatedAgent(live_ssh_host.there, name="far") as agent:
            agent.start_fit(epochs=3)
            agent.wait_acked()
            followed.wait(lambda n: isinstance(n, RunsReply) and bool(n.runs), "the run")
            (tunnel,) = _tunnels()
            tunnel.kill()
            for _ in range(3):
                agent.start_epoch()
                agent.sample()
                agent.end_epoch()
            followed.wait(
                lambda n: isinstance(n, RouteChanged) and n.stage == "closed", "it is told"
            )
            followed.wait_connected()
            agent.wait_acked()
            wait_until(lambda: followed.pump() or len(followed.rows()) >= 9, what="caught up")

    rows = followed.rows()
    assert rows == sorted(set(rows))
    first = next(each for each in followed.news if isinstance(each, Connected))
    assert first.hub.pid == told.pid


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("identity", "key_refused"),
        ("changed", "host_key_changed"),
        ("unknown key", "host_key_unknown"),
        ("port", "refused"),
        ("name", "host_unknown"),
        ("no kmonitor", "no_kmonitor"),
        ("disabled", "disabled"),
    ],
)
def test_what_keeps_a_host_from_being_reached_is_named(
    ssh_host: SshHost, fault: str, code: str
) -> None:
    address = NAME
    match fault:
        case "identity":
            ssh_host.configure(identity="other_id")
        case "changed":
            ssh_host.trust(ssh_host.folder / "other_key.pub")
        case "unknown key":
            ssh_host.trust(None)
        case "port":
            ssh_host.configure(port=1)
        case "name":
            address = "no-such-host.invalid"
        case "no kmonitor":
            (ssh_host.folder / "bin" / "kmonitor").unlink()
        case _:
            pass
    if fault not in {"port", "name"}:
        ssh_host.start(**({"KMONITOR_HUB": "off"} if fault == "disabled" else {}))

    with pytest.raises(HostError) as caught:
        ensure_remote(address)

    assert caught.value.code == code
    assert address in caught.value.what


def test_a_remembered_socket_without_a_hub_is_found_out_and_the_hub_started(
    live_ssh_host: SshHost, folders: Folders
) -> None:
    with following(folders, str(view_socket_path(live_ssh_host.there))) as followed:
        followed.wait_connected()

    assert request_local_hub(live_ssh_host.there) is not None


def test_what_only_the_user_can_mend_waits_for_retry(ssh_host: SshHost, folders: Folders) -> None:
    ssh_host.configure(identity="other_id")
    ssh_host.start()
    ensure_hub(ssh_host.there)
    with following(folders, str(view_socket_path(ssh_host.there))) as followed:
        followed.wait(lambda n: isinstance(n, RouteChanged) and n.stage == "closed", "refused")
        closed = next(n for n in followed.news if isinstance(n, RouteChanged) and n.what)
        assert closed.retry_in_s is None
        assert "key" in closed.what
        ssh_host.configure()
        followed.follower.retry_now()

        followed.wait_connected()


@pytest.mark.parametrize("is_remembered", [False, True])
def test_a_server_that_forbids_sockets_is_named_and_not_knocked_at_for_ever(
    ssh_host: SshHost, folders: Folders, *, is_remembered: bool
) -> None:
    ssh_host.may_forward = False
    ssh_host.start()
    known = str(view_socket_path(ssh_host.there)) if is_remembered else ""
    with following(folders, known) as followed:
        followed.wait(lambda n: isinstance(n, RouteChanged) and n.stage == "closed", "told why")

    closed = next(n for n in followed.news if isinstance(n, RouteChanged) and n.what)
    assert closed.what == f"{NAME} does not allow socket forwarding."
    assert "AllowStreamLocalForwarding yes" in closed.remedy
    assert closed.retry_in_s is None


def test_a_question_over_ssh_can_be_given_up(live_ssh_host: SshHost) -> None:
    live_ssh_host.program("kmonitor", "sleep 60")
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()

    with pytest.raises(ConnectCancelled):
        ensure_remote(NAME, stop=stop)


@pytest.mark.full
def test_a_frozen_server_is_noticed_and_another_connection_made(
    live_ssh_host: SshHost, folders: Folders
) -> None:
    with following(folders) as followed:
        followed.wait_connected()
        frozen = live_ssh_host.freeze()
        followed.wait(lambda n: isinstance(n, Disconnected), "noticed")
        followed.wait_connected()
        for process in frozen:
            process.kill()

    assert frozen


@pytest.mark.full
def test_a_frozen_machine_is_waited_for(live_ssh_host: SshHost, folders: Folders) -> None:
    ensure_hub(live_ssh_host.there)
    with following(folders, str(view_socket_path(live_ssh_host.there))) as followed:
        followed.wait_connected()
        server = live_ssh_host.process()
        server.suspend()
        live_ssh_host.freeze()
        followed.wait(lambda n: isinstance(n, Disconnected), "noticed")
        followed.wait(lambda n: isinstance(n, RouteChanged) and n.stage == "closed", "told why")
        server.resume()
        for process in live_ssh_host.sessions():
            process.resume()

        followed.wait_connected()


@pytest.mark.full
def test_a_hub_that_dies_there_is_started_anew(live_ssh_host: SshHost, folders: Folders) -> None:
    with following(folders) as followed:
        followed.wait_connected()
        told = request_local_hub(live_ssh_host.there)
        assert told is not None
        os.kill(told.pid, 9)
        followed.wait_connected()
        again = request_local_hub(live_ssh_host.there)

    assert again is not None
    assert again.pid != told.pid


@pytest.mark.full
def test_one_run_is_seen_from_two_desktops(live_ssh_host: SshHost, folders: Folders) -> None:
    with following(folders) as one, following(folders) as other:
        one.wait_connected()
        wait_until(lambda: other.pump() or any(isinstance(n, Connected) for n in other.news))
        with SimulatedAgent(live_ssh_host.there, name="far") as agent:
            agent.start_fit(epochs=1)
            agent.start_epoch()
            agent.end_epoch()
            agent.wait_acked()
            for followed in (one, other):
                wait_until(lambda f=followed: f.pump() or len(f.rows()) >= 3, what="rows")

    assert one.rows()[:3] == other.rows()[:3]
