"""State of a run: by its events, and by what is seen of its process."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kmonitor.hub.ingest.connections import AgentConnection, AgentConnections
from kmonitor.hub.ingest.liveness import Liveness
from kmonitor.hub.ingest.process_watch import ProcessWatch
from kmonitor.hub.runs.hub_event_log import Origin
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.pages import PageRequest
from kmonitor_agent.wire.local.host_identity import host_pseudonym, make_salt
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    CommandProgress,
    EpochStarted,
    Event,
    Fault,
    FieldSource,
    FieldSources,
    FitEnded,
    FitStarted,
    Notice,
    Paused,
    Sample,
    SessionEnded,
    SessionStarted,
)
from kmonitor_agent.wire.messages.fields import new_id
from tests.support.hub_parts import HubParts, on_both_stores

if TYPE_CHECKING:
    from kmonitor.hub.runs.hub_event_log import HubEventLog

FIT = FitStarted(t_s=1.0, fit=1, model="net", epochs=3)


@pytest.fixture
def gone_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def liveness_of(
    parts: HubParts, is_settled: Callable[[RunRecord], bool] = lambda _: True
) -> tuple[Liveness, AgentConnections]:
    sessions = AgentConnections()
    processes = ProcessWatch(parts.path.parent)
    liveness = Liveness(parts.event_log, sessions, processes, parts.clock, is_settled=is_settled)
    return liveness, sessions


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([], "starting"),
        ([FIT], "training"),
        ([FIT, FitEnded(t_s=2.0, fit=1, how="finished")], "idle"),
        ([FIT, FitEnded(t_s=2.0, fit=1, how="failed", error_type="ValueError")], "idle"),
        ([FIT, FitEnded(t_s=2.0, fit=1, how="left", message="caught")], "idle"),
        ([FIT, Paused(t_s=2.0, paused=True)], "paused"),
        ([FIT, Paused(t_s=2.0, paused=True), Paused(t_s=3.0, paused=False)], "training"),
        ([FIT, CommandProgress(t_s=2.0, id="a", name="reload", state="started")], "reclaiming"),
        ([FIT, CommandProgress(t_s=2.0, id="a", name="stop", state="started")], "training"),
        ([FIT, SessionEnded(t_s=2.0, why="finished")], "finished"),
        ([FIT, SessionEnded(t_s=2.0, why="stopped")], "stopped"),
        ([FIT, SessionEnded(t_s=2.0, why="interrupted")], "interrupted"),
        ([FIT, SessionEnded(t_s=2.0, why="failed", error_type="ValueError")], "failed"),
        ([FIT, SessionEnded(t_s=2.0, why="restart")], "starting"),
    ],
)
def test_events_tell_the_state(parts: HubParts, events: list[Event], state: str):
    record = parts.started_run(pid=os.getpid())

    parts.take(record, *events)

    assert record.summary().state == state


def test_a_reclaim_goes_back_to_where_the_run_was(parts: HubParts):
    record = parts.started_run(pid=os.getpid())
    started = CommandProgress(t_s=3.0, id="a", name="reload", state="started")
    parts.take(record, FIT, Paused(t_s=2.0, paused=True), started)
    assert record.state == "reclaiming"

    action = ActionRecord(
        t_s=4.0,
        action="reload",
        ok=True,
        requested_by="me",
        fit=1,
        epoch=2,
        seconds=0.5,
        checkpoint="e2.kmstate",
        state_bytes=77,
    )
    parts.take(record, action)

    summary = record.summary()
    assert summary.state == "paused"
    assert (summary.checkpoint_epoch, summary.checkpoint_bytes) == (2, 77)
    assert summary.checkpoint_wall_s == 1.8e9 + 4.0


def test_why_a_run_failed_is_told(parts: HubParts):
    record = parts.started_run(pid=os.getpid())

    end = SessionEnded(t_s=2.0, why="failed", error_type="ValueError", message="bad shape")
    parts.take(record, end)

    assert record.summary().state_why == "ValueError: bad shape"
    assert record.summary().actions == []


def test_a_fit_left_by_a_caught_exception_is_not_told_as_failed(parts: HubParts):
    record = parts.started_run(pid=os.getpid())

    parts.take(record, FIT, FitEnded(t_s=2.0, fit=1, how="left", message="left by Ctrl+C or so"))

    why = record.summary().state_why
    assert why == "the last fit ended early: left by Ctrl+C or so"


def test_an_absent_metric_is_told_with_its_reason(parts: HubParts):
    record = parts.started_run(pid=os.getpid())
    read = FieldSource(field="vram_bytes", unit="bytes", source="allocator")
    absent = FieldSource(field="vram_bytes", unit="bytes", absent="no driver")
    parts.take(record, FieldSources(t_s=1.0, sources=[read]), Sample(t_s=1.0, vram_bytes=5.0))
    assert record.summary().vram.value == 5.0

    parts.take(record, FieldSources(t_s=2.0, sources=[absent]))

    vram = record.summary().vram
    assert (vram.value, vram.absent) == (None, "no driver")


def test_faults_of_a_process_are_added_up_by_part(parts: HubParts):
    record = parts.started_run(pid=os.getpid())

    faults = [("a", 1), ("a", 3), ("b", 2)]
    parts.take(record, *(Fault(t_s=1.0, where=where, count=count) for where, count in faults))

    assert record.summary().faults == 5


def test_an_epoch_of_a_second_fit_starts_anew(parts: HubParts):
    record = parts.started_run(pid=os.getpid())
    parts.take(record, FIT, EpochStarted(t_s=1.0, fit=1, epoch=4))

    parts.take(record, FitStarted(t_s=9.0, fit=2, model="other"))

    assert (record.epoch, record.fit, record.model) == (None, 2, "other")


def test_a_process_that_is_gone_without_a_word_is_lost(parts: HubParts, gone_pid: int):
    record = parts.started_run(pid=gone_pid)
    liveness, _ = liveness_of(parts)
    liveness.update_all()
    assert record.state == "starting"

    parts.clock.move(2.0)
    liveness.update_all()

    assert record.state == "lost"
    assert record.summary().state_why == "its process ended unexpectedly"


def test_what_its_spool_still_tells_is_awaited_before_a_run_is_lost(
    parts: HubParts, gone_pid: int
):
    record = parts.started_run(pid=gone_pid)

    def ship(_record: RunRecord) -> bool:
        parts.take(record, SessionEnded(t_s=3.0, why="finished"))
        return True

    liveness, _ = liveness_of(parts, ship)
    parts.clock.move(2.0)
    liveness.update_all()

    assert record.state == "finished"


def test_a_dead_process_whose_session_is_still_there_is_lost_and_the_session_ends(
    parts: HubParts, gone_pid: int
):
    record = parts.started_run(pid=gone_pid)
    liveness, sessions = liveness_of(parts, lambda one: sessions.of_run(one.run) is None)
    sessions.add(AgentConnection(b"a", record.run, record.session, 0.0, parts.clock.monotonic_s()))

    parts.clock.move(2.0)
    liveness.update_all()

    assert record.state == "lost"
    assert len(sessions) == 0


def test_a_run_is_silent_while_what_its_dead_process_left_is_read(parts: HubParts, gone_pid: int):
    record = parts.started_run(pid=gone_pid)
    liveness, _ = liveness_of(parts, lambda _: False)

    for _ in range(8):
        parts.clock.move(4.0)
        parts.take(record, FIT)
        liveness.update_all()

    assert record.state == "silent"
    assert "its process is gone" in record.liveness_why


def test_a_spool_that_a_child_of_the_dead_process_holds_is_not_awaited_for_ever(
    parts: HubParts, gone_pid: int
):
    record = parts.started_run(pid=gone_pid)
    liveness, _ = liveness_of(parts, lambda _: False)

    for _ in range(4):
        parts.clock.move(4.0)
        liveness.update_all()

    assert record.state == "lost"


def test_a_process_that_took_over_a_run_keeps_it_until_it_tells_its_pid(
    parts: HubParts, gone_pid: int
):
    record = parts.started_run(pid=gone_pid)
    liveness, sessions = liveness_of(parts)
    sessions.add(AgentConnection(b"a", record.run, new_id(), 0.0, parts.clock.monotonic_s()))

    parts.clock.move(2.0)
    liveness.update_all()

    assert record.state == "starting"
    assert len(sessions) == 1


def test_a_living_process_that_says_nothing_is_silent_not_lost(parts: HubParts):
    record = parts.started_run(pid=os.getpid(), started_wall_s=time.time())
    liveness, sessions = liveness_of(parts)
    sessions.add(AgentConnection(b"a", record.run, record.session, 0.0, parts.clock.monotonic_s()))
    parts.take(record, FIT)

    parts.clock.move(12.0)
    liveness.update_all()

    assert record.state == "silent"
    assert record.summary().state_why == "no data for 10 s; its process is alive"
    assert record.summary().actions


def test_a_silent_run_that_is_heard_again_goes_on(parts: HubParts):
    record = parts.started_run(pid=os.getpid(), started_wall_s=time.time())
    liveness, sessions = liveness_of(parts)
    session = AgentConnection(b"a", record.run, record.session, 0.0, parts.clock.monotonic_s())
    sessions.add(session)
    parts.take(record, FIT)
    parts.clock.move(12.0)
    liveness.update_all()

    sessions.note_message(session, parts.clock.monotonic_s())
    liveness.update_all()

    assert record.state == "training"


def test_a_process_on_another_host_is_never_called_lost(parts: HubParts, gone_pid: int):
    record = parts.started_run(pid=gone_pid, host="elsewhere")
    liveness, _ = liveness_of(parts)

    parts.clock.move(100_000.0)
    liveness.update_all()

    assert record.state == "silent"
    assert "no data for 1 day" in record.summary().state_why
    assert "elsewhere" in record.summary().state_why


def test_a_private_run_on_this_host_is_lost_like_any_other(parts: HubParts, gone_pid: int):
    record = private_run(parts, gone_pid, salt=make_salt(parts.path.parent))
    liveness, _ = liveness_of(parts)

    parts.clock.move(2.0)
    liveness.update_all()

    assert record.state == "lost"


def test_a_private_run_whose_host_cannot_be_recognised_stays_silent(
    parts: HubParts, gone_pid: int
):
    make_salt(parts.path.parent)
    record = private_run(parts, gone_pid, salt=bytes(32))
    liveness, _ = liveness_of(parts)

    parts.clock.move(100.0)
    liveness.update_all()

    assert record.state == "silent"
    assert "cannot be seen from here" in record.summary().state_why


def private_run(parts: HubParts, pid: int, *, salt: bytes) -> RunRecord:
    """A run whose process named its host as a private one does."""
    session = new_id()
    return parts.started_run(pid=pid, session=session, host=host_pseudonym(salt, session))


def test_a_pid_that_was_taken_over_is_not_the_run(parts: HubParts):
    started_before_us_s = time.time() - 10 * 365 * 86400
    record = parts.started_run(pid=os.getpid(), started_wall_s=started_before_us_s)
    liveness, _ = liveness_of(parts)

    parts.clock.move(2.0)
    liveness.update_all()

    assert record.state == "lost"


@pytest.mark.exposed
@on_both_stores
def test_states_survive_a_restart_of_the_hub(parts: HubParts, gone_pid: int):
    lost = parts.started_run(pid=gone_pid)
    silent = parts.started_run(pid=os.getpid(), started_wall_s=time.time())
    liveness, _ = liveness_of(parts)
    parts.clock.move(7.0)
    liveness.update_all()
    assert parts.event_log.commit()

    parts.reopen()
    liveness, _ = liveness_of(parts)
    liveness.update_all()

    registry = parts.event_log.registry
    states = {run: record.state for run in (lost.run, silent.run) if (record := registry.get(run))}
    assert states == {lost.run: "lost", silent.run: "silent"}


@on_both_stores
def test_a_loss_is_told_once_among_the_run_s_rows(parts: HubParts, gone_pid: int):
    record = parts.started_run(pid=gone_pid)
    ended = parts.started_run(pid=gone_pid)
    parts.take(ended, SessionEnded(t_s=2.0, why="finished"))
    for _ in range(2):
        liveness, _ = liveness_of(parts)
        parts.clock.move(2.0)
        liveness.update_all()
        assert parts.event_log.commit()
        parts.reopen()

    def rows_of(run: RunRecord, cursor: int = 0) -> list[str]:
        page = parts.database.page(PageRequest(cursor, 100, (run.key,)))
        events = [decode_event(body) for *_, body in page.rows]
        assert [row for row, *_ in page.rows] == sorted(row for row, *_ in page.rows)
        return [e.code if isinstance(e, Notice) else type(e).__name__ for e in events]

    assert rows_of(record) == ["SessionStarted", "lost"]
    assert rows_of(ended) == ["SessionStarted", "SessionEnded"]
    told = parts.database.head
    again = parts.event_log.registry.get(record.run)
    assert again is not None
    assert (again.state, again.accepted) == ("lost", 1)

    parts.take(again, FIT, SessionEnded(t_s=2.0, why="finished"))
    assert parts.event_log.commit()

    assert rows_of(record) == ["SessionStarted", "lost", "FitStarted", "SessionEnded"]
    assert rows_of(record, told) == ["FitStarted", "SessionEnded"]


@on_both_stores
def test_changes_told_before_a_crash_are_told_again(parts: HubParts):
    record = parts.started_run(pid=os.getpid())
    assert parts.event_log.commit()
    parts.take(record, FIT)
    told = parts.event_log.registry.change  # a desktop has seen this, the disk has not

    parts.reopen()

    again, more = parts.event_log.registry.changed_since(told)
    assert [r.run for r in again] == [record.run]
    assert not more


def test_a_boot_after_the_wall_clock_jumped_back_does_not_go_back_in_run_time(parts: HubParts):
    record = parts.started_run(pid=1)
    parts.take(record, Sample(t_s=50.0))
    earlier = SessionStarted(
        t_s=0.0, session=new_id(), name="net", host="h", pid=2, started_wall_s=1.8e9 - 3600
    )

    parts.take(record, earlier, Sample(t_s=1.0))

    assert record.session_offset_s == 50.0
    assert record.last_t_s == 51.0


def test_pages_of_runs_are_followed_to_the_end(parts: HubParts):
    for _ in range(450):
        parts.started_run(pid=1)
    log: HubEventLog = parts.event_log

    seen: list[str] = []
    change, more = 0, True
    while more:
        page, more = log.registry.changed_since(change)
        seen += [record.run for record in page]
        change = page[-1].change

    assert len(seen) == len(set(seen)) == 450


def test_a_run_begun_with_a_gap_takes_name_actions_and_versions_from_its_first_event(
    parts: HubParts,
):
    record = parts.event_log.registry.get_or_add(new_id())
    origin = Origin("session1", "here", 7, 0, 1.8e9)
    parts.event_log.append_gap(record, 40, origin)
    parts.take(record, FitStarted(t_s=5.0, fit=1, model="net", epochs=2, steps=30))
    started = SessionStarted(
        t_s=0.0,
        session="session1",
        name="net",
        host="here",
        pid=7,
        started_wall_s=1.8e9,
        actions=["save"],
        versions={"keras": "3.6.0"},
    )

    parts.take(record, started)

    assert (record.name, record.actions) == ("net", ["save"])
    assert record.versions == {"keras": "3.6.0"}
    assert (record.state, record.gaps) == ("training", 40)
