"""Sampler: readings each second on the agent's thread, their sources, and limits on memory."""

import math
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Final, TypeVar

from kmonitor_agent.frameworks.base import AllocatorReadings, Framework, GraphCount
from kmonitor_agent.frameworks.script_values import (
    instance_dict,
    is_instance,
    items_of,
    numeric_logs,
    safe_count,
    safe_float,
    safe_getattr,
    safe_text,
)
from kmonitor_agent.guard import describe_exception
from kmonitor_agent.link.run_stream import EACH_LOOK
from kmonitor_agent.probes.gpu import DeviceReadings, Gpu, all_missing
from kmonitor_agent.probes.heap import HeapCounts
from kmonitor_agent.probes.held_memory import (
    FAILURES,
    read_anonymous_bytes,
    read_peak_resident_bytes,
)
from kmonitor_agent.probes.memory_left import read_address_space_left
from kmonitor_agent.probes.open_files import describe_open_files
from kmonitor_agent.probes.pacing import Paced
from kmonitor_agent.probes.process_memory import MemoryReadings, ProcessMemory
from kmonitor_agent.probes.processor import ProcessorReadings, ProcessorUse
from kmonitor_agent.probes.resources import Resources, working_folder
from kmonitor_agent.probes.tasks import (
    describe_processes,
    describe_threads,
    memory_by_name,
    read_process_stat,
)
from kmonitor_agent.recording.fit import STEP_SOURCE, Fit
from kmonitor_agent.recording.fit_reporter import LONGEST_LOG_NAME
from kmonitor_agent.recording.limit_enforcer import BoundedReading, LimitEnforcer
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.events import (
    Event,
    FieldSource,
    FieldSources,
    NamedResource,
    ResourcesNamed,
    Sample,
)
from kmonitor_agent.wire.messages.readings import MOST_STEP_LOGS, Reading, device_column
from kmonitor_agent.wire.messages.verdict_events import COUNTED_METRICS

# Names are read on the agent's thread, once at first and then only while a number rises, after a
# pause that is a multiple of the time which the last reading took.

_REST: Final = 5000.0
"""Pause after reading names, as a multiple of its time: a fiftieth of a hundredth of a core."""

_RISEN: Final = 0.02
"""Part by which a number must rise before its names are read again."""

_MOST_NAMED: Final = 32
_LONGEST_NAME: Final = 120
_NUMBERS: Final = re.compile(r"(?<![0-9A-Za-z])(?=[a-f]*[0-9])[0-9a-f]{4,}(?![0-9A-Za-z])|[0-9]+")
"""Decimal numbers, and hexadecimal ones, as in names that are drawn at random."""

_OPENED_ONCE: Final = 2
"""Maximum number of descriptors of one file that is opened once: Python's `SharedMemory` has a
second one for its `mmap`."""

_FEW: Final = 3
"""Number of files of one folder, with names that have nothing in common, from which they are named
by their folder."""

Found = Counter[tuple[str, str]]


class ResourceReporter:
    """Reports names of open files, threads and other resources; owned by the agent's thread.

    Args:
        memory: Source of the children's process ids.
        resources: Source of the blocks of shared memory.
        now_s: Seconds since the session started.
    """

    def __init__(
        self,
        memory: ProcessMemory,
        resources: Resources,
        *,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        privacy: Privacy,
    ) -> None:
        self._emit = emit
        self._now_s = now_s
        self._privacy = privacy
        counted: dict[str, tuple[str, Callable[[], Found]]] = {
            "open_files": ("open_files", describe_open_files),
            "threads": ("threads", lambda: describe_threads(_python_threads())),
            "processes": ("processes", lambda: describe_processes(*memory.children())),
            "shared_memory": ("shared_memory_bytes", partial(_blocks, resources)),
        }
        self._readers: dict[str, tuple[str, Callable[[], list[NamedResource]]]] = {
            metric: (field, partial(_names, read)) for metric, (field, read) in counted.items()
        }
        self._readers["children_memory"] = (
            "ram_children_bytes",
            lambda: memory_by_name(memory.by_child(), _python_processes()),
        )
        self._named_at: dict[str, float] = {}
        self._reads_at_s = dict.fromkeys(self._readers, -math.inf)

    def report(self, values: Mapping[str, float | None]) -> None:
        """Read and report names of resources whose number has risen.

        Args:
            values: Values of a sample's fields.
        """
        for metric, (field, read) in self._readers.items():
            value = values.get(field)
            if value is None or time.monotonic() < self._reads_at_s[metric]:
                continue
            before = self._named_at.get(metric)
            if before is None or value > before + _RISEN * before:
                self._named_at[metric] = value
                self._read(metric, read)
            elif value < before:
                self._named_at[metric] = value

    def _read(self, metric: str, read: Callable[[], list[NamedResource]]) -> None:
        began_s = time.thread_time()
        try:
            named = read()
        except FAILURES:
            self._reads_at_s[metric] = math.inf  # no procfs: numbers alone are known
            return
        self._reads_at_s[metric] = time.monotonic() + _REST * (time.thread_time() - began_s)
        hidden = [
            NamedResource(each.kind, self._privacy.name(each.name), each.count) for each in named
        ]
        self._emit(ResourcesNamed(t_s=self._now_s(), metric=metric, named=hidden))


