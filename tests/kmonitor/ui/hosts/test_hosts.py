"""Several hubs in one window: the owner of each run, and the messages on a lost host."""

from typing import Any

import msgspec
import pytest

from kmonitor.ui.actions.action_panel import action_panel_state
from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.standard_charts import StandardCharts
from kmonitor.ui.hosts.hosts import (
    command_blocked_reason,
    confirm_remove,
    version_skew_text,
)
from kmonitor.ui.run_tree.run_tree import HostRow, host_rows
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.unions import HubReply, RowsReply, RunSummary, SeriesRequest
from tests.support.clock import MovedClock
from tests.support.made_up_runs import (
    NOW_WALL_S,
    made_up_row,
    made_up_run,
    reload_record,
    told_hub,
    told_runs,
    told_series,
)
from tests.support.questions_asked import QuestionsAsked

FAR = "me@gpu-01"


class Setup:
    """A desk with this machine's hub and one host, both with a run."""

    def __init__(self) -> None:
        self.hub = QuestionsAsked()
        self.clock = MovedClock()
        self.desk = Workspace(clock=self.clock, user="tester")
        self.desk.attach_hub(self.hub.ask)
        self.feed = ChartFeed(self.hub.ask)
        self.charts = StandardCharts(self.desk, self.feed)
        self.desk.attach_charts(self.feed)
        self.desk.add_host(FAR, "big one")

    def connect(self) -> None:
        self.desk.connected(told_hub(hub="near"))
        self.show(made_up_run("run1"), hub="near")
        self.desk.connected(self.told(), FAR)
        self.show(made_up_run("run2", name="far", host="gpu-01"), hub="far", at=FAR)

    def told(self, **changed: Any) -> HubReply:
        told = told_hub(hub="far")
        return msgspec.structs.replace(told, wall_s=self.clock.wall_s(), **changed)

    def show(self, *runs: RunSummary, hub: str, at: str = "") -> None:
        self.desk.apply_message(told_runs(*runs, hub=hub), at)
        by_id = {run.run: run for run in runs}
        for number, asked in self.hub.of_type(SeriesRequest):
            if asked.run in by_id:
                self.desk.apply_message(told_series(asked, by_id[asked.run], number), at)

    def tell(self, row: int, event: events.Event, run: str, at: str = "") -> None:
        hub = "far" if at else "near"
        rows = [made_up_row(row, event, run)]
        self.desk.apply_message(
            RowsReply(request_id=0, hub=hub, cursor=row, rows=rows, more=False, head=row), at
        )

    def lose(self, seconds_ago: float = 180.0) -> None:
        since = self.clock.wall_s() - seconds_ago
        self.desk.disconnected("ended", retry_in_s=4.0, since_wall_s=since, at=FAR)
        self.desk.set_route(
            FAR, "closed", "gpu-01 is not responding.", "It is off.", retry_in_s=4.0
        )

    def tree(self, search: str = "") -> tuple[HostRow, ...]:
        now_wall_s = self.clock.wall_s()
        return host_rows(
            self.desk.run_store,
            search=search,
            now_wall_s=now_wall_s,
            is_connected=self.desk.link.is_live,
            hosts=[h.state(now_wall_s, version="0.1.0") for h in self.desk.hosts.all()],
            is_reached=self.desk.is_reached,
        )

    def banner(self) -> Any:
        return self.desk.banner(self.clock.wall_s())


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_runs_of_all_hubs_stand_in_one_tree_by_host(setup: Setup):
    assert [(row.host, row.note) for row in setup.tree()] == [("big one", "connecting\u2026")]
    setup.connect()
    setup.desk.add_host("gpu-02")

    near, far, new = setup.tree()

    assert (near.address, [run.run for run in near.runs]) == ("", ["run1"])
    assert (far.host, far.note, [run.run for run in far.runs]) == ("big one", "1 run", ["run2"])
    assert (new.host, new.runs) == ("gpu-02", ())
    assert far.key == (FAR, "")
    assert [row.host for row in setup.tree("big far")] == ["big one"]
    assert [row.host for row in setup.tree("gpu-02")] == ["gpu-02"]
    assert setup.desk.status(version="0.1.0").link.endswith("1 of 2 hosts connected")


