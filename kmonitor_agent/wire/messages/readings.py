"""Readings: one measured value, the events that carry them, and the columns that samples fill.

`None` in a measured field means: not read; the reason is in the last `FieldSources` event under
the same field name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from kmonitor_agent.wire.messages.commands import STEP_TIME_METRICS
from kmonitor_agent.wire.messages.fields import Amount, Count, Name, Number, Seconds, Text
from kmonitor_agent.wire.messages.lifecycle_events import EPOCH_PARTS, EpochEnded, Event

MOST_MORE_DEVICES: Final = 7
"""Devices of one sample beside the first."""

MOST_STEP_LOGS: Final = 64
"""Logs of one sample."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One value and its source; exactly one of `value` and `absent` is set.

    Attributes:
        value: In `unit`; None when it could not be read.
        unit: "bytes", "seconds", "operations", "functions", "files", "threads", "processes" or
            "1".
        source: For example "process: /proc/self/statm"; empty when absent.
        absent: For example "no NVIDIA driver on this host"; empty when read.
    """

    value: float | None
    unit: str
    source: str = ""
    absent: str = ""

    @classmethod
    def missing(cls, unit: str, why: str) -> "Reading":
        """Return an absent reading with the reason, as text for the user."""
        return cls(value=None, unit=unit, absent=why)


class FieldSource(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Where one measured field comes from, or why it is absent.

    Attributes:
        field: Field name in `Sample`, `EpochEnded` or `GraphSize`; for the Nth further device
            "deviceN_" and its field.
        unit: "bytes", "seconds", "operations", "functions", "files", "threads", "processes",
            "degrees C", "W", "1".
        source: For example "process: /proc/self/statm"; empty when absent.
        absent: For example "no NVIDIA driver on this host"; empty when it is read.
    """

    field: Name
    unit: Name
    source: Text = ""
    absent: Text = ""


class FieldSources(Event, frozen=True, tag="sources"):
    """Sources of measured fields; sent at the start and for changes, to be merged by field.

    Attributes:
        sources: New or changed sources.
    """

    sources: Annotated[list[FieldSource], msgspec.Meta(max_length=128)]


