"""The script's signals wait while a reload works, and all arrive when it is done."""

import contextlib
import faulthandler
import functools
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from kmonitor_agent.guard import FaultLog, is_from_signal_handler
from kmonitor_agent.reclaim.deferred_signals import (
    DeferredSignals,
    Handler,
    HandlerException,
    read_sigaction,
    write_sigaction,
)

CTRL_C = signal.SIGINT
TIME_LIMIT = signal.SIGUSR1
OTHER = signal.SIGUSR2


class TimeIsUp(Exception):
    pass


def time_is_up(number: int, frame: FrameType | None) -> None:
    raise TimeIsUp


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {each: signal.getsignal(each) for each in (CTRL_C, TIME_LIMIT, OTHER)}
    signal.signal(CTRL_C, signal.default_int_handler)
    signal.signal(TIME_LIMIT, time_is_up)
    signal.signal(OTHER, signal.SIG_IGN)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def signals() -> DeferredSignals:
    return DeferredSignals()


def all_handlers() -> dict[int, object]:
    return {each: signal.getsignal(each) for each in signal.valid_signals()}


def held(signals: DeferredSignals, *numbers: int, raised: Exception | None = None) -> list[str]:
    """Signals that arrive while they are held, in a block that then ends."""
    lines: list[str] = []
    with signals.delivered_after():
        signals.hold()
        for number in numbers:
            signal.raise_signal(number)
            lines.append("went on")
        if raised is not None:
            raise raised
    return lines


def test_what_came_arrives_at_the_end_and_all_handlers_are_the_scripts_again(
    signals: DeferredSignals,
):
    before = all_handlers()

    with pytest.raises(KeyboardInterrupt) as met:
        held(signals, CTRL_C)

    assert met.traceback[-1].name == "_raise_again"
    assert all_handlers() == before
    with pytest.raises(TimeIsUp):
        signal.raise_signal(TIME_LIMIT)


def test_where_nothing_came_nothing_happens(signals: DeferredSignals):
    before = all_handlers()
    assert held(signals) == []
    assert all_handlers() == before


def test_what_a_handler_raises_passes_whatever_answers_for_ours(signals: DeferredSignals):
    before = all_handlers()

    def act() -> None:
        with signals.delivered_after(), contextlib.suppress(Exception):
            signals.watch()
            signal.raise_signal(TIME_LIMIT)

    with pytest.raises(TimeIsUp):
        act()

    assert all_handlers() == before


def test_before_anything_is_held_a_signal_arrives_at_once(signals: DeferredSignals):
    with signals.delivered_after():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(CTRL_C)
        signals.hold()


def test_a_handler_that_raises_keeps_no_other_from_being_called(signals: DeferredSignals):
    with pytest.raises(KeyboardInterrupt) as met:
        held(signals, TIME_LIMIT, CTRL_C)

    assert isinstance(met.value.__context__, TimeIsUp)


def test_what_the_work_raised_is_not_lost(signals: DeferredSignals):
    with pytest.raises(TimeIsUp) as met:
        held(signals, TIME_LIMIT, raised=ValueError())

    assert isinstance(met.value.__context__, ValueError)


def test_only_the_outermost_block_delivers(signals: DeferredSignals):
    lines: list[str] = []

    def act() -> None:
        with signals.delivered_after():
            lines.extend(held(signals, CTRL_C))

    with pytest.raises(KeyboardInterrupt):
        act()

    assert lines == ["went on"]


def test_without_a_block_nothing_is_held(signals: DeferredSignals):
    before = all_handlers()
    signals.hold()
    assert all_handlers() == before


def test_another_thread_holds_nothing(signals: DeferredSignals):
    before, seen = all_handlers(), list[bool]()

    def work() -> None:
        with signals.delivered_after():
            signals.hold()
            seen.append(all_handlers() == before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]


def test_a_handler_that_was_set_meanwhile_stays(signals: DeferredSignals):
    def newer(number: int, frame: FrameType | None) -> None:
        raise NotImplementedError

    with signals.delivered_after():
        signals.hold()
        signal.signal(TIME_LIMIT, newer)

    assert signal.getsignal(TIME_LIMIT) is newer


def set_for(number: int) -> tuple[bytes, bytes]:
    """Handler and flags, as glibc has them; what it leaves behind its mask is no one's."""
    action = read_sigaction(number)
    assert action is not None
    return action[:8], action[136:140]


