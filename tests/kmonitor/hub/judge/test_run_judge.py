"""Verdicts on a run's units, and those of them that are sent again."""

from collections.abc import Iterable, Iterator

import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.ui.verdicts.verdict_text import verdict_log_text
from kmonitor_agent.wire.messages.commands import LimitSpec
from kmonitor_agent.wire.messages.events import (
    AllocationGrowth,
    Diagnosis,
    EpochEnded,
    Event,
    FieldSources,
    FitStarted,
    GraphSize,
    LimitsInForce,
    Sample,
    SessionStarted,
    Verdict,
)
from kmonitor_agent.wire.messages.lifecycle_events import EpochParts
from kmonitor_agent.wire.messages.readings import FieldSource
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES, LimitForecast
from tests.support.growing_run import EPOCH_S, MIB, Growing, epoch_with, events_of, ram_verdicts


def _judged(
    events: Iterable[Event], judge: RunJudge | None = None
) -> tuple[RunJudge, list[Verdict]]:
    """The judge, and its verdicts, when it looks after each epoch's count."""
    judge, said = judge or RunJudge(), list[Verdict]()
    for event in events:
        judge.read(event.t_s, event)
        said += judge.judge()
    return judge, said


def _of(said: Iterable[Verdict], metric: str) -> list[Verdict]:
    return [verdict for verdict in said if verdict.metric == metric]


def test_a_steady_run_is_measured_and_then_steady_and_told_once():
    judge, said = _judged(events_of(Growing(), 9))
    assert said == []
    assert {(one.metric, one.state) for one in judge.newest_verdicts()} == {
        ("ram", "measuring"),
        ("graph", "measuring"),
        ("step_time", "measuring"),
    }

    _, said = _judged(events_of(Growing(), 60, first=9), judge)

    assert sorted((one.metric, one.state, one.unit) for one in said) == [
        ("graph", "steady", 10),
        ("ram", "steady", 10),
        ("step_time", "steady", 10),
    ]


def test_traces_that_nobody_needs_are_suspected_and_named():
    grows = Growing(ram_mib=8.0, traces=2, retained=2, function="train_function")

    judge, said = _judged(events_of(grows, 40))

    ram = _of(said, "ram")
    assert [(one.state, one.units) for one in ram if one.turned] == [("suspected", 3)]
    (now,) = _of(judge.newest_verdicts(), "ram")
    assert (now.cause, now.sureness, now.name) == ("retained_traces", "counted", "train_function")
    assert now.advice[:2] == ["collect", "reload"]
    assert now.slope == pytest.approx(8.0 * MIB, rel=0.05)
    assert (now.slope_low or 0.0) <= (now.slope or 0.0) <= (now.slope_high or 0.0)
    assert now.grew_with[0].kind == "retained"
    assert now.grew_with[0].per_unit == pytest.approx(2.0)
    # The window is what was judged, the warm-up left out.
    assert (now.from_s, now.to_s) == (6 * EPOCH_S, 39 * EPOCH_S + 9.0)
    assert _of(judge.newest_verdicts(), "graph")[0].state == "suspected"


def test_a_graph_that_grows_is_told_once_as_its_suspicion_says_the_same():
    _, said = _judged(events_of(Growing(ram_mib=4.0, traces=3, function="scale"), 40))

    graph = _of(said, "graph")
    assert [one.state for one in graph if one.turned] == ["rising", "growing"]
    assert graph[0].cause == "retracing"
    assert graph[-1].state == "suspected"


def test_a_function_that_is_traced_again_and_again_is_named():
    judge, _ = _judged(events_of(Growing(ram_mib=4.0, traces=3, function="scale"), 30))

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert (now.state, now.cause, now.name) == ("suspected", "retracing", "scale")
    assert now.advice[0] == "tensors_not_numbers"


def test_growth_without_anything_counted_beside_it_is_no_suspicion():
    judge, _ = _judged(events_of(Growing(ram_mib=8.0), 40))

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert (now.state, now.cause, now.sureness) == ("growing", "unknown", "open")
    assert now.grew_with == []