def _names(read: Callable[[], Found]) -> list[NamedResource]:
    return named_resources(read())


def named_resources(found: Found) -> list[NamedResource]:
    """The most numerous kinds and names, numbers in names replaced by "*".

    Numbers of folders that all files of one pattern share stay: they are part of one place.

    Args:
        found: Count by (kind, name).
    """
    folder = working_folder()
    here = None if folder is None else Path(folder)
    alike: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for (kind, path), count in found.items():
        name = _local(path, here)
        alike.setdefault((kind, _NUMBERS.sub("*", name)), []).append((name, count))
    patterns: Found = Counter()
    for (kind, pattern), named in alike.items():
        name = _with_folders(pattern, [each for each, _ in named])
        patterns[kind, name] += sum(count for _, count in named)
    return [
        NamedResource(kind, name[:_LONGEST_NAME], count)
        for (kind, name), count in _by_folder(patterns).most_common(_MOST_NAMED)
    ]


def _local(name: str, here: Path | None) -> str:
    path = PurePath(name)
    is_within = here is not None and path.is_absolute() and path.is_relative_to(here)
    return str(path.relative_to(here)) if here is not None and is_within else name


def _with_folders(pattern: str, names: Sequence[str]) -> str:
    """The pattern of names, with the numbers of the folders that are the same in all of them."""
    *_, own = pattern.split("/")
    by_level = zip(*(name.split("/")[:-1] for name in names), strict=True)
    folders = (each[0] if len(set(each)) == 1 else _NUMBERS.sub("*", each[0]) for each in by_level)
    return "/".join([*folders, own])


def _by_folder(patterns: Found) -> Found:
    """Replace names of one folder that have nothing in common by the folder's name."""
    singles: Counter[tuple[str, str]] = Counter()
    for (kind, name), count in patterns.items():
        if count <= _OPENED_ONCE and "/" in name:
            singles[kind, name.rpartition("/")[0]] += 1
    merged: Found = Counter()
    for (kind, name), count in patterns.items():
        folder = name.rpartition("/")[0]
        is_merged = count <= _OPENED_ONCE and singles[kind, folder] >= _FEW
        merged[kind, f"{folder}/*" if is_merged else name] += count
    return merged


def _python_threads() -> dict[int, str]:
    """Names of Python's threads by the system's thread id; runs no code of the script."""
    names: dict[int, str] = {}
    for thread in threading.enumerate():
        values = instance_dict(thread)
        number = safe_count(values.get("_native_id"))
        if number is not None:
            names[number] = safe_text(values.get("_name"))
    return names


def _python_processes() -> dict[int, str]:
    """Names of `multiprocessing`'s children by process id; runs no code of the script."""
    names: dict[int, str] = {}
    children = getattr(sys.modules.get("multiprocessing.process"), "_children", ())
    for process in items_of(list(children) if is_instance(children, set) else []):
        values = instance_dict(process)
        number = safe_count(instance_dict(values.get("_popen")).get("pid"))
        if number is not None:
            names[number] = safe_text(values.get("_name"))
    return names


def _blocks(resources: Resources) -> Found:
    names = resources.shared_blocks.names
    return Counter(("block", f"/dev/shm/{name}") for name in names)  # noqa: S108


_FOLDERS_OF: Final = ("filepath", "backup_dir", "filename", "log_dir")
"""Attributes with paths in Keras' callbacks that write files, those that write most first."""


