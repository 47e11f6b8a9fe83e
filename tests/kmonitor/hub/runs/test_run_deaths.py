"""State of a run whose process died, or is started again."""

import pytest

from kmonitor.hub.runs.apply_events import apply_event
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    EpochEnded,
    FitEnded,
    FitStarted,
    SessionDied,
    SessionEnded,
    SessionStarted,
)


def _training() -> RunRecord:
    record = RunRecord(key=1, run="run")
    apply_event(record, _boot("one", 100.0))
    apply_event(record, FitStarted(t_s=1.0, fit=1, model="model"))
    return record


def _boot(session: str, wall_s: float) -> SessionStarted:
    return SessionStarted(
        t_s=0.0, session=session, name="run", host="host", pid=5, started_wall_s=wall_s
    )


def test_a_run_killed_for_want_of_memory_has_failed_and_says_why():
    record = _training()

    apply_event(
        record,
        SessionDied(
            t_s=9.0, session="one", how="memory", signal="SIGKILL", why="out of memory: x"
        ),
    )

    told = record.summary()
    assert (told.state, told.state_why, told.cause) == (
        "failed",
        "out of memory: x",
        "out of memory",
    )


@pytest.mark.parametrize(("asked", "state"), [(True, "interrupted"), (False, "failed")])
def test_a_signal_that_was_asked_for_interrupts(*, asked: bool, state: str):
    record = _training()

    apply_event(
        record,
        SessionDied(t_s=9.0, session="one", how="signal", signal="SIGTERM", is_requested=asked),
    )

    assert (record.summary().state, record.summary().cause) == (state, "SIGTERM")


def test_ctrl_c_is_the_users_whoever_it_was_sent_to():
    record = _training()

    apply_event(record, SessionDied(t_s=9.0, session="one", how="signal", signal="SIGINT"))

    assert record.summary().state == "interrupted"


def test_run_that_a_limit_stopped_names_the_limit():
    record = _training()

    stop = ActionRecord(
        t_s=8.0,
        action="stop",
        ok=True,
        requested_by="limit ram 8 GiB",
        fit=1,
        epoch=2,
        seconds=0.0,
    )
    for event in (
        stop,
        FitEnded(t_s=8.5, fit=1, how="stopped"),
        SessionEnded(t_s=9.0, why="stopped"),
    ):
        apply_event(record, event)

    summary = record.summary()
    assert (summary.state, summary.state_why) == ("stopped", "requested by limit ram 8 GiB")


def test_a_fit_that_did_not_end_well_is_told_though_the_process_finished():
    record = _training()

    apply_event(record, FitEnded(t_s=2.0, fit=1, how="left", message="by sys.exit or so"))
    apply_event(record, SessionEnded(t_s=3.0, why="finished"))

    told = record.summary()
    assert (told.state, told.state_why) == (
        "finished",
        "the last fit ended early: by sys.exit or so",
    )


def test_a_run_that_starts_again_is_starting_until_its_next_process():
    record = _training()

    apply_event(record, SessionEnded(t_s=9.0, why="restart", supervisor=77))

    assert (record.state, record.supervisor) == ("starting", 77)
    apply_event(record, _boot("two", 130.0))
    assert (record.supervisor, record.summary().state) == (0, "idle")
    assert apply_event(record, FitStarted(t_s=2.0, fit=1, model="model", initial_epoch=3)) == 32.0
    assert record.state == "training"


@pytest.mark.parametrize("initial_epoch", [4, 0])
def test_a_resumed_run_that_dies_before_its_next_epoch_keeps_the_last_one(initial_epoch: int):
    record = _training()
    apply_event(record, EpochEnded(t_s=8.0, fit=1, epoch=3, steps=50, seconds=2.0))
    apply_event(
        record, SessionDied(t_s=9.0, session="one", how="memory", signal="SIGKILL", supervisor=7)
    )
    apply_event(record, _boot("two", 130.0))

    apply_event(
        record,
        FitStarted(t_s=2.0, fit=1, model="model", epochs=9, steps=50, initial_epoch=initial_epoch),
    )
    apply_event(record, SessionDied(t_s=3.0, session="two", how="memory", signal="SIGKILL"))

    told = record.summary()
    assert (told.state, told.epoch, told.epochs, told.step) == ("failed", 3, 9, 50)


def test_another_fit_has_no_epoch_before_its_first():
    record = _training()
    apply_event(record, EpochEnded(t_s=8.0, fit=1, epoch=3, steps=50, seconds=2.0))

    apply_event(record, FitStarted(t_s=9.0, fit=2, model="model"))

    assert (record.epoch, record.step) == (None, 0)


def test_a_crash_that_is_resumed_is_no_end():
    record = _training()

    apply_event(
        record,
        SessionDied(t_s=9.0, session="one", how="signal", signal="SIGSEGV", supervisor=7, why="y"),
    )

    assert (record.state, record.supervisor) == ("starting", 7)
    assert record.summary().state_why == "y; restarting in a new process"


def test_the_exception_that_a_process_told_of_says_more_than_its_status():
    record = _training()
    apply_event(
        record, SessionEnded(t_s=8.0, why="failed", error_type="ValueError", message="bad")
    )

    apply_event(
        record, SessionDied(t_s=9.0, session="one", how="status", status=1, why="exit status 1")
    )

    assert record.summary().state_why == "ValueError: bad"
