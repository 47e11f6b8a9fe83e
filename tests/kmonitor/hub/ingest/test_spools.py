"""When the hub takes a spool from the disk, and when it leaves it to its process."""

import os
import time
from collections.abc import Callable
from typing import Never

import pytest

from kmonitor.hub.ingest import spools as module
from kmonitor.hub.ingest.connections import AgentConnection, AgentConnections
from kmonitor.hub.ingest.spools import SpoolIngest
from kmonitor.hub.store.pages import PageRequest
from kmonitor_agent.reclaim.restart.crash_diagnosis import ProcessDeath, record_death
from kmonitor_agent.wire.local.clock import WallClockCheck
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import LostEvents
from kmonitor_agent.wire.spool.folder import RunSpool
from kmonitor_agent.wire.spool.format import SessionFacts
from tests.support.hub_parts import HubParts
from tests.support.links import LinkUnderTest, sample

_SCAN_S = 6.0
_AGAIN_S = 61.0


class _Shipping:
    """The shipping of one folder of spools, and the sessions that it looks at."""

    def __init__(
        self,
        parts: HubParts,
        folders: Folders,
        is_far: Callable[[SessionFacts], bool] = lambda _: False,
    ) -> None:
        self.parts = parts
        self.sessions = AgentConnections()
        self.shipping = SpoolIngest(
            *(folders.spool, parts.event_log, self.sessions),
            *(parts.faults, parts.clock, WallClockCheck(parts.clock)),
            is_far=is_far,
        )

    def hello(self, run: str, last: int = 0) -> None:
        now_s = self.parts.clock.monotonic_s()
        self.sessions.add(AgentConnection(b"socket", run, "session", 1.0, now_s, last))

    def after(self, seconds: float) -> int:
        """The number of events taken when so much time has passed."""
        self.parts.clock.move(seconds)
        self.shipping.step()
        return sum(record.accepted for record in self.parts.event_log.registry.all())


def _leave_a_spool(folders: Folders, run: str = "run1") -> str:
    with LinkUnderTest(folders, run=run) as link:
        for step in range(20):
            link.link.emit(sample(step))
    return run


def test_a_process_that_died_right_after_its_hello_does_not_keep_its_spool_waiting(
    parts: HubParts, folders: Folders
):
    run = _leave_a_spool(folders)
    hub = _Shipping(parts, folders)
    hub.hello(run)

    assert hub.after(0.1) == 0
    assert hub.after(_SCAN_S) >= 20
    assert hub.sessions.of_run(run) is None


def test_a_quiet_process_that_lives_keeps_its_spool_and_its_session(
    parts: HubParts, folders: Folders
):
    run = _leave_a_spool(folders)
    hub = _Shipping(parts, folders)
    hub.hello(run)
    held = RunSpool.acquire(folders.spool / run)
    assert held is not None

    with held:
        assert hub.after(_SCAN_S) == 0
        assert hub.sessions.of_run(run) is not None


def test_a_new_hub_awaits_what_a_live_process_has_in_its_spool(parts: HubParts, folders: Folders):
    run = _leave_a_spool(folders)
    hub = _Shipping(parts, folders)
    held = RunSpool.acquire(folders.spool / run)
    assert held is not None

    with held:
        hub.after(0.1)
        is_awaited = [hub.shipping.is_shipping()]
        hub.hello(run, last=2)
        is_awaited.append(hub.shipping.is_shipping())
        parts.take(parts.event_log.registry.get_or_add(run), sample(0), sample(1))
        is_awaited.append(hub.shipping.is_shipping())
        assert parts.event_log.commit()
        is_awaited.append(hub.shipping.is_shipping())

    assert is_awaited == [True, True, True, False]


def test_a_new_hub_awaits_no_process_for_ever(parts: HubParts, folders: Folders):
    hub = _Shipping(parts, folders)
    hub.hello("run1", last=2)
    hub.after(0.1)
    is_awaited = hub.shipping.is_shipping()

    hub.after(_SCAN_S)

    assert is_awaited
    assert not hub.shipping.is_shipping()


