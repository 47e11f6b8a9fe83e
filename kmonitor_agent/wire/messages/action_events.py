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
        ram_process_bytes: Held by this process, as in `Sample`.
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
        requested_by: "limit ram 80%", "script", or the desktop user's name.
        command: Id of the command that asked, or empty.
        fit: Ordinal of the fit.
        epoch: Index from 0 of the epoch after which it ran.
        step: Steps done in the running epoch, for an action after a batch; 0 at an epoch's end.
        seconds: How long the training waited.
        before: Just before.
        after: Just after; None when nothing was changed.
        mode: "assign", "recreate" or "rebuild" (a new model object) for a reload; else empty.
        variables: Variables saved.
        state_bytes: Their size, bytes.
        checkpoint: File name of the checkpoint (no folder), or empty.
        checksum: "crc32:..." or "sha256:..." of the state, verified by reading back.
        released_traces: Traces released.
        released_models: Dead models that they belonged to.
        disused_traces: Those of the released that no dead model had: a model whose weights live
            on, compiled again, say, had no more use for them.
        held: What is still held and by whom, in words, at most 32 lines.
        why: What failed or was left out, in words; empty when all went well.
        part_of: "auto" when it was one step of an escalation; empty otherwise.
        export: File name of the `.keras` file written beside the checkpoint, or empty.
        unchanged: Why a collect or reload that did its work gave nothing back, in words; empty
            when it gave something back, or failed.
        not_saved: What trains the model and is not in the checkpoint, in words, at most 32 lines.
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
        count: Objects that the garbage collector tracks now.
        grown: How many more than at the diagnosis before; None at the first.
    """

    kind: Name
    count: Count
    grown: Change | None = None


class AllocationGrowth(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Python memory allocated at one line, between two safe points.

    Attributes:
        location: "file.py:12"; a hash when private.
        grown_bytes: Size now less size then, bytes.
        grown_blocks: Blocks now less blocks then.
    """

    location: Text
    grown_bytes: Change
    grown_blocks: Change = 0


class Diagnosis(Event, frozen=True, tag="diagnosis"):
    """On-demand evidence of what grows, taken at a safe point; costs tens of milliseconds.

    Attributes:
        fit: Ordinal of the fit.
        epoch: Index from 0.
        seconds: How long the training waited.
        objects: Types with most objects or most growth, at most 32.
        allocations: Lines that allocated most between two safe points, at most 32; empty until
            the second one.
        holders: Who holds traces, in words, at most 32 lines.
        why: What could not be searched, and why; empty when all was.
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
    """Training was held at a safe point, or resumed.

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


class LostEvents(Event, frozen=True, tag="lost"):
    """Replaces an event that could not be kept or was refused; also a gap the hub wrote.

    Attributes:
        first: First sequence number lost.
        last: Last one.
        why: The reason.
    """

    first: Count
    last: Count
    why: Text
