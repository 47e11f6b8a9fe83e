"""Protocol KM1 from the agent's side, against a scripted connection and a clock that is moved."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Never, TypeVar

import msgspec
import pytest

from kmonitor_agent.guard import FaultLog
from kmonitor_agent.link.delivery import CommandInbox, DeliveryContext, DeliveryPhase, RunDelivery
from kmonitor_agent.link.hub_connection import (
    ConnectionContext,
    HubConnection,
    HubDialer,
    SocketIdentity,
)
from kmonitor_agent.link.outbox import Outbox
from kmonitor_agent.link.timing import Timing
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.commands import Command
from kmonitor_agent.wire.messages.events import Event, LostEvents, Notice
from kmonitor_agent.wire.messages.unions import (
    Ack,
    Batch,
    Bye,
    ErrorMessage,
    Hello,
    HelloAgain,
    Nack,
    Ping,
    Pong,
    ToAgent,
    Welcome,
)
from kmonitor_agent.wire.spool.writer import SpoolWriter
from tests.support.clock import MovedClock
from tests.support.links import FACTS, sample, session_started

M = TypeVar("M", bound=msgspec.Struct)


class _Wire:
    def __init__(self) -> None:
        self.is_bad = False
        self.room = 1000
        self.sent: list[Any] = []
        self.coming: deque[ToAgent] = deque()
        self.is_closed = False

    def send(self, message: msgspec.Struct) -> bool:
        if self.room <= 0:
            return False
        self.room -= 1
        self.sent.append(message)
        return True

    def received(self) -> Iterator[ToAgent]:
        while self.coming:
            yield self.coming.popleft()

    def close(self) -> None:
        self.is_closed = True

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in self.sent if isinstance(message, kind)]


class _Run:
    """One run of the process: what it emits, and its side of the protocol."""

    def __init__(self, case: "_Case", run: str) -> None:
        self.run = run
        self.told: list[Event] = []
        self.commands: list[Command] = []
        self.outbox = Outbox(
            SpoolWriter(case.root, msgspec.structs.replace(FACTS, run=run), case.clock),
            emit=self.told.append,
            now_s=case.now_s,
            faults=case.faults,
            clock=case.clock,
        )
        self.outbox.open()
        commands = CommandInbox(
            "session1",
            self.commands.append,
            emit=self.told.append,
            now_s=case.now_s,
            faults=case.faults,
        )
        parts = DeliveryContext(
            run,
            session_started(),
            self.outbox,
            commands.receive,
            self.told.append,
            case.now_s,
            case.faults,
        )
        self.delivery = RunDelivery(parts, case.clock, case.timing)

    def codes(self) -> list[str]:
        return [e.code for e in self.told if isinstance(e, Notice)]

    def add(self, n: int) -> None:
        first = self.outbox.last_seq + 1
        self.outbox.append([sample(step) for step in range(first, first + n)])

    def welcome(self, acked: int = 0) -> Welcome:
        return Welcome(
            run=self.run,
            hub="hub1",
            session="session1",
            minor_version=1,
            acked=acked,
            ping_ms=500,
            max_batch=1024,
        )


class _Case:
    """A connection whose surroundings the test holds in its hands, with one run at first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = MovedClock()
        self.timing = Timing()
        self.faults = FaultLog()
        self.wires: list[_Wire] = []
        self.sighting: SocketIdentity | None = SocketIdentity(1, 1, 1)
        self.refusal: NotPrivate | None = None
        outside = ConnectionContext(
            hub_dialer=HubDialer(
                find_socket=self._look, connect=self._connect, jitter=lambda: 1.0
            ),
            clock=self.clock,
            on_fault=self.faults.record,
        )
        self.connection = HubConnection(outside, self.timing)
        self.first = _Run(self, "run1")
        self.outbox, self.delivery = self.first.outbox, self.first.delivery
        self.told, self.commands = self.first.told, self.first.commands
        self.add, self.codes = self.first.add, self.first.codes
        self.connection.add(self.delivery)

    def stay_connected(self, seconds: float) -> None:
        """Time goes by, and the hub answers pings."""
        for _ in range(round(seconds)):
            self.clock.move(1.0)
            self.hear(Pong(n=1))

    def other_run(self) -> _Run:
        """A second run of the process, on the same connection, with one event, and welcomed."""
        other = _Run(self, "run2")
        other.add(1)
        self.connection.add(other.delivery)
        self.connection.step()
        self.hear(other.welcome())
        return other

    @property
    def wire(self) -> _Wire:
        return self.wires[-1]

    def now_s(self) -> float:
        return self.clock.monotonic_s() - 1000

    def hear(self, *messages: ToAgent) -> None:
        self.wire.coming.extend(messages)
        self.connection.step()

    def welcome(self, acked: int = 0, **more: Any) -> None:
        self.connection.step()
        fields: dict[str, Any] = {
            "run": "run1",
            "hub": "hub1",
            "session": "session1",
            "minor_version": 1,
            "ping_ms": 500,
            "max_batch": 1024,
        }
        self.hear(Welcome(acked=acked, **(fields | more)))

    def _look(self) -> SocketIdentity | None:
        if self.refusal is not None:
            raise self.refusal
        return self.sighting

    def _connect(self) -> _Wire:
        self.wires.append(_Wire())
        return self.wire


