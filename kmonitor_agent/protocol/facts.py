"""The events of a run: what the agent tells, once each, in order.

Every event carries `t_s`: seconds on the process's monotonic clock since its boot started. The
boot's own `started_wall_s` turns that into wall time. `None` in a measured field means: not read;
the reason stands in the last `Sources` event under the same field name.
"""

from typing import Annotated, Literal

import msgspec

from kmonitor_agent.protocol.commands import (
    CommandName,
    CommandState,
    LimitAction,
    LimitMetric,
    LimitSpec,
)
from kmonitor_agent.protocol.identity import Amount, Count, Id, Name, Seconds, Text


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    """Common part of all events.

    Attributes:
        t_s: Seconds since the boot started, on its monotonic clock.
    """

    t_s: Seconds


class BootStarted(Event, frozen=True, tag="boot"):
    """First event of a process: who and where it is.

    Attributes:
        boot: Random id of this process start.
        name: The run's name.
        host: Host name.
        pid: Process id, as its own PID namespace counts.
        pid_namespace: Inode of the PID namespace (Linux), to compare with the hub's; 0 if unknown.
        user: Login name.
        started_wall_s: UTC epoch seconds at `t_s == 0`.
        script: Path or name of the script or notebook; empty when private.
        argv: Command line; empty when private.
        versions: Package name to version: python, kmonitor, keras, tensorflow, ...
        backend: "tensorflow", "jax", "torch", or "" until Keras is met.
        actions: The commands this process can carry out; empty with `commands=False`.
        unavailable: Capability to the reason why it is not available here.
        sample_interval_s: Time between samples, seconds.
        private: Names are hashed and texts left out.
        job: Cluster job id ("slurm 123"), or empty.
    """

    boot: Id
    name: Name
    host: Name
    pid: Count
    started_wall_s: Seconds
    pid_namespace: Count = 0
    user: Name = ""
    script: Text = ""
    argv: Annotated[list[Text], msgspec.Meta(max_length=256)] = []
    versions: dict[Name, Name] = {}
    backend: Name = ""
    actions: Annotated[list[CommandName], msgspec.Meta(max_length=16)] = []
    unavailable: dict[Name, Text] = {}
    sample_interval_s: Seconds = 1.0
    private: bool = False
    job: Name = ""


class BootEnded(Event, frozen=True, tag="boot_end"):
    """Last event of a process that could say so.

    Attributes:
        why: How it ended as far as the process itself knows.
        error_type: Class name of the exception, with why = "failed".
        message: Its message, at most 4096 characters; empty when private.
    """

    why: Literal["finished", "failed", "interrupted", "stopped", "restart"]
    error_type: Name = ""
    message: Text = ""


