"""Commands to a training process and their states, and limits as they are sent."""

from typing import Annotated, Final, Literal, get_args

import msgspec

from kmonitor_agent.wire.messages.fields import Amount, Count, Id, Name, Seconds, Text

CommandName = Literal[
    "save",
    "collect",
    "reload",
    "restart",
    "auto",
    "pause",
    "resume",
    "stop",
    "diagnose",
    "set_limits",
]
"""The closed set of commands; an agent lists in `SessionStarted.actions` those it supports."""

CommandState = Literal[
    "queued", "received", "started", "done", "failed", "expired", "refused", "unknown"
]
"""State of a command; states only ever move to the right of `queued`."""

FINAL_STATES: frozenset[CommandState] = frozenset(
    {"done", "failed", "expired", "refused", "unknown"}
)

LimitMetric = Literal[
    "ram",
    "vram",
    "graph",
    "step_time",
    "step_time_mean",
    "step_time_p95",
    "step_time_p99",
    "step_time_max",
    "epoch_time",
    "functions",
    "open_files",
    "threads",
    "processes",
    "shared_memory",
    "disk",
    "temp_disk",
]
"""Metrics that a limit can watch, as the charts define them.

`ram`: held by the process and its children, bytes. `vram`: allocator in use, else device
used, bytes. `graph`: operations in live traces. `step_time`: median of the last epoch, seconds
(its mean where the device runs behind); `step_time_mean`, `step_time_p95`, `step_time_p99`,
`step_time_max`: its mean, percentiles and longest step. `epoch_time`: the last epoch from begin
to end, seconds. `functions`: functions registered with the runtime. `open_files`: open
descriptors.
`threads`: of the process. `processes`: its children, zombies among them. `shared_memory`: blocks
in /dev/shm that the run created or had open, bytes. `disk`, `temp_disk`: used by everybody on
the disk of the checkpoints and of temporary files, bytes.
"""

STEP_TIME_METRICS: Final[dict[LimitMetric, str]] = {
    "step_time": "step_s",
    "step_time_mean": "mean_s",
    "step_time_p95": "p95_s",
    "step_time_p99": "p99_s",
    "step_time_max": "max_s",
}
"""Metrics of an epoch's step times, to the fields of `StepTimes`."""

LIMIT_METRICS: tuple[LimitMetric, ...] = get_args(LimitMetric)

LimitAction = Literal["notify", "save", "collect", "reload", "restart", "auto", "stop"]
"""Action of the agent when a limit is crossed; `auto` escalates from collect to restart."""

LIMIT_ACTIONS: tuple[LimitAction, ...] = get_args(LimitAction)

SafePoint = Literal["epoch", "batch"]
"""When an action runs: at the running epoch's end, or after the running batch."""

ReloadMode = Literal["assign", "recreate"]
"""How a reload restores: into the same variables, or into new variables."""


class LimitSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """One limit, as the agent holds it and the app draws it.

    Exactly one of `value` and `fraction` is set.

    Attributes:
        metric: The watched metric.
        value: Threshold in the metric's unit (bytes, operations, seconds, functions).
        fraction: Threshold as a fraction, 0..1, of the metric's upper bound (RAM, VRAM).
        action: Action when the limit is crossed.
        hold_s: Time that the metric must stay above the threshold to count as crossed, seconds.
        cooldown_s: Minimum time between two actions, seconds.
        set_by: Author: "script", or the desktop's user name.
    """

    metric: LimitMetric
    value: Amount | None = None
    fraction: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    action: LimitAction = "notify"
    hold_s: Seconds = 0.0
    cooldown_s: Seconds = 60.0
    set_by: Name = "script"


class PlainArguments(msgspec.Struct, frozen=True, tag="none"):
    """Arguments of a command that needs only the time at which it runs.

    Attributes:
        at: The safe point to run at.
    """

    at: SafePoint = "epoch"


class SaveArguments(msgspec.Struct, frozen=True, tag="save"):
    """Arguments of `save`.

    Attributes:
        at: The safe point to run at.
        export: True to write a `.keras` file beside the checkpoint, for other programs.
    """

    at: SafePoint = "epoch"
    export: bool = False


class ReloadArguments(msgspec.Struct, frozen=True, tag="reload"):
    """Arguments of `reload` and `auto`.

    Attributes:
        at: The safe point to run at.
        mode: How to restore; None: `assign`, which is always safe.
    """

    at: SafePoint = "epoch"
    mode: ReloadMode | None = None


class SetLimits(msgspec.Struct, frozen=True, tag="set_limits"):
    """Arguments of `set_limits`: replaces the run's limits on the metrics that are named.

    Attributes:
        metrics: The metrics whose limits are replaced; one without a new limit loses its limit.
        limits: The new limits.
    """

    metrics: Annotated[list[LimitMetric], msgspec.Meta(max_length=16)]
    limits: Annotated[list[LimitSpec], msgspec.Meta(max_length=16)]


Arguments = PlainArguments | SaveArguments | ReloadArguments | SetLimits


class Command(msgspec.Struct, frozen=True, tag="command", tag_field="type"):
    """Hub to agent: run a command once, at a safe point, before `ttl_s` has passed.

    Attributes:
        id: Chosen by the requester; a repeated command keeps its id.
        run: Run id.
        session: The process that it is meant for; another session refuses it.
        name: Name of the command.
        args: Typed arguments.
        ttl_s: Time to live from when the agent received it, seconds.
        requested_by: Requester, for the audit and the event log.
    """

    id: Id
    run: Id
    session: Id
    name: CommandName
    args: Arguments = PlainArguments()
    ttl_s: Seconds = 3600.0
    requested_by: Name = ""


class CommandStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """State of a command, as known to the hub.

    Attributes:
        id: The command's id.
        run: The run it is for.
        name: Name of the command.
        state: Its state.
        why: For the user: why it failed, expired, or was refused.
        row: Hub row id of the event that carried the state; None while it is `queued`.
    """

    id: Id
    run: Id
    name: CommandName
    state: CommandState
    why: Text = ""
    row: Count | None = None