@pytest.fixture
def case(tmp_path: Path) -> Iterator[_Case]:
    case = _Case(tmp_path / "spool")
    yield case
    case.outbox.close()


# --- greeting ---


def test_hello_is_repeated_each_half_second_until_the_welcome(case: _Case):
    case.add(3)
    case.connection.step()
    case.clock.move(0.3)
    case.connection.step()
    assert len(case.wire.of(Hello)) == 1
    assert case.connection.wait_s() == pytest.approx(0.2)
    case.clock.move(0.3)
    case.connection.step()

    hello = case.wire.of(Hello)[-1]
    assert len(case.wire.of(Hello)) == 2
    assert (hello.run, hello.session, hello.first, hello.last) == ("run1", "session1", 1, 3)
    assert hello.monotonic_s == pytest.approx(0.6)
    assert case.wire.of(Batch) == []


def test_after_the_welcome_events_are_sent_from_where_the_hub_is(case: _Case):
    case.add(5)
    case.welcome(acked=2)

    (batch,) = case.wire.of(Batch)
    assert (batch.first, len(batch.events)) == (3, 3)
    assert case.delivery.hub_seen
    assert case.outbox.acked == 2
    assert not case.delivery.is_complete

    case.hear(Ack(run="run1", acked=5))
    assert case.delivery.is_complete


def test_a_hub_that_lost_events_gets_them_again(case: _Case):
    case.add(5)
    case.welcome(acked=0)
    case.hear(Ack(run="run1", acked=5))
    case.hear(HelloAgain(run="run1", acked=1))
    case.welcome(acked=1)

    assert [b.first for b in case.wire.of(Batch)] == [1, 2]
    assert case.outbox.acked == 1
    assert not case.delivery.is_complete


def test_a_hub_ahead_of_the_run_is_refused_and_the_spool_stays(case: _Case):
    case.add(3)
    case.welcome(acked=9)

    assert case.delivery.phase is DeliveryPhase.REFUSED
    assert not case.wire.is_closed
    assert case.codes() == ["hub_ahead"]
    assert case.outbox.read(1, 10, 10**6)
    case.stay_connected(29)
    assert len(case.wire.of(Hello)) == 1
    case.stay_connected(1)
    case.welcome(acked=9)
    assert len(case.wire.of(Hello)) == 2
    assert case.codes() == ["hub_ahead"]


@pytest.mark.parametrize("minor_version", [0, 99])
def test_a_hub_of_another_version_is_not_used(case: _Case, minor_version: int):
    case.welcome(minor_version=minor_version)

    assert case.delivery.phase is DeliveryPhase.REFUSED
    assert case.codes() == ["hub_version"]


def test_another_hub_is_greeted_at_once_by_a_run_that_was_refused(case: _Case):
    case.welcome(minor_version=99)
    case.sighting = SocketIdentity(1, 2, 1)
    case.clock.move(3.0)
    case.connection.step()
    case.clock.move(0.1)
    case.connection.step()

    assert len(case.wires) == 2
    assert case.wire.of(Hello)


def test_a_welcome_for_another_process_means_nothing(case: _Case):
    case.welcome(session="session9")

    assert case.delivery.phase is DeliveryPhase.GREETING


def test_a_second_welcome_does_not_rewind(case: _Case):
    case.add(3)
    case.welcome(acked=0)
    case.welcome(acked=0)

    assert len(case.wire.of(Batch)) == 1


def test_again_while_greeting_means_nothing(case: _Case):
    case.connection.step()
    case.hear(HelloAgain(run="run1", acked=0), Ack(run="run1", acked=0))

    assert len(case.wire.of(Hello)) == 1


# --- delivery ---


