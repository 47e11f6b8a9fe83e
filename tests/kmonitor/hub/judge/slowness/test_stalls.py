"""A training that makes no step is reported while it waits, and no longer."""

from collections.abc import Iterator

import pytest

from kmonitor.hub.judge.slowness.stalls import StallMonitor
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.pages import PageRequest
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import (
    ActionRecord,
    CommandProgress,
    EpochEnded,
    EpochStarted,
    Event,
    FitEnded,
    FitStarted,
    Footprint,
    LimitCrossed,
    Notice,
    Paused,
    Sample,
)
from tests.support.hub_parts import HubParts

WORDS = "no step for 21 s within an epoch; the longest pause before that was 1 s"


@pytest.fixture
def run(parts: HubParts) -> Iterator[RunRecord]:
    """Trains since 30 s, a step each second, and hangs from then on."""
    parts.event_log.listeners.append(StallMonitor(parts.event_log).on_event)
    record = parts.started_run(pid=1)
    parts.take(record, FitStarted(t_s=0.0, fit=1, model="net", epochs=3, steps=1000))
    parts.take(record, *(at(second, second) for second in range(1, 31)))
    yield record
    parts.event_log.listeners.clear()


def at(t_s: float, step: int, *, epoch: int = 0) -> Event:
    return Sample(t_s=t_s, fit=1, epoch=epoch, step=step)


def hang(parts: HubParts, run: RunRecord, from_s: int = 31, seconds: int = 21) -> None:
    parts.take(run, *(at(from_s + second, 30) for second in range(seconds)))


def notices(parts: HubParts, run: RunRecord) -> list[Notice]:
    parts.event_log.commit()
    page = parts.database.page(PageRequest(0, 1000, (run.key,), ("notice",)))
    found = [decode_event(row[4]) for row in page.rows]
    return [event for event in found if isinstance(event, Notice)]


def test_a_hang_is_told_once_and_stands_in_the_summary(parts: HubParts, run: RunRecord):
    hang(parts, run, seconds=20)
    assert run.summary().stalled_wall_s is None

    hang(parts, run, from_s=51, seconds=1)
    assert [(each.code, each.level, each.text) for each in notices(parts, run)] == [
        ("no_steps", "warning", WORDS)
    ]
    summary = run.summary()
    assert (summary.state, summary.state_why) == ("training", WORDS)
    assert summary.stalled_wall_s == parts.clock.wall_s() - 21.0

    hang(parts, run, from_s=52, seconds=60)
    assert len(notices(parts, run)) == 1
    assert run.summary().state_why.startswith("no step for 81 s")


def test_it_is_over_when_a_step_is_made(parts: HubParts, run: RunRecord):
    hang(parts, run)

    parts.take(run, at(60.0, 31))

    told = notices(parts, run)[-1]
    assert (told.code, told.text) == (
        "steps_again",
        "steps are running again after 30 s without a step",
    )
    assert (run.summary().state_why, run.summary().stalled_wall_s) == ("", None)


@pytest.mark.parametrize(
    "event",
    [
        Paused(t_s=30.5, paused=True),
        CommandProgress(t_s=30.5, id="a", name="diagnose", state="started"),
        CommandProgress(t_s=30.5, id="a", name="save", state="started"),
        LimitCrossed(t_s=30.5, metric="ram", action="reload", value=2.0, threshold=1.0),
        FitEnded(t_s=30.5, fit=1, how="finished"),
    ],
)
def test_what_was_asked_for_is_no_hang(parts: HubParts, run: RunRecord, event: Event):
    parts.take(run, event)
    hang(parts, run, seconds=200)

    assert notices(parts, run) == []


def test_after_an_action_the_step_that_is_traced_anew_is_awaited(parts: HubParts, run: RunRecord):
    crossed = LimitCrossed(t_s=30.5, metric="ram", action="reload", value=2.0, threshold=1.0)
    before = Footprint()
    done = ActionRecord(
        t_s=31.5, action="reload", ok=True, requested_by="limit", fit=1, epoch=0, seconds=1.0,
        before=before,
    )  # fmt: skip
    parts.take(run, crossed, done)
    hang(parts, run, from_s=32, seconds=200)
    assert notices(parts, run) == []

    parts.take(run, *(at(231.0 + n, 30 + n) for n in range(1, 20)))
    parts.take(run, *(at(250.0 + n, 49) for n in range(1, 30)))
    assert [each.code for each in notices(parts, run)] == ["no_steps"]


