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
        actions: Commands that this process can carry out; empty with `commands=False`.
        unavailable: Capability to the reason why it is missing here.
        sample_interval_s: Time between samples, seconds.
        private: True if names are hashed and texts left out.
        job: Cluster job id ("slurm 123"), or empty.
        job_ends_wall_s: End of the job's time limit, UTC epoch seconds; None: unknown.
        rank: Rank of this process among those of one strategy, from 0; None: it is alone.
        world_size: Number of these processes; 0 if it is alone, or if unknown.
        group: Id that all of them share; hashed when private.
        study: Id of the study of `run_folds` that this belongs to; empty if to none.
        fold: Index of the fold, from 0; None: it runs the study, or belongs to none.
        folds: Number of folds of the study; 0 if this is no fold, or if unknown.
        attempt: Number of the attempt at the fold, from 1; 0 if this is no fold.
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
    """Last event of a process that could report its end.

    Attributes:
        why: How it ended, as far as the process itself knows.
        error_type: Class name of the exception, with why = "failed".
        message: Its message, at most 4096 characters; empty when private.
        supervisor: With why = "restart", process id of the `kmonitor run` that starts the next
            process of the run; 0: unknown.
    """

    why: Literal["finished", "failed", "interrupted", "stopped", "restart"]
    error_type: Name = ""
    message: Text = ""
    supervisor: Count = 0


class SessionDied(Event, frozen=True, tag="session_died"):
    """How a process ended, reported by the `kmonitor run` that had started it.

    Sent when the process did not end well, because it often cannot report its own end then.

    Attributes:
        session: The process's session.
        how: "memory": killed by the kernel for lack of memory; "signal"; "status": by itself.
        signal: Name of the signal ("SIGKILL"), or empty.
        status: Exit status; 0 when a signal ended the process.
        why: Explanation as text: the facts and their sources.
        is_requested: True if the signal had been sent to kmonitor run, by Ctrl+C for example.
        supervisor: Process id of the `kmonitor run` that starts the next process; 0: none follows.
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
        epochs: Planned number of epochs; 0 if unknown.
        initial_epoch: First epoch's index, from 0.
        steps: Steps per epoch; None until known.
        batch_size: Examples per batch; None when the data decide it.
        steps_per_execution: Steps that one call of the step function runs.
        optimizer: Class name.
        learning_rate: Learning rate at the start; None if it cannot be read.
        jit_compile: True if XLA compiles the step; None if unknown.
        run_eagerly: True if the step runs without a graph.
        checkpoint_dir: Folder on that host for the fit's checkpoints; empty when private.
        sequence_length: Length of the data along axes that the model leaves open; None if it
            leaves none open, or if lengths differ or are unknown.
        cache_steps: Steps after which a cache of the dataset in memory is full; None without one,
            or if unknown.
        cache_bytes: Size of the full cache; None where shapes vary.
        data_kind: "arrays", "dataset" (tf.data), "pydataset", "generator", "loader" (PyTorch) or
            "grain"; empty if unknown.
        data_workers: Threads or processes that load batches; None if unknown, or with other kinds
            than "pydataset" and "loader".
        data_persists: True if nothing is started again for each epoch: epochs share one iterator,
            or its workers stay alive.
        data_prefetches: True if a stage of the tf.data pipeline prefetches.
        data_maps_in_parallel: True if the tf.data pipeline maps, and in all such stages in
            parallel.
        data_python: Python code in the tf.data pipeline: "map" (`py_function`, `numpy_function`)
            or "generator" (`from_generator`); empty if there is none.
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
    data_kind: Name = ""
    data_workers: Count | None = None
    data_persists: bool = False
    data_prefetches: bool = False
    data_maps_in_parallel: bool = False
    data_python: Name = ""


class FitEnded(Event, frozen=True, tag="fit_end"):
    """A call of `fit` ended.

    Attributes:
        fit: Ordinal of the fit.
        how: "finished", "stopped" (by an action or a callback), "failed", "interrupted", or
            "left": the script caught an exception, an error or Ctrl+C, and it is unknown which.
        epochs_done: Epochs of this fit that ended in this process.
        error_type: Class name of the exception, with how = "failed".
        message: Its message; empty when private.
        epochs_before: Epochs of this fit that had ended before this process resumed it.
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
        ram_process_bytes: Memory of this process at that moment, as in `Sample`.
    """

    fit: Count
    epoch: Count
    ram_process_bytes: Amount | None = None


class StepTimes(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Step times of one epoch, from begin to begin over steps per execution, seconds.

    Attributes:
        count: Steps measured; the first after a trace and the epoch's end are left out.
        mean_s: Mean.
        p50_s: Median, from a histogram with buckets about 2% wide. This field and the three below
            are None if the device ran behind: the begins then measure handing over, not computing.
        p95_s: 95th percentile.
        p99_s: 99th percentile.
        max_s: Maximum, exact.
        first_s: The first step of the epoch, kept apart because it may contain a trace.
        slow: Steps that took more than three times the median.
        slow_sum_s: Total time of the slow steps.
        collected: Steps above 10 ms in which Python ran a full garbage collection; 0 if such
            collections ran in short steps as well.
        collected_sum_s: Total time of these steps.
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
    collected: Count = 0
    collected_sum_s: Seconds = 0.0

    @property
    def step_s(self) -> float:
        """Step time: the median, or the mean where only that is known."""
        return self.mean_s if self.p50_s is None else self.p50_s

    @property
    def slow_part(self) -> float:
        """Fraction of the time of all measured steps that the slow ones took, 0..1."""
        whole_s = self.mean_s * self.count
        return min(1.0, self.slow_sum_s / whole_s) if whole_s > 0.0 else 0.0


class CallbackTime(msgspec.Struct, frozen=True, gc=False):
    """Time of the callbacks of one class.

    Attributes:
        name: Class name, for Keras' `LambdaCallback` with its functions; hashed when private,
            except for Keras' own classes.
        seconds: Total time.
        saves: True if they save checkpoints; they are then not part of `callbacks_s`.
        in_steps_s: Part of it in steps that others follow, without an epoch's first; None:
            unknown.
    """

    name: Name
    seconds: Seconds
    saves: bool = False
    in_steps_s: Seconds | None = None


class EpochParts(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Time of an epoch by parts, seconds; the parts add up to `wall_s`.

    Attributes:
        wall_s: From the end of the previous epoch, or the begin of the run's first fit, to the end
            of this epoch.
        input_s: Waiting for input; None: unknown, and then part of `compute_s`.
        first_input_s: Part of it before the first step: an iterator is created, its buffers fill.
        compute_s: In the steps, without input, callbacks and compiling.
        callbacks_s: In callbacks that are not kmonitor's and save no checkpoints.
        checkpoints_s: In `ModelCheckpoint` and `BackupAndRestore`.
        ours_s: In kmonitor's hooks, actions included.
        validation_s: In validations, from begin to end.
        compiling_s: In steps that were traced or compiled, beyond the time of other steps.
        between_epochs_s: From the end of the previous epoch to the begin of this one, without
            callbacks.
        between_fits_s: The same if the previous epoch was in another fit.
        rest_s: Remaining time.
        cpu_s: Processor time of the process, all its threads, from the epoch's begin to its end
            without validation; None: unknown.
        timed: Fraction of the steps' time that was timed, 0..1; the rest is divided in the same
            proportions.
        callbacks: Classes of callbacks that took most, at most eight, including those that save
            checkpoints.
    """

    wall_s: Seconds
    input_s: Seconds | None = None
    first_input_s: Seconds = 0.0
    compute_s: Seconds = 0.0
    callbacks_s: Seconds = 0.0
    checkpoints_s: Seconds = 0.0
    ours_s: Seconds = 0.0
    validation_s: Seconds = 0.0
    compiling_s: Seconds = 0.0
    between_epochs_s: Seconds = 0.0
    between_fits_s: Seconds = 0.0
    rest_s: Seconds = 0.0
    cpu_s: Seconds | None = None
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
"""Names of the parts, in display order; each is a field with "_s"."""


