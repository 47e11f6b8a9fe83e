"""The metric `vram`, and the whole that it is a part of."""

from dataclasses import dataclass
from typing import cast

import pytest

from kmonitor_agent.frameworks.base import AllocatorReadings, Framework
from kmonitor_agent.probes.gpu import DeviceReadings, Gpu, no_load
from kmonitor_agent.probes.process_memory import MemoryReadings, ProcessMemory
from kmonitor_agent.recording.limit_enforcer import LimitEnforcer
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.sampler import Sampler, SamplerTarget
from kmonitor_agent.wire.limits import Limit
from kmonitor_agent.wire.messages.events import (
    Event,
    FieldSources,
    LimitCrossed,
    Notice,
    ResourcesNamed,
    Sample,
)
from kmonitor_agent.wire.messages.readings import Reading

TOTAL = Reading(80e9, "bytes", "driver: NVML, device total")
USED = Reading(30e9, "bytes", "driver: NVML, all processes")
ANONYMOUS = "kmonitor_agent.recording.sampler.read_anonymous_bytes"
PEAK = "kmonitor_agent.recording.sampler.read_peak_resident_bytes"
NO_LIMIT = Reading.missing("bytes", "the script set none")


@dataclass
class AllocatorOf:
    """A framework of which only the allocator is queried."""

    readings: AllocatorReadings

    def allocator(self) -> AllocatorReadings:
        return self.readings

    def function_count(self) -> Reading:
        return Reading.missing("functions", "not asked here")


def sampled(
    monkeypatch: pytest.MonkeyPatch,
    allocator: AllocatorReadings,
    used: Reading = USED,
    limits: tuple[Limit, ...] = (),
) -> list[Event]:
    emitted: list[Event] = []
    process = Reading(12e9, "bytes", "driver: NVML, this process")
    device = DeviceReadings(TOTAL, used, process, no_load("not asked here"))
    monkeypatch.setattr(Gpu, "read", lambda _: device)
    framework = cast("Framework", AllocatorOf(allocator))
    keeper = LimitEnforcer(emit=emitted.append, request=lambda _: True, now_s=lambda: 1.0)
    keeper.set_by_script(tuple(limit.spec for limit in limits))
    emitted.clear()
    sampler = Sampler(
        current_target=lambda: SamplerTarget(framework),
        emit=emitted.append,
        limits=keeper,
        now_s=lambda: 1.0,
        privacy=Privacy(private=False),
    )
    sampler.sample()
    if limits:
        sampler.sample()
    return [event for event in emitted if not isinstance(event, ResourcesNamed)]


def allocator(device: str, limit: Reading) -> AllocatorReadings:
    in_use = Reading(5e9, "bytes", f"tensorflow allocator, {device} in use")
    return AllocatorReadings(device, in_use, in_use, limit)


@pytest.mark.parametrize(
    ("device", "limit", "of"),
    [
        ("GPU:0", Reading(16e9, "bytes", "set by the script"), 16e9),
        ("GPU:0", NO_LIMIT, TOTAL.value),
        ("CPU:0", NO_LIMIT, None),
    ],
)
def test_vram_is_a_part_of_what_its_allocator_may_take(
    monkeypatch: pytest.MonkeyPatch, device: str, limit: Reading, of: float | None
):
    sources, sample = sampled(monkeypatch, allocator(device, limit))

    assert isinstance(sources, FieldSources)
    assert isinstance(sample, Sample)
    assert (sample.vram_bytes, sample.vram_of_bytes) == (5e9, of)
    emitted = {source.field: source for source in sources.sources}
    assert bool(emitted["vram_of_bytes"].source) == (of is not None)
    assert bool(emitted["vram_of_bytes"].absent) == (of is None)


def test_without_an_allocator_vram_is_the_device_by_the_driver(monkeypatch: pytest.MonkeyPatch):
    missing = Reading.missing("bytes", "torch tells nothing")
    _, sample = sampled(monkeypatch, AllocatorReadings("", missing, missing, missing))

    assert isinstance(sample, Sample)
    assert (sample.vram_bytes, sample.vram_of_bytes) == (USED.value, TOTAL.value)


@pytest.mark.parametrize(
    ("held", "n"),
    [(5.0e9, 0), (5.1e9, 0), (5.4e9, 1), (14.6e9, 1)],
    ids=["flat", "slow", "fast, far from the limit", "near it"],
)
def test_what_runs_into_its_limit_is_sampled_at_once(
    monkeypatch: pytest.MonkeyPatch, held: float, n: int
):
    emitted: list[Event] = []
    memory_is(monkeypatch, 14.5e9 if held > 14e9 else 5e9)
    sampler = sampler_of(emitted)
    sampler.look()
    assert emitted == []
    monkeypatch.setattr(ANONYMOUS, lambda: 14.5e9 if held > 14e9 else 5e9)
    sampler.sample()
    emitted.clear()
    monkeypatch.setattr(ANONYMOUS, lambda: held)

    sampler.look()

    assert sum(isinstance(event, Sample) for event in emitted) == n


