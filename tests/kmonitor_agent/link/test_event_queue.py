"""Events keep their order, overflow costs the oldest, and a sleeper is woken once."""

import os
import resource
import select
import threading

import pytest

from kmonitor_agent.link import run_stream
from kmonitor_agent.link.run_stream import EventQueue
from kmonitor_agent.wire.local import own_descriptor
from kmonitor_agent.wire.local.own_descriptor import AgentWakeup
from kmonitor_agent.wire.messages.events import Sample
from tests.support.links import epoch, sample
from tests.support.waiting import DEADLINE_S


def _is_readable(wake: AgentWakeup) -> bool:
    return bool(select.select([wake.fileno()], [], [], 0)[0])


def test_samples_and_others_come_in_the_order_of_their_emission():
    inbox = EventQueue(AgentWakeup())
    events = [sample(1), epoch(1), sample(2), epoch(2), epoch(3), sample(3)]
    for event in events:
        inbox.put(event)

    assert inbox.drain() == events
    assert inbox.drain() == []


def test_the_oldest_make_room_and_are_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_stream, "EVENTS_LIMIT", 2)
    inbox = EventQueue(AgentWakeup())
    for number in range(4):
        inbox.put(epoch(number))

    assert inbox.drain() == [epoch(2), epoch(3)]
    assert inbox.dropped == 2


def test_who_looks_by_itself_is_not_woken():
    inbox = EventQueue(AgentWakeup())
    assert inbox.is_empty
    inbox.put(epoch(1))

    assert not inbox.is_empty
    assert not _is_readable(inbox.agent_wakeup)


def test_a_sleeper_is_woken_by_the_first_event_only():
    inbox = EventQueue(AgentWakeup())
    assert inbox.fall_asleep()
    assert not _is_readable(inbox.agent_wakeup)

    inbox.put(epoch(1))

    assert _is_readable(inbox.agent_wakeup)
    inbox.agent_wakeup.clear()
    inbox.put(epoch(2))
    assert not _is_readable(inbox.agent_wakeup)


def test_nobody_falls_asleep_over_an_event():
    inbox = EventQueue(AgentWakeup())
    inbox.put(epoch(1))

    assert not inbox.fall_asleep()
    assert not inbox.is_sleeping


def test_a_shut_inbox_takes_nothing():
    inbox = EventQueue(AgentWakeup())
    inbox.fall_asleep()
    inbox.close()
    inbox.put(epoch(1))

    assert inbox.drain() == []
    assert not _is_readable(inbox.agent_wakeup)


def test_a_wake_can_be_set_and_cleared_again_and_again():
    wake = AgentWakeup()
    for _ in range(3):
        wake.set()
        wake.set()
        assert _is_readable(wake)
        wake.clear()
        wake.clear()
        assert not _is_readable(wake)


def test_a_pipe_serves_where_there_is_no_eventfd(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr("os.eventfd")
    wake = AgentWakeup()
    for _ in range(100_000 // 8):
        wake.set()

    assert _is_readable(wake)


def _moved(low: int, high: int) -> int:
    os.dup2(low, high)
    os.close(low)
    return high


def test_a_process_with_many_open_files_can_be_woken(monkeypatch: pytest.MonkeyPatch):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("at most a thousand files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    eventfd = os.eventfd
    monkeypatch.setattr(os, "eventfd", lambda *given: _moved(eventfd(*given), 1900))
    wake = AgentWakeup()
    assert wake.fileno() == 1900
    wake.set()

    assert wake.wait(DEADLINE_S)
    wake.clear()
    assert not wake.wait(0.0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_where_there_is_no_poll_select_serves(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(select, "poll")
    wake = AgentWakeup()
    wake.set()

    assert wake.wait(DEADLINE_S)


def test_without_descriptors_nobody_sleeps(monkeypatch: pytest.MonkeyPatch):
    def none_left() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(own_descriptor, "_pair", none_left)
    inbox = EventQueue(AgentWakeup())

    assert inbox.agent_wakeup.fileno() == -1
    assert not inbox.fall_asleep()
    inbox.agent_wakeup.wait(0.0)
    inbox.agent_wakeup.set()
    inbox.agent_wakeup.clear()


@pytest.mark.slow
def test_nothing_is_lost_between_many_emitters_and_one_taker():
    inbox = EventQueue(AgentWakeup())
    taken = []

    def emit(first: int) -> None:
        for n in range(first, first + 2000):
            inbox.put(sample(n) if n % 2 else epoch(n))

    threads = [threading.Thread(target=emit, args=(k * 2000,)) for k in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken += inbox.drain()
    taken += inbox.drain()

    numbers = [e.step if isinstance(e, Sample) else e.epoch for e in taken]
    assert sorted(numbers) == list(range(8000))
