"""Verdicts on what is counted: open files, threads, children and blocks of shared memory."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import pytest
from msgspec.structs import replace

from kmonitor.base.trend import Slope
from kmonitor.hub.judge.causes import Remedy
from kmonitor.hub.judge.counts import (
    COUNT_RULES,
    explain_count,
    explain_open_count,
    near_with_saves,
    next_count_judgement,
)
from kmonitor.hub.judge.detectors import GrowthState, Judgement
from kmonitor.hub.judge.growth import Growth
from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.hub.judge.units import RunUnits, Unit
from kmonitor.ui.verdicts.verdict_text import evidence_lines, verdict_headline
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FitStarted,
    NamedResource,
    ResourcesNamed,
    Sample,
    SessionStarted,
    Verdict,
)
from tests.support.growing_run import MIB, Growing, events_of

FILES = COUNT_RULES["open_files"]


def course(values: Iterable[float], room_of: float | None = 700.0) -> list[GrowthState]:
    """The state after each unit."""
    series, judgement, states = np.array(list(values)), Judgement(), list[GrowthState]()
    for n in range(1, len(series) + 1):
        room = None if room_of is None else room_of - float(series[n - 1])
        judgement = next_count_judgement(judgement, series[:n], FILES, room)
        states.append(judgement.state)
    return states


def with_names(events: Iterable[Event]) -> Iterator[Event]:
    """Each epoch opens 20 more files of one pattern."""
    for event in events:
        yield event
        if isinstance(event, EpochEnded):
            files = NamedResource("file", "data/part-*.bin", 20 * event.epoch)
            named = [files, NamedResource("socket", "", 9)]
            yield ResourcesNamed(t_s=event.t_s, metric="open_files", named=named)


def judged(events: Iterable[Event]) -> tuple[list[Verdict], Verdict]:
    """The stored verdicts on open files, and the newest verdict."""
    judge, said = RunJudge(), list[Verdict]()
    for event in events:
        judge.read(event.t_s, event)
        said += judge.judge()
    (now,) = [each for each in judge.newest_verdicts() if each.metric == "open_files"]
    return [each for each in said if each.metric == "open_files"], now


def test_files_that_rise_are_reported_from_the_third_unit_on_without_a_cause():
    said, now = judged(with_names(events_of(Growing(counts={"open_files": 20.0}), 3)))

    assert [each.state for each in said] == ["rising"]
    assert (now.slope, now.name, now.cause, now.advice) == (20.0, "", "", [])
    assert now.forecast is not None
    assert (now.forecast.of, now.forecast.limit) == ("system", 700.0)
    assert now.forecast.units == pytest.approx((700 - 140) / 20)


def test_files_that_grow_have_a_name_and_advice():
    _, now = judged(with_names(events_of(Growing(counts={"open_files": 20.0}), 6)))

    assert (now.state, now.name, now.cause) == ("growing", "data/part-*.bin", "files")
    assert now.advice == ["close_files"]


def test_the_name_is_of_what_grew_most_in_the_judged_units():
    """Before them a cache opened more files at once; the others come in every second unit."""
    units = [Unit(n + 1, 10.0 * n) for n in range(13)]
    for unit in units:
        unit.ended_s = unit.start_s + 9.0
    tables = [
        ResourcesNamed(
            t_s=unit.ended_s,
            metric="open_files",
            named=[
                NamedResource("file", "cache/*.idx", 300 * (n > 2) + n),
                NamedResource("file", "data/part-*.bin", 20 * (n // 2)),
            ],
        )
        for n, unit in enumerate(units)
    ]
    names = set[str | None]()
    for last in (9, 10, 11, 12):
        growth = Growth(None, 4, last, 60.0, Slope(11.0, 1.0, 21.0))
        judgement = Judgement(GrowthState.GROWING, growth)
        found = explain_open_count(
            "open_files", judgement, units[: last + 1], tables[: last + 1], uses_torch=False
        )
        names.add(None if found is None else found.function)

    assert names == {"data/part-*.bin"}


def test_files_that_run_out_soon_are_called_growing_after_four_additions():
    said, now = judged(events_of(Growing(counts={"open_files": 20.0}), 12))

    assert [(each.state, each.units) for each in said] == [("rising", 3), ("growing", 5)]
    assert now.state == "growing"


def test_a_count_that_does_not_change_is_steady():
    _, now = judged(events_of(Growing(counts={"open_files": 0.0}), 12))

    assert (now.state, now.forecast) == ("steady", None)


def test_a_pool_that_warms_up_is_not_called_growing():
    states = course([8, 16, 24, 32, 32, 32, 32, 32])

    assert not {GrowthState.GROWING, GrowthState.SUSPECTED} & set(states)
    assert states[-1] is GrowthState.STEADY


def test_far_from_the_end_seven_additions_are_needed():
    states = course([10.0 * n for n in range(1, 12)], room_of=1e6)

    assert states.index(GrowthState.GROWING) == 7


def test_a_unit_that_was_not_read_counts_with_the_next():
    read = [10.0 * n for n in range(1, 12)]
    read[2], read[5] = read[1], read[4]

    states = course(read, room_of=1e6)

    assert states.index(GrowthState.GROWING) == 7


def test_larger_additions_count_once():
    sizes = [10.0, 20.0, 20.0, 10.0, 20.0, 20.0, 10.0, 20.0]

    states = course(list(np.cumsum([10.0, *sizes])), room_of=1e6)

    assert states.index(GrowthState.GROWING) == 7


def test_what_stops_is_taken_back():
    states = course([20.0 * min(n, 8) for n in range(1, 14)])

    assert GrowthState.GROWING in states
    assert states[-1] is GrowthState.CLEARED


def test_what_is_given_back_now_and_then_is_called_growing_once_at_most():
    states = course([50.0 + 20 * (n % 6) for n in range(40)])

    assert sum(a is not b for a, b in pairwise(states) if b == "growing") <= 1
    assert states[-1] is not GrowthState.GROWING


def test_threads_of_which_many_end_at_once_are_taken_back():
    rise = [20.0 + 4.0 * n for n in range(14)]

    assert course([*rise, 50.0], 30_000.0)[-2:] == [GrowthState.GROWING, GrowthState.CLEARED]


def test_a_pool_that_ends_beside_threads_that_do_not_takes_nothing_back():
    rise = [20.0 + 4.0 * n for n in range(14)]

    assert course([*rise, 92.0, 76.0], 30_000.0)[-1] is GrowthState.GROWING


def test_one_jump_after_small_additions_is_no_growth():
    states = course([10, 12, 14, 160, 160, 160, 160, 160])

    assert GrowthState.GROWING not in states


def test_a_disk_whose_end_is_far_is_left_alone():
    disk = COUNT_RULES["disk"]
    values = np.array([2.0**30 + n * 64 * 2.0**20 for n in range(12)])

    assert next_count_judgement(Judgement(), values, disk, 2.0**40).state is GrowthState.STEADY
    near = next_count_judgement(Judgement(), values, disk, 2.0**32)
    assert near.state is GrowthState.GROWING


def disk_run(n: int, *, planned: int = 0, of_mib: float = 20_000.0) -> Iterator[Event]:
    """Each epoch of 10 s takes 100 MiB of the disk, which holds temporary files too."""
    for event in events_of(Growing(), n):
        if isinstance(event, FitStarted):
            yield replace(event, epochs=planned)
        elif isinstance(event, Sample):
            used = (5_000.0 + 100.0 * (event.epoch or 0)) * MIB
            fields = {"disk_used_bytes": used, "temp_disk_used_bytes": used}
            whole = {"disk_of_bytes": of_mib * MIB, "temp_disk_of_bytes": of_mib * MIB}
            yield replace(event, **fields, **whole)
        else:
            yield event


def disk_verdicts(events: Iterable[Event]) -> list[Verdict]:
    judge = RunJudge()
    for event in events:
        judge.read(event.t_s, event)
        judge.judge()
    return [each for each in judge.newest_verdicts() if each.metric in {"disk", "temp_disk"}]


@pytest.mark.parametrize(
    ("planned", "of_mib", "state"),
    [
        (30, 20_000.0, "steady"),  # full after 150 epochs
        (200, 20_000.0, "growing"),
        (0, 20_000.0, "growing"),  # within an hour
        (0, 200_000.0, "steady"),
    ],
)
def test_a_disk_is_called_only_if_it_is_full_before_the_run_ends(
    planned: int, of_mib: float, state: str
):
    (disk,) = disk_verdicts(disk_run(15, planned=planned, of_mib=of_mib))

    assert (disk.metric, disk.state) == ("disk", state)


def test_a_disk_that_fills_is_no_fault_of_the_runs_own_files():
    (disk,) = disk_verdicts(disk_run(15))

    assert disk.advice == ["free_space"]
    assert "its space is used by all programs" in verdict_headline(disk)
    assert not any("Measured" in line for line in evidence_lines(disk))


@pytest.mark.parametrize(("each", "near"), [(0, 20.0), (5, 200.0)])
def test_end_of_a_disk_is_near_sooner_where_the_run_saves_checkpoints(each: int, near: float):
    units = [
        Unit(n, 0.0, times={"compute": 1.0, "checkpoints": 0.1 * (each > 0 and n % each == 1)})
        for n in range(15)
    ]

    assert near_with_saves(20.0, units) == near


def test_checkpoints_are_advised_on_where_the_run_saves_some():
    growth = Growth(None, 0, 4, 20.0, Slope(5.0, 4.0, 6.0))

    found = explain_count("disk", growth, [], saves=True)

    assert found.advice == (Remedy.FEWER_CHECKPOINTS, Remedy.FREE_SPACE)


def test_a_file_each_fifth_epoch_is_growth_by_the_epoch():
    values = np.array([100.0 + 20 * (n // 5) for n in range(31)])
    judgement = Judgement()
    for n in range(1, len(values) + 1):
        judgement = next_count_judgement(judgement, values[:n], FILES, 700 - values[n - 1])

    assert judgement.state is GrowthState.GROWING
    assert judgement.growth is not None
    assert judgement.growth.slope is not None
    assert judgement.growth.slope.middle == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("of_script", "name", "advice"), [(4, "Thread-*", [Remedy.POOL_ONCE]), (0, "tf_Compute", [])]
)
def test_threads_of_the_script_are_named_before_native_ones(
    of_script: int, name: str, advice: list[Remedy]
):
    def threads(after: int) -> list[NamedResource]:
        own = NamedResource("thread", "Thread-*", 1 + after * of_script)
        unnamed = NamedResource("thread", "python*.*", 5 + after * 2)
        return [own, unnamed, NamedResource("thread", "tf_Compute", 2 + after * 9)]

    growth = Growth(None, 0, 4, 20.0, Slope(5.0, 4.0, 6.0))

    found = explain_count("threads", growth, tables_of("threads", threads(0), threads(1)))

    assert (found.function, list(found.advice)) == (name, advice)


def test_threads_of_kmonitor_are_no_cause():
    def threads(after: int) -> list[NamedResource]:
        own = ("kmonitor-agent", "kmonitor-look", "ZMQbg/Reaper", "ZMQbg/IO/*")
        return [NamedResource("thread", name, after) for name in own]

    growth = Growth(None, 0, 4, 20.0, Slope(5.0, 4.0, 6.0))

    found = explain_count("threads", growth, tables_of("threads", threads(0), threads(1)))

    assert found.function is None
    assert not found.because


def tables_of(metric: str, *tables: list[NamedResource]) -> list[ResourcesNamed]:
    return [
        ResourcesNamed(t_s=10.0 * n, metric=metric, named=each) for n, each in enumerate(tables)
    ]


@pytest.mark.parametrize(
    ("kind", "uses_torch", "advice"),
    [
        ("block", True, [Remedy.UNLINK_BLOCKS, Remedy.SHARE_LESS]),
        ("block", False, [Remedy.UNLINK_BLOCKS]),
        ("shared_memory", True, [Remedy.UNLINK_BLOCKS, Remedy.SHARE_LESS]),
        ("shared_memory", False, [Remedy.UNLINK_BLOCKS]),
    ],
)
def test_sharing_of_tensors_is_advice_for_pytorch_only(
    *, kind: str, uses_torch: bool, advice: list[Remedy]
):
    growth = Growth(None, 0, 4, 20.0, Slope(5.0, 4.0, 6.0))
    tables = tables_of("shared_memory", *([NamedResource(kind, "psm_*", n)] for n in (1, 5)))

    found = explain_count("shared_memory", growth, tables, uses_torch=uses_torch)

    assert list(found.advice) == advice


@pytest.mark.parametrize(
    ("backend", "versions", "uses_torch"),
    [
        ("", {}, True),
        ("torch", {}, True),
        ("tensorflow", {"torch": "2.8"}, True),
        ("tensorflow", {"tensorflow": "2.21"}, False),
    ],
)
def test_a_process_is_known_to_use_pytorch(
    *, backend: str, versions: dict[str, str], uses_torch: bool
):
    units = RunUnits()
    units.add(
        0.0, SessionStarted(0.0, "b", "run", "host", 1, 5.0, versions=versions, backend=backend)
    )

    assert units.uses_torch is uses_torch


def test_descriptors_that_no_longer_grow_are_not_named():
    """TensorFlow opens several at its start."""

    def files(at: int) -> list[NamedResource]:
        events = NamedResource("event", "eventfd", 9 if at else 1)
        return [events, NamedResource("shared_memory", "/dev/shm/psm_*", 2 + 2 * at)]  # noqa: S108

    growth = Growth(None, 0, 4, 8.0, Slope(2.0, 2.0, 2.0))

    found = explain_count(
        "open_files", growth, tables_of("open_files", files(0), files(1), files(2))
    )

    assert found.function == "/dev/shm/psm_*"  # noqa: S108
    assert found.advice == (Remedy.UNLINK_BLOCKS, Remedy.SHARE_LESS)


def test_the_kind_that_grows_most_is_named_though_its_names_differ():
    names = [NamedResource("socket", f"host-{chr(97 + n)}", 2) for n in range(6)]
    before = [NamedResource("event", "eventfd", 1)]
    growth = Growth(None, 0, 4, 12.0, Slope(3.0, 3.0, 3.0))
    after = [NamedResource("event", "eventfd", 5), *names]

    found = explain_count("open_files", growth, tables_of("open_files", before, after))

    assert found.advice == (Remedy.CLOSE_SOCKETS,)


def test_threads_of_units_shorter_than_a_sample_are_read_at_their_ends():
    """Samples fall now into one unit, now into the next, and see threads of TensorFlow too."""
    events: list[Event] = [FitStarted(t_s=0.0, fit=1, model="net", batch_size=32)]
    for epoch in range(12):
        events.append(EpochStarted(t_s=0.2 * epoch, fit=1, epoch=epoch))
        if epoch % 5 == 1:
            now_s = 0.2 * epoch + 0.1
            events.append(Sample(t_s=now_s, fit=1, epoch=epoch, threads=60.0 - 3 * epoch))
        end_s = 0.2 * epoch + 0.19
        events.append(
            EpochEnded(t_s=end_s, fit=1, epoch=epoch, seconds=0.19, threads=30 + 2 * epoch)
        )
    judge = RunJudge()
    for event in events:
        judge.read(event.t_s, event)
        judge.judge()

    (now,) = [each for each in judge.newest_verdicts() if each.metric == "threads"]
    assert (now.state, now.slope) == ("growing", 2.0)