def test_no_more_than_the_window_goes_ahead_of_the_acks(case: _Case):
    case.add(6000)
    case.welcome()
    for _ in range(5):
        case.connection.step()

    assert sum(len(b.events) for b in case.wire.of(Batch)) == 4096
    assert max(len(b.events) for b in case.wire.of(Batch)) == 1024

    case.hear(Ack(run="run1", acked=1000))
    assert sum(len(b.events) for b in case.wire.of(Batch)) == 5096


def test_a_full_queue_is_tried_again_with_the_same_events(case: _Case):
    case.add(3)
    case.connection.step()
    case.wire.room = 0
    case.welcome()
    assert case.wire.of(Batch) == []
    assert case.connection.wait_s() <= case.timing.drain_s

    case.wire.room = 9
    case.connection.step()
    assert [b.first for b in case.wire.of(Batch)] == [1]


def test_an_ack_of_another_run_or_from_the_past_means_nothing(case: _Case):
    case.add(5)
    case.welcome(acked=3)
    case.hear(Ack(run="other", acked=5), Ack(run="run1", acked=2))

    assert case.outbox.acked == 3
    assert case.delivery.phase is DeliveryPhase.LIVE


def test_an_ack_of_what_does_not_exist_is_refused(case: _Case):
    case.add(5)
    case.welcome()
    case.hear(Ack(run="run1", acked=6))

    assert case.delivery.phase is DeliveryPhase.REFUSED
    assert case.codes() == ["hub_ahead"]


def test_a_refused_batch_is_halved_until_one_event_is_to_blame(case: _Case):
    case.add(8)
    case.welcome()
    poison = 6
    for _ in range(20):
        if case.delivery.is_complete:
            break
        batch = case.wire.of(Batch)[-1]
        last = batch.first + len(batch.events) - 1
        clean = isinstance(decode_event(batch.events[0]), LostEvents)
        if batch.first <= poison <= last and not clean:
            n = len(batch.events)
            case.hear(Nack(run="run1", first=batch.first, n=n, why="poison"))
        else:
            case.hear(Ack(run="run1", acked=last))

    assert case.delivery.is_complete
    sent = {b.first: b.events for b in case.wire.of(Batch)}
    lost = decode_event(sent[poison][0])
    assert isinstance(lost, LostEvents)
    assert (lost.first, lost.why) == (6, "refused by the hub: poison")


def test_events_that_stay_unacknowledged_lead_to_a_new_hello(case: _Case):
    case.add(3)
    case.welcome()
    for _ in range(12):
        case.clock.move(1.0)
        case.hear(Pong(n=1))

    assert case.delivery.phase is DeliveryPhase.GREETING
    case.welcome()
    assert [b.first for b in case.wire.of(Batch)] == [1, 1]