def test_what_diagnose_found_names_the_line():
    events = [
        *events_of(Growing(ram_mib=8.0), 30),
        Diagnosis(
            t_s=300.0,
            fit=1,
            epoch=29,
            seconds=0.1,
            allocations=[
                AllocationGrowth("train.py:12", int(7.5 * MIB)),
                AllocationGrowth("b", 9),
            ],
        ),
        *events_of(Growing(ram_mib=8.0), 1, first=30),
    ]

    judge, _ = _judged(events)

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert (now.state, now.cause, now.name) == ("suspected", "python", "train.py:12")
    assert now.grew_with[0].kind == "python_bytes"


def test_the_forecast_holds_the_moment_at_which_the_limit_is_met():
    judge, _ = _judged(events_of(Growing(ram_mib=8.0, ram_of_bytes=1400 * MIB), 30))

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert now.forecast is not None
    # The largest sample is 1004 MiB at first and 8 MiB more each epoch; 29 more were judged.
    left = (1400 - 1004 - 29 * 8) / 8
    assert now.forecast.units == pytest.approx(left, abs=0.5)
    assert now.forecast.earliest <= left <= (now.forecast.latest or 0.0)
    assert (now.forecast.of, now.forecast.limit) == ("host", 1400 * MIB)
    assert now.forecast.unit_s == pytest.approx(EPOCH_S)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (LimitSpec("ram", value=1500 * MIB), (1500 * MIB, "own")),
        (LimitSpec("ram", fraction=0.5), (2000 * MIB, "own")),
        (LimitSpec("ram", value=900 * MIB), (4000 * MIB, "cgroup")),
    ],
)
def test_the_runs_own_limit_ahead_counts_else_memorys_end(
    limit: LimitSpec, expected: tuple[float, str]
):
    events = [
        LimitsInForce(t_s=0.0, limits=[limit]),
        *events_of(Growing(ram_mib=8.0, ram_of_bytes=4000 * MIB), 29),
        Sample(t_s=290.0, ram_of_bytes=4000 * MIB, ram_left_bytes=9.0, cgroup_left_bytes=9.0),
    ]
    judge, _ = _judged(events)
    last = [e for e in events_of(Growing(ram_mib=8.0), 1, first=29) if not isinstance(e, Sample)]
    middle = Sample(t_s=295.0, ram_bytes=1232 * MIB)

    _judged([last[0], middle, *last[1:]], judge)

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert now.forecast is not None
    assert (now.forecast.limit, now.forecast.of) == expected


def test_what_others_take_brings_the_end_nearer_and_is_said():
    def forecast(others_mib: float) -> LimitForecast | None:
        grows = Growing(ram_mib=8.0, left_mib=3000.0, others_mib=others_mib)
        judge, _ = _judged(events_of(grows, 30))
        (now,) = _of(judge.newest_verdicts(), "ram")
        return now.forecast

    alone, crowded = forecast(0.0), forecast(16.0)

    assert alone is not None
    assert crowded is not None
    assert alone.units == pytest.approx((3000 - 29 * 8) / 8, rel=0.05)
    assert crowded.units == pytest.approx((3000 - 29 * 24) / 24, rel=0.05)
    assert alone.by_others == 0.0
    assert crowded.by_others == pytest.approx(16 * MIB, rel=0.05)
    assert (alone.of, crowded.of) == ("host", "host")


def test_what_others_took_in_a_short_time_is_not_extrapolated_far():
    """A leak of 8 MiB, while another program starts and takes 20: for 30 units, not for 700."""
    judge, _ = _judged(events_of(Growing(ram_mib=8.0, left_mib=20_000.0, others_mib=20.0), 30))

    (now,) = _of(judge.newest_verdicts(), "ram")

    assert now.forecast is not None
    assert now.forecast.by_others == 0.0
    assert now.forecast.units == pytest.approx((20_000 - 29 * 28) / 8, rel=0.05)


