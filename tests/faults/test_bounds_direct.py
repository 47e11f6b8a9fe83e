"""Every field of every message at its bounds and one beyond, sent to a hub by all who may send."""

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
import pytest

from kmonitor.cli.main import main
from kmonitor.connect.hub_client import HubClient
from kmonitor.hub.ingest.process_watch import own_pid_namespace
from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.hub_address import (
    ingest_socket_path,
    ipc_endpoint,
    view_socket_path,
)
from kmonitor_agent.wire.messages.events import AnyEvent, SessionStarted, Verdict
from kmonitor_agent.wire.messages.fields import MAX_EVENT_BYTES, MAX_HUB_FRAME_BYTES
from kmonitor_agent.wire.messages.unions import FromAgent, FromDesktop, Ping
from tests.support.direct_hub import ListeningHub, RawPeer
from tests.support.extremes import Extreme, extremes
from tests.support.golden_frames import full
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_MS, wait_until

pytestmark = pytest.mark.slow

EVENTS: Final = tuple(kind for kind in get_args(AnyEvent) if kind is not Verdict)
_FORMATS: Final = ("json", "csv", "csvlogger", "parquet")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One hub for all tests of the module: what one has sent is visible to the next."""
    return tmp_path_factory.mktemp("hub") / "home"


@pytest.fixture(scope="module")
def hub(home: Path) -> Iterator[LiveHub]:
    live = LiveHub(find_folders({"KMONITOR_HOME": str(home)}))
    live.start()
    yield live
    live.kill()


@pytest.fixture(autouse=True)
def same_home(home: Path, kmonitor_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KMONITOR_HOME", str(home))


@pytest.fixture
def client(hub: LiveHub) -> Iterator[HubClient]:
    with hub.client() as client:
        yield client


def still_serves(hub: LiveHub, folders: Folders | None = None) -> SimulatedAgent:
    """An honest training is recorded and listed by the same process."""
    with SimulatedAgent(folders or hub.folders, name="honest") as agent:
        agent.start_fit()
        agent.sample()
        agent.wait_acked()
    with hub.client() as client:
        assert client.hub().pid == hub.process.pid
        assert agent.run in {run.run for run in client.runs()}
    return agent


def of_messages(union: Any) -> list[Extreme]:
    found = [each for kind in get_args(union) for each in extremes(kind)]
    # A hub that ends on request is not at fault.
    return [
        replace(each, plain={**each.plain, "stop": False}) if "stop" in each.plain else each
        for each in found
        if each.path != "stop"
    ]


@pytest.mark.promise(6)
def test_messages_of_agents_at_their_bounds_end_nothing(hub: LiveHub):
    send_all(ipc_endpoint(ingest_socket_path(hub.folders)), of_messages(FromAgent))

    still_serves(hub)


@pytest.mark.promise(6)
def test_messages_of_desktops_at_their_bounds_end_nothing(hub: LiveHub):
    send_all(ipc_endpoint(view_socket_path(hub.folders)), of_messages(FromDesktop))

    still_serves(hub)


def send_all(endpoint: str, messages: list[Extreme]) -> None:
    """Send everything, and wait until a ping behind it is answered."""
    with RawPeer(endpoint) as peer:
        for message in messages:
            if len(message.body) < MAX_HUB_FRAME_BYTES:
                peer.say_body(message.body)
        peer.say(Ping(n=4711))
        wait_until(lambda: b"pong" in (peer.hear() or b""), what="the ping behind it answered")


@pytest.mark.promise(6)
@pytest.mark.parametrize("role", ["agent", "viewer", "operator"])
def test_messages_over_the_network_at_their_bounds_end_nothing(
    listening_hub: ListeningHub, role: Any
):
    union = FromAgent if role == "agent" else FromDesktop
    with RawPeer.of(listening_hub.device(role)) as peer:
        for number, message in enumerate(of_messages(union)):
            if len(message.body) < MAX_EVENT_BYTES:
                peer.say_body(message.body)
            if number % 500 == 0:
                peer.say(Ping(n=number))
                wait_until(peer.hear, what="an answer")
    still_serves(listening_hub.live)


@pytest.fixture(scope="module")
def told(home: Path, hub: LiveHub) -> dict[str, SimulatedAgent]:
    """For each type of event a run that sent it at all its bounds; by the type's name."""
    agents: dict[str, SimulatedAgent] = {}
    for kind in EVENTS:
        name = kind.__struct_config__.tag
        with SimulatedAgent(hub.folders, name=str(name)) as agent:
            agent.start_fit()
            agent.start_epoch()
            for extreme in extremes(kind):
                if len(extreme.body) <= MAX_EVENT_BYTES:
                    agent.emit_bytes(_here(extreme.plain, agent))
            agent.sample()
            agent.end_epoch()
            agent.end_fit()
            agent.wait_acked()
            agents[str(name)] = agent
    return agents