def test_a_spool_that_cannot_be_read_now_is_read_later(
    case: _Case, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> Never:
        raise OSError(5, "Input/output error")

    case.add(3)
    with monkeypatch.context() as patch:
        patch.setattr(case.outbox, "read", refuse)
        case.welcome()
        case.connection.step()
    assert case.faults.counts() == {"link.read": 1}
    case.hear(Pong(n=1))
    assert case.wire.of(Batch) == []

    for _ in range(6):
        case.clock.move(1.0)
        case.hear(Pong(n=1))
    assert len(case.wire.of(Batch)) == 1


# --- liveness ---


def test_a_live_session_pings_as_often_as_the_hub_asks(case: _Case):
    case.welcome(ping_ms=500)
    for _ in range(4):
        case.clock.move(0.5)
        case.hear(Pong(n=1))

    assert [p.n for p in case.wire.of(Ping)] == [1, 2, 3, 4]


def test_a_hub_that_acknowledges_each_second_needs_no_pings(case: _Case):
    case.welcome(ping_ms=1000)
    for acked in range(1, 9):
        case.add(1)
        case.clock.move(0.9)
        case.hear(Ack(run="run1", acked=acked))
    pings_meanwhile = len(case.wire.of(Ping))
    case.clock.move(1.25)
    case.connection.step()

    assert (pings_meanwhile, len(case.wire.of(Ping))) == (0, 1)


@pytest.mark.parametrize(("asked_ms", "interval_s"), [(10, 0.1), (60_000, 1.0)])
def test_the_ping_interval_has_bounds(case: _Case, asked_ms: int, interval_s: float):
    case.welcome(ping_ms=asked_ms)

    assert case.connection.wait_s() == pytest.approx(interval_s)


def test_a_hubs_ping_is_answered(case: _Case):
    case.add(2)
    case.welcome()
    case.hear(Ping(n=7, run="run1"))

    assert case.wire.of(Pong) == [Pong(n=7, run="run1")]


def test_a_silent_hub_is_left_for_a_new_socket(case: _Case):
    case.add(1)
    case.welcome()
    for _ in range(4):
        case.clock.move(0.7)
        case.connection.step()
    assert case.wires[0].is_closed
    assert case.delivery.phase is DeliveryPhase.AWAY
    assert case.connection.wait_s() <= 0.11

    case.clock.move(0.2)
    case.connection.step()
    assert len(case.wires) == 2
    assert case.wire.of(Hello)


def test_after_a_long_stop_of_this_process_what_waits_is_read_before_judging(case: _Case):
    case.welcome()
    case.clock.move(60.0)
    case.hear(Pong(n=1))

    assert case.delivery.phase is DeliveryPhase.LIVE


def test_pauses_grow_to_their_bound_and_start_anew_after_a_steady_session(case: _Case):
    pauses = []
    for _ in range(12):
        case.connection.step()
        case.clock.move(2.6)
        case.connection.step()
        began_s = case.clock.monotonic_s()
        n = len(case.wires)
        while len(case.wires) == n:
            case.clock.move(max(case.connection.wait_s(), 0.001))
            case.connection.step()
        pauses.append(case.clock.monotonic_s() - began_s)

    assert pauses[:4] == pytest.approx([0.1, 0.2, 0.4, 0.8], abs=0.01)
    assert pauses[-1] == pytest.approx(1.0, abs=0.01)

    case.welcome()
    for _ in range(6):
        case.clock.move(1.0)
        case.hear(Pong(n=1))
    case.clock.move(3.0)
    case.connection.step()
    assert case.connection.wait_s() <= 0.11


def test_a_hub_that_starts_anew_is_not_kept_waiting(case: _Case):
    for _ in range(8):
        case.connection.step()
        case.clock.move(2.6)
        case.connection.step()
        case.clock.move(60.0)
    case.connection.step()
    case.clock.move(2.6)
    case.connection.step()
    n = len(case.wires)
    case.sighting = SocketIdentity(1, 2, 2)
    case.clock.move(0.5)
    case.connection.step()

    assert len(case.wires) == n + 1


# --- no hub, and hubs that must not be used ---


def test_a_missing_socket_is_looked_for_each_half_second(case: _Case):
    case.sighting = None
    case.connection.step()
    assert case.wires == []
    assert case.connection.wait_s() == 0.5
    case.clock.move(0.4)
    case.sighting = SocketIdentity(1, 1, 1)
    case.connection.step()
    assert case.wires == []
    case.clock.move(0.1)
    case.connection.step()

    assert len(case.wires) == 1


def test_a_socket_that_others_could_have_made_is_told_of_once(case: _Case):
    case.refusal = NotPrivate(Path("/x"), "is accessible to other users; run: chmod 700 /x")
    for _ in range(3):
        case.connection.step()
        case.clock.move(1.0)

    assert case.wires == []
    assert case.codes() == ["hub_not_private"]
    assert case.faults.counts() == {"link.connect": 1}


def test_a_hub_that_talks_nonsense_is_left(case: _Case):
    case.welcome()
    case.wire.is_bad = True
    case.connection.step()

    assert case.delivery.phase is DeliveryPhase.AWAY
    assert case.codes() == ["hub_broken"]


# --- errors, commands, the end ---


def test_a_superseded_process_falls_silent_for_good(case: _Case):
    case.add(1)
    case.welcome()
    case.hear(ErrorMessage(code="superseded", text="", run="run1"))
    case.clock.move(1e6)
    case.connection.step()
    case.connection.close()

    assert case.delivery.phase is DeliveryPhase.SUPERSEDED
    assert len(case.wires) == 1
    assert case.delivery.is_complete
    assert case.connection.wait_s() == float("inf")


@pytest.mark.parametrize(
    ("error", "pause_s"),
    [
        (ErrorMessage(code="busy", text="", retry_ms=4000), 4.0),
        (ErrorMessage(code="quota", text="", retry_ms=10**9), 30.0),
        (ErrorMessage(code="unauthorized", text="no"), 30.0),
        (ErrorMessage(code="unsupported", text="no", fatal=True), 30.0),
    ],
)
def test_a_hub_that_says_no_is_left_for_as_long_as_it_asks(
    case: _Case, error: ErrorMessage, pause_s: float
):
    case.welcome()
    case.hear(error)
    case.clock.move(pause_s - 0.1)
    case.connection.step()
    assert len(case.wires) == 1
    case.clock.move(0.6)
    case.connection.step()
    assert len(case.wires) == 2


def test_an_error_that_is_not_fatal_changes_nothing(case: _Case):
    case.welcome()
    case.hear(ErrorMessage(code="unsupported", text="x"))

    assert case.delivery.phase is DeliveryPhase.LIVE


def test_commands_reach_the_desk(case: _Case):
    case.welcome()
    case.hear(Command(id="c1", run="run1", session="session1", name="save"))

    assert [c.id for c in case.commands] == ["c1"]


@pytest.mark.parametrize(
    ("ended", "told"), [("failed", "error"), ("restart", "restart"), ("unheard of", "finished")]
)
def test_bye_says_how_the_process_ended(case: _Case, ended: str, told: str):
    case.add(2)
    case.welcome()
    case.delivery.send_bye(case.wire, ended)

    assert case.wire.of(Bye) == [Bye(run="run1", last=2, why=told)]  # type: ignore[arg-type]


def test_nobody_is_told_bye_before_a_welcome(case: _Case):
    case.connection.step()
    case.delivery.send_bye(case.wire, "finished")
    case.connection.close()
    case.connection.close()

    assert case.wire.of(Bye) == []


# --- several runs of a process ---


def test_each_run_says_hello_and_sends_its_own_events(case: _Case):
    case.add(2)
    case.welcome()
    case.other_run()

    assert [hello.run for hello in case.wire.of(Hello)] == ["run1", "run2"]
    assert [(b.run, b.first, len(b.events)) for b in case.wire.of(Batch)] == [
        ("run1", 1, 2),
        ("run2", 1, 1),
    ]
    assert len(case.wires) == 1


def test_an_answer_reaches_only_the_run_that_it_names(case: _Case):
    case.add(3)
    case.welcome()
    other = case.other_run()
    case.hear(Ack(run="run2", acked=1), Ack(run="nobody", acked=3))
    case.hear(Command(id="c1", run="run2", session="session1", name="save"))

    assert (case.outbox.acked, other.outbox.acked) == (0, 1)
    assert (len(case.commands), len(other.commands)) == (0, 1)


@pytest.mark.parametrize(
    "bad",
    [
        ErrorMessage(code="superseded", text="newer", fatal=True, run="run2"),
        ErrorMessage(code="unauthorized", text="no", fatal=True, run="run2"),
        ErrorMessage(code="quota", text="no", retry_ms=9000, run="run2"),
        ErrorMessage(code="busy", text="no", retry_ms=9000, run="run2"),
        ErrorMessage(code="invalid", text="no", fatal=True, run="run2"),
        Ack(run="run2", acked=9),
        HelloAgain(run="run2", acked=0),
        Nack(run="run2", first=1, n=1, why="poison"),
    ],
    ids=lambda bad: getattr(bad, "code", type(bad).__name__),
)
def test_what_goes_wrong_with_one_run_leaves_the_others_alone(
    case: _Case, bad: ErrorMessage | Ack | HelloAgain | Nack
):
    case.welcome()
    case.other_run()
    case.hear(bad)
    case.add(1)
    case.connection.step()

    assert case.delivery.phase is DeliveryPhase.LIVE
    assert case.wire.of(Batch)[-1].run in ("run1", "run2")
    assert [b.run for b in case.wire.of(Batch)].count("run1") == 1
    assert len(case.wires) == 1
    assert not case.wire.is_closed


def test_a_run_that_has_ended_is_no_longer_served(case: _Case):
    case.welcome()
    other = case.other_run()
    other.delivery.send_bye(case.wire, "finished")
    case.connection.remove(other.delivery)
    other.add(1)
    case.hear(Ack(run="run2", acked=1))

    assert [b.run for b in case.wire.of(Batch)] == ["run2"]
    assert case.delivery.phase is DeliveryPhase.LIVE


def test_pings_name_one_run_after_another(case: _Case):
    case.welcome()
    case.other_run()
    case.stay_connected(4)

    assert {ping.run for ping in case.wire.of(Ping)} == {"run1", "run2"}


def test_a_new_connection_greets_for_every_run(case: _Case):
    case.welcome()
    case.other_run()
    case.clock.move(3.0)
    case.connection.step()
    case.clock.move(0.2)
    case.connection.step()

    assert len(case.wires) == 2
    assert {hello.run for hello in case.wire.of(Hello)} == {"run1", "run2"}


def test_a_run_that_comes_later_is_greeted_on_the_same_connection(case: _Case):
    case.welcome()
    later = _Run(case, "run3")
    case.connection.add(later.delivery)
    case.connection.step()

    assert case.wire.of(Hello)[-1].run == "run3"
    assert len(case.wires) == 1
