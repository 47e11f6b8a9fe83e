"""The events of a run's life: sessions, fits and epochs.

Every event carries `t_s`: seconds on the process's monotonic clock since its session started. The
session's own `started_wall_s` turns that into wall time.
"""

from typing import Annotated, Final, Literal

import msgspec

from kmonitor_agent.wire.messages.commands import CommandName
from kmonitor_agent.wire.messages.fields import (
    MAX_LOGS,
    Amount,
    Count,
    Id,
    Name,
    Number,
    Seconds,
    Text,
    Wall,
)


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    """Common part of all events.

    Attributes:
        t_s: Seconds since the session started, on its monotonic clock.
    """

    t_s: Seconds


class SessionStarted(Event, frozen=True, tag="session"):
    """First event of a process: who and where it is.

    Attributes:
        session: Random id of this process start.
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
        job_ends_wall_s: When the job's time limit ends it, UTC epoch seconds; None: not known.
        rank: Which of the processes of one strategy this is, from 0; None: it is alone.
        world_size: How many they are; 0 when it is alone or not known.
        group: The same for all of them; hashed when private.
        study: Id of the study of `run_folds` that this belongs to; empty when to none.
        fold: Which fold, from 0; None: it runs the study, or is of none.
        folds: How many folds the study has; 0 likewise.
        attempt: Which attempt at the fold, from 1; 0 likewise.
    """

    session: Id
    name: Name
    host: Name
    pid: Count
    started_wall_s: Wall
    pid_namespace: Count = 0
    user: Name = ""
    script: Text = ""
    argv: Annotated[list[Text], msgspec.Meta(max_length=256)] = []
    versions: Annotated[dict[Name, Name], msgspec.Meta(max_length=256)] = {}
    backend: Name = ""
    actions: Annotated[list[CommandName], msgspec.Meta(max_length=16)] = []
    unavailable: Annotated[dict[Name, Text], msgspec.Meta(max_length=64)] = {}
    sample_interval_s: Seconds = 1.0
    private: bool = False
    job: Name = ""
    job_ends_wall_s: Wall | None = None
    rank: Count | None = None
    world_size: Count = 0
    group: Name = ""
    study: Name = ""
    fold: Count | None = None
    folds: Count = 0
    attempt: Count = 0


class SessionEnded(Event, frozen=True, tag="session_end"):
    """Last event of a process that could say so.

    Attributes:
        why: How it ended as far as the process itself knows.
        error_type: Class name of the exception, with why = "failed".
        message: Its message, at most 4096 characters; empty when private.
        supervisor: With why = "restart", process id of the `kmonitor run` that starts the next
            process of the run; 0 unknown.
    """

    why: Literal["finished", "failed", "interrupted", "stopped", "restart"]
    error_type: Name = ""
    message: Text = ""
    supervisor: Count = 0


class SessionDied(Event, frozen=True, tag="session_died"):
    """How a process ended, reported by the `kmonitor run` that had started it.

    Sent when the process did not end well: then it often could not report it itself.

    Attributes:
        session: The process's session.
        how: "memory": killed by the kernel for want of memory; "signal"; "status": by itself.
        signal: Name of the signal ("SIGKILL"), or empty.
        status: Its exit status; 0 when a signal ended it.
        why: In words: what is known and where from.
        is_requested: Whether the signal had been sent to kmonitor run, by Ctrl+C for example.
        supervisor: Process id of the `kmonitor run` that starts a next process; 0: none follows.
    """

    session: Id
    how: Literal["memory", "signal", "status"]
    signal: Name = ""
    status: Count = 0
    why: Text = ""
    is_requested: bool = False
    supervisor: Count = 0


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
        checkpoint_dir: Folder on that host where its checkpoints go; empty when private.
        sequence_length: Of the data, along axes that the model leaves open; None where it leaves
            none open, or lengths differ or are not known.
        cache_steps: Steps after which a cache of the dataset in memory is full; None without
            one, or where it is not known.
        cache_bytes: What it holds then; None where shapes vary.
    """

    fit: Count
    model: Name
    epochs: Count = 0
    initial_epoch: Count = 0
    steps: Count | None = None
    batch_size: Count | None = None
    steps_per_execution: Count = 1
    optimizer: Name = ""
    learning_rate: Number | None = None
    jit_compile: bool | None = None
    run_eagerly: bool = False
    checkpoint_dir: Text = ""
    sequence_length: Count | None = None
    cache_steps: Count | None = None
    cache_bytes: Amount | None = None


class FitEnded(Event, frozen=True, tag="fit_end"):
    """A call of `fit` ended.

    Attributes:
        fit: Its ordinal.
        how: "finished", "stopped" (by an action or a callback), "failed", "interrupted", or "left"
            by an exception that the script caught, an error or Ctrl+C: which is not known.
        epochs_done: Epochs that ended in it, in this process.
        error_type: Class name of the exception when failed.
        message: Its message; empty when private.
        epochs_before: Epochs that had ended in it before this process took it up.
    """

    fit: Count
    how: Literal["finished", "stopped", "failed", "interrupted", "left"]
    epochs_done: Count = 0
    error_type: Name = ""
    message: Text = ""
    epochs_before: Count = 0


class EpochStarted(Event, frozen=True, tag="epoch_start"):
    """An epoch began.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index as Keras counts, from 0.
        ram_process_bytes: Held by this process just then, as in `Sample`.
    """

    fit: Count
    epoch: Count
    ram_process_bytes: Amount | None = None


class StepTimes(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Step time of one epoch, begin to begin over steps per execution, seconds.

    Attributes:
        count: Steps measured; the first after a trace and the epoch's end are left out.
        mean_s: Mean.
        p50_s: Median, from a histogram with buckets about 2% wide. It and the three that follow
            are None where the device was behind: begins are then handing over, not computing.
        p95_s: 95th percentile, likewise.
        p99_s: 99th percentile, likewise.
        max_s: Largest, exact.
        first_s: The first step of the epoch, kept apart since a trace may fall in it.
        slow: Steps that took more than three times the median.
        slow_sum_s: What they took together.
        slow_p50_s: Their median.
    """

    count: Count
    mean_s: Seconds
    p50_s: Seconds | None = None
    p95_s: Seconds | None = None
    p99_s: Seconds | None = None
    max_s: Seconds | None = None
    first_s: Seconds | None = None
    slow: Count = 0
    slow_sum_s: Seconds = 0.0
    slow_p50_s: Seconds | None = None

    @property
    def step_s(self) -> float:
        """Step time: the median, or the mean where only that is known."""
        return self.mean_s if self.p50_s is None else self.p50_s

    @property
    def slow_part(self) -> float:
        """The part of the time of all measured steps that the slow ones took, 0..1."""
        whole_s = self.mean_s * self.count
        return min(1.0, self.slow_sum_s / whole_s) if whole_s > 0.0 else 0.0


