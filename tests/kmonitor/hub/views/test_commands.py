"""A command runs at most once, its state only moves on, and it outlives the hub."""

import os
import sqlite3

import msgspec
import pytest

from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.hub.runs.command_queue import MAX_OPEN_PER_RUN
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.views.viewers import CommandService
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.commands import (
    CommandStatus,
    LimitSpec,
    PlainArguments,
    SetLimits,
)
from kmonitor_agent.wire.messages.events import (
    CommandProgress,
    SessionDied,
    SessionEnded,
    SessionStarted,
)
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import CommandReply, CommandRequest
from tests.support.hub_parts import HubParts, on_both_stores
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_S, wait_until


def asked_of(run: str, session: str, name: str = "save", ttl_s: float = 10.0) -> CommandRequest:
    return CommandRequest(
        request_id=1,
        id=new_id(),
        run=run,
        name=name,  # pyright: ignore[reportArgumentType]
        session=session,
        ttl_s=ttl_s,
    )


def take(parts: HubParts, asked: CommandRequest) -> CommandStatus:
    told = CommandService(parts.event_log, parts.clock, lambda _: False).submit(asked)()
    assert isinstance(told, CommandReply)
    return told.status


@pytest.mark.slow
def test_a_command_is_carried_out_and_its_record_is_stored(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.start_fit()
        agent.wait_acked()
        (run,) = client.runs()
        status = client.wait_for(
            client.command(run, "reload", requested_by="me"), timeout_s=DEADLINE_S
        )
        (action,) = client.all_rows(agent.run, ["action"])
        progress = list(client.all_rows(agent.run, ["command"]))

    assert status.state == "done"
    assert status.row == progress[-1].row
    assert action.row < progress[-1].row
    assert len(agent.commands) == 1
    assert agent.commands[0].requested_by == "me"


@pytest.mark.slow
def test_a_limit_set_from_the_app_comes_back_in_the_summary(client: HubClient, folders: Folders):
    limit = LimitSpec(metric="ram", fraction=0.8, action="reload", set_by="me")
    with SimulatedAgent(folders) as agent:
        agent.wait_acked()
        (run,) = client.runs()
        asked = client.command(run, "set_limits", SetLimits(metrics=["ram"], limits=[limit]))
        client.wait_for(asked, timeout_s=DEADLINE_S)
        (run,) = client.runs()

    assert run.limits == [limit]


@pytest.mark.slow
def test_the_same_id_asked_again_is_the_same_command(client: HubClient, folders: Folders):
    with SimulatedAgent(folders) as agent:
        agent.wait_acked()
        (run,) = client.runs()
        first = client.wait_for(client.command(run, "save", id="abc"), timeout_s=DEADLINE_S)
        again = client.command(run, "save", id="abc")
        with pytest.raises(HubRefused, match="another command"):
            client.command(run, "stop", id="abc")

    assert again == first
    assert len(agent.commands) == 1


@pytest.mark.exposed
@pytest.mark.slow
def test_a_queued_command_is_repeated_until_it_is_received(client: HubClient, folders: Folders):
    agent = SimulatedAgent(folders)
    agent.on_command = lambda _command: None
    with agent:
        agent.wait_acked()
        (run,) = client.runs()
        asked = client.command(run, "save")
        wait_until(lambda: len(agent.commands) >= 2)
        agent.progress(agent.commands[0], "received")
        agent.wait_acked()
        status = client.wait_for(asked, timeout_s=0.3)

    assert {command.id for command in agent.commands} == {asked.id}
    assert agent.commands[1].ttl_s < agent.commands[0].ttl_s
    assert status.state == "received"


@pytest.mark.exposed
@pytest.mark.slow
def test_a_command_that_is_queued_when_the_hub_dies_is_carried_out_once(
    live_hub: LiveHub, folders: Folders
):
    with SimulatedAgent(folders) as agent:
        agent.wait_acked()
        agent.close()
        with live_hub.client() as client:
            (run,) = client.runs()
            asked = client.command(run, "save")
        live_hub.restart()
        with live_hub.client() as client:
            assert client.wait_for(asked, timeout_s=0.1).state == "queued"
            again = SimulatedAgent(folders, run=agent.run)
            again.session, again.bodies = agent.session, list(agent.bodies)
            with again:
                status = client.wait_for(asked, timeout_s=DEADLINE_S)

    assert status.state == "done"
    assert len({command.id for command in again.commands}) == 1


@pytest.mark.slow
def test_every_command_leaves_an_audit_row(live_hub: LiveHub, folders: Folders):
    with SimulatedAgent(folders) as agent, live_hub.client() as client:
        agent.wait_acked()
        (run,) = client.runs()
        client.wait_for(client.command(run, "save", requested_by="ann"), timeout_s=DEADLINE_S)
        client.command(run, "diagnose", requested_by="bob")
    live_hub.stop()
    with sqlite3.connect(folders.database / "hub.sqlite3") as database:
        rows = database.execute("SELECT who, what, result FROM audit ORDER BY id").fetchall()
    database.close()

    assert rows == [
        ("ann", "command save", "queued"),
        ("ann", "command save", "done"),
        ("bob", "command diagnose", "refused: this run does not support diagnose"),
    ]


def test_a_command_for_a_run_that_ended_is_refused_at_once(parts: HubParts):
    record = parts.started_run(pid=1)
    parts.take(record, SessionEnded(t_s=2.0, why="finished"))

    status = take(parts, asked_of(record.run, record.session))

    assert (status.state, status.why) == ("refused", "the run has ended")


def test_a_command_for_another_boot_is_refused(parts: HubParts):
    record = parts.started_run(pid=1)

    status = take(parts, asked_of(record.run, new_id()))

    assert status.state == "refused"
    assert "restarted" in status.why


def test_a_run_without_commands_says_so(parts: HubParts):
    record = parts.started_run(pid=1)
    record.actions = []

    status = take(parts, asked_of(record.run, record.session))

    assert "commands=False" in status.why


def test_more_than_an_agent_holds_are_refused(parts: HubParts):
    record = parts.started_run(pid=1)

    states = [
        take(parts, asked_of(record.run, record.session)).state
        for _ in range(MAX_OPEN_PER_RUN + 1)
    ]

    assert states == ["queued"] * MAX_OPEN_PER_RUN + ["refused"]


def test_states_move_forward_only(parts: HubParts):
    record = parts.started_run(pid=1)
    asked = asked_of(record.run, record.session)
    take(parts, asked)
    for state in ("received", "started", "received", "done", "failed", "started"):
        parts.take(record, CommandProgress(t_s=3.0, id=asked.id, name="save", state=state))  # pyright: ignore[reportArgumentType]

    assert take(parts, asked).state == "done"


def test_a_command_that_was_never_sent_expires(parts: HubParts):
    record = parts.started_run(pid=1)
    asked = asked_of(record.run, record.session, ttl_s=10.0)
    take(parts, asked)
    book = parts.event_log.command_queue
    assert [entry.id for entry, _ in book.due(parts.clock.monotonic_s())] == [asked.id]

    parts.clock.move(10.5)
    for entry, state, why in book.overdue(parts.clock.monotonic_s()):
        parts.event_log.advance_command(entry, state, why)

    assert take(parts, asked).state == "expired"
    assert not list(book.due(parts.clock.monotonic_s()))


def test_a_jump_of_the_wall_clock_expires_nothing(parts: HubParts):
    record = parts.started_run(pid=1)
    asked = asked_of(record.run, record.session, ttl_s=10.0)
    take(parts, asked)
    list(parts.event_log.command_queue.due(parts.clock.monotonic_s()))

    parts.clock.jump_wall(1e6)

    assert not list(parts.event_log.command_queue.overdue(parts.clock.monotonic_s()))


@on_both_stores
def test_a_command_that_was_sent_and_never_answered_is_unknown_not_expired(parts: HubParts):
    record = parts.started_run(pid=1)
    asked = asked_of(record.run, record.session, ttl_s=10.0)
    take(parts, asked)
    ((entry, _),) = parts.event_log.command_queue.due(parts.clock.monotonic_s())
    parts.event_log.command_queue.mark_sent(entry)
    parts.clock.move(11.0)
    assert not list(parts.event_log.command_queue.overdue(parts.clock.monotonic_s()))

    parts.clock.move(60.0)

    ((_, state, _),) = parts.event_log.command_queue.overdue(parts.clock.monotonic_s())
    assert state == "unknown"


@on_both_stores
def test_open_commands_of_a_boot_that_was_replaced_are_unknown(parts: HubParts):
    record = parts.started_run(pid=1)
    started, queued, restart = (asked_of(record.run, record.session) for _ in range(3))
    record.actions = ["save", "restart"]
    restart = asked_of(record.run, record.session, "restart")
    for asked in (started, queued, restart):
        take(parts, asked)
    parts.take(record, CommandProgress(t_s=3.0, id=started.id, name="save", state="started"))
    session = SessionStarted(
        t_s=0.0, session=new_id(), name="n", host="h", pid=2, started_wall_s=1.8e9
    )
    parts.take(record, session)

    assert take(parts, started).state == "unknown"
    assert take(parts, queued).state == "expired"
    assert take(parts, restart).state == "queued"  # its successor reports what became of it


@on_both_stores
def test_a_restart_waits_for_a_slow_successor_and_takes_its_report(parts: HubParts):
    record, restart = _restarting(parts)
    for move_s in (10.0, 3600.0):
        parts.clock.move(move_s)
        assert not list(parts.event_log.command_queue.overdue(parts.clock.monotonic_s()))
    parts.take(record, _session(2))
    assert take(parts, restart).state == "started"

    parts.take(record, CommandProgress(t_s=1.0, id=restart.id, name="restart", state="done"))

    assert take(parts, restart).state == "done"


@on_both_stores
@pytest.mark.parametrize("is_begun", [True, False])
def test_a_restart_is_unknown_once_no_process_can_report_it(parts: HubParts, *, is_begun: bool):
    record, restart = _restarting(parts)
    if is_begun:
        parts.take(record, _session(2))
    died = SessionDied(t_s=2.0, session=record.session, how="signal", signal="SIGKILL")

    parts.take(record, msgspec.structs.replace(died, supervisor=7))
    assert take(parts, restart).state == "started"
    parts.take(record, died)

    status = take(parts, restart)
    assert (status.state, status.why) == (
        "unknown",
        "the training process ended before it responded",
    )


def _restarting(parts: HubParts) -> tuple[RunRecord, CommandRequest]:
    """A run whose process left for a restart that was requested."""
    record = parts.started_run(pid=1)
    record.actions = ["restart"]
    restart = asked_of(record.run, record.session, "restart")
    take(parts, restart)
    for event in (
        CommandProgress(t_s=1.0, id=restart.id, name="restart", state="received"),
        CommandProgress(t_s=1.0, id=restart.id, name="restart", state="started"),
        SessionEnded(t_s=2.0, why="restart", supervisor=7),
    ):
        parts.take(record, event)
    return record, restart


def _session(pid: int) -> SessionStarted:
    return SessionStarted(
        t_s=0.0, session=new_id(), name="n", host="h", pid=pid, started_wall_s=1.8e9
    )


def test_open_commands_of_a_lost_run_are_unknown_or_expired(parts: HubParts):
    record = parts.started_run(pid=1)
    asked = asked_of(record.run, record.session)
    take(parts, asked)

    parts.event_log.run_is_lost(record, "its process is gone")

    assert take(parts, asked).state == "expired"


@on_both_stores
def test_a_final_command_is_still_known_to_the_next_hub(parts: HubParts):
    record = parts.started_run(pid=os.getpid())
    asked = CommandRequest(
        request_id=1,
        id="x",
        run=record.run,
        name="save",
        session=record.session,
        args=PlainArguments(at="batch"),
    )
    take(parts, asked)
    parts.take(record, CommandProgress(t_s=3.0, id="x", name="save", state="done"))
    assert parts.event_log.commit()

    parts.reopen()

    status = take(parts, asked)
    assert (status.state, status.row) == ("done", parts.event_log.head)
