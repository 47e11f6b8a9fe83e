"""Messages between a desktop and a hub, and the summary of a run that they carry.

`request_id` pairs a reply with its request; 0 means none.
"""

import zlib
from collections.abc import Sequence
from typing import Annotated, Final, Literal

import msgspec

from kmonitor_agent.wire.messages.access_messages import Role
from kmonitor_agent.wire.messages.agent_messages import EventBytes, Message
from kmonitor_agent.wire.messages.commands import (
    Arguments,
    CommandName,
    CommandStatus,
    LimitSpec,
    PlainArguments,
)
from kmonitor_agent.wire.messages.fields import (
    MAX_COLUMN_BYTES,
    MAX_DELETED,
    MAX_EPOCH_BYTES,
    MAX_PAGE_ROWS,
    Amount,
    Count,
    Id,
    Name,
    Number,
    Seconds,
    Text,
    Wall,
)
from kmonitor_agent.wire.messages.readings import FieldSource
from kmonitor_agent.wire.messages.study_events import StudyTally
from kmonitor_agent.wire.messages.verdict_events import Verdict, VerdictMetric, VerdictState

RunState = Literal[
    "starting",
    "training",
    "idle",
    "paused",
    "reclaiming",
    "finished",
    "stopped",
    "failed",
    "interrupted",
    "silent",
    "lost",
]
"""State of a run, according to the hub.

`starting`: session known, no fit or call yet. `idle`: no fit is running. `reclaiming`: an action
is running. `silent`: its process lives but sends nothing ("no data for N s"). `lost`: its process
is gone without having reported its end.
"""

ENDED_STATES: frozenset[RunState] = frozenset(
    {"finished", "stopped", "failed", "interrupted", "lost"}
)