def checkpoint_folder(fit: Fit | None) -> Path | None:
    """Folder in which the callbacks of a fit write, checkpoints first; None if unknown."""
    token = None if fit is None else fit.origin.callback_list()
    callbacks = items_of(instance_dict(token).get("callbacks"))
    for name in _FOLDERS_OF:
        for callback in callbacks:
            path = safe_getattr(callback, name)
            if is_instance(path, str, PurePath) and (text := safe_text(path)):
                try:
                    return Path(text).absolute().parent
                except OSError:  # the working folder is gone
                    return None
    return None


_T = TypeVar("_T")

SLOW_INTERVAL_S: Final = 10.0
"""Minimum time between readings that cost milliseconds (unique set, children), seconds."""


_RUSH: Final = 0.02
_RUSH_NEAR: Final = 0.002
"""Growth since the last sample, as part of the bound, that triggers a sample at once: far from the
bound (`_RUSH`), and in its last tenth (`_RUSH_NEAR`)."""


_NEAR: Final = 0.9

_FOLDER_FRACTION: Final = 0.00005
"""Part of a core for finding the folder in which a fit writes its checkpoints."""


@dataclass(frozen=True, slots=True)
class SamplerTarget:
    """Target of the sampler; replaced as a whole by the training thread.

    Attributes:
        framework: Framework of the last model; None before the first fit.
        fit: Running fit; None outside of fits.
        graph: Last count of the graph.
    """

    framework: Framework | None = None
    fit: Fit | None = None
    graph: GraphCount | None = None


