"""Report on an attempt that died, by what was seen of it; without processes."""

import signal
from typing import Any, cast

import pytest

from kmonitor_agent.probes.held_memory import ProcessPages
from kmonitor_agent.studies import local_attempt
from kmonitor_agent.studies.bounds import StepGaps, TimeBound
from kmonitor_agent.studies.fold_messages import FoldReady, FunctionReturned
from kmonitor_agent.studies.local_attempt import AttemptBounds, LocalAttempt
from kmonitor_agent.wire.local.control_groups import OomKillCounts

MIB = 2**20


class MadeUpProcess:
    """A process that reports and holds what a test says."""

    def __init__(self) -> None:
        self.pid = 7
        self.code: int | None = None
        self.held = 40 * MIB
        self.tidings: list[object] = [FoldReady()]

    def receive(self) -> list[object]:
        return self.tidings

    def exit_code(self) -> int | None:
        return self.code

    def processes(self) -> list[int]:
        return [self.pid]

    def go(self) -> bool:
        return True

    def bound_output(self) -> None: ...

    def end(self) -> None:
        self.code = -signal.SIGKILL

    def tail(self) -> str:
        return ""


class MadeUpGroup:
    """A control group in which the kernel killed once, or so often as is said."""

    def __init__(self, n_kills: int = 1) -> None:
        self.n_kills = n_kills

    def kills(self) -> int:
        return self.n_kills

    peak_name = "memory.peak"

    def peak_bytes(self) -> int:
        return 2**30

    def remove_soon(self) -> None: ...


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> MadeUpProcess:
    made_up = MadeUpProcess()
    monkeypatch.setattr(local_attempt, "read_pages", lambda _: ProcessPages(made_up.held))
    monkeypatch.setattr(local_attempt, "read_oom_kills", lambda: OomKillCounts(host=0))
    return made_up


def attempt_of(process: MadeUpProcess, group: MadeUpGroup | None = None) -> LocalAttempt:
    bounds = AttemptBounds(2**30 if group else None, TimeBound(None), StepGaps(), [])
    made = LocalAttempt(0, 1, cast("Any", process), bounds, cgroup=cast("Any", group))
    made.began_s = 1.0
    return made


def test_a_fold_that_died_did_not_shrink(process: MadeUpProcess):
    attempt = attempt_of(process)
    attempt.poll(1.1)
    process.held = 50 * MIB
    attempt.poll(1.2)
    process.held = 0  # a zombie holds nothing
    attempt.poll(1.3)
    process.code = -signal.SIGSEGV

    assert attempt.poll(1.4)
    ended = attempt.finish(1.4)

    assert (ended.cause, ended.signal) == ("killed", "SIGSEGV")
    assert ended.growth_bytes == 10 * MIB
    assert ended.peak_bytes == 50 * MIB


def test_a_fold_that_returned_and_does_not_leave_is_ended_and_says_so(process: MadeUpProcess):
    attempt = attempt_of(process)
    process.tidings = [FoldReady(), FunctionReturned("finished")]
    attempt.poll(2.0)
    process.tidings = []

    assert not attempt.poll(2.0 + 15.0)
    assert not attempt.poll(2.0 + 15.1)
    assert attempt.poll(2.0 + 15.2)
    ended = attempt.finish(2.0 + 15.2)
    assert ended.cause == "finished"
    assert "did not exit within 15 s" in ended.why


def test_a_kill_at_the_folds_own_bound_is_not_the_hosts(
    process: MadeUpProcess, monkeypatch: pytest.MonkeyPatch
):
    attempt = attempt_of(process, MadeUpGroup())
    process.code = -signal.SIGKILL
    monkeypatch.setattr(local_attempt, "read_oom_kills", lambda: OomKillCounts(host=1))

    attempt.poll(1.1)
    ended = attempt.finish(1.1)

    assert ended.cause == "out_of_memory"
    assert (
        ended.why
        == "the kernel killed it when it reached memory=1.0 GiB (RAM peak by memory.peak)"
    )
    assert ended.peak_bytes == 2**30


@pytest.mark.parametrize(("shares", "is_killed"), [(40 * MIB, False), (2**31, True)])
def test_no_fold_is_killed_for_an_estimate_of_what_its_children_hold(
    process: MadeUpProcess, monkeypatch: pytest.MonkeyPatch, *, shares: int, is_killed: bool
):
    class Estimated:
        """Children that seem to hold too much until their shares are read."""

        is_due = False

        def __init__(self, _: int) -> None:
            self.added_bytes = 2**31

        def read_slowly(self, children: set[int]) -> None:
            assert children == {8}
            self.added_bytes = shares

        def children_bytes(self, _children: set[int], _pages: ProcessPages) -> int:
            return self.added_bytes

    monkeypatch.setattr(local_attempt, "FamilyMemory", Estimated)
    monkeypatch.setattr(process, "processes", lambda: [7, 8])
    attempt = attempt_of(process, MadeUpGroup(0))

    attempt.poll(1.1)

    assert (process.code is not None) == is_killed
    assert attempt.held_bytes == process.held + shares
