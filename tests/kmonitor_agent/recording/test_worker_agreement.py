"""Workers agree at an epoch's end: all act or none does, whoever called, failed or is absent."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from kmonitor_agent.frameworks.tensorflow.workers import WorkerGroup
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.recording import worker_agreement
from kmonitor_agent.recording.action_requests import ActionRequest
from kmonitor_agent.recording.worker_agreement import WorkerAgreement
from kmonitor_agent.wire.messages.events import Footprint
from tests.support.waiting import DEADLINE_S

MEMBERS = ("worker 0", "worker 1")


@dataclass
class Notes:
    """A board in memory, for all workers of a test."""

    notes: dict[str, str] = field(default_factory=dict[str, str])
    changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, key: str, text: str) -> bool:
        with self.changed:
            is_first = key not in self.notes
            self.notes.setdefault(key, text)
            self.changed.notify_all()
        return is_first

    def read(self, key: str, timeout_s: float) -> str | None:
        with self.changed:
            self.changed.wait_for(lambda: key in self.notes, timeout_s)
            return self.notes.get(key)

    def forget(self, key: str) -> None:
        self.notes.pop(key, None)


def worker(board: Any, number: int) -> WorkerAgreement:
    return WorkerAgreement(WorkerGroup(2, MEMBERS[number], number == 0, MEMBERS), board)


def outcome(why: str = "") -> ReclaimOutcome:
    return ReclaimOutcome(ok=not why, action="reload", seconds=0.0, before=Footprint(), why=why)


def at_the_end(who: WorkerAgreement, epoch: int, said: list[Any], fails: str = "") -> None:
    """The session's result at an epoch's end; the outcome goes to `said`, or None."""
    called = who.called_by(epoch)
    if not called:
        said.append(None)
        return

    def act() -> ReclaimOutcome:
        return outcome(fails or who.all_prepared())

    said.append((called, who.act_together(act, outcome)))


def together(*ends: Callable[[], None]) -> None:
    threads = [threading.Thread(target=end) for end in ends]
    for each in threads:
        each.start()
    for each in threads:
        each.join(DEADLINE_S)


def test_when_nobody_called_nobody_waits() -> None:
    board = Notes()
    said: list[Any] = []

    for n in range(2):
        at_the_end(worker(board, n), 0, said)

    assert said == [None, None]


def test_what_one_asks_for_is_done_by_both() -> None:
    board, said = Notes(), list[Any]()
    chief, other = worker(board, 0), worker(board, 1)

    assert other.call(ActionRequest("reload"), 3) == ""
    together(lambda: at_the_end(chief, 3, said), lambda: at_the_end(other, 3, said))

    assert [(called, each.ok) for called, each in said] == [("script, on worker 1", True)] * 2


def test_who_calls_too_late_meets_at_the_next_epochs_end() -> None:
    board, said = Notes(), list[Any]()
    chief, other = worker(board, 0), worker(board, 1)
    at_the_end(chief, 3, said)

    assert other.call(ActionRequest("reload"), 3) == ""
    at_the_end(other, 3, said)
    together(lambda: at_the_end(chief, 4, said), lambda: at_the_end(other, 4, said))

    assert said[:2] == [None, None]
    assert [each.ok for _, each in said[2:]] == [True, True]


def test_when_one_cannot_save_none_acts_and_both_say_why() -> None:
    board, said = Notes(), list[Any]()
    chief, other = worker(board, 0), worker(board, 1)
    chief.call(ActionRequest("reload"), 0)

    together(
        lambda: at_the_end(chief, 0, said, fails="no room"), lambda: at_the_end(other, 0, said)
    )

    for _, each in said:
        assert not each.ok
        assert each.why == "no worker reloaded: the reload failed on worker 0: no room"


def test_who_does_not_come_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_agreement, "COMES_WITHIN_S", 0.05)
    board, said = Notes(), list[Any]()
    other = worker(board, 1)

    for epoch in range(2):
        other.call(ActionRequest("reload"), epoch)
        at_the_end(other, epoch, said)
        monkeypatch.setattr(worker_agreement, "COMES_WITHIN_S", 60.0)

    assert [each.ok for _, each in said] == [False, False]
    assert "worker 0 did not respond" in said[0][1].why
    assert "will not be retried in this fit" in said[1][1].why


def test_who_comes_when_the_others_gave_up_does_not_act(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_agreement, "COMES_WITHIN_S", 0.05)
    board, said = Notes(), list[Any]()
    chief, other = worker(board, 0), worker(board, 1)
    other.call(ActionRequest("reload"), 0)

    at_the_end(other, 0, said)
    at_the_end(chief, 0, said)

    assert [each.ok for _, each in said] == [False, False]