class Timer:
    """A handler that is an object."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    def method(self, number: int, frame: FrameType | None) -> None:
        raise TimeIsUp


@pytest.mark.parametrize(
    "handler", [time_is_up, Timer(), Timer().method, functools.partial(time_is_up)]
)
def test_what_a_handler_raised_is_told_from_a_fault_of_ours(handler: Handler):
    signal.signal(TIME_LIMIT, handler)

    with pytest.raises(TimeIsUp) as of_handler:
        signal.raise_signal(TIME_LIMIT)
    with pytest.raises(ZeroDivisionError) as of_ours:
        _ = 1 // 0

    assert is_from_signal_handler(of_handler.value)
    assert not is_from_signal_handler(of_ours.value)


@pytest.mark.parametrize("call", ["getsignal", "signal", "raise_signal"])
def test_where_the_system_refuses_nothing_is_raised_and_the_fault_is_counted(
    signals: DeferredSignals, monkeypatch: pytest.MonkeyPatch, call: str
):
    before, faults, real = all_handlers(), FaultLog(), getattr(signal, call)
    answers = iter([OSError("refused")])

    def refusing(*given: Any) -> Any:
        for refusal in answers:
            raise refusal
        return real(*given)

    monkeypatch.setattr(signal, call, refusing)
    assert signals.open()
    signals.hold()
    if call == "raise_signal":
        os.kill(os.getpid(), TIME_LIMIT)
    signals.close(faults)
    monkeypatch.undo()
    assert signals.open()
    signals.close(faults)

    assert faults.counts() == {"signals": 1}
    assert all_handlers() == before


def test_a_guard_counts_faults_of_ours_and_lets_pass_what_a_handler_raised():
    faults = FaultLog()

    with faults.guarded("ours"):
        raise ZeroDivisionError
    with pytest.raises(TimeIsUp), faults.guarded("of the script"):
        signal.raise_signal(TIME_LIMIT)

    assert faults.counts() == {"ours": 1}


def test_what_a_handler_raises_passes_a_hook_that_is_watched(signals: DeferredSignals):
    def work() -> None:
        with contextlib.suppress(Exception):  # as some calls in the midst of ours do
            signal.raise_signal(TIME_LIMIT)

    assert signals.open(is_watched=True)
    with pytest.raises(HandlerException) as passing:
        work()
    signals.close()

    assert isinstance(passing.value.error, TimeIsUp)
    with pytest.raises(TimeIsUp):
        signal.raise_signal(TIME_LIMIT)


def test_a_handler_that_the_script_lets_system_calls_go_on_after_still_does(
    signals: DeferredSignals,
):
    signal.siginterrupt(TIME_LIMIT, False)  # noqa: FBT003 - it takes no names
    before = set_for(TIME_LIMIT)

    with signals.delivered_after():
        signals.hold()
        assert set_for(TIME_LIMIT) != before

    assert set_for(TIME_LIMIT) == before


def test_a_handler_that_a_library_has_put_over_pythons_is_left_alone(signals: DeferredSignals):
    pythons = read_sigaction(OTHER)
    signal.signal(OTHER, time_is_up)
    faulthandler.register(OTHER)  # C's, and Python still names its own
    library = set_for(OTHER)
    try:
        with signals.delivered_after():
            signals.hold()
            assert set_for(OTHER) == library
        assert set_for(OTHER) == library
    finally:
        faulthandler.unregister(OTHER)
        write_sigaction(OTHER, pythons)


def test_ignored_signals_and_those_without_a_handler_are_left_alone(signals: DeferredSignals):
    with signals.delivered_after():
        signals.hold()
        assert signal.getsignal(OTHER) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def held_block(signals: DeferredSignals, lines: list[str]) -> None:
    with signals.held():
        signal.raise_signal(CTRL_C)
        lines.append("held")


def test_a_block_that_holds_delivers_at_its_end_and_what_follows_is_not_held(
    signals: DeferredSignals,
):
    lines: list[str] = []

    with signals.delivered_after():
        with pytest.raises(KeyboardInterrupt):
            held_block(signals, lines)
        with pytest.raises(HandlerException):
            signal.raise_signal(TIME_LIMIT)

    assert lines == ["held"]


def test_a_block_in_a_section_that_holds_delivers_nothing(signals: DeferredSignals):
    lines: list[str] = []

    def holding() -> None:
        with signals.delivered_after():
            signals.hold()
            held_block(signals, lines)
            lines.append("still held")

    with pytest.raises(KeyboardInterrupt):
        holding()

    assert lines == ["held", "still held"]


def test_a_block_outside_of_a_section_holds_nothing(signals: DeferredSignals):
    lines: list[str] = []

    with pytest.raises(KeyboardInterrupt):
        held_block(signals, lines)

    assert lines == []