def test_the_same_row_number_of_two_hubs_is_two_events(setup: Setup):
    setup.connect()
    for run, at in (("run1", ""), ("run2", FAR)):
        setup.tell(7, reload_record(), run, at)

    assert sorted(row.run for row in setup.desk.log.rows()) == ["run1", "run2"]
    assert all(len(setup.desk.reclaims.rows(run)) == 1 for run in ("run1", "run2"))


def test_a_lost_host_greys_its_runs_only_and_says_since_when(setup: Setup):
    setup.connect()
    setup.desk.select("run2")
    setup.lose()

    near, far = setup.tree()

    assert near.runs[0].state.label == "Training"
    assert far.runs[0].state.label.startswith("No data for")
    assert (with_plain_spaces(far.note), far.tone) == ("offline for 3 min", "crit")
    assert "is not responding" in far.tooltip
    curves = {c.run: c.stale for c in setup.charts.state("ram", 600).curves}
    assert curves == {"run2": True, "run1": False}
    card = setup.charts.card("ram", now_s=0.0)
    assert card is not None
    assert with_plain_spaces(card.note) == "last data 3 min ago"
    assert not card.can_limit
    banner = setup.banner()
    assert banner.title.startswith("Connection to big one lost at")
    assert "Charts show the last data received; training may still be running." in banner.text
    assert "gpu-01 is not responding. It is off. Retrying in 4" in with_plain_spaces(banner.text)
    assert banner.button == "Retry"
    assert setup.desk.host_of_banner(0.0) == FAR


def test_a_lost_host_that_is_not_looked_at_is_told_in_the_tree_only(setup: Setup):
    setup.connect()
    setup.desk.select("run1")
    setup.lose()

    assert setup.banner() is None
    assert setup.desk.host_of_banner(0.0) == ""
    setup.desk.select("run2")
    assert setup.banner() is not None
    setup.desk.dismiss_banner(0.0)
    assert setup.banner() is None


def test_it_catches_up_when_it_returns(setup: Setup):
    setup.connect()
    setup.desk.select("run2")
    setup.lose()
    setup.desk.set_route(FAR, "open", "", "", retry_in_s=None)
    setup.desk.connected(setup.told(), FAR)
    setup.tell(2000, events.Sample(t_s=1e6, ram_bytes=5.0), "run2", FAR)

    assert setup.banner() is None
    assert not any(c.stale for c in setup.charts.state("ram", 600).curves)
    assert setup.feed.store.last_value("run2", "ram_bytes") == 5.0


def test_a_host_that_was_never_reached_says_why_until_it_was_read(setup: Setup):
    setup.desk.set_route(FAR, "closed", "Unknown host: so.", "See ~/.ssh/config.", retry_in_s=None)

    banner = setup.banner()
    assert banner.title == "Cannot reach big one."
    assert banner.text == "Unknown host: so. See ~/.ssh/config."
    assert setup.tree()[0].note == "unreachable"
    setup.desk.dismiss_banner(0.0)
    assert setup.banner() is None
    setup.desk.set_route(FAR, "asking", "", "", retry_in_s=None)
    setup.desk.set_route(FAR, "closed", "Another thing.", "", retry_in_s=0.1)
    assert setup.banner().text == "Another thing. Retrying now."


def test_a_removed_host_takes_its_runs_along_and_what_it_still_says_is_nothing(setup: Setup):
    setup.connect()
    setup.tell(7, reload_record(), "run2", FAR)
    setup.desk.select("run2")
    setup.desk.remove_host(FAR)
    setup.desk.connected(setup.told(), FAR)
    setup.desk.disconnected("x", retry_in_s=0.0, since_wall_s=0.0, at=FAR)
    setup.show(made_up_run("run3"), hub="far", at=FAR)
    setup.desk.set_route(FAR, "open", "", "", retry_in_s=None)

    assert [row.host for row in setup.tree()] == ["gpu-01"]
    assert setup.desk.run_store.selected == "run1"
    assert setup.desk.log.rows() == []
    assert setup.desk.link.is_live