class DeviceSample(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A further device of this process, as the driver reports it; None: not read.

    Attributes:
        number: Index among the devices that the process may see, from 1.
        used_bytes: Memory used by all processes.
        utilisation_fraction: Fraction of the time in which anything ran on the device, 0..1.
        temperature_c: Degrees C.
        power_w: Watts.
    """

    number: Annotated[int, msgspec.Meta(ge=1, le=MOST_MORE_DEVICES)]
    used_bytes: Amount | None = None
    utilisation_fraction: Amount | None = None
    temperature_c: Amount | None = None
    power_w: Amount | None = None


class Sample(Event, frozen=True, tag="sample"):
    """Values measured at one moment; None: not read (see `FieldSources`).

    Attributes:
        fit: Ordinal of the running fit, 0 outside of any.
        epoch: Index from 0 of the running epoch.
        step: Steps done in that epoch.
        ram_bytes: The metric `ram`: memory of this process and its children that the kernel cannot
            take back (anonymous, shared and swapped out pages); shared pages count once.
        ram_process_bytes: The same for this process alone.
        ram_file_bytes: File-backed pages (maps, libraries) of these processes in RAM. The kernel
            takes them back when needed; they are not part of the metric and are never judged.
        ram_peak_bytes: Highest resident set of this process since it started, including
            file-backed pages.
        ram_unique_bytes: Unique set of this process, including its file-backed pages; at most
            every 10 s.
        ram_children_bytes: Memory that the children add to `ram_process_bytes`: their proportional
            set sizes, read at most every 10 s, and their growth since that reading.
        ram_left_bytes: Memory that this process can still get, no matter who uses the rest: the
            smallest of what the host with its free swap, the control group and the limit on
            address space have left. Its source names that bound.
        ram_of_bytes: Available memory, the sum of `ram_bytes` and `ram_left_bytes`; percentages of
            `ram` refer to it.
        swapped_bytes: Memory of this process that is swapped out.
        cgroup_limit_bytes: Limit of the control group, if it has one: the smaller of `memory.max`
            and `memory.high`.
        cgroup_used_bytes: Memory that the control group accounts for, without inactive file pages;
            other processes in the group count too.
        cgroup_left_bytes: Limit of the control group minus the memory that the kernel cannot take
            back.
        host_available_bytes: Memory that the host can still provide, without swap.
        swap_free_bytes: Free swap of the host.
        address_space_left_bytes: Rest of the limit on this process's address space (`ulimit -v`),
            if there is one.
        vram_bytes: The metric `vram`; its source says whether it is from the allocator or the
            device.
        vram_of_bytes: Total that `vram_bytes` is a part of.
        vram_left_bytes: Free memory of the device, no matter who uses the rest.
        device_total_bytes: Memory of the device, from the driver.
        device_used_bytes: Memory of the device used by all processes, from the driver.
        device_process_bytes: Memory of the device used by this process, from the driver.
        device_utilisation_fraction: Fraction of the time in which any process ran something on the
            device, 0..1, from the driver.
        device_temperature_c: Temperature of the device, degrees C, from the driver.
        device_power_w: Power of the device, watts, from the driver.
        allocator_in_use_bytes: Memory in use in the framework's allocator of the first GPU, else
            of the CPU device.
        allocator_peak_bytes: Peak use of that allocator so far.
        graph_operations: The metric `graph`, as of the last count.
        functions: Functions registered with the runtime.
        code_regions: Regions of machine code without a file, compiled by XLA, LLVM or Numba while
            the process ran; several per program. Updated within seconds of a change in the size of
            code, else every minute or two.
        open_files: The metric `open_files`: descriptors of this process (files, sockets, pipes).
        open_files_of: Highest number allowed (`ulimit -n`).
        threads: The metric `threads`: threads of this process.
        threads_of: Highest number possible: the current threads and those that the control group,
            the user's limit and the kernel still allow, whichever is the smallest.
        processes: The metric `processes`: descendants of this process, including zombies; up to 10
            s old.
        processes_of: Highest number possible, by the same limits.
        zombies: Descendants that ended and that no process has waited for.
        shared_memory_bytes: The metric `shared_memory`: blocks in /dev/shm that this process and
            its children created since the session began or had open, mapped now or not.
        shared_memory_of_bytes: Those blocks and the free space there.
        disk_used_bytes: The metric `disk`: space used by everybody on the disk of the fit's
            checkpoints, else on the disk of the working folder.
        disk_of_bytes: That space and the space that can still be written.
        temp_disk_used_bytes: The metric `temp_disk`: space used by everybody on the disk of the
            folder for temporary files.
        temp_disk_of_bytes: That space and the space that can still be written.
        major_faults: Page faults of this process that waited for a disk, since it started.
        memory_pressure_fraction: Fraction of the last 10 s in which a task waited for memory, in
            the control group or else on the host, 0..1.
        io_pressure_fraction: Fraction of the last 10 s in which a task waited for a disk, in the
            control group or else on the host, 0..1.
        cgroup_high_events: Number of times that the control group went above `memory.high` and was
            throttled.
        cpu_cores: Processors that this process kept busy since the last sample.
        children_cpu_cores: Processors that its children kept busy since the last sample; new
            children are found every 10 s.
        cpu_throttled_fraction: Fraction of the time since the last sample in which the control
            group kept the process from the processors, 0..1.
        cpu_wait_fraction: Fraction of the time since the last sample in which the main thread
            could run, and waited for a processor, 0..1.
        disk_wait_fraction: Fraction of the time since the last sample in which the main thread
            waited for the disk, 0..1.
        cpu_clock_hz: Clock rate of the processor that the main thread last ran on.
        step_time_s: Median of the running epoch's steps so far; charts, summaries and limits use
            the median of whole epochs.
        calls: Number of calls of `evaluate`, `predict` and `collect()` outside of fits, since the
            session began.
        logs: Keras' logs in the running epoch as of its last step: means since the epoch began.
            Only those that Keras had converted to numbers anyway.
        more_devices: Devices beside the first that the driver lists this process on.
    """

    fit: Count = 0
    epoch: Count = 0
    step: Count = 0
    ram_bytes: Amount | None = None
    ram_process_bytes: Amount | None = None
    ram_file_bytes: Amount | None = None
    ram_peak_bytes: Amount | None = None
    ram_unique_bytes: Amount | None = None
    ram_children_bytes: Amount | None = None
    ram_left_bytes: Amount | None = None
    ram_of_bytes: Amount | None = None
    swapped_bytes: Amount | None = None
    cgroup_limit_bytes: Amount | None = None
    cgroup_used_bytes: Amount | None = None
    cgroup_left_bytes: Amount | None = None
    host_available_bytes: Amount | None = None
    swap_free_bytes: Amount | None = None
    address_space_left_bytes: Amount | None = None
    vram_bytes: Amount | None = None
    vram_of_bytes: Amount | None = None
    vram_left_bytes: Amount | None = None
    device_total_bytes: Amount | None = None
    device_used_bytes: Amount | None = None
    device_process_bytes: Amount | None = None
    device_utilisation_fraction: Amount | None = None
    device_temperature_c: Amount | None = None
    device_power_w: Amount | None = None
    allocator_in_use_bytes: Amount | None = None
    allocator_peak_bytes: Amount | None = None
    graph_operations: Amount | None = None
    functions: Amount | None = None
    code_regions: Amount | None = None
    open_files: Amount | None = None
    open_files_of: Amount | None = None
    threads: Amount | None = None
    threads_of: Amount | None = None
    processes: Amount | None = None
    processes_of: Amount | None = None
    zombies: Amount | None = None
    shared_memory_bytes: Amount | None = None
    shared_memory_of_bytes: Amount | None = None
    disk_used_bytes: Amount | None = None
    disk_of_bytes: Amount | None = None
    temp_disk_used_bytes: Amount | None = None
    temp_disk_of_bytes: Amount | None = None
    major_faults: Amount | None = None
    memory_pressure_fraction: Amount | None = None
    io_pressure_fraction: Amount | None = None
    cgroup_high_events: Amount | None = None
    cpu_cores: Amount | None = None
    children_cpu_cores: Amount | None = None
    cpu_throttled_fraction: Amount | None = None
    cpu_wait_fraction: Amount | None = None
    disk_wait_fraction: Amount | None = None
    cpu_clock_hz: Amount | None = None
    step_time_s: Seconds | None = None
    calls: Count = 0
    logs: Annotated[dict[Name, Number], msgspec.Meta(max_length=MOST_STEP_LOGS)] = {}
    more_devices: Annotated[list[DeviceSample], msgspec.Meta(max_length=MOST_MORE_DEVICES)] = []


class FunctionTraces(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Traces of one function by name.

    Attributes:
        name: Python name of the traced function.
        traces: Live traces.
        operations: Operations in all of them.
        retained: Live traces that only the gradient registry keeps.
        changed: Difference between the arguments of the last two traces: "x (8, 64) → (9, 64)".
            "python": no tensor differs, but a Python value or object, or it was another function
            of the name. Empty if there is one trace, or if unknown.
        disused: Those of `retained` whose weights are alive, as in `GraphSize`.
    """

    name: Text
    traces: Count
    operations: Count
    retained: Count = 0
    changed: Text = ""
    disused: Count = 0


class GraphSize(Event, frozen=True, tag="graph"):
    """Graph size; at the start of a fit, at each epoch's end, and after a reclaim.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index from 0.
        operations: Operations in all live traces and registered functions.
        traces: Live traces.
        functions: Functions registered with the runtime.
        retained: Traces of dead models, and disused ones, kept by the gradient registry; None if
            unknown.
        by_function: The largest functions by operations, at most 64.
        disused: Those of `retained` whose weights are alive: their model was compiled again, or a
            new one has its layers.
    """

    fit: Count
    epoch: Count
    operations: Count
    traces: Count
    functions: Count
    retained: Count | None = None
    by_function: Annotated[list[FunctionTraces], msgspec.Meta(max_length=64)] = []
    disused: Count = 0


class KeptObjects(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Objects that one place of the script or of a library keeps.

    Attributes:
        kind: Class of most of the objects, with its package: "numpy.ndarray", "matplotlib.Figure".
        count: Number of objects.
        n_bytes: Their total size; for long containers estimated from the newest items. None:
            unknown.
        shape: Most common shape of the newest arrays or tensors, as text; empty if there is none.
        dtype: Their dtype; empty if there is none.
        container: Class of the list, dict or other container; "linked tuple": tuples, or objects
            of another class, that each hold the one before; "attributes": names that differ in a
            number; "subclasses": classes that derive from `place`; "rows": those of an array that
            have memory, at least one page; with "numpy.memmap" the file of a memory map opened
            copy-on-write, of which the copied pages count; empty: an attribute or variable.
        place: Location: "Recorder.history" (an attribute of such an object), "train.kept" (a
            variable of a function or module), "Out" (a notebook's), "sys.last_traceback",
            "weakref.finalize", "matplotlib.pyplot", "tf.Graph" (TensorFlow's root graph),
            "keras.saving.get_custom_objects", "atexit", "sqlite3"; hashed when private, except in
            libraries.
        is_on_device: True if the bytes are on a GPU.
        base: Shape of the array or tensor that the newest one of that shape is a view of, a part
            that keeps all of its memory; empty: it uses at least half of its memory.
        is_part: True if the objects are items that hold such an array or tensor beside others:
            `shape` and `dtype` are those of the largest.
        capacity: Maximum number of objects, as of `functools.lru_cache(maxsize=100)`,
            `deque(maxlen=100)`, a queue with `maxsize`, or a list that began as `[None] * 100`;
            None: there is none, or it is unknown.
    """

    kind: Name
    count: Count
    n_bytes: Amount | None = None
    shape: Name = ""
    dtype: Name = ""
    container: Name = ""
    place: Name = ""
    is_on_device: bool = False
    base: Name = ""
    is_part: bool = False
    capacity: Count | None = None


class ObjectsCounted(Event, frozen=True, tag="objects"):
    """Objects that the script keeps, counted while memory rises, just before an epoch or fit ends.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index from 0.
        seconds: Time that the training waited.
        kept: Places that keep most, at most 32; after the first count, those that changed.
        why: Why nothing was counted; empty when it was.
    """

    fit: Count
    epoch: Count
    seconds: Seconds = 0.0
    kept: Annotated[list[KeptObjects], msgspec.Meta(max_length=32)] = []
    why: Text = ""


class NamedResource(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Descriptors, threads, children or blocks of one kind and name.

    Attributes:
        kind: For descriptors "file", "socket", "pipe", "device", "event", "shared_memory" or
            "other"; for threads "thread"; for processes "child" or "zombie"; "block" for shared
            memory.
        name: Path or name, with "*" in place of numbers, without those of folders that all share:
            "data3/part-*.bin"; for the memory of one child with its process id; hashed when
            private; may be empty.
        count: Number of them; for "children_memory" their bytes.
    """

    kind: Name
    name: Name = ""
    count: Count = 0


class ResourcesNamed(Event, frozen=True, tag="resources"):
    """Descriptors, threads, children or blocks by name; sent at first and while they become more.

    Attributes:
        metric: "open_files", "threads", "processes", "shared_memory" or "children_memory".
        named: The most numerous, at most 32.
    """

    metric: Name
    named: Annotated[list[NamedResource], msgspec.Meta(max_length=32)] = []


class LayerFacts(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One layer of the model, nested models flattened with "/" in the name.

    Attributes:
        name: Path of the layer.
        kind: Class name.
        output_shape: As text, "(None, 28, 28, 32)"; empty when unknown.
        dtype: Compute dtype.
        parameters: Number of weights in it, each shared one counted at its first layer.
        trainable_parameters: Number of those weights that are trained.
        parameter_bytes: Their size, bytes.
    """

    name: Text
    kind: Name
    output_shape: Text = ""
    dtype: Name = ""
    parameters: Count = 0
    trainable_parameters: Count = 0
    parameter_bytes: Count = 0


class SlotFacts(msgspec.Struct, frozen=True, gc=False):
    """One kind of optimizer slot.

    Attributes:
        name: "momentum", "velocity", "iteration", ...
        n: Number of variables.
        n_bytes: Their total size, bytes.
    """

    name: Name
    n: Count
    n_bytes: Count


class ModelFacts(Event, frozen=True, tag="model"):
    """The model of a fit; once per fit, in parts of at most 200 layers.

    Attributes:
        fit: Ordinal of the fit in the run, from 1.
        part: This part, from 1.
        part_count: Number of parts.
        name: Model name.
        kind: Class name.
        n_layers: Layers in all parts.
        layers: This part's layers.
        parameters: Number of weights, shared ones once.
        parameter_bytes: Their size, bytes.
        optimizer: Class name.
        slots: Optimizer slots by kind.
        slot_bytes: Size of all optimizer variables, bytes.
        loss: Loss, as text.
        dtype_policy: "float32", "mixed_float16", ...
    """

    fit: Count
    part: Count
    part_count: Count
    name: Name
    kind: Name
    n_layers: Count
    layers: Annotated[list[LayerFacts], msgspec.Meta(max_length=200)] = []
    parameters: Count = 0
    parameter_bytes: Count = 0
    optimizer: Name = ""
    slots: Annotated[list[SlotFacts], msgspec.Meta(max_length=64)] = []
    slot_bytes: Count = 0
    loss: Text = ""
    dtype_policy: Name = ""


STEP_LOG_PREFIX: Final = "batch:"
"""Prefix of a log within an epoch."""

MAX_COLUMN: Final = 64
"""Maximum length of a column's name; the name of a longer log is cut."""

SAMPLE_COLUMNS: Final = tuple(
    field
    for field in Sample.__struct_fields__
    if field not in {"t_s", "fit", "epoch", "logs", "more_devices"}
)
"""Columns that samples fill in any run; for the others see `is_extra_column`."""

DEVICE_FIELDS: Final = tuple(DeviceSample.__struct_fields__[1:])
"""Fields of each device beside the first."""

_DEVICE: Final = "device"


def is_sample_column(column: str) -> bool:
    """True if samples fill this column."""
    return column in SAMPLE_COLUMNS or is_extra_column(column)


def is_extra_column(column: str) -> bool:
    """True if samples fill this column in some runs only."""
    return column.startswith(STEP_LOG_PREFIX) or parse_device_column(column) is not None


def device_column(number: int, field: str) -> str:
    """The column of one field of a device beside the first: "device1_power_w"."""
    return f"{_DEVICE}{number}_{field}"


def parse_device_column(column: str) -> tuple[int, str] | None:
    """Number and field of a device's column; None for any other column."""
    number, _, field = column.removeprefix(_DEVICE).partition("_")
    if not column.startswith(_DEVICE) or not number.isdigit() or field not in DEVICE_FIELDS:
        return None
    return int(number), field


def extra_sample_values(
    logs: Mapping[str, float], devices: Iterable[DeviceSample]
) -> Iterator[tuple[str, float]]:
    """Column and value of fields that only some runs have; values that were not read are left out.

    Args:
        logs: `Sample.logs`.
        devices: `Sample.more_devices`.
    """
    for name, value in logs.items():
        yield f"{STEP_LOG_PREFIX}{name}"[:MAX_COLUMN], value
    for device in devices:
        for field in DEVICE_FIELDS:
            value = getattr(device, field)
            if value is not None:
                yield device_column(device.number, field), value


EPOCH_PREFIX: Final = "epoch:"
"""Prefix of a column with one value an epoch."""

EPOCH_SECONDS: Final = f"{EPOCH_PREFIX}seconds"
LEARNING_RATE: Final = f"{EPOCH_PREFIX}learning_rate"
NATIVE_BYTES: Final = f"{EPOCH_PREFIX}malloc_bytes"


def step_time_column(metric: str) -> str:
    """The column of a metric of step times: "epoch:step_time_p99_s"."""
    return f"{EPOCH_PREFIX}{metric}_s"


def part_column(name: str) -> str:
    """The column of a part of an epoch's time: "epoch:part_input_s"."""
    return f"{EPOCH_PREFIX}part_{name}_s"


def epoch_values(ended: EpochEnded) -> Iterator[tuple[str, float]]:
    """Column and value of an epoch's end, without Keras' logs, as far as known."""
    yield EPOCH_SECONDS, ended.seconds
    if ended.step_times is not None:
        for metric, field in STEP_TIME_METRICS.items():
            if (seconds := getattr(ended.step_times, field)) is not None:
                yield step_time_column(metric), seconds
    for name in EPOCH_PARTS if ended.parts is not None else ():
        value = getattr(ended.parts, f"{name}_s")
        if value is not None:
            yield part_column(name), value
    if ended.learning_rate is not None:
        yield LEARNING_RATE, ended.learning_rate
    if ended.malloc_bytes is not None:
        yield NATIVE_BYTES, ended.malloc_bytes