class EpochEnded(Event, frozen=True, tag="epoch_end"):
    """An epoch ended.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index from 0.
        seconds: From begin to end of the epoch, validation included.
        steps: Steps that ran.
        logs: Keras' logs; NaN stays NaN.
        learning_rate: Learning rate at the end; None if it cannot be read.
        step_times: None when fewer than two steps were measured.
        ram_process_bytes: Memory of this process at that moment, as in `Sample`.
        threads: Number of threads at that moment.
        python_blocks: Blocks in use in Python's allocator, each of at most 512 bytes. This field
            and the six below are None at the ends of some short epochs.
        full_collections: Number of full garbage collections by Python.
        objects_to_full_collection: New objects of Python, less those freed, after which it
            collects garbage among all objects, by its three thresholds; 0: never, its collector is
            off.
        malloc_bytes: Memory in use in the C library's malloc, including what Python took from it.
        malloc_free_bytes: Freed memory that malloc keeps.
        malloc_largest_free_bytes: Largest part of it in one arena.
        malloc_arenas: Arenas that malloc has; a block is reused only in its own arena.
        allocator_in_use_bytes: Memory in use in the framework's allocator at that moment, as in
            `Sample`.
        validation_bytes: Growth of `ram_process_bytes` during the epoch's validations; None
            without one.
        parts: Time by parts; None: not measured.
    """

    fit: Count
    epoch: Count
    seconds: Seconds
    steps: Count = 0
    logs: Annotated[dict[Name, Number], msgspec.Meta(max_length=MAX_LOGS)] = {}
    learning_rate: Number | None = None
    step_times: StepTimes | None = None
    ram_process_bytes: Amount | None = None
    threads: Count | None = None
    python_blocks: Amount | None = None
    full_collections: Amount | None = None
    objects_to_full_collection: Amount | None = None
    malloc_bytes: Amount | None = None
    malloc_free_bytes: Amount | None = None
    malloc_largest_free_bytes: Amount | None = None
    malloc_arenas: Amount | None = None
    allocator_in_use_bytes: Amount | None = None
    validation_bytes: Number | None = None
    parts: EpochParts | None = None
