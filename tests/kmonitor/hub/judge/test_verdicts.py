"""Verdicts in the hub: judged beside its loop, stored as its own, sent on request."""

import sqlite3
import threading
from collections.abc import Callable, Iterator

import msgspec
import pytest

from kmonitor.connect.hub_client import HubClient, HubRefused
from kmonitor.hub.judge import judge_thread
from kmonitor.hub.judge.judge_thread import MAX_WAITING, JudgeDispatcher, JudgeThread
from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.hub.runs.hub_event_log import read_event_body
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.pages import PageRequest
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import MalformedMessage, decode_event, encode_event
from kmonitor_agent.wire.messages.events import Event, SessionEnded, Verdict
from kmonitor_agent.wire.messages.unions import ErrorMessage, VerdictsReply, VerdictsRequest
from tests.support.growing_run import Growing, events_of
from tests.support.hub_parts import HubParts
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_S, wait_until

LEAK = Growing(ram_mib=8.0, traces=2, retained=2, function="train_function")


class Bench:
    """Event log, desk and what is between them; `sent` is what desktops received."""

    def __init__(self, parts: HubParts) -> None:
        self.parts = parts
        self.has_found = threading.Event()
        self.desk = JudgeThread(parts.database.open_reader, self.has_found.set)
        self.sent: list[tuple[bytes, msgspec.Struct]] = []
        self.judging = JudgeDispatcher(
            parts.event_log,
            self.desk,
            parts.faults,
            lambda who, told: self.sent.append((who, told)),
        )
        self.record = parts.started_run(pid=1)

    def take(self, *events: Event) -> None:
        """Store events and have the run judged."""
        self.parts.take(self.record, *events)
        assert self.parts.event_log.commit()
        self.judging.after_commit()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Store and answer what is found until something holds."""

        def look() -> object:
            self.judging.dispatch_results()
            assert self.parts.event_log.commit()
            return condition()

        wait_until(look, what=what)

    def verdicts(self) -> list[tuple[int, Verdict]]:
        """(seq, verdict) of all that are stored."""
        wanted = PageRequest(0, 1000, (self.record.key,), ("verdict",))
        rows = self.parts.database.page(wanted).rows
        found = [(seq, decode_event(body)) for _, _, seq, _, body in rows]
        return [(seq, event) for seq, event in found if isinstance(event, Verdict)]


@pytest.fixture
def bench(parts: HubParts) -> Iterator[Bench]:
    bench = Bench(parts)
    yield bench
    bench.desk.stop()


def test_a_leak_is_stored_and_marked_in_the_runs_summary(bench: Bench):
    bench.desk.start()

    bench.take(*events_of(LEAK, 40))
    bench.until(bench.verdicts, "verdicts are stored")

    ram = [one for _, one in bench.verdicts() if one.metric == "ram"]
    assert (ram[0].state, ram[0].turned) == ("suspected", True)
    assert bench.record.summary().verdicts["ram"] == "suspected"
    assert "step_time" not in bench.record.summary().verdicts


def test_a_verdict_takes_no_number_of_the_agents(bench: Bench):
    accepted = bench.record.accepted
    n_events = len(list(events_of(LEAK, 40)))
    bench.desk.start()

    bench.take(*events_of(LEAK, 40))
    bench.until(bench.verdicts, "verdicts are stored")

    assert bench.record.accepted == accepted + n_events
    assert all(seq < 0 for seq, _ in bench.verdicts())
    bench.parts.reopen()
    again = bench.parts.event_log.registry.get(bench.record.run)
    assert again is not None
    assert again.accepted == accepted + n_events
    assert again.verdicts["ram"] == "suspected"


def test_a_verdict_of_a_training_is_refused():
    told = Verdict(t_s=1.0, metric="ram", state="steady", per="epoch")

    with pytest.raises(MalformedMessage, match="only the hub computes verdicts"):
        read_event_body(1, encode_event(told))


def test_a_run_that_was_never_judged_is_judged_when_asked(bench: Bench):
    # As a hub without judgement has left it.
    bench.parts.take(bench.record, *events_of(LEAK, 40), SessionEnded(t_s=401.0, why="finished"))
    assert bench.parts.event_log.commit()
    bench.desk.start()

    assert bench.desk.add_request(
        b"who", VerdictsRequest(request_id=7, run=bench.record.run), bench.record.key
    )
    bench.until(lambda: bench.sent, "an answer")

    ((who, told),) = bench.sent
    assert isinstance(told, VerdictsReply)
    assert (who, told.request_id) == (b"who", 7)
    assert [(one.metric, one.state) for one in told.verdicts] == [
        ("ram", "suspected"),
        ("graph", "suspected"),
        ("step_time", "steady"),
    ]


def test_who_would_take_part_is_answered_with_what_is_stored_and_the_rest_is_read_on(
    bench: Bench,
):
    bench.parts.take(bench.record, *events_of(LEAK, 40))
    assert bench.parts.event_log.commit()
    stored = Verdict(t_s=1.0, metric="ram", state="growing", per="epoch")
    bench.parts.event_log.append_verdict(bench.record, stored)
    assert bench.parts.event_log.commit()
    desk = JudgeThread(
        bench.parts.database.open_reader, lambda: None, partial_after_s=0.0, part_samples=5
    )
    judging = JudgeDispatcher(
        bench.parts.event_log,
        desk,
        bench.parts.faults,
        lambda who, told: bench.sent.append((who, told)),
    )
    run = bench.record.run

    def until(n_sent: int) -> None:
        wait_until(lambda: judging.dispatch_results() or len(bench.sent) == n_sent)

    desk.start()
    try:
        for number, partial in ((1, True), (2, False)):
            asked = VerdictsRequest(request_id=number, run=run, partial=partial)
            assert desk.add_request(b"who", asked, bench.record.key, bench.record.rows)
            until(number)
    finally:
        desk.stop()

    part, whole = (told for _, told in bench.sent)
    assert isinstance(part, VerdictsReply)
    assert isinstance(whole, VerdictsReply)
    assert [(one.metric, one.state) for one in part.verdicts] == [("ram", "growing")]
    assert 0 < part.unread <= bench.record.rows
    assert [one.state for one in whole.verdicts] == ["suspected", "suspected", "steady"]
    assert whole.unread == 0


def test_a_run_without_an_epoch_has_no_verdict(bench: Bench):
    assert bench.parts.event_log.commit()
    bench.desk.start()

    bench.desk.add_request(
        b"who", VerdictsRequest(request_id=1, run=bench.record.run), bench.record.key
    )
    bench.until(lambda: bench.sent, "an answer")

    assert bench.sent == [(b"who", VerdictsReply(request_id=1, run=bench.record.run))]


def test_a_fault_of_the_judgement_is_counted_and_the_next_look_works(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    def broken(*_args: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr("kmonitor.hub.judge.judge_thread.read_part", broken)
        bench.desk.start()
        bench.take(*events_of(LEAK, 40))
        bench.desk.add_request(
            b"who", VerdictsRequest(request_id=3, run=bench.record.run), bench.record.key
        )
        bench.until(lambda: bench.sent, "an answer")
        bench.until(
            lambda: bench.parts.faults.fault_counts().get("verdicts"), "a fault is counted"
        )
    told = bench.sent[0][1]
    assert isinstance(told, ErrorMessage)
    assert told.retry_ms > 0

    bench.take(*events_of(LEAK, 1, first=40))

    bench.until(bench.verdicts, "verdicts are stored")


def test_looks_that_come_too_fast_are_dropped_and_counted(bench: Bench):
    # The thread does not run: nothing is taken out.
    for number in range(MAX_WAITING + 3):
        bench.desk.schedule_run(f"run {number}", number)
    bench.desk.schedule_run("run 0", 0)

    bench.judging.after_commit()

    assert bench.desk.dropped == 3
    assert bench.parts.faults.fault_counts() == {"verdicts: behind": 1}


def test_of_a_thousand_living_runs_none_is_read_from_its_beginning_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    begun: list[int] = []

    def read_all(_connection: object, key: int, judge: RunJudge) -> int:
        begun.append(key)
        judge.row = 10**9
        return 0

    monkeypatch.setattr(judge_thread, "read_packed", read_all)
    runs = [bench.parts.started_run(pid=1) for _ in range(1000)]
    assert bench.parts.event_log.commit()
    for record in runs:
        bench.desk.schedule_run(record.run, record.key)
    bench.desk.start()
    wait_until(lambda: len(begun) >= len(runs), what="all were read")

    for record in runs:
        bench.desk.schedule_run(record.run, record.key)
    for at in range(2):  # the second answer comes after all that was scheduled before the first
        request = VerdictsRequest(request_id=at, run=runs[0].run)
        bench.desk.add_request(b"last", request, runs[0].key)
        wait_until(bench.desk.pop_results, what="it is answered")

    assert len(begun) == len(runs)


def test_verdicts_of_a_run_that_was_deleted_go_nowhere(bench: Bench):
    bench.desk.start()
    bench.take(*events_of(LEAK, 40))
    assert bench.has_found.wait(DEADLINE_S)
    bench.parts.event_log.registry.delete(bench.record)

    bench.judging.dispatch_results()

    assert bench.parts.event_log.commit()
    assert bench.verdicts() == []


def test_a_record_of_an_earlier_version_has_no_marks():
    body = msgspec.msgpack.encode({"key": 1, "run": "r", "session": "b", "host": "h"})

    assert msgspec.msgpack.decode(body, type=RunRecord).summary().verdicts == {}


@pytest.mark.slow
def test_a_living_hub_streams_verdicts_as_its_own_and_tells_them(
    client: HubClient, folders: Folders
):
    with SimulatedAgent(folders) as agent:
        for event in events_of(LEAK, 40):
            agent.emit(event)
        agent.wait_acked()
        rows = wait_until(
            lambda: client.rows(runs=[agent.run], kinds=["verdict"]).rows, what="verdicts"
        )
        told = client.verdicts(agent.run)

    assert rows is not None
    assert {row.seq for row in rows} == {0}
    assert told[0].state == "suspected"
    with pytest.raises(HubRefused):
        client.verdicts("unknown")