def _here(plain: dict[str, Any], agent: SimulatedAgent) -> bytes:
    """A process of this host, which the hub looks for; and no part of a study."""
    if plain["type"] == "session":
        usual = msgspec.to_builtins(full(SessionStarted))
        mine = {
            "session": agent.session,
            "host": socket.gethostname(),
            "pid_namespace": own_pid_namespace(),
            "study": "",
        }
        plain = {**plain, **{name: mine[name] for name in mine if plain[name] == usual[name]}}
    return msgspec.msgpack.encode(plain)


def test_every_run_is_listed_and_the_hub_lives(
    hub: LiveHub, told: dict[str, SimulatedAgent], client: HubClient
):
    still_serves(hub)
    runs = {run.run for run in client.runs()}
    faults = client.hub().faults

    assert {agent.run for agent in told.values()} <= runs
    # Processes that are reported alive are watched all the while.
    assert {name for name in faults if not name.startswith(("ingest", "view"))} <= {"gap"}


def test_each_offender_is_named_once(hub: LiveHub, told: dict[str, SimulatedAgent]):
    lines = (hub.folders.logs / "hub.log").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if "ingest: event" in line]

    for kind in EVENTS:
        run = told[str(kind.__struct_config__.tag)].run
        assert sum(run in line for line in named) == 1, kind
    assert not [line for line in lines if "Traceback" in line]


def test_the_list_of_runs_is_shown(told: dict[str, SimulatedAgent], capsys: Any):
    assert main(["runs"]) == 0
    listed = capsys.readouterr().out

    assert [agent.run for agent in told.values() if agent.run[:8] not in listed] == []
    assert main(["runs", "--json"]) == 0


@pytest.mark.parametrize("name", [str(kind.__struct_config__.tag) for kind in EVENTS])
def test_a_run_with_every_extreme_is_shown_exported_and_reported(
    told: dict[str, SimulatedAgent], name: str, capsys: Any, tmp_path: Path
):
    run = told[name].run
    statuses = [main(["show", run]), main(["show", run, "--json"])]
    for number, format_ in enumerate(_FORMATS):
        output = tmp_path / f"{number}"
        statuses.append(main(["export", run, "--format", format_, "--output", str(output)]))
    statuses.append(main(["report", run, "--output", str(tmp_path / "report.html")]))
    statuses.append(main(["map", f"run:{run}"]))
    said = with_plain_spaces(capsys.readouterr().err)

    assert statuses[:-1] == [0] * (len(statuses) - 1), said
    assert statuses[-1] in {0, 1}, said


def test_every_series_of_every_run_is_drawn(told: dict[str, SimulatedAgent], client: HubClient):
    for agent in told.values():
        have = client.series(agent.run, ["ram_bytes"], buckets=1).have
        for first in range(0, len(have), 16):
            assert client.series(agent.run, have[first : first + 16], buckets=4000).columns
        client.verdicts(agent.run)


@pytest.mark.gui
def test_every_run_is_drawn_in_the_window(
    hub: LiveHub, told: dict[str, SimulatedAgent], qtbot: Any
):
    shown = WindowOptions(size=(1280, 760), with_hub=False)
    app = KmonitorApp(make_qt_application(), hub.folders, shown)
    app.start()
    try:
        for agent in told.values():
            qtbot.waitUntil(
                lambda run=agent.run: app.workspace.run_store.get(run) is not None,
                timeout=DEADLINE_MS,
            )
            app.workspace.select(agent.run)
            qtbot.waitUntil(
                lambda: app.charts_controller is not None and app.charts_controller.is_loaded,
                timeout=DEADLINE_MS,
            )
            app.controller.refresh()
            assert app.workspace.banner(time.time()) is None
    finally:
        app.stop()
        app.window.deleteLater()
