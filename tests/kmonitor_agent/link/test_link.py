"""A link as a session uses it: events, tasks and commands over a real socket and a real spool."""

import os
import threading

import pytest

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link import agent_thread, run_stream
from kmonitor_agent.link.agent_thread import THREAD_NAME, AgentThread
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.link import Link
from kmonitor_agent.link.outbox import Outbox
from kmonitor_agent.link.run_stream import EACH_LOOK
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.local.interpreter_record import read_interpreter_record
from kmonitor_agent.wire.local.own_descriptor import AgentWakeup
from kmonitor_agent.wire.messages.commands import Command
from kmonitor_agent.wire.messages.events import (
    CommandProgress,
    Event,
    Notice,
    Sample,
    SessionEnded,
)
from kmonitor_agent.wire.messages.unions import Bye, Hello
from kmonitor_agent.wire.spool.folder import RunSpool
from tests.support.clock import MovedClock
from tests.support.fake_hub import FakeHub
from tests.support.links import (
    PATIENT,
    QUICK,
    LinkUnderTest,
    epoch,
    sample,
    session_started,
    spooled_events,
)
from tests.support.waiting import DEADLINE_S, wait_until


def _thread() -> threading.Thread | None:
    found = [t for t in threading.enumerate() if t.name == THREAD_NAME]
    return found[0] if found else None


def test_events_arrive_in_order_behind_the_boot(folders: Folders):
    with FakeHub(ingest_socket_path(folders)) as hub, LinkUnderTest(folders) as test:
        for number in range(500):
            test.link.emit(epoch(number))
        hub.serve_until(lambda: hub.acked == 501)

        assert hub.events == [session_started(), *(epoch(n) for n in range(500))]
        wait_until(lambda: test.link.status().acked == 501)
        status = test.link.status()
        assert (status.hub_seen, status.connected, status.last_seq) == (True, True, 501)
        assert (status.degraded, status.faults, status.dropped) == ("", 0, 0)
        assert status.spooled_bytes > 500


def test_without_a_hub_everything_waits_on_disk(folders: Folders):
    with LinkUnderTest(folders) as test:
        test.link.emit(epoch(1))
        wait_until(lambda: test.link.status().last_seq == 2)
        assert not test.link.status().hub_seen

    assert spooled_events(folders) == [session_started(), epoch(1)]


def refuse(_wake: AgentWakeup) -> None:
    """No one may be woken."""
    raise AssertionError("woken")


def test_with_the_hub_off_nothing_is_looked_for(folders: Folders):
    with FakeHub(ingest_socket_path(folders)) as hub:
        with LinkUnderTest(folders, hub=HubChoice(is_off=True)) as test:
            test.link.emit(epoch(1))
            wait_until(lambda: test.link.status().last_seq == 2)
        hub.serve_until(lambda: True)

        assert hub.got == []
    assert len(spooled_events(folders)) == 2


@pytest.mark.slow
def test_a_hub_that_appears_later_gets_all_of_it(folders: Folders):
    with LinkUnderTest(folders) as test:
        for number in range(50):
            test.link.emit(epoch(number))
        wait_until(lambda: test.link.status().last_seq == 51)
        with FakeHub(ingest_socket_path(folders)) as hub:
            hub.serve_until(lambda: hub.acked == 51)


