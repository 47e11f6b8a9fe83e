"""State of runs whose process the hub cannot see: on other hosts, in containers, in jobs."""

import os
import socket
from pathlib import Path

import pytest

from kmonitor.hub.ingest.connections import AgentConnections
from kmonitor.hub.ingest.folder_reader import FolderReader
from kmonitor.hub.ingest.liveness import Liveness
from kmonitor.hub.ingest.process_watch import ProcessWatch, own_pid_namespace
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.events import Event, FitStarted, SessionDied, SessionStarted
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.spool.reader import LATE_S
from tests.support.hub_parts import HubParts
from tests.support.links import LinkUnderTest, epoch, sample
from tests.support.waiting import wait_until

_NOW_S = 1.8e9


def run_of(
    parts: HubParts,
    *told: Event,
    host: str = "gpu-01",
    namespace: int = 5,
    ends: float | None = None,
) -> RunRecord:
    """A run that was read from a folder."""
    record = parts.event_log.registry.get_or_add(new_id())
    record.is_shipped = True
    started = SessionStarted(
        t_s=0.0,
        session=new_id(),
        name="job 7",
        host=host,
        pid=os.getpid(),
        pid_namespace=namespace,
        started_wall_s=_NOW_S - 100.0,
        job="slurm 7",
        job_ends_wall_s=ends,
        actions=["save", "stop"],
    )
    parts.take(record, started, FitStarted(t_s=1.0, fit=1, model="m"), *told)
    return record


def liveness_of(parts: HubParts, processes: ProcessWatch) -> Liveness:
    return Liveness(
        parts.event_log, AgentConnections(), processes, parts.clock, is_settled=lambda _: True
    )


def judged(parts: HubParts, record: RunRecord) -> tuple[str, str]:
    """State and reason once the hub has looked."""
    processes = ProcessWatch(parts.path.parent)
    liveness_of(parts, processes).update_all()
    summary = record.summary()
    return summary.state, summary.state_why


@pytest.mark.parametrize(
    ("silent_s", "late_s", "left", "state"),
    [
        (9.0, 0.0, False, "training"),
        (9.0, 0.0, True, "training"),
        (11.0, 0.0, False, "silent"),
        (11.0, 0.0, True, "lost"),
        (11.0, LATE_S, False, "training"),
        (69.0, LATE_S, False, "training"),
        (71.0, LATE_S, False, "silent"),
    ],
)
def test_a_run_read_from_a_folder_is_silent_as_soon_as_the_disk_can_tell(
    parts: HubParts,
    silent_s: float,
    late_s: float,
    left: bool,  # noqa: FBT001 - of the table
    state: str,
):
    record = run_of(parts, sample(1, t_s=100.0 - silent_s), host=socket.gethostname(), namespace=1)
    record.late_s, record.is_left = late_s, left

    assert judged(parts, record)[0] == state


@pytest.mark.parametrize(("ahead_s", "shown_s"), [(0.0, 0.0), (59.0, 0.0), (7205.0, 7200.0)])
def test_a_clock_that_is_ahead_is_told_in_whole_minutes(
    parts: HubParts, ahead_s: float, shown_s: float
):
    record = run_of(parts, sample(1, t_s=100.0 + ahead_s), host="gpu-01", namespace=1)

    assert record.summary().clock_ahead_s == shown_s
    parts.take(record, sample(2, t_s=100.0 + ahead_s))
    parts.clock.move(9000.0)
    parts.take(record, sample(3, t_s=101.0 + ahead_s))
    assert record.summary().clock_ahead_s == 0.0


def test_a_process_in_another_container_is_named_and_not_guessed(parts: HubParts):
    record = run_of(parts, sample(1, t_s=99.0), host=socket.gethostname(), namespace=1)

    assert judged(parts, record)[0] == "training"
    parts.clock.move(130.0)
    state, why = judged(parts, record)
    assert state == "silent"
    assert why.startswith("no data for 2 min; its process cannot be seen from here")