class Sampler:
    """Reads and emits; owned by the agent's thread. It never touches a model.

    Args:
        limits: Judges RAM and VRAM.
        now_s: Seconds since the session started.
        privacy: Hides private parts of sources.

    Attributes:
        heap_counts: Heap counts, read at each epoch's end; their sources are sent with those of
            samples.
        newest: Fields of the newest sample; replaced as a whole, for any thread to read.
        calls: Number of `evaluate`, `predict` and `collect()` calls outside of fits; counted by
            the recorder.
    """

    def __init__(
        self,
        *,
        current_target: Callable[[], SamplerTarget],
        emit: Callable[[Event], None],
        limits: LimitEnforcer,
        now_s: Callable[[], float],
        privacy: Privacy,
    ) -> None:
        self.heap_counts: Final = HeapCounts()
        self.newest: dict[str, float | None] = {}
        self.calls = 0
        self._current_target = current_target
        self._emit = emit
        self._limits = limits
        self._now_s = now_s
        self._privacy = privacy
        self._memory = ProcessMemory()
        self._resources = Resources(self._memory)
        self._resource_names = ResourceReporter(
            self._memory, self._resources, emit=emit, now_s=now_s, privacy=privacy
        )
        self._processor = ProcessorUse(lambda: self._memory.children()[0])
        self._gpu = Gpu()
        self._reported_sources: dict[str, tuple[str, str, str]] = {}
        self._last = BoundedReading(None)
        self._checkpoint_folder = Paced(
            lambda: checkpoint_folder(self._current_target().fit), _FOLDER_FRACTION
        )
        self._last_anonymous_bytes: float | None = None
        self._last_peak_bytes: float | None = None

    def device_name(self) -> str:
        """Driver's name of the device that is read; empty if there is none."""
        return self._gpu.name()

    def begin(self, every: Callable[[float, Callable[[], None]], None], interval_s: float) -> None:
        """Schedule all recurring work.

        Args:
            every: Called with an interval, seconds, and a task.
            interval_s: Time between two samples, seconds.
        """
        every(max(SLOW_INTERVAL_S, interval_s), self._memory.read_slowly)
        every(max(SLOW_INTERVAL_S, interval_s), self._gpu.find_other_devices)
        every(max(SLOW_INTERVAL_S, interval_s), self._resources.find)
        every(max(SLOW_INTERVAL_S, interval_s), self._processor.find)
        every(interval_s, self.sample)
        every(EACH_LOOK, self.look)

    def look(self) -> None:
        """Request the timing of a step, to know the parts of short steps.

        Also sample if this process grew by much since the last sample: it may be killed soon, or
            reach its limit within a second.
        """
        if (fit := self._current_target().fit) is not None:
            fit.clock.due = True
        before = self._last_anonymous_bytes
        last = self._last
        if before is None or last.value is None or not last.of or self._has_same_peak(last.of):
            return
        now = read_anonymous_bytes()
        if now is None:
            return
        grown = (now - before) / last.of
        is_near = last.value / last.of + grown >= _NEAR
        if grown >= _RUSH or (grown >= _RUSH_NEAR and is_near):
            self.sample()

    def _has_same_peak(self, bound_bytes: float) -> bool:
        """True if the peak of the resident set shows that the process grew less than relevant.

        Costs a tenth of reading the counters of its pages. A process that grows again to an
        earlier size is sampled within a second.
        """
        before = self._last_peak_bytes
        now = None if before is None else read_peak_resident_bytes()
        return now is not None and before is not None and now - before < _RUSH_NEAR * bound_bytes

    def sample(self) -> None:
        """Read all values, report changed sources, emit a sample, judge RAM and VRAM."""
        watched = self._current_target()
        fit = watched.fit
        t_s = self._now_s()
        # A thread that holds the interpreter makes the readings slow: positions are of
        # when they began.
        calls = self.calls
        epoch = fit.epoch if fit else 0
        step = fit.clock.steps if fit else 0
        device = _attempt(self._gpu.read, all_missing)
        readings = dict(self._read(watched, device))
        step_time = STEP_SOURCE if fit is None else fit.step_source
        beside = {**_of_others(device), "step_time_s": step_time, **self.heap_counts.newest}
        self._report_sources(t_s, {**readings, **beside})
        values = {name: reading.value for name, reading in readings.items()}
        self.newest = values
        self._last = BoundedReading(values["ram_bytes"], values["ram_of_bytes"])
        self._last_anonymous_bytes = read_anonymous_bytes()
        self._last_peak_bytes = _own_peak(values["ram_peak_bytes"])
        self._emit(
            Sample(
                t_s=t_s,
                fit=fit.ordinal if fit else 0,
                epoch=epoch,
                step=step,
                step_time_s=fit.running_step_s if fit else None,
                calls=calls,
                logs=self._step_logs(fit),
                more_devices=[each.sample() for each in device.others],
                **values,
            )
        )
        self._resource_names.report(values)
        for metric, (used, whole) in _LIMITED.items():
            self._limits.observe(metric, BoundedReading(values[used], values[whole]))
            if watched.framework is not None:
                self._report_unwatched(metric, readings[used])

    def _report_unwatched(self, metric: LimitMetric, reading: Reading) -> None:
        if reading.value is None:
            self._limits.report_unwatched(metric, self._privacy.source(reading.absent))

    def _step_logs(self, fit: Fit | None) -> dict[str, float]:
        """Logs of the running epoch that are numbers already.

        Values on the device are left out.
        """
        logs = None if fit is None or not fit.is_in_epoch else fit.step_logs
        return numeric_logs(
            logs, name_of=self._log_name, most=MOST_STEP_LOGS, number=_number_at_hand
        )

    def _log_name(self, name: str) -> str:
        return self._privacy.log_name(name)[:LONGEST_LOG_NAME]

    def _read(
        self, target: SamplerTarget, device: DeviceReadings
    ) -> Iterator[tuple[str, Reading]]:
        stat = read_process_stat()
        address_space_left = read_address_space_left(stat and stat.address_space_bytes)
        yield from _memory_fields(self._memory.read(address_space_left))
        yield "address_space_left_bytes", address_space_left
        yield from self._resources.read(stat, self._checkpoint_folder.newest())
        yield from _processor_fields(self._processor.read(stat))
        framework = target.framework
        no_allocator = partial(AllocatorReadings.missing, "")
        if framework is None:
            allocator = no_allocator(_NO_MODEL)
        else:
            allocator = _attempt(framework.allocator, no_allocator)
        yield from _device_fields(device, allocator)
        yield "graph_operations", _graph_reading(target.graph)
        missing = partial(Reading.missing, "functions")
        if framework is None:
            yield "functions", missing(_NO_MODEL)
        else:
            yield "functions", _attempt(framework.function_count, missing)

    def _report_sources(self, t_s: float, readings: dict[str, Reading]) -> None:
        changed: list[FieldSource] = []
        for name, reading in readings.items():
            source = (reading.unit, reading.source, reading.absent)
            if self._reported_sources.get(name) == source:
                continue
            self._reported_sources[name] = source
            changed.append(
                FieldSource(
                    field=name,
                    unit=reading.unit,
                    source=self._privacy.source(reading.source),
                    absent=self._privacy.source(reading.absent),
                )
            )
        if changed:
            self._emit(FieldSources(t_s=t_s, sources=changed))


