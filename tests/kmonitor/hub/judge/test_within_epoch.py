"""Growth within an epoch, by its steps: soon, and not where data are kept once."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.epoch_segments import EpochSegments
from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FieldSource,
    FieldSources,
    FitStarted,
    Sample,
    SessionStarted,
    Verdict,
)
from kmonitor_agent.wire.messages.fields import new_id

MIB, GIB = 2.0**20, 2.0**30
STEPS_A_SECOND = 19


def events_of(
    seconds: int,
    ram_mib: Callable[[int], float],
    *,
    epochs: int = 1,
    steps: int | None = None,
    step: Callable[[int], int] = lambda second: STEPS_A_SECOND * second,
) -> Iterator[tuple[float, Event]]:
    """One epoch, sampled each second."""
    begun = SessionStarted(
        t_s=0.0, session=new_id(), name="r", host="h", pid=1, started_wall_s=1.0, backend="b"
    )
    yield 0.0, begun
    yield 0.0, FitStarted(t_s=0.0, fit=1, model="m", epochs=epochs, steps=steps)
    yield 0.0, EpochStarted(t_s=0.0, fit=1, epoch=0)
    for second in range(1, seconds + 1):
        yield (
            float(second),
            Sample(
                t_s=float(second),
                fit=1,
                epoch=0,
                step=step(second),
                ram_bytes=ram_mib(second) * MIB,
                ram_of_bytes=8 * GIB,
            ),
        )


def judged(events: Iterator[tuple[float, Event]]) -> tuple[RunJudge, list[tuple[float, Verdict]]]:
    """As the hub does, each five seconds."""
    judge, told, looked_s = RunJudge(), list[tuple[float, Verdict]](), 0.0
    for t_s, event in events:
        judge.read(t_s, event)
        if t_s - looked_s >= 5.0 or isinstance(event, EpochEnded):
            looked_s = t_s
            told += [(t_s, one) for one in judge.judge() if one.metric == "ram"]
    return judge, told


def noise(second: int) -> float:
    return float(np.random.default_rng(second).normal(0.0, 1.0))


def test_growth_by_the_step_is_straight_though_steps_slow_down_and_samples_lag():
    """As tensorflow#31842: the traces that each step leaves make the next one slower."""

    def step(second: int) -> int:
        return int(600.0 * second**0.8) - 100 * (second % 3)

    events = [
        (t_s, replace(event, functions=float(step(int(t_s)) // 5)))
        if isinstance(event, Sample)
        else (t_s, event)
        for t_s, event in events_of(25, lambda s: 600.0 + 0.05 * step(s), step=step)
    ]
    judge, _ = judged(iter(events))

    (now,) = judge.newest_verdicts()
    assert (now.state, now.cause) == ("growing", "retracing")
    assert now.slope == pytest.approx(0.05 * MIB, rel=0.01)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_cache_that_is_full_amid_the_epoch_explains_nothing_after_that(*, goes_on: bool):
    """`cache().repeat()` and one epoch: 40 s until each element was read once."""
    full_s = 40

    def ram(second: int) -> float:
        return 600.0 + 10.0 * (second if goes_on else min(second, full_s)) + noise(second)

    events = [
        (
            t_s,
            replace(event, cache_steps=full_s * STEPS_A_SECOND, cache_bytes=10.0 * full_s * MIB)
            if isinstance(event, FitStarted)
            else event,
        )
        for t_s, event in events_of(100, ram)
    ]
    judge, told = judged(iter(events))

    called_s = [t_s for t_s, one in told if one.state == "growing"]
    assert any(one.cause == "filling" and t_s <= full_s for t_s, one in told)
    assert all(t_s > full_s for t_s in called_s)
    assert bool(called_s) == goes_on
    (now,) = judge.newest_verdicts()
    assert now.cause != "filling"


def test_code_compiled_for_ever_new_shapes_is_named_within_an_epoch():
    """As keras-cv#2406: each batch has a new shape, and its own program."""
    events = [
        (t_s, replace(event, code_regions=25.0 * (int(t_s) // 6)))
        if isinstance(event, Sample)
        else (t_s, event)
        for t_s, event in events_of(120, lambda s: 600.0 + 2.0 * s + noise(s))
    ]
    judge, _ = judged(iter(events))

    (now,) = judge.newest_verdicts()
    assert (now.state, now.cause) == ("growing", "compiled")
    assert now.advice[:2] == ["pad", "no_jit"]


def test_a_fit_of_one_epoch_that_keeps_a_mebibyte_a_step_is_growing_within_seconds():
    """As keras#21035: 611 to 2015 MiB in 74 s."""
    judge, told = judged(events_of(74, lambda s: 611.0 + 19.0 * s + noise(s)))

    growing = [(t_s, one) for t_s, one in told if one.state == "growing"]
    assert growing[0][0] <= 25.0
    (now,) = judge.newest_verdicts()
    assert (now.state, now.per) == ("growing", "step")
    assert now.slope == pytest.approx(1.0 * MIB, rel=0.1)
    assert now.unit_s == pytest.approx(1.0 / STEPS_A_SECOND, rel=0.1)
    assert now.forecast is not None
    left_s = now.forecast.units * (now.forecast.unit_s or 0.0)
    assert left_s == pytest.approx((8 * 1024 - 611 - 19 * 74) / 19.0, rel=0.2)


def test_a_cache_that_fills_in_the_first_of_several_epochs_is_rising_and_no_alarm():
    _, told = judged(
        events_of(60, lambda s: 600.0 + 15.0 * s, epochs=30, steps=60 * STEPS_A_SECOND)
    )

    assert {one.state for _, one in told} == {"rising"}


def test_what_would_fill_the_memory_within_the_first_epoch_is_growing_all_the_same():
    _, told = judged(
        events_of(40, lambda s: 600.0 + 30.0 * s, epochs=30, steps=600 * STEPS_A_SECOND)
    )

    assert "growing" in {one.state for _, one in told}


@pytest.mark.parametrize(
    "ram_mib",
    [
        lambda s: 600.0 + noise(s),
        lambda s: 600.0 + 200.0 * (1.0 - np.exp(-s / 3.0)) + noise(s),
        lambda s: 600.0 + 80.0 * (s % 7) / 7.0 + noise(s),
        lambda s: 600.0 + (300.0 if s > 12 else 0.0) + noise(s),
    ],
    ids=["flat", "warm-up", "saw-tooth", "a buffer"],
)
def test_what_settles_within_an_epoch_is_not_growing(ram_mib: Callable[[int], float]):
    _, told = judged(events_of(120, ram_mib))

    assert not {one.state for _, one in told} & {"growing", "suspected"}


def test_a_validation_and_a_start_without_steps_are_left_out():
    """Memory climbs before the first step and after the last: no step was made meanwhile."""
    _, told = judged(
        events_of(
            120,
            lambda s: 600.0 + 8.0 * (min(s, 40) + max(0, s - 90)) + noise(s),
            step=lambda s: 0 if s <= 40 else STEPS_A_SECOND * (min(s, 90) - 40),
        )
    )

    assert not {one.state for _, one in told} & {"growing", "suspected", "rising"}


def test_the_end_of_the_epoch_does_not_forget_what_was_found():
    events = [*events_of(74, lambda s: 611.0 + 19.0 * s + noise(s))]
    ended = EpochEnded(t_s=75.0, fit=1, epoch=0, seconds=75.0, steps=1406, logs={})
    judge, _ = judged(iter([*events, (75.0, ended), (76.0, EpochStarted(76.0, fit=1, epoch=1))]))

    assert [(one.per, one.state) for one in judge.newest_verdicts() if one.metric == "ram"] == [
        ("step", "growing")
    ]


def test_segments_stay_few_however_long_the_epoch_is():
    segments = EpochSegments()
    segments.begin()
    n = 20_000
    t_s = np.arange(1.0, n + 1.0)
    columns = {"step": 3.0 * t_s, "ram_bytes": 1e9 + t_s}
    for first in range(0, n, 700):
        part = slice(first, first + 700)
        segments.add(t_s[part], {name: values[part] for name, values in columns.items()})

    assert 32 <= len(segments.closed) <= 65
    assert [unit.number for unit in segments.closed] == sorted(
        unit.number for unit in segments.closed
    )
    assert segments.closed[0].low["ram"] == 1e9 + 1.0
    assert segments.closed[-1].high["ram"] <= 1e9 + n
    segments.end()
    assert segments.closed == []


def test_tensors_that_a_loop_of_calls_keeps_are_named_by_the_allocator_of_the_cpu():
    """A training loop of the script's own, which calls `collect()` after each epoch."""

    def calls() -> Iterator[tuple[float, Event]]:
        begun, *_ = events_of(0, lambda _: 0.0)
        source = FieldSource(
            "allocator_in_use_bytes", "bytes", "tensorflow allocator, CPU:0 in use"
        )
        yield begun
        yield 0.0, FieldSources(t_s=0.0, sources=[source])
        for second in range(1, 60):
            kept_bytes = 5.0 * second * MIB
            yield (
                float(second),
                Sample(
                    t_s=float(second),
                    calls=second,
                    ram_bytes=400.0 * MIB + kept_bytes,
                    ram_of_bytes=8 * GIB,
                    vram_bytes=kept_bytes,
                    allocator_in_use_bytes=kept_bytes,
                ),
            )

    judge, _ = judged(calls())

    newest = {one.metric: one for one in judge.newest_verdicts()}
    assert (newest["ram"].state, newest["ram"].cause) == ("growing", "tensors")
    assert newest["vram"].on_host