def test_an_event_of_a_working_thread_wakes_nobody(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    # It is found by the next look, long before anything else would end the wait.
    timing = Timing(drain_s=0.01, retry_s=600.0, mark_s=600.0)
    monkeypatch.setattr(agent_thread, "WAIT_LIMIT_S", 600.0)
    with LinkUnderTest(folders, hub=HubChoice(is_off=True), timing=timing) as test:
        wait_until(lambda: test.link.status().last_seq == 1)
        monkeypatch.setattr(AgentWakeup, "set", refuse)
        test.link.emit(epoch(1))
        wait_until(lambda: test.link.status().last_seq == 2)
        monkeypatch.undo()


def test_a_single_event_after_a_long_silence_is_spooled_at_once(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    # Nothing else would end the sleep before the wait is given up.
    timing = Timing(drain_s=0.01, still_s=0.0, retry_s=600.0, mark_s=600.0)
    monkeypatch.setattr(agent_thread, "WAIT_LIMIT_S", 600.0)
    with LinkUnderTest(folders, hub=HubChoice(is_off=True), timing=timing) as test:
        (stream,) = test.agent.streams()
        wait_until(lambda: stream.event_queue.is_sleeping)
        test.link.emit(epoch(1))
        wait_until(lambda: test.link.status().last_seq == 2)


def test_closing_delivers_what_is_left_and_says_why(folders: Folders):
    with (
        FakeHub(ingest_socket_path(folders)) as hub,
        LinkUnderTest(folders, timing=PATIENT) as test,
    ):
        hub.serve_until(lambda: hub.acked == 1)
        test.link.emit(SessionEnded(t_s=1.0, why="failed"))
        closing = threading.Thread(target=test.link.close, kwargs={"timeout_s": 60.0})
        closing.start()
        hub.serve_until(lambda: hub.count(Bye))
        closing.join(DEADLINE_S)

        assert hub.got[-1] == Bye(run="run1", last=2, why="error")
        assert hub.kinds() == ["SessionStarted", "SessionEnded"]
    assert _thread() is None


def test_closing_twice_or_unstarted_is_harmless(folders: Folders):
    with LinkUnderTest(folders) as test:
        test.link.close()
        test.link.close()
        test.link.emit(epoch(1))
    unstarted = LinkUnderTest(folders).link
    unstarted.close()

    assert len(spooled_events(folders)) == 1


def test_the_boot_must_be_that_of_its_first_event(folders: Folders):
    with pytest.raises(ValueError, match="session2"):
        Link(
            run="run1",
            session_id="session2",
            folders=folders,
            started=session_started("session1"),
            hub=HubChoice(),
            on_command=print,
            faults=FaultLog(),
        )


def test_time_runs_from_the_boots_start(folders: Folders):
    clock = MovedClock()
    link = Link(
        run="run1",
        session_id="session1",
        folders=folders,
        started=session_started(),
        hub=HubChoice(),
        on_command=print,
        faults=FaultLog(),
        agent=AgentThread(clock),
    )

    assert link.now_s() == 0.0
    clock.move(5.0)
    assert link.now_s() == 5.0


def test_tasks_run_on_the_agents_thread_and_may_emit(folders: Folders):
    ran: list[str] = []
    with LinkUnderTest(folders) as test:

        def task() -> None:
            ran.append(threading.current_thread().name)
            test.link.emit(sample(len(ran)))
            if len(ran) == 2:
                raise ZeroDivisionError

        test.link.every(0.01, task)
        wait_until(lambda: len(ran) >= 4)

    assert set(ran) == {THREAD_NAME}
    assert sum(isinstance(e, Sample) for e in spooled_events(folders)) >= 4
    (where,) = test.faults.counts()
    assert "task" in where


def test_tasks_of_each_look_run_while_a_thread_has_nothing_else_to_do(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    ran: list[str] = []
    timing = Timing(drain_s=0.01, still_s=0.0, retry_s=600.0, mark_s=600.0)
    monkeypatch.setattr(agent_thread, "WAIT_LIMIT_S", 600.0)
    with LinkUnderTest(folders, hub=HubChoice(is_off=True), timing=timing) as test:
        test.link.every(EACH_LOOK, lambda: ran.append(threading.current_thread().name))
        wait_until(lambda: len(ran) >= 4)

    assert set(ran) == {THREAD_NAME}


def test_events_wait_for_the_time_between_writes_but_those_of_a_task_of_each_look_do_not(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    looks: list[int] = []
    timing = Timing(drain_s=0.01, write_s=600.0, retry_s=600.0, mark_s=600.0)
    monkeypatch.setattr(agent_thread, "WAIT_LIMIT_S", 600.0)
    with LinkUnderTest(folders, hub=HubChoice(is_off=True), timing=timing) as test:

        def look() -> None:
            looks.append(test.link.status().last_seq)
            if len(looks) == 8:
                test.link.emit(sample(1))

        test.link.every(EACH_LOOK, look)
        wait_until(lambda: len(looks) >= 2)
        test.link.emit(epoch(1))
        wait_until(lambda: test.link.status().last_seq == 3)

        assert set(looks[:8]) == {1}


def test_the_outcome_of_an_action_is_written_with_all_before_it_and_does_not_wait(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    timing = Timing(drain_s=0.01, write_s=600.0, retry_s=600.0, mark_s=600.0)
    monkeypatch.setattr(agent_thread, "WAIT_LIMIT_S", 600.0)
    with LinkUnderTest(folders, hub=HubChoice(is_off=True), timing=timing) as test:
        wait_until(lambda: test.link.status().last_seq == 1)

        test.link.emit(epoch(1))
        test.link.emit(CommandProgress(t_s=1.0, id="c1", name="save", state="done"))

        wait_until(lambda: test.link.status().last_seq == 3)


def test_a_task_of_each_look_that_raises_is_counted_and_not_run_again(folders: Folders):
    ran: list[str] = []

    def fail() -> None:
        ran.append("failing")
        raise ZeroDivisionError

    timing = Timing(drain_s=0.01)
    with LinkUnderTest(folders, hub=HubChoice(is_off=True), timing=timing) as test:
        test.link.every(EACH_LOOK, fail)
        test.link.every(EACH_LOOK, lambda: ran.append("other"))
        wait_until(lambda: ran.count("other") >= 4)

    assert ran.count("failing") == 1
    assert test.faults.counts() == {"link.look": 1}


def test_a_command_is_handed_over_once_and_its_end_is_told(folders: Folders):
    command = Command(id="c1", run="run1", session="session1", name="save")
    with (
        FakeHub(ingest_socket_path(folders)) as hub,
        LinkUnderTest(folders, timing=PATIENT) as test,
    ):
        hub.serve_until(lambda: hub.acked == 1)
        hub.send(command, command, command)
        hub.serve_until(lambda: test.commands)
        hub.send(command, Command(id="c2", run="run1", session="session0", name="stop"))
        test.link.emit(CommandProgress(t_s=1.0, id="c1", name="save", state="done"))
        hub.serve_until(lambda: hub.acked == 3)

        assert test.commands == [command]
        told = {e.id: e.state for e in hub.events if isinstance(e, CommandProgress)}
        assert told == {"c1": "done", "c2": "refused"}


def test_a_command_seen_by_an_earlier_process_never_runs_again(folders: Folders):
    for session in ("session1", "session2"):
        with (
            FakeHub(ingest_socket_path(folders)) as hub,
            LinkUnderTest(folders, session=session, timing=PATIENT) as test,
        ):
            hub.serve_until(lambda hub=hub: hub.count(Hello) and hub.acked)
            hub.send(Command(id="c1", run="run1", session=session, name="save"))
            hub.send(Command(id=f"new-{session}", run="run1", session=session, name="save"))
            hub.serve_until(lambda: f"new-{session}" in [c.id for c in test.commands])  # noqa: B023

        expected = ["c1", "new-session1"] if session == "session1" else ["new-session2"]
        assert [c.id for c in test.commands] == expected


def test_a_second_process_of_a_run_goes_on_with_its_numbers(folders: Folders):
    for session in ("session1", "session2"):
        with LinkUnderTest(folders, session=session) as test:
            test.link.emit(epoch(1))
    spool = RunSpool.acquire(folders.spool / "run1")
    assert spool is not None
    with spool:
        assert [e.seq for e in spool.events()] == [1, 2, 3, 4]
        assert [f.session for f in spool.sessions()] == ["session1", "session2"]


@pytest.mark.slow
def test_a_spool_held_for_a_moment_is_waited_for(folders: Folders):
    with LinkUnderTest(folders):
        pass
    held = RunSpool.acquire(folders.spool / "run1")
    assert held is not None
    timing = Timing(lock_s=20.0)
    with LinkUnderTest(folders, session="session2", timing=timing) as test:
        held.close()
        wait_until(lambda: test.link.status().last_seq == 2)

    assert len(spooled_events(folders)) == 2


@pytest.mark.slow
def test_a_spool_held_for_good_leaves_memory(folders: Folders):
    second = LinkUnderTest(folders, session="session2")
    with LinkUnderTest(folders) as first:
        wait_until(lambda: first.link.status().last_seq)
        with second:
            wait_until(lambda: second.link.status().degraded)
            assert "another process" in second.link.status().degraded

    assert [e for e in spooled_events(folders) if not isinstance(e, Notice)] == [session_started()]


def test_events_that_find_no_room_are_told_of(folders: Folders, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("kmonitor_agent.link.run_stream.EVENTS_LIMIT", 2)
    test = LinkUnderTest(folders)
    for number in range(5):
        test.link.emit(epoch(number))
    with test:
        wait_until(lambda: test.link.status().last_seq >= 3)
    notices = [e for e in spooled_events(folders) if isinstance(e, Notice)]

    assert [n.code for n in notices] == ["events_dropped"]
    assert notices[0].text.startswith("4 events")


def test_a_disk_that_hangs_holds_up_nobody_and_loses_nothing(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    hanging, real = threading.Event(), os.write

    def write(descriptor: int, data: bytes) -> int:
        if len(data) > 8:
            hanging.wait(DEADLINE_S)
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with LinkUnderTest(folders) as test:
        for number in range(1000):
            test.link.emit(epoch(number))
        assert test.link.status().last_seq == 0  # the disk still hangs
        hanging.set()
        wait_until(lambda: test.link.status().last_seq == 1001)


def test_the_interpreter_is_left_for_later(folders: Folders):
    with LinkUnderTest(folders) as test:
        wait_until(lambda: test.link.status().last_seq)

    assert read_interpreter_record(folders, "here") is not None


def test_a_fault_of_the_thread_is_counted_and_the_thread_goes_on(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run_stream, "AFTER_FAULT_S", 0.01)
    test = LinkUnderTest(folders)
    real, failures = Outbox.append, [1, 2]

    def append(outbox: Outbox, events: list[Event]) -> None:
        if failures:
            failures.pop()
            raise ZeroDivisionError
        real(outbox, events)

    monkeypatch.setattr(Outbox, "append", append)
    with test:
        wait_until(lambda: len(failures) == 1)
        test.link.emit(epoch(6))
        wait_until(lambda: not failures)
        test.link.emit(epoch(7))
        wait_until(lambda: test.link.status().last_seq)

    assert test.faults.counts() == {"link.turn": 2}
    assert spooled_events(folders)[-1] == epoch(7)


def test_a_start_without_threads_left_is_a_fault_and_no_error(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    test = LinkUnderTest(folders, timing=QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        test.link.start()
    test.link.emit(epoch(1))
    test.link.close()

    assert test.faults.counts() == {"link.start": 1}