class MetricReading(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The last reading of one metric.

    Attributes:
        value: In the metric's unit; None if absent.
        of: Total that `value` is a part of, in the same unit; for RAM the available memory; None
            where nothing bounds it.
        file_bytes: For RAM: file-backed pages beside `value`, which the kernel takes back when
            needed; None: not read.
        source: Source of the value.
        absent: Why there is no value.
    """

    value: Amount | None = None
    of: Amount | None = None
    source: Text = ""
    absent: Text = ""
    file_bytes: Amount | None = None


class RunSummary(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Summary of a run, for lists.

    Attributes:
        run: Run id.
        name: Run name.
        host: Host name.
        state: See `RunState`.
        state_why: Reason for the state as text, if there is more to say.
        session: Id of the newest process.
        pid: Its process id.
        started_wall_s: Start of the first session, UTC epoch seconds.
        last_wall_s: Time at which the hub stored the newest event, UTC epoch seconds.
        duration_s: Run time of the newest event, seconds (`t_s` of rows).
        backend: Keras backend.
        versions: Package to version.
        fit: Ordinal of the last fit.
        fits_done: Number of fits that ended.
        epoch: Epoch index from 0 in the last fit; None before the first. For a fit that continues
            in a later process, the last known one until an epoch begins there.
        epochs: Planned epochs of that fit; 0: unknown.
        epochs_done: Number of epochs that ended, in all fits.
        step: Steps done in the running epoch.
        calls: Number of calls of `evaluate`, `predict` and `collect()` outside of fits, in the
            newest process.
        steps: Steps per epoch; None: unknown.
        model: Model name of the last fit.
        batch_size: Batch size of the last fit; None: unknown.
        optimizer: Optimizer of the last fit.
        learning_rate: Last known learning rate.
        ram: Metric `ram`, bytes.
        vram: Metric `vram`, bytes.
        graph: Metric `graph`, operations.
        step_time: Metric `step_time`, seconds.
        limits: Limits in force, as the agent reported.
        actions: Commands that the process can carry out now; empty when it has ended.
        checkpoint_epoch: Epoch of the last checkpoint; None if there is none.
        checkpoint_bytes: Size of the state in that checkpoint; the file is larger.
        checkpoint_wall_s: Time of that checkpoint, UTC epoch seconds.
        faults: Number of kmonitor's own faults in that process.
        gaps: Number of events known to be lost.
        note: A desktop user's note on the run.
        cause: How its last process died, in brief ("out of memory", "SIGKILL", "exit status 3");
            empty if it did not die, or if unknown.
        job: Cluster job ("slurm 123"), or empty.
        rank: Rank among the processes of one strategy, from 0; None: it is alone.
        world_size: Number of these processes; 0 if it is alone, or if unknown.
        group: Id that all of them share, and later launches that look the same.
        is_shipped: True if the run was read from a folder; its process then takes no commands.
        clock_ahead_s: Lead of its host's clock over the hub's, whole minutes in seconds; 0: none.
        is_elsewhere: True if another hub, with which this one shares a database, keeps the run: it
            is only shown here.
        pinned: True if the run is never removed to save room.
        verdicts: States of the metrics that grow, "growing" or "suspected"; other metrics are left
            out.
        stored_bytes: Approximate size in the hub's database.
        study: Id of the study that it is a fold of, or its own id if it is the study; else empty.
        fold: Index of the fold, from 0; None: it is the study itself, or no fold.
        folds: Number of folds of the study; 0: it is no fold.
        attempt: Number of the attempt at the fold, from 1.
        tally: For a study, its folds by state; None: it is no study, or has not reported yet.
        stalled_wall_s: Time of the last step, UTC epoch seconds, if the run trains and has made no
            step for longer than ever before in such a place; else None.
        change: Increases with every change of this summary, for `RunsRequest.since_change`.
    """

    run: Id
    name: Name
    host: Name
    state: RunState
    session: Id
    pid: Count
    started_wall_s: Wall
    last_wall_s: Wall
    change: Count
    duration_s: Seconds = 0.0
    state_why: Text = ""
    backend: Name = ""
    versions: Annotated[dict[Name, Name], msgspec.Meta(max_length=256)] = {}
    fit: Count = 0
    fits_done: Count = 0
    epoch: Count | None = None
    epochs: Count = 0
    epochs_done: Count = 0
    step: Count = 0
    steps: Count | None = None
    model: Name = ""
    batch_size: Count | None = None
    optimizer: Name = ""
    learning_rate: Number | None = None
    ram: MetricReading = MetricReading()
    vram: MetricReading = MetricReading()
    graph: MetricReading = MetricReading()
    step_time: MetricReading = MetricReading()
    limits: Annotated[list[LimitSpec], msgspec.Meta(max_length=32)] = []
    actions: Annotated[list[CommandName], msgspec.Meta(max_length=16)] = []
    checkpoint_epoch: Count | None = None
    checkpoint_bytes: Count | None = None
    checkpoint_wall_s: Wall | None = None
    faults: Count = 0
    gaps: Count = 0
    note: Text = ""
    cause: Name = ""
    job: Name = ""
    rank: Count | None = None
    world_size: Count = 0
    group: Name = ""
    is_shipped: bool = False
    clock_ahead_s: Seconds = 0.0
    is_elsewhere: bool = False
    pinned: bool = False
    verdicts: Annotated[dict[VerdictMetric, VerdictState], msgspec.Meta(max_length=16)] = {}
    stored_bytes: Count = 0
    study: Name = ""
    fold: Count | None = None
    folds: Count = 0
    attempt: Count = 0
    tally: StudyTally | None = None
    stalled_wall_s: Wall | None = None
    calls: Count = 0


class RunsRequest(Message, frozen=True, tag="runs"):
    """Desktop to hub: the summaries that changed after `since_change` (0: all).

    Attributes:
        request_id: Number of the request.
        since_change: Newest change that the desktop already has.
    """

    request_id: Count
    since_change: Count = 0


class RunsReply(Message, frozen=True, tag="runs_reply"):
    """Reply: summaries, newest start last; more follow when `more` (ask from `change`).

    Attributes:
        request_id: Number of the request.
        hub: The hub's id; when it changes, all cursors start again.
        change: Newest change included.
        head: Newest row id.
        version: Version of the hub's program.
        host: Host name of the hub.
        runs: At most 200 of them.
        deleted: Ids of runs deleted since.
        more: True if there are more.
    """

    request_id: Count
    hub: Id
    change: Count
    head: Count
    version: Name
    host: Name
    runs: Annotated[list[RunSummary], msgspec.Meta(max_length=200)]
    deleted: Annotated[list[Id], msgspec.Meta(max_length=MAX_DELETED)] = []
    more: bool = False


class RowsRequest(Message, frozen=True, tag="rows"):
    """Desktop to hub: one page of rows after a cursor (credit: one page at a time).

    Attributes:
        request_id: Number of the request.
        cursor: Row id after which to begin; 0: from the start.
        limit: Maximum number of rows.
        runs: Only of these runs; empty: all.
        kinds: Only these event types; empty: all.
    """

    request_id: Count
    cursor: Count
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE_ROWS)] = MAX_PAGE_ROWS
    runs: Annotated[list[Id], msgspec.Meta(max_length=1000)] = []
    kinds: Annotated[list[Name], msgspec.Meta(max_length=32)] = []


