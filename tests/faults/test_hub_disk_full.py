"""A disk without room: nothing is confirmed, nothing crashes, all is stored when there is room."""

import logging
import sqlite3
from pathlib import Path

import pytest

from kmonitor.hub.log import LOG, close_log, open_log
from kmonitor.hub.runs import hub_event_log
from kmonitor.hub.service import EXIT_REFUSED
from kmonitor.hub.store.database import WriteBatch
from kmonitor.hub.views.edits import EditService
from kmonitor.hub.views.viewers import CommandService
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import hub_lock_path
from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.messages.fields import new_id
from kmonitor_agent.wire.messages.unions import (
    CommandReply,
    CommandRequest,
    EditRequest,
    ErrorMessage,
)
from tests.support.hub_parts import HubParts
from tests.support.live_hub import LiveHub
from tests.support.waiting import DEADLINE_S


def test_nothing_is_confirmed_that_could_not_be_written(parts: HubParts):
    record = parts.started_run(pid=1)
    assert parts.event_log.commit()
    parts.limit_pages(10)

    parts.take(record, *(Sample(t_s=float(t), ram_bytes=1e9) for t in range(3000)))

    assert not parts.event_log.commit()
    assert parts.event_log.confirmed(record) == 1
    assert parts.event_log.head == 1
    assert parts.faults.fault_counts() == {"store": 1}


def test_what_a_full_disk_does_not_take_of_the_log_is_lost_in_silence(
    folders: Folders, capfd: pytest.CaptureFixture[str]
):
    handler = open_log(folders.logs)
    assert isinstance(handler, logging.FileHandler)
    handler.close()
    handler.stream = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - the handler closes it

    LOG.info("a line")
    close_log(handler)

    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_log_that_is_no_plain_file_is_told_in_words(idle_hub: LiveHub, folders: Folders):
    folders.logs.mkdir(mode=0o700, parents=True)
    (folders.logs / "hub.log").symlink_to("/dev/full")

    process = idle_hub.spawn()
    _, said = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == EXIT_REFUSED
    assert said.startswith(f"kmonitor hub: {folders.logs / 'hub.log'} is a symbolic link")


@pytest.mark.slow
def test_a_lock_that_is_no_plain_file_is_told_in_words(idle_hub: LiveHub, folders: Folders):
    folders.runtime.mkdir(mode=0o700, parents=True)
    hub_lock_path(folders).symlink_to("/dev/full")

    process = idle_hub.spawn()
    _, said = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == EXIT_REFUSED
    assert said.startswith(f"kmonitor hub: {hub_lock_path(folders)} is a symbolic link")


def test_all_is_written_once_there_is_room(parts: HubParts):
    record = parts.started_run(pid=1)
    assert parts.event_log.commit()
    told: list[int] = []
    parts.limit_pages(10)
    parts.take(record, *(Sample(t_s=float(t), ram_bytes=1e9) for t in range(3000)))
    parts.event_log.then(lambda: told.append(1))
    parts.event_log.commit()
    parts.take(record, Sample(t_s=3000.0))
    assert told == []

    parts.limit_pages(100_000)
    assert parts.event_log.commit()

    assert told == [1]
    assert parts.event_log.confirmed(record) == 3002
    parts.reopen()
    stored = parts.event_log.database.bodies(record.key, 1, 5000)
    assert list(stored) == list(range(1, 3003))
    again = parts.event_log.registry.get(record.run)
    assert again is not None
    assert again.accepted == 3002


@pytest.fixture
def is_full(parts: HubParts, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A database whose disk is full while the list holds True."""
    write, state = parts.database.write, [False]

    def fail_when_full(changes: WriteBatch) -> None:
        if state[0]:
            exc = sqlite3.OperationalError("database or disk is full")
            exc.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise exc
        write(changes)

    monkeypatch.setattr(parts.database, "write", fail_when_full)
    return state


def test_an_edit_that_finds_no_room_is_refused_at_once_and_not_done_later(
    parts: HubParts, is_full: list[bool]
):
    record = parts.started_run(pid=1)
    assert parts.event_log.commit()
    is_full[0] = True
    desk = EditService(parts.event_log, is_abandoned=lambda _: True)
    asked = [
        EditRequest(request_id=2, run=record.run, name="n" * 200, note="m" * 4000),
        EditRequest(request_id=3, run=record.run, pin=True),
        EditRequest(request_id=4, run=record.run, delete=True),
    ]

    for edit in asked * 2:
        parts.clock.move(0.6)  # within and after the pause between two attempts
        told = desk.apply_edit("anna", edit)
        assert isinstance(told, ErrorMessage)
        assert f"the disk that holds {parts.path.parent} is full" in told.text
        assert not told.retry_ms

    is_full[0] = False
    parts.clock.move(2.0)
    assert parts.event_log.commit()
    assert parts.event_log.trouble == ""
    parts.reopen()
    again = parts.event_log.registry.get(record.run)
    assert again is not None
    assert (again.name, again.pinned, again.note) == ("net", False, "")
    rows = parts.database.audit_rows(0, 1000)[0]
    assert [(row.who, row.what, "is full" in row.result) for row in rows] == [
        ("anna", "rename", True)
    ]


def test_a_command_that_finds_no_room_is_refused_at_once_and_never_sent(
    parts: HubParts, is_full: list[bool]
):
    record = parts.started_run(pid=1)
    assert parts.event_log.commit()
    is_full[0] = True
    desk = CommandService(parts.event_log, parts.clock, lambda _: False)
    asked = CommandRequest(
        request_id=5, id=new_id(), run=record.run, name="save", session=record.session
    )

    for _ in range(5):
        told = desk.submit(asked)()
        assert isinstance(told, ErrorMessage)
        assert "is full" in told.text

    is_full[0] = False
    parts.clock.move(2.0)
    assert parts.event_log.commit()
    assert list(parts.event_log.command_queue.due(0.0)) == []
    taken = desk.submit(asked)()
    assert isinstance(taken, CommandReply)
    assert taken.status.state == "queued"


def test_retries_wait_so_that_a_full_disk_is_not_hammered(parts: HubParts):
    record = parts.started_run(pid=1)
    assert parts.event_log.commit()
    parts.limit_pages(10)
    parts.take(record, *(Sample(t_s=float(t), ram_bytes=1e9) for t in range(3000)))
    parts.event_log.commit()

    assert parts.event_log.wait_s(parts.clock.monotonic_s()) == pytest.approx(1.0)
    parts.clock.move(1.5)
    assert parts.event_log.wait_s(parts.clock.monotonic_s()) == 0.0


def test_what_waits_in_memory_is_bounded(parts: HubParts, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hub_event_log, "MAX_PENDING_BYTES", 2000)
    record = parts.started_run(pid=1)
    assert not parts.event_log.is_full

    parts.take(record, *(Sample(t_s=float(t)) for t in range(20)))

    assert parts.event_log.is_full
    assert parts.event_log.commit()
    assert not parts.event_log.is_full