def test_a_process_on_another_host_is_named_likewise(parts: HubParts):
    record = run_of(parts, sample(1, t_s=99.0))
    parts.clock.move(130.0)

    assert judged(parts, record) == (
        "silent",
        "no data for 2 min; its process on gpu-01 cannot be seen from here",
    )


def test_a_job_that_ends_at_its_time_limit_is_said_to(parts: HubParts):
    record = run_of(parts, sample(1, t_s=99.0), ends=_NOW_S)
    later = run_of(parts, sample(1, t_s=99.0), ends=_NOW_S + 3600)
    parts.clock.move(130.0)

    assert judged(parts, record)[1].endswith("its data ends at its job's time limit")
    assert "limit" not in judged(parts, later)[1]
    parts.clock.move(7200.0)
    assert judged(parts, later)[1].endswith("its job's time limit has passed")


def test_a_dead_process_that_ended_at_its_limit_has_that_as_its_cause(parts: HubParts):
    record = run_of(
        parts,
        sample(1, t_s=99.0),
        host=socket.gethostname(),
        namespace=own_pid_namespace(),
        ends=_NOW_S,
    )
    record.pid = 2**22 + 1  # above every pid of Linux
    parts.clock.move(2.0)

    assert judged(parts, record)[0] == "lost"
    assert record.summary().cause == "time limit"


@pytest.mark.parametrize(
    ("ends", "cause", "words"),
    [
        (_NOW_S, "time limit (SIGTERM)", "its job's time limit"),
        (_NOW_S + 999, "SIGTERM", "ended"),
    ],
)
def test_a_signal_at_the_time_limit_is_told_as_such(
    parts: HubParts, ends: float, cause: str, words: str
):
    died = SessionDied(
        t_s=99.0, session="b", how="signal", signal="SIGTERM", why="SIGTERM ended it"
    )
    summary = run_of(parts, died, ends=ends).summary()

    assert summary.cause == cause
    assert words in summary.state_why


def test_what_was_shipped_later_did_not_happen_now(parts: HubParts):
    record = run_of(parts, sample(1, t_s=99.0))

    assert record.summary().last_wall_s == _NOW_S - 1.0


def test_nothing_can_be_asked_of_what_came_by_a_folder(parts: HubParts):
    assert run_of(parts).summary().actions == []


def test_a_run_nobody_can_see_may_be_deleted_after_an_hour(parts: HubParts):
    record = run_of(parts, sample(1, t_s=99.0))
    processes = ProcessWatch(parts.path.parent)
    liveness = liveness_of(parts, processes)

    parts.clock.move(1800.0)
    liveness.update_all()
    assert not liveness.is_abandoned(record)
    parts.clock.move(1900.0)
    assert liveness.is_abandoned(record)


def test_a_folder_is_followed_while_its_processes_write(parts: HubParts, folders: Folders):
    feed = FolderReader(folders.spool, parts.event_log, parts.faults, parts.clock)

    def taken(run: str) -> int:
        parts.clock.move(4.0)
        feed.step()
        record = parts.event_log.registry.get(run)
        return 0 if record is None else record.accepted

    with LinkUnderTest(folders, run="run1") as link:
        link.link.emit(sample(1))
        wait_until(lambda: link.link.status().last_seq == 2)
        assert wait_until(lambda: taken("run1")) == 2
        with LinkUnderTest(folders, run="run2") as other:
            other.link.emit(sample(1))
            link.link.emit(epoch(1))
            wait_until(lambda: (taken("run1"), taken("run2")) == (3, 2))
    wait_until(lambda: taken("run1") and not feed.is_reading())
    assert parts.faults.fault_counts() == {}


def test_a_folder_that_cannot_be_read_is_counted_and_nothing_more(parts: HubParts, tmp_path: Path):
    feed = FolderReader(tmp_path / "gone", parts.event_log, parts.faults, parts.clock)
    feed.step()

    assert parts.faults.fault_counts() == {"folder": 1}
    assert not feed.is_reading()