class EventRow(msgspec.Struct, frozen=True, gc=False):
    """One stored event.

    Attributes:
        row: Hub row id, rising.
        run: Run id.
        seq: Sequence number in the run; 0: the hub wrote it.
        t_s: Run time: seconds since the run's first session started.
        body: The event as it was sent (`codec.decode_event`).
    """

    row: Count
    run: Id
    seq: Count
    t_s: Seconds
    body: EventBytes


class RowsReply(Message, frozen=True, tag="rows_reply"):
    """Reply: rows in order; `cursor` is the start of the next request.

    Attributes:
        request_id: Number of the request.
        hub: The hub's id; when it changes, all cursors start again.
        cursor: Start of the next request.
        rows: In order.
        more: True if rows after `cursor` exist already.
        head: Newest row id of the hub.
    """

    request_id: Count
    hub: Id
    cursor: Count
    rows: Annotated[list[EventRow], msgspec.Meta(max_length=MAX_PAGE_ROWS)]
    more: bool
    head: Count


SeriesColumn = Annotated[str, msgspec.Meta(max_length=64)]
"""A measured field of `Sample`, "deviceN_FIELD" of a further device, "batch:NAME" of a log within
epochs; one value an epoch: "epoch:step_time_s" (medians), "epoch:learning_rate", "log:NAME"."""

ColumnBytes = Annotated[bytes, msgspec.Meta(max_length=MAX_COLUMN_BYTES)]
EpochBytes = Annotated[bytes, msgspec.Meta(max_length=MAX_EPOCH_BYTES)]

MOST_COLUMNS: Final = 512
"""Maximum number of column names in one reply."""


MOST_SERIES_COLUMNS: Final = 64
"""Maximum number of columns in one request; 3 MB with 4000 buckets each."""


class SeriesRequest(Message, frozen=True, tag="series"):
    """Desktop to hub: columns of one run, thinned to at most two points a bucket.

    Attributes:
        request_id: Number of the request.
        run: Run id.
        columns: Requested fields; empty: only `have`, at once, with the columns that only some
            runs' samples fill.
        from_s: Run time to begin at.
        to_s: Run time to end at; None: the newest.
        buckets: Number of buckets, 1..4000; a column with fewer points comes raw.
        outline: True to allow an outline of some samples first, if reading all of them takes long
            (`one_of`).
    """

    request_id: Count
    run: Id
    columns: Annotated[list[SeriesColumn], msgspec.Meta(max_length=MOST_SERIES_COLUMNS)]
    from_s: Seconds = 0.0
    to_s: Seconds | None = None
    buckets: Annotated[int, msgspec.Meta(ge=1, le=4000)] = 600
    outline: bool = False


class ThinnedColumn(msgspec.Struct, frozen=True, gc=False):
    """One thinned column: minimum and maximum of each bucket, in time order.

    Attributes:
        name: As requested.
        t_s: Little-endian float64 times, run time, `[n_points]`.
        values: Little-endian float64 values, `[n_points]`; NaN marks a gap.
        n_raw: Samples it was thinned from.
    """

    name: SeriesColumn
    t_s: ColumnBytes
    values: ColumnBytes
    n_raw: Count