@pytest.mark.parametrize(
    ("threshold", "can_be_had", "value"),
    [
        ("80%", 6e9, 5e9),  # others take the rest
        ("80%", 16e9, None),
        ("9 GB", 6e9, None),
        ("4 GB", 16e9, 5e9),
    ],
)
def test_a_percentage_of_ram_is_of_what_can_be_had(
    monkeypatch: pytest.MonkeyPatch, threshold: str, can_be_had: float, value: float | None
):
    emitted: list[Event] = []
    memory_is(monkeypatch, 5e9, can_be_had)

    sampler_of(emitted, (Limit("ram", threshold),)).sample()

    crossings = [event.value for event in emitted if isinstance(event, LimitCrossed)]
    assert crossings == ([] if value is None else [value])
    [sample] = [event for event in emitted if isinstance(event, Sample)]
    assert (sample.ram_bytes, sample.ram_of_bytes) == (5e9, can_be_had)


def test_growth_is_sampled_at_once_where_others_left_little(
    monkeypatch: pytest.MonkeyPatch,
):
    emitted: list[Event] = []
    memory_is(monkeypatch, 5e9, 5.5e9)
    sampler = sampler_of(emitted)
    monkeypatch.setattr(ANONYMOUS, lambda: 5e9)
    sampler.sample()
    emitted.clear()
    monkeypatch.setattr(ANONYMOUS, lambda: 5.1e9)

    sampler.look()

    assert sum(isinstance(event, Sample) for event in emitted) == 1


@pytest.mark.parametrize(
    ("own", "by_rusage", "later", "n"),
    [(6e9, 6e9, 6e9, 0), (6e9, 6e9, 9e9, 1), (5.2e9, 60e9, 60e9, 1)],
    ids=["stays", "rises", "of the program that started this one"],
)
def test_pages_are_read_unless_the_programs_own_peak_stays(
    monkeypatch: pytest.MonkeyPatch, own: float, by_rusage: float, later: float, n: int
):
    memory_is(monkeypatch, 5e9, peak=own)
    monkeypatch.setattr(ANONYMOUS, lambda: 5e9)
    monkeypatch.setattr(PEAK, lambda: by_rusage)
    emitted: list[Event] = []
    sampler = sampler_of(emitted)
    sampler.sample()
    emitted.clear()
    monkeypatch.setattr(ANONYMOUS, lambda: 8e9)
    monkeypatch.setattr(PEAK, lambda: later)

    sampler.look()

    assert sum(isinstance(event, Sample) for event in emitted) == n


def memory_is(
    monkeypatch: pytest.MonkeyPatch,
    held: float,
    can_be_had: float = 16e9,
    peak: float | None = None,
) -> None:
    """A process in a control group that holds so much."""
    reading, limit = Reading(held, "bytes", "process"), Reading(can_be_had, "bytes", "cgroup")
    none = Reading.missing("bytes", "not read")
    readings = MemoryReadings(
        process=reading,
        peak=none if peak is None else Reading(peak, "bytes", "process"),
        total=reading,
        file=none,
        bound=limit,
        host_available=none,
        unique=none,
        children=none,
        cgroup=limit,
        cgroup_used=none,
        cgroup_left=none,
        swapped=none,
        left=none,
        swap_free=none,
        code=none,
    )
    monkeypatch.setattr(ProcessMemory, "read", lambda *_: readings)


def sampler_of(emitted: list[Event], limits: tuple[Limit, ...] = ()) -> Sampler:
    keeper = LimitEnforcer(emit=emitted.append, request=lambda _: True, now_s=lambda: 1.0)
    keeper.set_by_script(tuple(limit.spec for limit in limits))
    return Sampler(
        current_target=SamplerTarget,
        emit=emitted.append,
        limits=keeper,
        now_s=lambda: 1.0,
        privacy=Privacy(private=False),
    )


@pytest.mark.parametrize("threshold", ["1%", "2 GiB"])
def test_a_limit_on_what_has_no_reading_is_told_once_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, threshold: str
):
    missing = Reading.missing("bytes", "torch tells nothing")
    no_driver = Reading.missing("bytes", "no NVIDIA driver on this host")
    readings = AllocatorReadings("", missing, missing, missing)

    emitted = sampled(monkeypatch, readings, no_driver, (Limit("vram", threshold),))

    [notice] = [event for event in emitted if isinstance(event, Notice)]
    assert (notice.level, notice.code) == ("warning", "limit_unmeasured")
    assert notice.text.endswith("is not monitored: no NVIDIA driver on this host.")


def test_the_source_of_step_time_says_where_which_median_stands(monkeypatch: pytest.MonkeyPatch):
    missing = Reading.missing("bytes", "torch tells nothing")
    sources, _ = sampled(monkeypatch, AllocatorReadings("", missing, missing, missing))

    assert isinstance(sources, FieldSources)
    [emitted] = [source for source in sources.sources if source.field == "step_time_s"]
    assert "median over a whole epoch" in emitted.source
    assert "for samples" in emitted.source


def test_calls_that_end_during_a_slow_reading_are_of_the_next_sample(
    monkeypatch: pytest.MonkeyPatch,
):
    emitted: list[Event] = []
    sampler = sampler_of(emitted)
    missing = Reading.missing("bytes", "not asked here")

    def read_slowly(_: Gpu) -> DeviceReadings:
        sampler.calls += 1
        return DeviceReadings(missing, missing, missing, no_load("not asked here"))

    monkeypatch.setattr(Gpu, "read", read_slowly)
    sampler.sample()
    sampler.sample()

    assert [event.calls for event in emitted if isinstance(event, Sample)] == [0, 1]
