"""A disk without room: nothing is confirmed, nothing crashes, all is stored when there is room."""

import pytest

from kmonitor.hub.service import EXIT_REFUSED
from kmonitor_agent.local.folders import Folders
from kmonitor_agent.local.sockets import hub_lock
from kmonitor_agent.protocol.facts import Sample
from tests.support.hub_parts import HubParts
from tests.support.live_hub import LiveHub


def test_nothing_is_confirmed_that_could_not_be_written(parts: HubParts):
    record = parts.started_run(pid=1)
    assert parts.ledger.commit()
    parts.database.limit_pages(10)

    parts.take(record, *(Sample(t_s=float(t), ram_bytes=1e9) for t in range(3000)))

    assert not parts.ledger.commit()
    assert parts.ledger.confirmed(record) == 1
    assert parts.ledger.head == 1
    assert parts.faults.counts() == {"store": 1}


@pytest.mark.slow
def test_a_log_that_takes_nothing_does_not_stop_a_hub(idle_hub: LiveHub, folders: Folders):
    folders.logs.mkdir(parents=True)
    (folders.logs / "hub.log").symlink_to("/dev/full")

    idle_hub.start()
    process = idle_hub.process
    process.terminate()
    _, said = process.communicate(timeout=60)

    assert (process.returncode, said) == (0, "")


@pytest.mark.slow
def test_a_lock_that_cannot_be_written_is_told_in_words(idle_hub: LiveHub, folders: Folders):
    folders.runtime.mkdir(mode=0o700, parents=True)
    hub_lock(folders).symlink_to("/dev/full")

    process = idle_hub.spawn()
    _, said = process.communicate(timeout=60)

    assert process.returncode == EXIT_REFUSED
    assert said.startswith(f"kmonitor hub: {hub_lock(folders)} cannot be written: ")


def test_all_is_written_once_there_is_room(parts: HubParts):
    record = parts.started_run(pid=1)
    assert parts.ledger.commit()
    told: list[int] = []
    parts.database.limit_pages(10)
    parts.take(record, *(Sample(t_s=float(t), ram_bytes=1e9) for t in range(3000)))
    parts.ledger.then(lambda: told.append(1))
    parts.ledger.commit()
    parts.take(record, Sample(t_s=3000.0))
    assert told == []

    parts.database.limit_pages(100_000)
    assert parts.ledger.commit()

    assert told == [1]
    assert parts.ledger.confirmed(record) == 3002
    parts.reopen()
    stored = parts.ledger.database.bodies(record.key, 1, 5000)
    assert list(stored) == list(range(1, 3003))
    again = parts.ledger.registry.get(record.run)
    assert again is not None
    assert again.accepted == 3002


def test_retries_wait_so_that_a_full_disk_is_not_hammered(parts: HubParts):
    record = parts.started_run(pid=1)
    assert parts.ledger.commit()
    parts.database.limit_pages(10)
    parts.take(record, *(Sample(t_s=float(t), ram_bytes=1e9) for t in range(3000)))
    parts.ledger.commit()

    assert parts.ledger.wait_s(parts.clock.monotonic_s()) == pytest.approx(1.0)
    parts.clock.move(1.5)
    assert parts.ledger.wait_s(parts.clock.monotonic_s()) == 0.0


def test_what_waits_in_memory_is_bounded(parts: HubParts):
    record = parts.started_run(pid=1)
    assert not parts.ledger.is_full

    parts.ledger._pending_bytes = 65 * 1024 * 1024

    assert parts.ledger.is_full
    assert record.accepted == 1