class SourceOf(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Where one measured field comes from, or why it is absent.

    Attributes:
        field: Field name in `Sample`, `EpochEnded` or `GraphSize`.
        unit: "bytes", "seconds", "operations", "functions", "1".
        source: For example "process: /proc/self/statm"; empty when absent.
        absent: For example "no NVIDIA driver on this host"; empty when it is read.
    """

    field: Name
    unit: Name
    source: Text = ""
    absent: Text = ""


class Sources(Event, frozen=True, tag="sources"):
    """Sources of measured fields; sent at first and when one changes. Fields add up.

    Attributes:
        sources: The new or changed ones.
    """

    sources: Annotated[list[SourceOf], msgspec.Meta(max_length=128)]


class LayerFacts(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One layer of the model, nested models flattened with "/" in the name.

    Attributes:
        name: Path of the layer.
        kind: Class name.
        output_shape: As text, "(None, 28, 28, 32)"; empty when unknown.
        dtype: Compute dtype.
        parameters: Number of weights in it, each shared one counted at its first layer.
        trainable_parameters: Those of them that are trained.
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
        n: How many variables.
        n_bytes: Their size together, bytes.
    """

    name: Name
    n: Count
    n_bytes: Count


class ModelFacts(Event, frozen=True, tag="model"):
    """The model of a fit; once per fit, in parts of at most 200 layers.

    Attributes:
        fit: Ordinal of the fit in the run, from 1.
        part: This part, from 1.
        parts: How many parts there are.
        name: Model name.
        kind: Class name.
        n_layers: Layers in all parts together.
        layers: This part's layers.
        parameters: Number of weights, shared ones once.
        parameter_bytes: Their size, bytes.
        optimizer: Class name.
        slots: Optimizer slots by kind.
        slot_bytes: All optimizer variables together, bytes.
        loss: As text.
        dtype_policy: "float32", "mixed_float16", ...
    """

    fit: Count
    part: Count
    parts: Count
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


class FitStarted(Event, frozen=True, tag="fit_start"):
    """A call of `fit` began.

    Attributes:
        fit: Ordinal in the run, from 1.
        model: Model name.
        epochs: Planned number; 0 if unknown.
        initial_epoch: First epoch's index, from 0.
        steps: Steps per epoch; None until known.
        batch_size: None when the data decide it.
        steps_per_execution: Steps that one call of the step function runs.
        optimizer: Class name.
        learning_rate: At the start; None if it cannot be read.
        jit_compile: Whether the step is compiled by XLA; None if unknown.
        run_eagerly: Whether the step runs without a graph.
    """

    fit: Count
    model: Name
    epochs: Count = 0
    initial_epoch: Count = 0
    steps: Count | None = None
    batch_size: Count | None = None
    steps_per_execution: Count = 1
    optimizer: Name = ""
    learning_rate: float | None = None
    jit_compile: bool | None = None
    run_eagerly: bool = False


class FitEnded(Event, frozen=True, tag="fit_end"):
    """A call of `fit` ended.

    Attributes:
        fit: Its ordinal.
        how: "finished", "stopped" (by an action or a callback), "failed" or "interrupted".
        epochs_done: Epochs that ended in it.
        error_type: Class name of the exception when failed.
        message: Its message; empty when private.
    """

    fit: Count
    how: Literal["finished", "stopped", "failed", "interrupted"]
    epochs_done: Count = 0
    error_type: Name = ""
    message: Text = ""


class EpochStarted(Event, frozen=True, tag="epoch_start"):
    """An epoch began.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index as Keras counts, from 0.
    """

    fit: Count
    epoch: Count


class StepTimes(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Step time of one epoch, begin to begin over steps per execution, seconds.

    Attributes:
        count: Steps measured; the first after a trace and the epoch's end are left out.
        mean_s: Mean.
        p50_s: Median, from a histogram with buckets about 2 % wide.
        p95_s: 95th percentile, likewise.
        p99_s: 99th percentile, likewise.
        max_s: Largest, exact.
        first_s: The first step of the epoch, kept apart since a trace may fall in it.
    """

    count: Count
    mean_s: Seconds
    p50_s: Seconds
    p95_s: Seconds
    p99_s: Seconds
    max_s: Seconds
    first_s: Seconds | None = None


class EpochEnded(Event, frozen=True, tag="epoch_end"):
    """An epoch ended.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index from 0.
        seconds: From its begin to its end, validation included.
        steps: Steps that ran.
        logs: Keras' logs; NaN stays NaN.
        learning_rate: At the end; None if it cannot be read.
        step_times: None when fewer than two steps were measured.
    """

    fit: Count
    epoch: Count
    seconds: Seconds
    steps: Count = 0
    logs: dict[Name, float] = {}
    learning_rate: float | None = None
    step_times: StepTimes | None = None


class Sample(Event, frozen=True, tag="sample"):
    """What was read at one moment; None where it was not read (see `Sources`).

    Attributes:
        fit: Ordinal of the running fit, 0 outside of any.
        epoch: Index from 0 of the running epoch.
        step: Steps done in that epoch.
        ram_bytes: Resident set of this process and its children: the metric `ram`.
        ram_process_bytes: Resident set of this process.
        ram_peak_bytes: Highest resident set of this process since it started.
        ram_unique_bytes: Unique set of this process; at most every 10 s.
        ram_children_bytes: Resident set of the children; at most every 10 s.
        ram_of_bytes: The smaller of host memory and cgroup limit.
        cgroup_limit_bytes: The cgroup's limit where there is one.
        host_available_bytes: What the host could still give.
        vram_bytes: The metric `vram`; its source says whether allocator or device.
        vram_of_bytes: What `vram_bytes` is a part of.
        device_total_bytes: By the driver.
        device_used_bytes: By the driver, all processes.
        device_process_bytes: By the driver, this process.
        allocator_in_use_bytes: Framework allocator of the first GPU, else of the CPU device.
        allocator_peak_bytes: Its highest so far.
        graph_operations: The metric `graph`, as of the last count.
        functions: Functions registered with the runtime.
        step_time_s: Median of the running epoch's steps so far (chart); limits use the epoch's.
    """

    fit: Count = 0
    epoch: Count = 0
    step: Count = 0
    ram_bytes: Amount | None = None
    ram_process_bytes: Amount | None = None
    ram_peak_bytes: Amount | None = None
    ram_unique_bytes: Amount | None = None
    ram_children_bytes: Amount | None = None
    ram_of_bytes: Amount | None = None
    cgroup_limit_bytes: Amount | None = None
    host_available_bytes: Amount | None = None
    vram_bytes: Amount | None = None
    vram_of_bytes: Amount | None = None
    device_total_bytes: Amount | None = None
    device_used_bytes: Amount | None = None
    device_process_bytes: Amount | None = None
    allocator_in_use_bytes: Amount | None = None
    allocator_peak_bytes: Amount | None = None
    graph_operations: Amount | None = None
    functions: Amount | None = None
    step_time_s: Seconds | None = None


class FunctionTraces(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Traces of one function by name.

    Attributes:
        name: Python name of the traced function.
        traces: Live traces.
        operations: Operations in them together.
        retained: Of the traces, those kept only by the gradient registry.
    """

    name: Text
    traces: Count
    operations: Count
    retained: Count = 0


class GraphSize(Event, frozen=True, tag="graph"):
    """Graph size; at the start of a fit, at each epoch's end, and after a reclaim.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index from 0.
        operations: In all live traces and registered functions.
        traces: Live traces.
        functions: Functions registered with the runtime.
        retained: Traces of dead models kept by the gradient registry; None if it cannot be told.
        by_function: The largest at most 64, by operations.
    """

    fit: Count
    epoch: Count
    operations: Count
    traces: Count
    functions: Count
    retained: Count | None = None
    by_function: Annotated[list[FunctionTraces], msgspec.Meta(max_length=64)] = []


class Footprint(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Memory and graph at one moment, for the record of an action; None where not read.

    Attributes:
        ram_process_bytes: Resident set of this process.
        allocator_in_use_bytes: Framework allocator in use.
        graph_operations: Operations in live traces.
        functions: Functions registered with the runtime.
        retained: Entries of the gradient registry that belong to Keras step functions.
        step_time_s: Median step time of the epoch before; None after.
    """

    ram_process_bytes: Amount | None = None
    allocator_in_use_bytes: Amount | None = None
    graph_operations: Count | None = None
    functions: Count | None = None
    retained: Count | None = None
    step_time_s: Seconds | None = None


class ActionRecord(Event, frozen=True, tag="action"):
    """What one save, collect, reload or stop did, with before and after.

    Attributes:
        action: What was done.
        ok: Whether it did what was asked.
        asked_by: "limit ram 80%", "script", or the desktop user's name.
        command: Id of the command that asked, or empty.
        fit: Ordinal of the fit.
        epoch: Index from 0 of the epoch after which it ran.
        step: Steps done in the running epoch, for an action after a batch; 0 at an epoch's end.
        seconds: How long the training waited.
        before: Just before.
        after: Just after; None when nothing was changed.
        mode: "assign" for a reload; empty otherwise.
        variables: Variables saved.
        state_bytes: Their size, bytes.
        checkpoint: File name of the checkpoint (no folder), or empty.
        checksum: "crc32:..." or "sha256:..." of the state, verified by reading back.
        released_traces: Traces released.
        released_models: Dead models that they belonged to.
        held: What is still held and by whom, in words, at most 32 lines.
        why: What failed or was left out, in words; empty when all went well.
    """

    action: Literal["save", "collect", "reload", "stop", "pause", "resume", "notify"]
    ok: bool
    asked_by: Name
    fit: Count
    epoch: Count
    seconds: Seconds
    before: Footprint = Footprint()
    after: Footprint | None = None
    command: Id | None = None
    step: Count = 0
    mode: Name = ""
    variables: Count = 0
    state_bytes: Count = 0
    checkpoint: Text = ""
    checksum: Name = ""
    released_traces: Count = 0
    released_models: Count = 0
    held: Annotated[list[Text], msgspec.Meta(max_length=32)] = []
    why: Text = ""


class CommandProgress(Event, frozen=True, tag="command"):
    """A command changed its state in the agent.

    Attributes:
        id: The command.
        name: What was asked.
        state: received, started, done, failed, expired or refused.
        why: For the user, when it did not end well.
    """

    id: Id
    name: CommandName
    state: CommandState
    why: Text = ""


class LimitsInForce(Event, frozen=True, tag="limits"):
    """All limits of the run as the agent now enforces them.

    Attributes:
        limits: Every limit in force.
    """

    limits: Annotated[list[LimitSpec], msgspec.Meta(max_length=32)]


class LimitCrossed(Event, frozen=True, tag="crossing"):
    """A limit was crossed, or the metric fell back below its release level.

    Attributes:
        metric: Which.
        action: What will be done about it ("notify": nothing).
        value: The metric when it crossed, in its unit.
        threshold: The limit, in the same unit.
        crossed: True when it was crossed, False when it was released.
        answered: False during the cool-down: seen, nothing done.
    """

    metric: LimitMetric
    action: LimitAction
    value: Amount
    threshold: Amount
    crossed: bool = True
    answered: bool = True


class Paused(Event, frozen=True, tag="paused"):
    """Training was held at a safe point, or let go.

    Attributes:
        paused: Whether it now waits.
    """

    paused: bool


class Fault(Event, frozen=True, tag="fault"):
    """A fault of kmonitor's own in the training process.

    Attributes:
        where: Part that failed.
        count: How often so far.
        text: Type and message of the last one.
    """

    where: Name
    count: Count
    text: Text = ""


class Notice(Event, frozen=True, tag="notice"):
    """Something the user should know that has no type of its own.

    Attributes:
        level: How it is shown.
        code: For programs: "save_refused", "spool_degraded", "attached_late", ...
        text: For the user: what happened and what to do.
    """

    level: Literal["info", "warning", "error"]
    code: Name
    text: Text


class Lost(Event, frozen=True, tag="lost"):
    """Stands where an event could not be kept or was refused; also a gap the hub wrote.

    Attributes:
        first: First sequence number lost.
        last: Last one.
        why: The reason.
    """

    first: Count
    last: Count
    why: Text


AnyEvent = (
    BootStarted
    | BootEnded
    | Sources
    | ModelFacts
    | FitStarted
    | FitEnded
    | EpochStarted
    | EpochEnded
    | Sample
    | GraphSize
    | ActionRecord
    | CommandProgress
    | LimitsInForce
    | LimitCrossed
    | Paused
    | Fault
    | Notice
    | Lost
)
"""Every event."""