class SeriesReply(Message, frozen=True, tag="series_reply"):
    """Reply: the columns that exist, with the epochs of the run.

    Attributes:
        request_id: Number of the request.
        run: Run id.
        columns: The requested columns that exist.
        row: Newest row id that the columns include: follow live from here.
        sources: Sources of the requested columns.
        epoch_t_s: Float64 run times of epoch starts, `[n_epochs]`, all of the run.
        epoch_end_t_s: Float64 run times of epoch ends, NaN while running, `[n_epochs]`.
        fit_of_epoch: Little-endian int32 fit ordinals, `[n_epochs]`.
        have: Columns of the run that have values, sorted by name; a hub older than 0.3 sends none.
        one_of: 1: from all samples; n > 1: an outline, from one in n of the samples that are not
            packed; another reply to the same request follows.
    """

    request_id: Count
    run: Id
    row: Count
    columns: Annotated[list[ThinnedColumn], msgspec.Meta(max_length=MOST_SERIES_COLUMNS)]
    sources: Annotated[list[FieldSource], msgspec.Meta(max_length=64)] = []
    epoch_t_s: EpochBytes = b""
    epoch_end_t_s: EpochBytes = b""
    fit_of_epoch: EpochBytes = b""
    have: Annotated[list[SeriesColumn], msgspec.Meta(max_length=MOST_COLUMNS)] = []
    one_of: Count = 1


class VerdictsRequest(Message, frozen=True, tag="verdicts"):
    """Desktop to hub: current verdicts on a run, judged from its history if they do not exist.

    Attributes:
        request_id: Number of the request.
        run: Run id.
        partial: True to allow the stored verdicts as the reply if reading the samples takes long.
    """

    request_id: Count
    run: Id
    partial: bool = False


class VerdictsReply(Message, frozen=True, tag="verdicts_reply"):
    """Reply: the newest verdict of each metric that was measured.

    Attributes:
        request_id: Number of the request.
        run: Run id.
        verdicts: At most one per metric.
        unread: Number of samples not read yet; if not 0, these are the verdicts stored so far.
    """

    request_id: Count
    run: Id
    verdicts: Annotated[list[Verdict], msgspec.Meta(max_length=16)] = []
    unread: Count = 0


class ReplyPending(Message, frozen=True, tag="pending"):
    """Hub to desktop: a reply takes long; sent about each second until it comes.

    Attributes:
        request_id: Number of the request.
        done: Number of the run's events read so far.
        of: Number of events to read; 0: unknown.
        beat: Changes whenever the hub makes progress with this request or an earlier one.
    """

    request_id: Count
    done: Count = 0
    of: Count = 0
    beat: Count = 0


class CommandRequest(Message, frozen=True, tag="command_request"):
    """Desktop to hub: run a command; sent again with the same id until the state is final.

    Attributes:
        request_id: Number of the request.
        id: Chosen by the requester; the same id is the same command.
        run: Run id.
        name: Name of the command.
        session: The process it is meant for.
        args: Typed arguments.
        ttl_s: Time to live from when the agent receives it, seconds.
        requested_by: Requester, for the audit and the event log.
    """

    request_id: Count
    id: Id
    run: Id
    name: CommandName
    session: Id
    args: Arguments = PlainArguments()
    ttl_s: Seconds = 3600.0
    requested_by: Name = ""


class CommandReply(Message, frozen=True, tag="command_reply"):
    """Hub to desktop: state of a command.

    Attributes:
        request_id: Number of the request; 0: sent without one.
        status: State of the command.
    """

    request_id: Count
    status: CommandStatus