def test_one_hub_by_two_addresses_is_shown_once(setup: Setup):
    setup.connect()
    setup.desk.add_host("gpu-01.example.org")
    setup.desk.connected(setup.told(), "gpu-01.example.org")
    setup.show(made_up_run("run2"), hub="far", at="gpu-01.example.org")

    _near, far, again = setup.tree()

    assert (len(far.runs), len(again.runs), again.note) == (1, 0, "as big one")
    assert "This host's runs are listed under big one" in again.tooltip
    setup.lose()
    setup.desk.disconnected("x", retry_in_s=1.0, since_wall_s=0.0, at="gpu-01.example.org")
    setup.desk.connected(setup.told(), "gpu-01.example.org")
    _near, far, again = setup.tree()
    assert (len(far.runs), len(again.runs)) == (0, 1)


def test_this_machines_hub_is_not_shown_as_a_host_too(setup: Setup):
    setup.desk.connected(setup.told(), FAR)
    setup.show(made_up_run("run1"), hub="far", at=FAR)
    setup.desk.connected(setup.told())

    near, far = setup.tree()

    assert [run.run for run in near.runs] == ["run1"]
    assert (far.runs, far.note) == ((), "as this machine")


def test_versions_and_clocks_that_differ_are_said_in_words(setup: Setup):
    told = setup.told(version="0.0.9")
    told = msgspec.structs.replace(told, wall_s=setup.clock.wall_s() + 60.0)
    setup.desk.connected(told, FAR)

    tooltip = with_plain_spaces(setup.tree()[0].tooltip)

    assert "kmonitor on big one is older (0.0.9) than this window (0.1.0)" in tooltip
    assert "Its clock is 1 min ahead of this machine's clock." in tooltip
    assert "newer (1.0)" in version_skew_text("1.0", "0.1.0", host="h")
    assert version_skew_text("0.1.0", "0.1.0", host="h") == ""


def test_a_viewer_sees_the_buttons_disabled_with_the_reason(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
):
    setup.connect()
    setup.desk.select("run2")
    run = setup.desk.run_store.current()
    assert run is not None
    assert setup.desk.why_no_command("run2") == ""
    why = "Runs on big one are read-only: your key there has the viewer role."
    monkeypatch.setattr(
        "kmonitor.ui.workspace.workspace.command_blocked_reason",
        lambda _hub, host: why.replace("big one", host),
    )

    picture = action_panel_state(
        run,
        commands=setup.desk.commands,
        limits=setup.desk.limits,
        now_wall_s=NOW_WALL_S,
        is_connected=True,
        no_right=setup.desk.why_no_command("run2"),
    )
    setup.desk.command("save")

    assert with_plain_spaces(picture.why_not).startswith(why)
    assert all(
        not button.is_enabled and button.tooltip.startswith(why) for button in picture.buttons
    )
    assert setup.desk.commands.open_for("run2") == []


def test_the_role_decides_what_may_be_asked():
    class Viewer(msgspec.Struct):
        role: str = "viewer"

    assert command_blocked_reason(None, "h") == ""
    assert command_blocked_reason(told_hub(), "h") == ""
    assert "viewer role" in command_blocked_reason(Viewer(), "h")  # type: ignore[arg-type]


def test_removing_is_asked_back():
    assert "big one" in confirm_remove("big one").title


def test_a_hosts_hub_that_can_write_nothing_is_told_while_it_is_connected():
    setup = Setup()
    setup.connect()
    assert setup.desk.banner(NOW_WALL_S) is None
    why = "the disk that holds /x is full; free some space"
    setup.desk.condition(setup.told(troubles=[why], unwritten=why), FAR)

    banner = setup.desk.banner(NOW_WALL_S)
    assert banner is not None
    assert banner.title == "The hub on big one cannot store new data."
    assert setup.desk.host_of_banner(NOW_WALL_S) == FAR
    setup.desk.dismiss_banner(NOW_WALL_S)
    assert setup.desk.banner(NOW_WALL_S) is None
    setup.desk.condition(setup.told(), FAR)
    setup.desk.condition(setup.told(troubles=[why], unwritten=why), FAR)
    assert setup.desk.banner(NOW_WALL_S) is not None
    setup.desk.condition(setup.told(), FAR)
    assert setup.desk.banner(NOW_WALL_S) is None
