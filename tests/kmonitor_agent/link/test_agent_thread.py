"""The one thread that serves all runs of a process."""

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import zmq

from kmonitor_agent.link import transport
from kmonitor_agent.link.agent_thread import (
    EXIT_NETWORK_S,
    JOIN_SLACK_S,
    THREAD_NAME,
    AgentLoop,
    AgentThread,
)
from kmonitor_agent.link.hub_choice import HubChoice
from kmonitor_agent.link.run_stream import RunStream
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ingest_socket_path
from kmonitor_agent.wire.messages.commands import Command
from kmonitor_agent.wire.messages.events import EpochEnded, Notice
from kmonitor_agent.wire.messages.unions import Ping, Pong
from kmonitor_agent.wire.spool.folder import RunSpool
from tests.support.clock import MovedClock
from tests.support.fake_hub import FakeHub
from tests.support.links import PATIENT, QUICK, LinkUnderTest, epoch, spooled_events
from tests.support.waiting import DEADLINE_S, wait_until

OFF = HubChoice(is_off=True)
PROMISED_S = 2.0
"""In SECURITY.md."""


@pytest.fixture
def agent() -> Iterator[AgentThread]:
    """The thread of a separate process, ended with the test."""
    agent = AgentThread(timing=QUICK)
    yield agent
    agent.close(timeout_s=0.2)


def started(agent: AgentThread, folders: Folders, run: str, hub: HubChoice = OFF) -> LinkUnderTest:
    test = LinkUnderTest(folders, run=run, hub=hub, agent=agent)
    test.link.start()
    wait_until(lambda: test.link.status().last_seq)
    return test


def is_held(folders: Folders, run: str) -> bool:
    spool = RunSpool.acquire(folders.spool / run)
    if spool is not None:
        spool.close()
    return spool is None


def epochs(folders: Folders, run: str) -> list[int]:
    return [e.epoch for e in spooled_events(folders, run) if isinstance(e, EpochEnded)]


def test_all_runs_share_one_thread_which_ends_with_the_last(agent: AgentThread, folders: Folders):
    tests = [started(agent, folders, f"run{number}") for number in range(20)]
    threads = [each for each in threading.enumerate() if each.name == THREAD_NAME]
    for test in tests:
        test.link.close()

    assert len(threads) == 1
    threads[0].join(DEADLINE_S)
    assert not threads[0].is_alive()


def test_a_run_that_begins_after_the_last_one_ended_is_served(
    agent: AgentThread, folders: Folders
):
    for run in ("run1", "run2"):
        test = started(agent, folders, run)
        test.link.emit(epoch(1))
        test.link.close()

    assert epochs(folders, "run1") == epochs(folders, "run2") == [1]


def test_a_fault_of_one_run_holds_up_no_other(
    agent: AgentThread, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object) -> None:
        raise MemoryError

    faulty = started(agent, folders, "run1")
    sound = started(agent, folders, "run2")
    (stream,) = [each for each in agent.streams() if each.faults is faulty.faults]
    monkeypatch.setattr(stream.outbox, "append", fail)
    faulty.link.emit(epoch(1))
    wait_until(faulty.faults.counts)
    sound.link.emit(epoch(1))
    wait_until(lambda: sound.link.status().last_seq == 2)

    assert faulty.faults.counts() == {"link.turn": 1}
    assert sound.faults.counts() == {}


def test_an_idle_run_lets_go_of_its_spool_until_something_happens(
    agent: AgentThread, folders: Folders
):
    test = started(agent, folders, "run1")
    test.link.emit(epoch(1))
    wait_until(lambda: test.link.status().last_seq == 2)
    test.link.set_idle(is_idle=True)
    wait_until(lambda: not is_held(folders, "run1"))
    test.link.emit(epoch(2))
    wait_until(lambda: test.link.status().last_seq == 3)
    wait_until(lambda: not is_held(folders, "run1"))
    test.link.set_idle(is_idle=False)
    test.link.emit(epoch(3))
    wait_until(lambda: test.link.status().last_seq == 4)
    assert is_held(folders, "run1")
    test.link.close()

    assert epochs(folders, "run1") == [1, 2, 3]
    assert test.faults.counts() == {}