def _attempt(read: Callable[[], _T], missing: Callable[[str], _T]) -> _T:
    """Value of a probe; a failing probe affects only itself."""
    try:
        return read()
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - drivers raise what they like
        return missing(f"its probe failed: {describe_exception(exc)}")


def _own_peak(peak_bytes: float | None) -> float | None:
    """Current peak if it is this program's own; None if unknown, or inherited from its parent."""
    now = read_peak_resident_bytes()
    if now is None or peak_bytes is None or now > peak_bytes + _RUSH_NEAR * peak_bytes:
        return None
    return now


def _number_at_hand(value: object) -> float | None:
    """A value that is a number already; None if it would have to be fetched from a device."""
    scalar: Any = getattr(sys.modules.get("numpy"), "generic", float)
    return safe_float(value) if is_instance(value, float, int, scalar) else None


_LIMITED: Final[dict[LimitMetric, tuple[str, str]]] = {
    "ram": ("ram_bytes", "ram_of_bytes"),
    "vram": ("vram_bytes", "vram_of_bytes"),
    **COUNTED_METRICS,
}
"""Metrics that are judged with each sample: (field of the value, field of its bound)."""


def _memory_fields(memory: MemoryReadings) -> Iterator[tuple[str, Reading]]:
    yield "ram_bytes", memory.total
    yield "ram_process_bytes", memory.process
    yield "ram_file_bytes", memory.file
    yield "ram_peak_bytes", memory.peak
    yield "ram_unique_bytes", memory.unique
    yield "ram_children_bytes", memory.children
    yield "ram_left_bytes", memory.left
    yield "ram_of_bytes", memory.bound
    yield "swapped_bytes", memory.swapped
    yield "cgroup_limit_bytes", memory.cgroup
    yield "cgroup_used_bytes", memory.cgroup_used
    yield "cgroup_left_bytes", memory.cgroup_left
    yield "host_available_bytes", memory.host_available
    yield "swap_free_bytes", memory.swap_free
    yield "code_regions", memory.code


def _processor_fields(processor: ProcessorReadings) -> Iterator[tuple[str, Reading]]:
    yield "cpu_cores", processor.process
    yield "children_cpu_cores", processor.children
    yield "cpu_throttled_fraction", processor.throttled
    yield "cpu_wait_fraction", processor.cpu_wait
    yield "disk_wait_fraction", processor.disk_wait
    yield "cpu_clock_hz", processor.clock


def _device_fields(
    device: DeviceReadings, allocator: AllocatorReadings
) -> Iterator[tuple[str, Reading]]:
    # The metric `vram`: the allocator in use over its limit, else the device.
    by_allocator = allocator.in_use.value is not None
    yield "vram_bytes", allocator.in_use if by_allocator else device.used
    yield "vram_of_bytes", _vram_bound(device, allocator) if by_allocator else device.total
    yield "vram_left_bytes", _left_on_device(device)
    yield "device_total_bytes", device.total
    yield "device_used_bytes", device.used
    yield "device_process_bytes", device.process
    yield from ((f"device_{name}", reading) for name, reading in device.load.readings().items())
    yield "allocator_in_use_bytes", allocator.in_use
    yield "allocator_peak_bytes", allocator.peak


def _vram_bound(device: DeviceReadings, allocator: AllocatorReadings) -> Reading:
    # TensorFlow has a GPU's limit only where the script set one; else its pool may grow until
    # the device is full.
    is_unbounded_gpu = allocator.device.startswith("GPU") and allocator.limit.value is None
    return device.total if is_unbounded_gpu else allocator.limit


def _left_on_device(device: DeviceReadings) -> Reading:
    if device.total.value is None or device.used.value is None:
        return Reading.missing("bytes", device.total.absent or device.used.absent)
    left = max(0.0, device.total.value - device.used.value)
    return Reading(left, "bytes", f"{device.total.source}, less what all processes use")


def _of_others(device: DeviceReadings) -> dict[str, Reading]:
    return {
        device_column(other.number, name): reading
        for other in device.others
        for name, reading in other.readings().items()
    }


_NO_MODEL: Final = "no model has been fitted yet"


def _graph_reading(graph: GraphCount | None) -> Reading:
    if graph is None:
        return Reading.missing("operations", _NO_MODEL)
    if graph.operations is None:
        return Reading.missing("operations", graph.absent)
    return Reading(float(graph.operations), "operations", graph.source)