def test_a_spool_to_which_something_was_written_since_is_not_taken_for_settled(
    parts: HubParts, folders: Folders
):
    run = _leave_a_spool(folders)
    parts.clock.jump_wall(time.time() - parts.clock.wall_s())  # the files' age is reported
    hub = _Shipping(parts, folders)
    told = hub.after(_SCAN_S)
    (record,) = parts.event_log.registry.all()
    assert parts.event_log.commit()
    assert hub.shipping.is_settled(record)

    asked = ProcessDeath("signal", "SIGINT", why="SIGINT, which was sent to kmonitor run")
    assert record_death(folders, run, asked, is_requested=True, supervisor=0)

    assert not hub.shipping.is_settled(record)
    assert hub.after(0.1) == told + 1


def _refusing(number: int) -> Callable[..., Never]:
    def refuse(*_: object, **__: object) -> Never:
        raise OSError(number, os.strerror(number))

    return refuse


def test_a_spool_that_the_disk_does_not_let_go_is_the_disks_trouble_until_it_does(
    parts: HubParts, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    run = _leave_a_spool(folders)
    hub = _Shipping(parts, folders)
    with monkeypatch.context() as patched:
        patched.setattr(RunSpool, "mark_acked", _refusing(30))
        assert hub.after(_SCAN_S) >= 20
        assert parts.event_log.commit()

    trouble = hub.shipping.trouble
    assert str(folders.spool / run) in trouble
    assert "Read-only file system" in trouble
    assert not parts.faults.fault_counts()
    hub.after(_AGAIN_S)
    assert parts.event_log.commit()
    assert hub.shipping.trouble == ""


def test_spools_that_cannot_be_taken_are_told_in_one_sentence_and_leave_the_run_to_be_judged(
    parts: HubParts, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    hub = _Shipping(parts, folders)
    record = parts.started_run(pid=1)
    first, second = _leave_a_spool(folders, record.run), _leave_a_spool(folders)
    with monkeypatch.context() as patched:
        patched.setattr(RunSpool, "acquire", _refusing(5))
        hub.after(_SCAN_S)
        assert hub.shipping.is_settled(record)

    assert hub.shipping.trouble.startswith(f"2 spools in {folders.spool} ")
    assert "Input/output error" in hub.shipping.trouble
    for run in (first, second):
        (folders.spool / run).rename(folders.state / run)
    hub.after(_AGAIN_S)
    assert (hub.shipping.trouble, parts.faults.fault_counts()) == ("", {})


def test_spools_that_cannot_be_kept_within_their_bound_are_the_disks_trouble(
    parts: HubParts, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    hub = _Shipping(parts, folders)
    monkeypatch.setattr(module, "trim_root", _refusing(30))
    hub.shipping.bound()
    assert "Read-only file system" in hub.shipping.trouble

    monkeypatch.setattr(module, "trim_root", lambda _root: 0)
    hub.shipping.bound()
    assert hub.shipping.trouble == ""


def test_what_was_carried_here_from_another_host_counts_as_a_folders(
    parts: HubParts, folders: Folders
):
    run = _leave_a_spool(folders)
    hub = _Shipping(parts, folders, is_far=lambda facts: facts.run == run)

    hub.after(_SCAN_S)

    assert [each.is_shipped for each in parts.event_log.registry.all()] == [True]


def test_events_between_a_torn_spool_and_its_mark_become_one_gap(
    parts: HubParts, folders: Folders
):
    run = _leave_a_spool(folders)
    spool = RunSpool.acquire(folders.spool / run)
    assert spool is not None
    last_seq = spool.last_seq
    spool.mark_acked(last_seq)
    (segment,) = spool.closed_segments()
    spool.close()
    os.truncate(segment, segment.stat().st_size // 2)

    assert _Shipping(parts, folders).after(_SCAN_S) == last_seq
    assert parts.event_log.commit()

    (record,) = parts.event_log.registry.all()
    page = parts.database.page(PageRequest(0, 100, (record.key,)))
    gap = decode_event(page.rows[-1][4])
    assert isinstance(gap, LostEvents)
    assert (gap.first, gap.last) == (page.rows[-2][2] + 1, last_seq)
    assert record.gaps == last_seq + 1 - gap.first