def test_an_action_that_nobody_tells_of_is_over_with_the_epoch(parts: HubParts, run: RunRecord):
    crossed = LimitCrossed(t_s=30.5, metric="ram", action="reload", value=2.0, threshold=1.0)
    parts.take(run, crossed, at(31.0, 30), EpochStarted(t_s=31.5, fit=1, epoch=1))
    parts.take(run, *(at(31.0 + n, n, epoch=1) for n in range(1, 20)))
    parts.take(run, *(at(50.0 + n, 19, epoch=1) for n in range(1, 30)))

    assert [each.code for each in notices(parts, run)] == ["no_steps"]


def test_long_pauses_are_told_in_whole_seconds(parts: HubParts, run: RunRecord):
    parts.take(run, *(at(30.0 + n, 30) for n in range(1, 15)), at(45.0, 31))
    parts.take(run, *(at(45.0 + n, 31) for n in range(1, 50)))

    assert notices(parts, run)[0].text.endswith("the longest pause before that was 15 s")


def test_a_run_that_ends_or_sends_nothing_is_told_by_that(parts: HubParts, run: RunRecord):
    hang(parts, run)
    run.liveness, run.liveness_why = "silent", "no data for 5 s"
    assert run.summary().state_why == "no data for 5 s"
    assert run.summary().stalled_wall_s is None

    run.liveness = ""
    parts.take(run, FitEnded(t_s=80.0, fit=1, how="failed"))
    assert run.summary().stalled_wall_s is None
    assert run.stalled_since_s is None


def test_another_hub_keeps_what_was_told_until_a_step_is_made(parts: HubParts, run: RunRecord):
    hang(parts, run)
    parts.event_log.commit()
    parts.reopen()
    parts.event_log.listeners[:] = [StallMonitor(parts.event_log).on_event]
    record = parts.event_log.registry.get(run.run)
    assert record is not None

    hang(parts, record, from_s=52)
    assert record.summary().stalled_wall_s is not None

    parts.take(record, at(80.0, 31))
    assert record.summary().stalled_wall_s is None


def test_an_epoch_tells_how_many_steps_it_has(parts: HubParts):
    parts.event_log.listeners.append(StallMonitor(parts.event_log).on_event)
    record = parts.started_run(pid=1)
    parts.take(record, FitStarted(t_s=0.0, fit=1, model="net"))
    parts.take(record, *(at(second, second) for second in range(1, 31)))
    parts.take(record, *(at(30.0 + second, 30) for second in range(1, 100)))
    assert notices(parts, record) == []

    parts.take(record, EpochEnded(t_s=130.0, fit=1, epoch=0, seconds=130.0, steps=30))
    parts.take(record, *(at(130.0 + n, n, epoch=1) for n in range(1, 15)))
    parts.take(record, *(at(144.0 + n, 14, epoch=1) for n in range(1, 30)))
    assert [each.code for each in notices(parts, record)] == ["no_steps"]


def test_folds_are_left_to_their_study(parts: HubParts, run: RunRecord):
    run.study = "s"
    hang(parts, run, seconds=100)

    assert notices(parts, run) == []


@pytest.mark.parametrize(
    ("memory", "disk", "words"),
    [
        (0.45, 0.9, f"{WORDS}; tasks are waiting for memory 45% of the time"),
        (0.0, 0.9, f"{WORDS}; tasks are waiting for the disk 90% of the time"),
        (0.1, 0.2, WORDS),
    ],
)
def test_pressure_that_explains_a_hang_is_told(
    parts: HubParts, run: RunRecord, memory: float, disk: float, words: str
):
    for t_s in range(31, 52):
        sample = Sample(
            t_s=float(t_s),
            fit=1,
            step=30,
            memory_pressure_fraction=memory,
            io_pressure_fraction=disk,
        )
        parts.take(run, sample)

    assert [each.text for each in notices(parts, run)] == [words]