def test_an_idle_run_delivers_what_a_hub_asks_for_again(agent: AgentThread, folders: Folders):
    test = started(agent, folders, "run1", HubChoice())
    for number in range(5):
        test.link.emit(epoch(number))
    wait_until(lambda: test.link.status().last_seq == 6)
    test.link.set_idle(is_idle=True)
    with FakeHub(ingest_socket_path(folders)) as hub:
        hub.serve_until(lambda: hub.acked == 6)
    wait_until(lambda: not is_held(folders, "run1"))
    with FakeHub(ingest_socket_path(folders), hub_id="hub2") as hub:
        hub.serve_until(lambda: hub.acked == 6)
        kinds = hub.kinds()

    assert kinds == ["SessionStarted", *["EpochEnded"] * 5]


@pytest.mark.exposed
def test_only_tasks_that_are_meant_for_it_run_while_a_run_is_idle(
    agent: AgentThread, folders: Folders
):
    ran: list[str] = []
    test = started(agent, folders, "run1")
    test.link.set_idle(is_idle=True)
    test.link.every(0.01, lambda: ran.append("busy"))
    test.link.every(0.01, lambda: ran.append("idle"), while_idle=True)
    wait_until(lambda: len(ran) >= 2)
    idle = list(ran)
    test.link.set_idle(is_idle=False)
    wait_until(lambda: "busy" in ran)

    assert set(idle) == {"idle"}


