"""Events about actions, commands and limits, and about what went wrong."""

from typing import Annotated, Literal

import msgspec

from kmonitor_agent.wire.messages.commands import (
    CommandName,
    CommandState,
    LimitAction,
    LimitMetric,
    LimitSpec,
)
from kmonitor_agent.wire.messages.fields import Amount, Change, Count, Id, Name, Seconds, Text
from kmonitor_agent.wire.messages.lifecycle_events import Event


class Footprint(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Memory and graph at one moment, for the record of an action; None where not read.

    Attributes:
        ram_process_bytes: Memory of this process, as in `Sample`.
        allocator_in_use_bytes: Memory in use in the framework's allocator.
        graph_operations: Operations in live traces.
        functions: Functions registered with the runtime.
        retained: Entries of the gradient registry that belong to Keras step functions.
        step_time_s: Median step time of the epoch before the action; None after the action.
    """

    ram_process_bytes: Amount | None = None
    allocator_in_use_bytes: Amount | None = None
    graph_operations: Count | None = None
    functions: Count | None = None
    retained: Count | None = None
    step_time_s: Seconds | None = None


class ActionRecord(Event, frozen=True, tag="action"):
    """Result of one save, collect, reload or stop, with the state before and after.

    Attributes:
        action: The action.
        ok: True if the action succeeded.
        requested_by: "limit ram 80%", "script", or the desktop user's name.
        command: Id of the command that requested it, or empty.
        fit: Ordinal of the fit.
        epoch: Index from 0 of the epoch after which it ran.
        step: Steps done in the running epoch, for an action after a batch; 0 at an epoch's end.
        seconds: Time that the training waited.
        before: State just before.
        after: State just after; None if nothing was changed.
        mode: "assign", "recreate" or "rebuild" (a new model object) for a reload; else empty.
        variables: Number of variables saved.
        state_bytes: Their size, bytes.
        checkpoint: File name of the checkpoint (no folder), or empty.
        checksum: "crc32:..." or "sha256:..." of the state, verified by reading back.
        released_traces: Traces released.
        released_models: Dead models that the traces belonged to.
        disused_traces: Released traces that belonged to no dead model, for example those of a
            model that was compiled again and whose weights live on.
        held: Objects that are still held and their holders, as text, at most 32 lines.
        why: Failures and omissions, as text; empty if there were none.
        part_of: "auto" for one step of an escalation; empty otherwise.
        export: File name of the `.keras` file written beside the checkpoint, or empty.
        unchanged: Why a successful collect or reload gave nothing back, as text; empty if it gave
            something back, or failed.
        not_saved: State that trains the model and is not in the checkpoint, as text, at most 32
            lines.
    """

    action: Literal[
        "save", "collect", "reload", "restart", "diagnose", "stop", "pause", "resume", "notify"
    ]
    ok: bool
    requested_by: Name
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
    part_of: Name = ""
    export: Text = ""
    disused_traces: Count = 0
    unchanged: Text = ""
    not_saved: Annotated[list[Text], msgspec.Meta(max_length=32)] = []


class ObjectGrowth(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Python objects of one type, now and at the diagnosis before.

    Attributes:
        kind: Type name with its module.
        count: Objects that the garbage collector now tracks.
        grown: Growth since the diagnosis before; None at the first.
    """

    kind: Name
    count: Count
    grown: Change | None = None


class AllocationGrowth(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Python memory allocated at one line, between two safe points.

    Attributes:
        location: "file.py:12"; a hash when private.
        grown_bytes: Size now minus size then, bytes.
        grown_blocks: Blocks now minus blocks then.
    """

    location: Text
    grown_bytes: Change
    grown_blocks: Change = 0


class Diagnosis(Event, frozen=True, tag="diagnosis"):
    """On-demand evidence of what grows, taken at a safe point; costs tens of milliseconds.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index from 0.
        seconds: Time that the training waited.
        objects: Types with most objects or most growth, at most 32.
        allocations: Lines that allocated most between two safe points, at most 32; empty until
            the second one.
        holders: Holders of traces, as text, at most 32 lines.
        why: Parts that could not be searched, and why; empty if there are none.
    """

    fit: Count
    epoch: Count
    seconds: Seconds
    objects: Annotated[list[ObjectGrowth], msgspec.Meta(max_length=32)] = []
    allocations: Annotated[list[AllocationGrowth], msgspec.Meta(max_length=32)] = []
    holders: Annotated[list[Text], msgspec.Meta(max_length=32)] = []
    why: Text = ""


class CommandProgress(Event, frozen=True, tag="command"):
    """A command changed its state in the agent.

    Attributes:
        id: Id of the command.
        name: Name of the command.
        state: received, started, done, failed, expired or refused.
        why: Reason for the user, if the command did not succeed.
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
        metric: The metric of the limit.
        action: The action that follows ("notify": none).
        value: Value of the metric when it crossed, in its unit.
        threshold: Threshold of the limit, in the same unit.
        crossed: True when it was crossed, False when it was released.
        answered: False during the cooldown: recorded, without an action.
    """

    metric: LimitMetric
    action: LimitAction
    value: Amount
    threshold: Amount
    crossed: bool = True
    answered: bool = True


class Paused(Event, frozen=True, tag="paused"):
    """Training was held at a safe point, or resumed.

    Attributes:
        paused: True if the training now waits.
    """

    paused: bool


class Fault(Event, frozen=True, tag="fault"):
    """A fault of kmonitor's own in the training process.

    Attributes:
        where: Part that failed.
        count: Number of times so far.
        text: Type and message of the last fault.
    """

    where: Name
    count: Count
    text: Text = ""


class Notice(Event, frozen=True, tag="notice"):
    """A message to the user that has no event type of its own.

    Attributes:
        level: How it is shown.
        code: For programs: "save_refused", "spool_degraded", "attached_late", ...
        text: For the user: what happened and what to do.
    """

    level: Literal["info", "warning", "error"]
    code: Name
    text: Text


class LostEvents(Event, frozen=True, tag="lost"):
    """Replaces an event that could not be kept or was refused; also a gap, written by the hub.

    Attributes:
        first: First sequence number lost.
        last: Last sequence number lost.
        why: The reason.
    """

    first: Count
    last: Count
    why: Text