def test_a_flat_run_is_told_nothing_far_beyond_what_was_observed():
    judge, _ = _judged(events_of(Growing(left_mib=14_000.0, others_mib=40.0), 30))

    (now,) = _of(judge.newest_verdicts(), "ram")

    assert now.forecast is None


def test_a_flat_run_is_told_that_others_take_what_is_left():
    judge, said = _judged(events_of(Growing(left_mib=3000.0, others_mib=40.0), 30))

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert now.state == "steady"
    assert now.forecast is not None
    assert now.forecast.units == pytest.approx((3000 - 29 * 40) / 40, rel=0.1)
    assert now.forecast.by_others == pytest.approx(40 * MIB, rel=0.05)
    assert any(each.forecast is not None and each.turned for each in _of(said, "ram"))


@pytest.mark.parametrize(
    ("planned", "left_mib", "is_told"),
    [
        (200, 3000.0, True),  # 46 epochs of 10 s are left
        (40, 3000.0, False),
        (0, 3000.0, True),
        (0, 17_000.0, False),  # an hour is 360 epochs
    ],
)
def test_a_flat_run_is_told_of_others_only_where_they_take_all_before_it_ends(
    planned: int, left_mib: float, *, is_told: bool
):
    grows = Growing(left_mib=left_mib, others_mib=40.0)
    events = (
        replace(event, epochs=planned) if isinstance(event, FitStarted) else event
        for event in events_of(grows, 30)
    )

    judge, _ = _judged(events)

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert (now.forecast is not None) is is_told


def test_a_flat_run_on_a_quiet_host_has_no_forecast():
    judge, _ = _judged(events_of(Growing(left_mib=3000.0), 30))

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert now.forecast is None


def test_many_short_fits_are_judged_by_fits():
    grows = Growing(ram_mib=10.0, traces=2, retained=2, epochs_a_fit=2)

    judge, _ = _judged(events_of(grows, 30))

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert (now.per, now.state, now.cause) == ("fit", "suspected", "retained_traces")
    assert now.slope == pytest.approx(10.0 * MIB, rel=0.05)


@pytest.mark.parametrize(
    ("disused", "cause"), [(2, "disused_traces"), (1, "retained_traces"), (0, "retained_traces")]
)
def test_traces_of_a_model_that_was_compiled_again_are_counted_apart(disused: int, cause: str):
    grows = Growing(ram_mib=10.0, traces=2, retained=2, disused=disused, epochs_a_fit=2)

    judge, _ = _judged(events_of(grows, 30))

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert (now.state, now.cause) == ("suspected", cause)
    assert ("compile_once" in now.advice) is (cause == "disused_traces")
    assert "disused" in {each.kind for each in now.grew_with} or not disused


def test_traces_that_nothing_uses_are_named_while_the_collector_frees_them_a_few_at_a_time():
    """Each epoch traces a function again; that it is not used any more shows each fourth time."""
    grows = Growing(ram_mib=10.0, traces=1, retained=1, disused=1)

    def events() -> Iterator[Event]:
        seen = counts = 0
        for event in events_of(grows, 30):
            if isinstance(event, GraphSize) and event.retained is not None:
                counts += 1
                seen = event.disused if counts % 4 == 0 else seen
                yield replace(event, retained=seen, disused=seen)
            else:
                yield event

    _, said = _judged(events())

    causes = [each.cause for each in _of(said, "ram") if each.state in ALARMED_STATES]
    first = causes.index("disused_traces")
    assert set(causes[first:]) == {"disused_traces"}


