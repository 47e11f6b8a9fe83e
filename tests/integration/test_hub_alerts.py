"""Alerts reach their owner from a hub without a window: once, by command or webhook."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from kmonitor.alerts.rules import AlertSettings, load_alert_settings, save_alert_settings
from kmonitor.connect.local_hub import request_local_hub
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import LimitCrossed, SessionDied, SessionEnded
from kmonitor_agent.wire.messages.unions import FromAgent, FromDesktop
from tests.support.command_line import kmonitor
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

GIB = 2.0**30
WRITES = "import json, sys; open({path!r}, 'a').write(sys.stdin.read())"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """A file to which the command for alerts adds a line for each."""
    script = tmp_path / "add.py"
    script.write_text(WRITES.format(path=str(tmp_path / "alerts.jsonl")))
    return tmp_path / "alerts.jsonl"


@pytest.fixture
def told_hub(live_hub: LiveHub, inbox: Path) -> LiveHub:
    """A hub whose alerts go to the inbox."""
    words = ("--command", f"{sys.executable} '{inbox.parent / 'add.py'}'")
    assert kmonitor("alerts", "set", *words).status == 0
    wait_until(lambda: _hub_state(live_hub.folders) == "on", what="the hub has read the rules")
    return live_hub


def _hub_state(folders: Folders) -> str:
    reply = request_local_hub(folders)
    return "" if reply is None else reply.alerts


def _alerts(inbox: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in inbox.read_text().splitlines()] if inbox.exists() else []


def _cross(agent: SimulatedAgent, *, crossed: bool = True) -> None:
    event = LimitCrossed(
        t_s=agent.now_s(),
        metric="ram",
        action="notify",
        value=(9 if crossed else 7) * GIB,
        threshold=8 * GIB,
        crossed=crossed,
    )
    agent.emit(event)


def _die(agent: SimulatedAgent) -> None:
    died = SessionDied(
        t_s=agent.now_s(), session=agent.session, how="signal", signal="SIGKILL", why="SIGKILL"
    )
    agent.emit(died)


def test_a_death_and_a_crossing_reach_the_command_once(told_hub: LiveHub, inbox: Path):
    with SimulatedAgent(told_hub.folders, name="resnet") as agent:
        agent.start_fit()
        _cross(agent)
        agent.wait_acked()
        _cross(agent)  # within the cooldown of the first
        wait_until(lambda: len(_alerts(inbox)) == 1, what="the crossing")
        _die(agent)
        agent.wait_acked()
        wait_until(lambda: len(_alerts(inbox)) == 2, what="the death")

    crossing, death = _alerts(inbox)
    assert (crossing["kind"], crossing["metric"], crossing["title"]) == ("limit", "ram", "resnet")
    assert "9.0 GiB" in crossing["text"]
    assert (death["kind"], death["gravity"]) == ("died", "error")
    assert "SIGKILL" in death["text"]


def test_a_hub_that_is_killed_and_started_again_repeats_nothing(told_hub: LiveHub, inbox: Path):
    with SimulatedAgent(told_hub.folders, name="resnet") as agent:
        agent.start_fit()
        _cross(agent)
        agent.wait_acked()
        wait_until(lambda: _alerts(inbox), what="the crossing")
        told_hub.restart()
        agent.sample()
        agent.wait_acked()
        _die(agent)  # behind it a repetition would have come
        agent.wait_acked()
        wait_until(lambda: len(_alerts(inbox)) > 1, what="the death")

    assert [alert["kind"] for alert in _alerts(inbox)] == ["limit", "died"]


def _hold(folders: Folders, rule: str, hold: str) -> None:
    """Hold alerts back; read by a hub that starts now, or has its next step."""
    assert kmonitor("alerts", "rule", rule, "--hold", hold).status == 0
    assert rule in _rules(folders)


def test_a_host_of_which_nothing_comes_any_more_is_lost_once(told_hub: LiveHub, inbox: Path):
    _hold(told_hub.folders, "host", "0s")
    told_hub.restart()
    with SimulatedAgent(told_hub.folders, name="far", host="gpu-07") as far:
        far.start_fit()
        far.wait_acked()
    wait_until(lambda: _alerts(inbox), what="the host is lost")
    told_hub.restart()
    with SimulatedAgent(told_hub.folders, name="resnet") as agent:
        agent.start_fit()
        wait_until(lambda: _run_state(told_hub, far.run) == "silent", what="still silent")
        _die(agent)
        agent.wait_acked()
        wait_until(lambda: len(_alerts(inbox)) > 1, what="the death")

    lost, death = _alerts(inbox)
    assert (lost["kind"], lost["subject"], lost["title"]) == ("host", "gpu-07", "gpu-07")
    assert death["kind"] == "died"


def _run_state(hub: LiveHub, run: str) -> str:
    with hub.client() as client:
        return next(found.state for found in client.runs() if found.run == run)


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(LiveHub.kill, id="killed"),
        pytest.param(LiveHub.stop, id="stopped", marks=pytest.mark.full),
    ],
)
def test_an_alert_that_was_held_back_comes_once_from_the_next_hub(
    told_hub: LiveHub, inbox: Path, end: Callable[[LiveHub], object]
):
    _hold(told_hub.folders, "limit:ram", "1h")
    told_hub.restart()
    with (
        SimulatedAgent(told_hub.folders, name="resnet") as agent,
        SimulatedAgent(told_hub.folders, name="over") as other,
    ):
        for each in (agent, other):
            each.start_fit()
            _cross(each)
            each.wait_acked()
        wait_until(lambda: _held(told_hub.folders), what="the hub has read its rules")
        end(told_hub)
        assert _alerts(inbox) == []
        _cross(other, crossed=False)
        _hold(told_hub.folders, "limit:ram", "0s")
        told_hub.start()
        wait_until(lambda: _alerts(inbox), what="the crossing")
        told_hub.restart()
        _die(agent)  # behind it a repetition would have come
        agent.wait_acked()
        wait_until(lambda: len(_alerts(inbox)) > 1, what="the death")

    assert [(alert["kind"], alert["title"]) for alert in _alerts(inbox)] == [
        ("limit", "resnet"),
        ("died", "resnet"),
    ]


def _held(folders: Folders) -> bool:
    return (folders.database / "alerts.held").exists()


def test_an_end_waits_for_its_cause(told_hub: LiveHub, inbox: Path):
    with SimulatedAgent(told_hub.folders, name="resnet") as agent:
        agent.start_fit()
        agent.emit(SessionEnded(t_s=agent.now_s(), why="finished"))
        _die(agent)
        agent.wait_acked()
        wait_until(lambda: _alerts(inbox), what="an alert")

    assert [alert["kind"] for alert in _alerts(inbox)] == ["died"]


def test_a_rule_that_is_off_is_obeyed(told_hub: LiveHub, inbox: Path):
    assert kmonitor("alerts", "rule", "limit:ram", "--off").status == 0
    with SimulatedAgent(told_hub.folders, name="resnet") as agent:
        agent.start_fit()
        wait_until(lambda: "limit:ram" in _rules(told_hub.folders), what="it is written")
        told_hub.restart()
        _cross(agent)
        _die(agent)
        agent.wait_acked()
        wait_until(lambda: _alerts(inbox), what="the death")

    assert [alert["kind"] for alert in _alerts(inbox)] == ["died"]


def _rules(folders: Folders) -> list[str]:
    return list(load_alert_settings(folders.settings).rules)


def test_what_goes_wrong_is_a_trouble_of_the_hub(live_hub: LiveHub):
    save_alert_settings(live_hub.folders.settings, AlertSettings(command="/nonexistent/notify"))
    wait_until(lambda: _hub_state(live_hub.folders) == "on", what="the hub has read the rules")
    with SimulatedAgent(live_hub.folders, name="resnet") as agent:
        agent.start_fit()
        _cross(agent)
        agent.wait_acked()

        def troubles() -> list[str]:
            reply = request_local_hub(live_hub.folders)
            return reply.troubles if reply else []

        wait_until(troubles, what="the trouble is told")
        assert "cannot be run: /nonexistent/notify" in troubles()[0]
        assert kmonitor("alerts", "test").status == 1


@pytest.mark.promise(11, 39)
def test_nothing_is_handed_over_unless_it_was_set(live_hub: LiveHub):
    assert _hub_state(live_hub.folders) == "off"
    assert kmonitor("alerts", "test").status == 1
    found = kmonitor("alerts", "--json").json
    assert (found["command"], found["webhook"], found["hub"]) == ("", "", "off")


@pytest.mark.promise(39)
def test_no_message_and_no_option_sets_where_alerts_go(live_hub: LiveHub):
    fields = {
        name
        for union in (FromAgent, FromDesktop)
        for message in get_args(union)
        for name in message.__struct_fields__
    }

    assert not fields & {"command", "webhook", "alerts", "settings", "rules"}
    for option in ("--host", "--hub"):
        ran = kmonitor("alerts", "set", "--webhook", "https://x.example/", option, "gpu-01")
        assert ran.status == 2
    assert load_alert_settings(live_hub.folders.settings) == AlertSettings()


def test_rules_are_listed_and_tried_on_what_is_stored(told_hub: LiveHub):
    with SimulatedAgent(told_hub.folders, name="resnet") as agent:
        agent.start_fit()
        _cross(agent)
        _die(agent)
        agent.wait_acked()

        listed = kmonitor("alerts").out
        tried = kmonitor("alerts", "dry-run", "--since", "1h", "--json").json

    assert "limit:ram" in listed
    assert "sends alerts" in listed
    assert [alert["kind"] for alert in tried] == ["limit", "died"]


def test_settings_of_a_window_keep_their_form(folders: Folders):
    save_alert_settings(folders.settings, AlertSettings(webhook="https://x.example/", form="ntfy"))

    ran = kmonitor("alerts", "set", "--command", "true")
    assert ran.status == 0
    assert "no hub is running on this host" in ran.err
    assert load_alert_settings(folders.settings).form == "ntfy"