class EditRequest(Message, frozen=True, tag="edit"):
    """Desktop to hub: rename, annotate or delete a run.

    Attributes:
        request_id: Number of the request.
        run: Run id.
        name: New name; None: unchanged.
        note: New note; None: unchanged.
        pin: True to keep the run when old runs are removed, False not to; None: unchanged.
        delete: True to remove the run and all its rows (refused while its process lives).
    """

    request_id: Count
    run: Id
    name: Name | None = None
    note: Text | None = None
    pin: bool | None = None
    delete: bool = False


class EditReply(Message, frozen=True, tag="edit_reply"):
    """Reply: the edit was made.

    Attributes:
        request_id: Number of the request.
        run: The run that was edited.
    """

    request_id: Count
    run: Id


class HubRequest(Message, frozen=True, tag="hub"):
    """Desktop to hub: request the hub's condition.

    Attributes:
        request_id: Number of the request.
        stop: True to stop the hub as well, once every commit is done (only through the same user's
            local socket).
    """

    request_id: Count
    stop: bool = False


class HubReply(Message, frozen=True, tag="hub_reply"):
    """Reply: the hub's own condition.

    Attributes:
        request_id: Number of the request.
        hub: The hub's id.
        version: Version of its program.
        pid: Process id.
        host: Host name.
        started_wall_s: Start of the hub, UTC epoch seconds.
        agents: Number of sessions alive now.
        viewers: Number of connected desktops, without clients that ask once, as the command line
            does.
        rows: Number of stored rows.
        database_bytes: Size of database and WAL.
        faults: Number of faults since the start, by part.
        wall_s: The hub's clock, UTC epoch seconds, to detect a skew.
        is_shipping: True if more data arrives at once: spools of dead processes are still being
            read from the disk, or, just after the hub's start, trainings have not sent what their
            spools held.
        folder: Folder whose spools it shows, without commands or changes; empty: an ordinary hub.
        retention_days: Age at which ended runs are removed; 0: age does not matter.
        retention_bytes: Size of the history above which the oldest runs are removed; 0: size does
            not matter.
        retention_is_fixed: True if started with `--keep-days` or `--keep-size`, which take
            precedence over settings.
        runs_removed: Number of runs removed for age or size since the start.
        role: Role of the requester here: a viewer only looks.
        troubles: Problems of the hub and their remedies, a sentence each, without a full stop.
        unwritten: The one among them that prevents writing now; empty: the hub can write.
        prometheus: Address of its page of metrics, which has no login; empty: there is none.
        otlp: Address of the collector to which metrics are sent; empty: none.
        alerts: Alerts of its runs to a command or webhook. "on": they are handed over; "off": none
            is set; empty: the hub is older than this field.
        head: Newest row id: live rows begin after it. None: the hub is older than this field.
    """

    request_id: Count
    hub: Id
    version: Name
    pid: Count
    host: Name
    started_wall_s: Wall
    agents: Count
    viewers: Count
    rows: Count
    database_bytes: Count
    wall_s: Wall
    faults: Annotated[dict[Name, Count], msgspec.Meta(max_length=128)] = {}
    is_shipping: bool = False
    folder: Text = ""
    retention_days: Amount = 0.0
    retention_bytes: Count = 0
    retention_is_fixed: bool = False
    runs_removed: Count = 0
    role: Role = "operator"
    troubles: Annotated[list[Text], msgspec.Meta(max_length=16)] = []
    unwritten: Text = ""
    prometheus: Text = ""
    otlp: Text = ""
    alerts: Literal["", "off", "on"] = ""
    head: Count | None = None


class ChangeHint(Message, frozen=True, tag="change_hint"):
    """Hub to desktop: newest row and change; a hint that may be lost.

    Attributes:
        head: Newest row id.
        change: Newest change of a summary.
        is_troubled: True if nothing can be written now; `HubReply.unwritten` says why.
        troubles: `troubles_checksum` of the hub's problems; None: the hub sends none.
    """

    head: Count
    change: Count
    is_troubled: bool = False
    troubles: Count | None = None


def troubles_checksum(troubles: Sequence[str]) -> int:
    """A checksum by which a desktop sees that a hub's problems have changed."""
    return zlib.crc32("\0".join(troubles).encode())
