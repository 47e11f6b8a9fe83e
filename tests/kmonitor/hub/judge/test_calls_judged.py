"""Runs of `evaluate` and `predict` without a fit: judged as they go, by the hub's own judge."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kmonitor.cli.show.command import progress_text
from kmonitor.hub.judge.judge_thread import JudgeDispatcher, JudgeThread
from kmonitor.hub.judge.run_judge import RunJudge
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
from kmonitor_agent.wire.messages.verdict_events import VerdictMetric, VerdictState
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

    def verdicts(self, record: RunRecord) -> dict[VerdictMetric, VerdictState]:
        """States of the metrics that grow, once there is one."""
        self.parts.event_log.commit()
        self.dispatcher.after_commit()

        def found() -> bool:
            self.dispatcher.dispatch_results()
            return bool(record.verdicts)

        wait_until(found, what="a verdict")
        return record.verdicts.copy()


@pytest.fixture
def judging(parts: HubParts) -> Iterator[Judging]:
    def send(_identity: bytes, _message: Struct) -> None:
        """Nobody asked."""

    thread = JudgeThread(parts.database.open_reader, lambda: None)
    thread.start()
    yield Judging(parts, JudgeDispatcher(parts.event_log, thread, parts.faults, send))
    thread.stop()


def sample(call: int, *, mib_a_call: float = 3.0, t_s: float | None = None) -> Sample:
    """As each call takes a second and a half."""
    ram = (600.0 + mib_a_call * call) * MIB
    t_s = 1.5 * call if t_s is None else t_s
    return Sample(t_s=t_s, calls=call, ram_bytes=ram, ram_of_bytes=8e9, ram_left_bytes=8e9 - ram)


def kept(call: int, *, mib: float = 3.0) -> KeptObjects:
    return KeptObjects(
        kind="numpy.ndarray",
        count=call,
        n_bytes=call * mib * MIB,
        shape="(16, 128, 128, 3)",
        dtype="float32",
        container="dict",
        place="__main__.REQUESTS",
    )


def counted(call: int) -> ObjectsCounted:
    return ObjectsCounted(1.5 * call + 0.5, 0, 0, 0.003, [kept(call)])


def test_eight_calls_that_keep_arrays_are_called_growing(judging: Judging):
    record = judging.parts.started_run(pid=11)
    for call in range(1, 10):
        events = [sample(call), *([counted(call)] if call > 4 else [])]
        judging.parts.take(record, *events)

    assert judging.verdicts(record) == {"ram": "growing"}


def test_counts_between_uneven_samples_are_even_in_time():
    """A DQN whose `collect()` takes most of a second: samples come late, with calls between."""
    sampled = [(0.0, 1, 268.9), (2.5, 3, 274.4), (3.0, 4, 274.9), (4.1, 5, 276.2), (6.4, 6, 279.7)]
    sampled += [(7.3, 7, 281.3), (8.1, 8, 283.0), (9.0, 9, 284.7), (10.1, 11, 284.2)]
    sampled += [(12.1, 13, 291.5), (13.1, 14, 293.1)]
    counted_s = (2.98, 4.08, 5.28, 6.38, 7.29, 8.11, 9.04, 10.14, 11.11, 11.72, 12.36)
    samples = [
        replace(sample(call, t_s=t_s), ram_bytes=mib * MIB, ram_left_bytes=None)
        for t_s, call, mib in sampled
    ]
    counts = [
        replace(counted(5 + number), t_s=t_s, kept=[kept(5 + number, mib=1.6262)])
        for number, t_s in enumerate(counted_s)
    ]
    judge = RunJudge()
    for event in sorted([*samples, *counts], key=lambda event: event.t_s):
        judge.read(event.t_s, event)
        judge.judge()

    assert [verdict.state for verdict in judge.newest_verdicts()] == ["growing"]


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
