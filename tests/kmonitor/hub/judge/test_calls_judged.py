"""Runs of `evaluate` and `predict` without a fit: judged as they go, by the hub's own judge."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from msgspec import Struct

from kmonitor.cli.show.command import progress_text
from kmonitor.hub.judge.judge_thread import JudgeDispatcher, JudgeThread
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.ui.runs.run_states import run_state_label
from kmonitor_agent.wire.messages.events import (
    EpochStarted,
    FitStarted,
    KeptObjects,
    ObjectsCounted,
    Sample,
    SessionEnded,
)
from tests.support import hub_parts
from tests.support.hub_parts import HubParts
from tests.support.waiting import wait_until

parts = hub_parts.parts

MIB = 2.0**20


@dataclass(frozen=True, slots=True)
class Judging:
    """A hub's event log and its judge, without sockets."""

    parts: HubParts
    dispatcher: JudgeDispatcher

    def verdicts(self, record: RunRecord) -> dict[str, str]:
        """States of the metrics that grow, once there is one."""
        self.parts.event_log.commit()
        self.dispatcher.after_commit()

        def found() -> bool:
            self.dispatcher.dispatch_results()
            return bool(record.verdicts)

        wait_until(found, what="a verdict")
        return dict(record.verdicts)


@pytest.fixture
def judging(parts: HubParts) -> Iterator[Judging]:
    def send(_identity: bytes, _message: Struct) -> None:
        """Nobody asked."""

    thread = JudgeThread(parts.database.open_reader, lambda: None)
    thread.start()
    yield Judging(parts, JudgeDispatcher(parts.event_log, thread, parts.faults, send))
    thread.stop()


def sample(call: int, *, mib_a_call: float = 3.0, t_s: float = 0.0) -> Sample:
    """As each call takes a second and a half."""
    ram = (600.0 + mib_a_call * call) * MIB
    t_s = t_s or 1.5 * call
    return Sample(t_s=t_s, calls=call, ram_bytes=ram, ram_of_bytes=8e9, ram_left_bytes=8e9 - ram)


def counted(call: int) -> ObjectsCounted:
    kept = KeptObjects(
        kind="numpy.ndarray",
        count=call,
        n_bytes=call * 3.0 * MIB,
        shape="(16, 128, 128, 3)",
        dtype="float32",
        container="dict",
        place="__main__.REQUESTS",
    )
    return ObjectsCounted(1.5 * call + 0.5, 0, 0, 0.003, [kept])


def test_eight_calls_that_keep_arrays_are_called_growing(judging: Judging):
    record = judging.parts.started_run(pid=11)
    for call in range(1, 10):
        events = [sample(call), *([counted(call)] if call > 4 else [])]
        judging.parts.take(record, *events)

    assert judging.verdicts(record) == {"ram": "growing"}


def test_counts_that_lag_behind_samples_are_even_all_the_same(judging: Judging):
    """As a DQN whose `collect()` calls take a second each: two counts fall between two samples."""
    record = judging.parts.started_run(pid=11)
    sampled_s = (0.5, 1.7, 3.2, 4.3, 6.1, 7.8, 8.2, 9.8, 11.9, 13.1, 14.2)
    for call, t_s in enumerate(sampled_s, 1):
        judging.parts.take(record, sample(call, t_s=t_s), *([counted(call)] if call > 2 else []))

    assert judging.verdicts(record) == {"ram": "growing"}


def test_fifteen_calls_that_grow_without_a_count_are_called_growing(judging: Judging):
    record = judging.parts.started_run(pid=11)
    for call in range(1, 17):
        judging.parts.take(record, sample(call))

    assert judging.verdicts(record) == {"ram": "growing"}


def test_each_sample_with_a_new_call_is_to_be_judged(parts: HubParts):
    record = parts.started_run(pid=11)
    judged = parts.event_log.unit_ended

    def is_judged(event: Sample) -> bool:
        judged.clear()
        parts.take(record, event)
        return record.run in judged

    assert is_judged(sample(1))
    assert not is_judged(sample(1, t_s=2.5))
    assert is_judged(sample(2))


def test_a_run_of_calls_shows_them_instead_of_no_fit_yet(parts: HubParts):
    record = parts.started_run(pid=11)
    assert (record.state, progress_text(record.summary())) == ("starting", "no fit yet")

    parts.take(record, *(sample(call) for call in range(1, 37)))
    run = record.summary()

    assert run.state == "idle"
    assert progress_text(run) == "36 calls of predict, evaluate or collect()"
    label = run_state_label(run, now_wall_s=run.last_wall_s)
    assert label.label == "Running"
    assert label.why == "No fit has started; memory is judged from call to call."

    parts.take(record, SessionEnded(t_s=60.0, why="finished"))

    assert progress_text(record.summary()) == "36 calls of predict, evaluate or collect()"


def test_a_fit_after_calls_is_training(parts: HubParts):
    record = parts.started_run(pid=11)
    parts.take(record, sample(3), FitStarted(t_s=5.0, fit=1, model="m", epochs=2))
    parts.take(record, EpochStarted(t_s=5.1, fit=1, epoch=0))

    assert record.summary().state == "training"
    assert progress_text(record.summary()) == "fit 1, epoch 1 of 2, step 0"