class CallbackTime(msgspec.Struct, frozen=True, gc=False):
    """What the callbacks of one class took.

    Attributes:
        name: Of the class; hashed when private, but for Keras' own.
        seconds: Together.
        saves: Whether they save checkpoints, and are no part of `callbacks_s`.
    """

    name: Name
    seconds: Seconds
    saves: bool = False


class EpochParts(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Where the time of an epoch went, seconds; the parts add up to `wall_s`.

    Attributes:
        wall_s: From the end of the epoch before, or the begin of the run's first fit, to its end.
        input_s: Waiting for input; None: not known, it is in `compute_s` then.
        compute_s: In the steps, without input, callbacks and compiling.
        callbacks_s: In callbacks that are not ours and save no checkpoints.
        checkpoints_s: In `ModelCheckpoint` and `BackupAndRestore`.
        ours_s: In kmonitor's hooks, actions included.
        validation_s: From the begins to the ends of its validations.
        compiling_s: In steps that were traced or compiled, above what others take.
        between_epochs_s: From the end of the epoch before to its begin, without callbacks.
        between_fits_s: Likewise where the epoch before was of another fit.
        rest_s: What none of these is.
        timed: Part of the steps' time that was timed, 0..1; the rest is shared out as that was.
        callbacks: By class, those that took most, at most eight; checkpoints too.
    """

    wall_s: Seconds
    input_s: Seconds | None = None
    compute_s: Seconds = 0.0
    callbacks_s: Seconds = 0.0
    checkpoints_s: Seconds = 0.0
    ours_s: Seconds = 0.0
    validation_s: Seconds = 0.0
    compiling_s: Seconds = 0.0
    between_epochs_s: Seconds = 0.0
    between_fits_s: Seconds = 0.0
    rest_s: Seconds = 0.0
    timed: Amount = 0.0
    callbacks: Annotated[list[CallbackTime], msgspec.Meta(max_length=8)] = []


EPOCH_PARTS: Final = (
    "input",
    "compute",
    "callbacks",
    "checkpoints",
    "validation",
    "compiling",
    "between_epochs",
    "between_fits",
    "ours",
    "rest",
)
"""Names of the parts, in the order in which they are shown; each is a field with "_s"."""


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
        ram_process_bytes: Held by this process just then, as in `Sample`.
        python_blocks: Blocks that Python's allocator has handed out, each of at most 512 bytes.
            It and the five that follow are None at the ends of some short epochs.
        full_collections: How often Python has looked through all objects for garbage.
        malloc_bytes: What the C library's malloc has handed out, what Python took from it too.
        malloc_free_bytes: What it was given back and keeps.
        malloc_largest_free_bytes: Of that, the most that one arena keeps.
        malloc_arenas: Arenas that malloc has; a block is used again only in its own.
        allocator_in_use_bytes: What the framework's allocator has handed out just then, as in
            `Sample`.
        validation_bytes: By how much `ram_process_bytes` grew from the begin to the end of its
            validations; None without one.
        parts: Where its time went; None: not measured.
    """

    fit: Count
    epoch: Count
    seconds: Seconds
    steps: Count = 0
    logs: Annotated[dict[Name, Number], msgspec.Meta(max_length=MAX_LOGS)] = {}
    learning_rate: Number | None = None
    step_times: StepTimes | None = None
    ram_process_bytes: Amount | None = None
    python_blocks: Amount | None = None
    full_collections: Amount | None = None
    malloc_bytes: Amount | None = None
    malloc_free_bytes: Amount | None = None
    malloc_largest_free_bytes: Amount | None = None
    malloc_arenas: Amount | None = None
    allocator_in_use_bytes: Amount | None = None
    validation_bytes: Number | None = None
    parts: EpochParts | None = None
