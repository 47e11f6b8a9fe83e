"""A real training process and a real hub: whichever comes first or dies, all is reported."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kmonitor.connect.hub_client import HubClient
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.commands import CommandStatus, LimitSpec, SetLimits
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    AnyEvent,
    CommandProgress,
    EpochEnded,
    FitEnded,
    LimitsInForce,
)
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.live_hub import LiveHub
from tests.support.running_tests import LONG
from tests.support.trainings import Ended, start_training
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = [pytest.mark.keras, pytest.mark.slow, LONG]

EPOCHS = 4


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """The same training without kmonitor."""
    home = tmp_path_factory.mktemp("plain") / "home"
    with start_training(home, monitored=False, epochs=EPOCHS) as training:
        return training.end()


def the_run(client: HubClient, name: str = "training") -> RunSummary:
    def found() -> list[RunSummary]:
        return [run for run in client.runs() if run.name == name]

    return wait_until(found, DEADLINE_S, f"the hub knows {name}")[0]


def events_of(client: HubClient, run: RunSummary) -> Iterator[AnyEvent]:
    for row in client.all_rows(run.run):
        yield decode_event(row.body)


def wait_for_state(client: HubClient, name: str, state: str) -> RunSummary:
    def reached() -> list[RunSummary]:
        return [run for run in client.runs() if run.name == name and run.state == state]

    return wait_until(reached, DEADLINE_S, f"{name} is {state}")[0]


def wait_until_received(client: HubClient, asked: CommandStatus) -> None:
    def received() -> bool:
        events = [decode_event(row.body) for row in client.all_rows(asked.run)]
        return any(isinstance(e, CommandProgress) and e.id == asked.id for e in events)

    wait_until(received, DEADLINE_S, "the agent received the command")


def spooled_bytes(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.glob("spool/*/*.events"))


def test_training_without_a_hub_is_unaffected_and_a_later_hub_gets_it_all(
    kmonitor_home: Path, idle_hub: LiveHub, plain: Ended
):
    with start_training(kmonitor_home, epochs=EPOCHS) as training:
        ended = training.end()

    idle_hub.start()
    with idle_hub.client() as client:
        run = wait_for_state(client, "training", "finished")
        epochs = [e.epoch for e in events_of(client, run) if isinstance(e, EpochEnded)]

    assert ended.digests == plain.digests
    assert ended.faults == {}
    assert run.run == ended.run
    assert epochs == list(range(EPOCHS))


@pytest.mark.promise(1, 2, 10, 23)
def test_reload_commanded_by_the_hub_changes_no_result_and_opens_no_connection(
    kmonitor_home: Path, live_hub: LiveHub, client: HubClient, plain: Ended
):
    with start_training(kmonitor_home, epochs=EPOCHS, hold_epoch=1) as training:
        training.wait_at_gate()
        for pid in (training.process.pid, live_hub.process.pid):
            assert psutil.Process(pid).net_connections("inet") == []
        run = the_run(client)
        asked = client.command(run, "reload", requested_by="ada")
        limited = client.command(
            run,
            "set_limits",
            SetLimits(metrics=["graph"], limits=[LimitSpec(metric="graph", value=1e9)]),
            requested_by="ada",
        )
        assert client.wait_for(limited, timeout_s=DEADLINE_S).state == "done"
        wait_until_received(client, asked)
        training.open_gate()
        answered = client.wait_for(asked, timeout_s=DEADLINE_S)
        ended = training.end()
        told = list(events_of(client, wait_for_state(client, "training", "finished")))

    records = [event for event in told if isinstance(event, ActionRecord)]
    states = [e.state for e in told if isinstance(e, CommandProgress) and e.id == asked.id]
    in_force = [event for event in told if isinstance(event, LimitsInForce)][-1]
    assert (answered.state, answered.why) == ("done", "")
    assert states == ["received", "started", "done"]
    assert [(r.action, r.ok, r.requested_by, r.epoch) for r in records] == [
        ("reload", True, "ada", 1)
    ]
    assert in_force.limits[0].set_by == "ada"
    assert ended.digests == plain.digests


@pytest.mark.full
def test_hub_killed_and_restarted_during_a_training_loses_nothing(
    kmonitor_home: Path, live_hub: LiveHub
):
    with start_training(kmonitor_home, epochs=6, hold_epoch=2) as training:
        training.wait_at_gate()
        live_hub.kill()
        training.open_gate()
        training.end()
        live_hub.start()
        with live_hub.client() as client:
            run = wait_for_state(client, "training", "finished")
            rows = list(client.all_rows(run.run))

    epochs = [e.epoch for row in rows if isinstance(e := decode_event(row.body), EpochEnded)]
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert epochs == list(range(6))
    assert run.gaps == 0


@pytest.mark.full
def test_killed_training_is_shown_as_lost_with_all_it_had_told(
    kmonitor_home: Path, idle_hub: LiveHub
):
    with start_training(kmonitor_home, epochs=4, hold_epoch=3) as training:
        training.wait_at_gate()
        # Events of the last drain interval, 100 ms, may die with the process.
        wait_until(lambda: spooled_bytes(kmonitor_home).count(b"epoch_end") == 3)
        training.kill()

    idle_hub.start()
    with idle_hub.client() as client:
        run = wait_for_state(client, "training", "lost")
        epochs = [e.epoch for e in events_of(client, run) if isinstance(e, EpochEnded)]

    assert epochs == [0, 1, 2]


@pytest.mark.full
def test_training_that_raises_is_shown_as_failed_with_its_error(
    kmonitor_home: Path, client: HubClient
):
    with start_training(kmonitor_home, epochs=2, ending="raise") as training:
        status = training.process.wait(2 * DEADLINE_S)
        run = wait_for_state(client, "training", "failed")
        fits = [e for e in events_of(client, run) if isinstance(e, FitEnded)]

    assert status == 1
    assert "the training's own error" in training.errors()
    assert [(f.how, f.error_type, f.message) for f in fits] == [
        ("failed", "RuntimeError", "the training's own error")
    ]


def test_pause_holds_the_training_until_it_is_resumed_and_stop_ends_it(
    kmonitor_home: Path, client: HubClient
):
    with start_training(kmonitor_home, epochs=50, hold_epoch=1) as training:
        training.wait_at_gate()
        run = the_run(client)
        pause = client.command(run, "pause")
        wait_until_received(client, pause)
        training.open_gate()
        assert client.wait_for(pause, timeout_s=DEADLINE_S).state == "done"
        paused = wait_for_state(client, "training", "paused")
        save = client.command(run, "save")
        assert client.wait_for(save, timeout_s=DEADLINE_S).state == "done"
        second = client.command(run, "pause")
        assert client.wait_for(second, timeout_s=DEADLINE_S).state == "failed"
        stop = client.command(run, "stop")
        assert client.wait_for(stop, timeout_s=DEADLINE_S).state == "done"
        ended = training.end()
        stopped = wait_for_state(client, "training", "stopped")

    assert paused.actions
    assert len(ended.histories[0]["loss"]) == 2
    assert stopped.epochs_done == 2


@pytest.mark.full
def test_commands_of_a_training_that_takes_none_are_refused_with_the_reason(
    kmonitor_home: Path, client: HubClient, folders: Folders
):
    with start_training(
        kmonitor_home, epochs=2, hold_epoch=1, arguments={"commands": False}
    ) as training:
        training.wait_at_gate()
        run = the_run(client)
        answered = client.wait_for(client.command(run, "reload"), timeout_s=DEADLINE_S)
        training.open_gate()
        training.end()

    assert answered.state == "refused"
    assert "commands=False" in answered.why