def _with_larger_batches(mib_each: float, grows: Growing, n: int) -> Iterator[Event]:
    """The batch is doubled after every fifth fit, four times, and takes so much more each time."""
    for event in events_of(grows, n):
        times = min((getattr(event, "fit", 1) - 1) // 5, 4)
        if isinstance(event, FitStarted):
            yield replace(event, batch_size=32 * 2**times)
        elif isinstance(event, Sample) and event.ram_bytes is not None:
            yield replace(event, ram_bytes=event.ram_bytes + times * mib_each * MIB)
        else:
            yield event


def test_memory_that_rises_with_larger_batches_is_no_growth():
    _, said = _judged(_with_larger_batches(9.0, Growing(epochs_a_fit=2), 40))

    assert [one.state for one in _of(said, "ram")] == ["steady"]


def test_a_leak_beside_larger_batches_is_growing():
    judge, said = _judged(_with_larger_batches(30.0, Growing(ram_mib=10.0, epochs_a_fit=2), 40))

    first = next(one for one in _of(said, "ram") if one.state in ALARMED_STATES)
    (now,) = _of(judge.newest_verdicts(), "ram")
    assert first.units <= 15
    assert now.state in ALARMED_STATES
    assert now.slope == pytest.approx(10.0 * MIB, rel=0.2)


def _in_stages(work_each: float, traces_each: int = 0, n: int = 45) -> Iterator[Event]:
    """Each fifth epoch takes more memory at once, and each step from then on more processor time.

    Args:
        work_each: Processor time of a step beyond that in the stage before, as a part of it.
        traces_each: Traces that begin a stage, and are kept.
    """
    for epoch in range(n):
        stage = epoch // 5
        ram_mib = 1000.0 + 20.0 * stage + epoch * 7 % 5 * 0.05
        cpu_s = (1.0 + work_each) ** stage
        parts = EpochParts(wall_s=10.0, compute_s=9.0, cpu_s=cpu_s)
        (*events, end) = epoch_with(epoch, ram_mib, steps=10)
        assert isinstance(end, EpochEnded)
        traces = 5 + traces_each * stage
        yield from (*events, replace(end, parts=parts))
        yield GraphSize(
            end.t_s, fit=1, epoch=epoch, operations=100 * traces, traces=traces, functions=10
        )


@pytest.mark.parametrize(
    ("work_each", "traces_each", "is_growth"), [(0.3, 0, False), (0.0, 0, True), (0.3, 1, True)]
)
def test_memory_that_rises_with_the_work_of_stages_is_no_growth(
    work_each: float,
    traces_each: int,
    is_growth: bool,  # noqa: FBT001 - a parameter
):
    verdicts = ram_verdicts(_in_stages(work_each, traces_each))

    assert any(each.state in ALARMED_STATES for each in verdicts) is is_growth


def test_slower_and_slower_steps_grow_and_their_cause_is_open():
    judge, _ = _judged(events_of(Growing(step_s=0.002), 30))

    (now,) = _of(judge.newest_verdicts(), "step_time")
    assert (now.state, now.cause, now.advice) == ("growing", "unknown", [])
    assert now.ruled_out == ["traces"]
    assert now.slope == pytest.approx(0.002, rel=0.01)


def test_slower_steps_with_more_and_more_traces_name_the_function():
    judge, _ = _judged(events_of(Growing(step_s=0.002, traces=2, function="scale"), 30))

    (now,) = _of(judge.newest_verdicts(), "step_time")
    assert (now.state, now.cause, now.sureness, now.name) == (
        "growing",
        "retracing",
        "fitting",
        "scale",
    )


def test_models_in_a_loop_that_train_slower_and_slower_are_told_by_fits():
    judge, _ = _judged(events_of(Growing(step_s=0.002, retained=2, traces=2, epochs_a_fit=2), 30))

    (now,) = _of(judge.newest_verdicts(), "step_time")
    assert (now.per, now.state, now.cause) == ("fit", "growing", "retained_traces")


@pytest.mark.parametrize(
    ("metric", "field"), [("ram", "ram_process_bytes"), ("vram", "allocator_in_use_bytes")]
)
def test_an_epoch_shorter_than_the_time_between_samples_is_measured_at_its_end(
    metric: str, field: str
):
    events = [
        replace(event, **{field: (1000 + 8 * event.epoch) * MIB})
        if isinstance(event, EpochEnded)
        else event
        for event in events_of(Growing(ram_mib=8.0), 30)
        if not (isinstance(event, Sample) and event.epoch != 7)
    ]

    judge, _ = _judged(events)

    (now,) = _of(judge.newest_verdicts(), metric)
    assert (now.state, now.units) == ("growing", 30)
    assert now.slope == pytest.approx(8.0 * MIB, rel=0.05)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("TensorFlow: CPU allocator", "Framework allocator (CPU)"),
        ("TensorFlow: GPU:0 allocator", "VRAM"),
    ],
)
def test_a_verdict_on_memory_of_the_cpus_allocator_does_not_call_it_vram(source: str, name: str):
    of_allocator = FieldSource("allocator_in_use_bytes", "bytes", source)
    sources = FieldSources(t_s=0.0, sources=[of_allocator])
    events = [
        replace(event, allocator_in_use_bytes=(1000 + 8 * event.epoch) * MIB)
        if isinstance(event, EpochEnded)
        else event
        for event in events_of(Growing(), 30)
    ]

    judge, _ = _judged([sources, *events])

    (now,) = _of(judge.newest_verdicts(), "vram")
    assert now.state in ALARMED_STATES
    assert verdict_log_text(now).startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("field", "a_unit", "cause"),
    [
        ("python_blocks", 90_000.0, "python"),
        ("malloc_bytes", 8 * MIB, "malloc"),
        ("malloc_free_bytes", 8 * MIB, "cache"),
    ],
)
def test_what_was_counted_at_the_ends_of_epochs_names_the_cause(
    field: str, a_unit: float, cause: str
):
    events = [
        replace(event, **{field: 1e9 + a_unit * event.epoch})
        if isinstance(event, EpochEnded)
        else event
        for event in events_of(Growing(ram_mib=8.0), 30)
    ]

    judge, _ = _judged(events)

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert now.cause == cause
    # Memory that malloc only keeps free is no leak.
    assert now.state == ("growing" if cause == "cache" else "suspected")