def test_a_process_that_is_short_says_so_once_and_connects_later(
    agent: AgentThread, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    short = ["fewer than 24 file descriptors are free"] * 3
    tries: list[str] = []

    def what_is_short(_needs: object) -> str:
        tries.append(short[0] if short else "")
        return short.pop() if short else ""

    monkeypatch.setattr(transport, "missing_resources", what_is_short)
    with FakeHub(ingest_socket_path(folders)) as hub:
        test = started(agent, folders, "run1", HubChoice())
        hub.serve_until(lambda: hub.acked >= 2)
        notices = [event for event in hub.events if isinstance(event, Notice)]

    assert [notice.code for notice in notices] == ["hub_waits"]
    assert "fewer than 24 file descriptors" in notices[0].text
    assert len(tries) >= 4
    assert test.faults.counts() == {}


def test_two_boots_of_a_run_in_one_process_follow_each_other(agent: AgentThread, folders: Folders):
    first = started(agent, folders, "run1")
    first.link.emit(epoch(1))
    first.link.end(timeout_s=60.0)
    second = LinkUnderTest(folders, run="run1", session="session2", hub=OFF, agent=agent)
    second.link.start()
    second.link.emit(epoch(2))
    second.link.close()

    assert epochs(folders, "run1") == [1, 2]


class _Deadlines(threading.Event):
    """An event that never comes; time goes by as long as someone is willing to wait for it."""

    def __init__(self, clock: MovedClock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:  # pyright: ignore[reportImplicitOverride]
        assert timeout is not None, "waited for without end"
        self._clock.move(timeout)
        return False


@pytest.mark.promise(18)
@pytest.mark.parametrize("runs", [1, 100])
def test_the_exit_as_a_whole_is_bounded_where_the_disk_hangs(
    runs: int, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    clock = MovedClock()
    agent = AgentThread(clock, QUICK)
    hanging = threading.Event()
    tests = [
        LinkUnderTest(folders, run=f"run{number}", hub=OFF, agent=agent) for number in range(runs)
    ]

    def hang(*_: object, **__: object) -> bool:
        return hanging.wait(DEADLINE_S) and False

    monkeypatch.setattr(RunStream, "turn", hang)
    for test in tests:
        test.link.start()
    for stream in agent.streams():
        monkeypatch.setattr(stream, "ended", _Deadlines(clock))
    (thread,) = [each for each in threading.enumerate() if each.name == THREAD_NAME]
    began_s = clock.monotonic_s()
    agent.end(agent.streams(), EXIT_NETWORK_S)  # the end of the runs, then the process's own
    agent.close()
    waited_s = clock.monotonic_s() - began_s
    hanging.set()
    clock.move(DEADLINE_S)
    thread.join(DEADLINE_S)

    assert waited_s <= EXIT_NETWORK_S + JOIN_SLACK_S < PROMISED_S


def test_the_thread_goes_on_where_there_is_no_memory_for_a_call(
    agent: AgentThread, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    real, fails = AgentLoop.guarded, [MemoryError()] * 20

    def guarded(turns: AgentLoop, work: Callable[[], None]) -> None:
        if fails:
            raise fails.pop()
        real(turns, work)

    monkeypatch.setattr(AgentLoop, "guarded", guarded)

    test = started(agent, folders, "run1")
    test.link.emit(epoch(1))
    test.link.close()

    assert not fails
    assert epochs(folders, "run1") == [1]


def without_memory(*_: object, **__: object) -> None:
    raise MemoryError


@pytest.mark.filterwarnings("ignore:Unclosed")
def test_a_context_whose_sockets_were_not_closed_holds_up_no_collection(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    place = ingest_socket_path(folders)
    made = transport.Transport()
    made.prepare(place)
    with monkeypatch.context() as patched:
        patched.setattr(zmq.Socket, "close", without_memory)
        with pytest.raises(MemoryError) as raised:
            made.close()
    del made, raised
    collecting = threading.Thread(target=gc.collect, daemon=True)
    collecting.start()
    collecting.join(DEADLINE_S)

    assert not collecting.is_alive()
    transport.open_contexts.pop().destroy(linger=0)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[AgentLoop]:
    """One entry per turn of an agent's thread."""
    turns: list[AgentLoop] = []
    turn = AgentLoop.turn

    def counted(loop: AgentLoop) -> None:
        turns.append(loop)
        turn(loop)

    monkeypatch.setattr(AgentLoop, "turn", counted)
    return turns


@pytest.mark.exposed
def test_a_connected_run_without_events_turns_for_messages_alone(
    agent: AgentThread, folders: Folders, turns: list[AgentLoop]
):
    with FakeHub(ingest_socket_path(folders)) as hub:
        started(agent, folders, "run1", HubChoice())
        hub.serve_until(lambda: hub.count(Ping) >= 2)
        turns.clear()
        hub.serve_until(lambda: hub.count(Ping) >= 7)

        # One for each ping that is due, one for its answer, and some to spare.
        assert len(turns) <= 50


def test_acknowledgements_and_answers_to_pings_are_taken_without_a_turn(
    folders: Folders, turns: list[AgentLoop]
):
    agent = AgentThread(timing=replace(PATIENT, ping_s=60.0, retry_s=600.0, mark_s=600.0))
    with FakeHub(ingest_socket_path(folders)) as hub:
        hub.ping_ms = 60_000
        link = started(agent, folders, "run1", HubChoice()).link
        hub.serve_until(lambda: link.status().acked >= 1)
        turns.clear()
        before = link.status().last_seq
        for number in range(6):
            link.emit(epoch(number))
            hub.serve_until(lambda seq=before + number + 1: link.status().acked >= seq)
            hub.send(Pong(n=number, run="run1"))

        n_turns = len(turns)
        hub.send(Command(id="c1", run="run1", session="session1", name="save"))
        wait_until(lambda: len(turns) > n_turns)
    agent.close(timeout_s=0.2)
    assert n_turns <= 2  # that of its start may come late


def test_events_of_a_run_without_a_hub_are_spooled_without_a_turn(
    folders: Folders, turns: list[AgentLoop]
):
    agent = AgentThread(timing=replace(QUICK, retry_s=600.0, mark_s=600.0))
    test = started(agent, folders, "run1")
    turns.clear()
    before = test.link.status().last_seq
    for number in range(5):
        test.link.emit(epoch(number))
        wait_until(lambda seq=before + number + 1: test.link.status().last_seq >= seq)

    n_turns = len(turns)
    agent.close(timeout_s=0.2)
    assert n_turns <= 1  # that of its start may come late
    assert epochs(folders, "run1") == list(range(5))