def test_units_without_a_sample_count_as_units():
    """A leak of 4 MiB a unit stays one of 4 where only every second one was measured."""
    events = [
        event
        for event in events_of(Growing(ram_mib=4.0), 60)
        if not (isinstance(event, Sample) and event.epoch % 2)
    ]

    judge, _ = _judged(events)

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert now.slope == pytest.approx(4.0 * MIB, rel=0.1)
    assert (now.units, now.unit) == (30, 60)


def test_an_alarm_outlives_the_hub_that_raised_it():
    grows = Growing(ram_mib=8.0, traces=2, retained=2)
    _, said = _judged(events_of(grows, 30))
    successor = RunJudge()
    for event in [*events_of(grows, 30), *said]:
        successor.read(event.t_s, event)

    assert successor.judge() == []
    assert _of(successor.newest_verdicts(), "ram")[0].state == "suspected"


def test_an_alarm_stands_over_a_restart_with_the_evidence_of_before():
    grows = Growing(ram_mib=8.0, traces=2, retained=2)
    judge, _ = _judged(events_of(grows, 30))
    (before,) = _of(judge.newest_verdicts(), "ram")
    session = SessionStarted(t_s=0.0, session="b", name="n", host="h", pid=1, started_wall_s=1.0)

    _, said = _judged([session, *events_of(Growing(), 4, first=30)], judge)

    (now,) = _of(judge.newest_verdicts(), "ram")
    assert (now.state, now.from_s, now.forecast) == ("suspected", before.from_s, None)
    _, said = _judged(events_of(Growing(), 30, first=34), judge)
    assert [one.state for one in _of(said, "ram")] == ["cleared"]


def test_the_same_figures_are_not_told_again():
    _, said = _judged(events_of(Growing(ram_mib=8.0, traces=2, retained=2), 150))

    assert len(_of(said, "ram")) <= 6


def test_a_long_history_is_judged_at_its_end_only():
    judge = RunJudge()
    grows = Growing(ram_mib=8.0, traces=2, retained=2)
    for event in events_of(grows, 1000):
        judge.read(event.t_s, event)

    said = judge.judge()

    assert _of(said, "ram")[0].state == "suspected"
    assert _of(said, "ram")[0].unit == 1000
