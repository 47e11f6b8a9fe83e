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
"""State of a run, said by the hub.

`starting`: session known, no fit yet. `idle`: between fits. `reclaiming`: an action is running.
`silent`: its process lives but sends nothing ("no data for N s"). `lost`: its process is gone
without a word.
"""

ENDED_STATES: frozenset[RunState] = frozenset(
    {"finished", "stopped", "failed", "interrupted", "lost"}
)


class MetricReading(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The last reading of one metric.

    Attributes:
        value: In the metric's unit; None if absent.
        of: What it is a part of, same unit; of RAM what can be had; None where nothing bounds it.
        file_bytes: Of RAM: pages of files beside `value`, given back when needed; None: not read.
        source: Where it comes from.
        absent: Why there is none.
    """

    value: Amount | None = None
    of: Amount | None = None
    source: Text = ""
    absent: Text = ""
    file_bytes: Amount | None = None


class RunSummary(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a list of runs shows of one.

    Attributes:
        run: Run id.
        name: Run name.
        host: Host name.
        state: See `RunState`.
        state_why: In words, when there is more to say.
        session: Id of the newest process.
        pid: Its process id.
        started_wall_s: When the first session started, UTC.
        last_wall_s: When the hub stored the newest event, UTC.
        duration_s: Run time of the newest event, seconds (`t_s` of rows).
        backend: Keras backend.
        versions: Package to version.
        fit: Ordinal of the last fit.
        fits_done: Fits that ended.
        epoch: Epoch index from 0 in the last fit; None before the first. Of a fit that goes on in
            a later process, until it begins one there, the last that is known.
        epochs: Planned epochs of that fit; 0 unknown.
        epochs_done: Epochs ended in all fits together.
        step: Steps done in the running epoch.
        steps: Steps per epoch; None unknown.
        model: Model name of the last fit.
        batch_size: Of the last fit; None unknown.
        optimizer: Of the last fit.
        learning_rate: Last known.
        ram: Metric `ram`, bytes.
        vram: Metric `vram`, bytes.
        graph: Metric `graph`, operations.
        step_time: Metric `step_time`, seconds.
        limits: In force, as the agent said.
        actions: Commands that the process can carry out now; empty when it has ended.
        checkpoint_epoch: Epoch of the last checkpoint; None if there is none.
        checkpoint_bytes: Size of the state in it; the file is larger.
        checkpoint_wall_s: When.
        faults: kmonitor's own faults counted in that process.
        gaps: Events known to be lost.
        note: A desktop user's note on it.
        cause: How its last process died, in a few words ("out of memory", "SIGKILL", "exit
            status 3"); empty when it did not, or it is not known.
        job: Cluster job ("slurm 123"), or empty.
        rank: Which of the processes of one strategy it is, from 0; None: it is alone.
        world_size: How many they are; 0 when it is alone or not known.
        group: The same for all of them, and for later launches that look the same.
        is_shipped: It was read from a folder, and its process cannot be asked for anything.
        clock_ahead_s: By how much its host's clock is ahead of the hub's, whole minutes in
            seconds; 0: it is not.
        is_elsewhere: Another hub, with which this one shares a database, keeps it: it is only
            shown here.
        pinned: It is never removed to save room.
        verdicts: Metrics that grow: "growing" or "suspected"; those that do not are left out.
        stored_bytes: About what it takes in the hub's database.
        study: Id of the study that it is a fold of, or its own id when it is the study; or empty.
        fold: Which fold, from 0; None: it is the study itself, or of none.
        folds: How many folds the study has; 0: it is of none.
        attempt: Which attempt at the fold, from 1.
        tally: Of a study: how far its folds are; None: it is none, or has not reported yet.
        stalled_wall_s: While it trains, and makes no step for longer than it ever did at such a
            place: when it made the last one, UTC; else None.
        change: Grows with every change of this summary, for `RunsRequest.since_change`.
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


class RunsRequest(Message, frozen=True, tag="runs"):
    """Desktop to hub: the summaries that changed after `since_change` (0: all).

    Attributes:
        request_id: Number of the question.
        since_change: Newest change that is known already.
    """

    request_id: Count
    since_change: Count = 0


class RunsReply(Message, frozen=True, tag="runs_reply"):
    """Answer: summaries, newest start last; more follow when `more` (ask from `change`).

    Attributes:
        request_id: The question.
        hub: The hub's id; when it changes, all cursors start again.
        change: Newest change included.
        head: Newest row id.
        version: Version of the hub's program.
        host: Host name of the hub.
        runs: At most 200 of them.
        deleted: Ids of runs that are gone since.
        more: Whether there are more.
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
    """Desktop to hub: one page of rows behind a cursor (credit: one page at a time).

    Attributes:
        request_id: Number of the question.
        cursor: Row id after which to begin; 0: from the start.
        limit: Most rows wanted.
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
    """Answer: rows in order; `cursor` is what to ask from next.

    Attributes:
        request_id: The question.
        hub: The hub's id; when it changes, all cursors start again.
        cursor: Ask from here next.
        rows: In order.
        more: Whether rows behind `cursor` exist already.
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
"""Names of columns in one answer."""


MOST_SERIES_COLUMNS: Final = 64
"""Of one request; 3 MB with 4000 buckets each."""


class SeriesRequest(Message, frozen=True, tag="series"):
    """Desktop to hub: columns of one run, thinned to at most two points a bucket.

    Attributes:
        request_id: Number of the question.
        run: Which run.
        columns: Which fields; none: only `have`, at once, of those that some runs' samples fill.
        from_s: Run time to begin at.
        to_s: Run time to end at; None: the newest.
        buckets: How many, 1..4000; a column with fewer points comes raw.
        outline: Where all samples take long to read, some of them may come first (`one_of`).
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
        name: As asked.
        t_s: Little-endian float64 times, run time, `[n_points]`.
        values: Little-endian float64 values, `[n_points]`; NaN marks a gap.
        n_raw: Samples it was thinned from.
    """

    name: SeriesColumn
    t_s: ColumnBytes
    values: ColumnBytes
    n_raw: Count


class SeriesReply(Message, frozen=True, tag="series_reply"):
    """Answer.

    Attributes:
        request_id: The question.
        run: Run id.
        columns: As asked, those that exist.
        row: Newest row id that the columns include: follow live from here.
        sources: Sources of the columns asked.
        epoch_t_s: Float64 run times of epoch starts, `[n_epochs]`, all of the run.
        epoch_end_t_s: Float64 run times of epoch ends, NaN while running, `[n_epochs]`.
        fit_of_epoch: Little-endian int32 fit ordinals, `[n_epochs]`.
        have: Columns of the run in which anything was read, in order of their names; a hub of
            before 0.3 sends none.
        one_of: 1: made of all samples; more: an outline, made of one of so many of those that are
            not packed; another answer to the same question follows.
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
    """Desktop to hub: the verdicts on one run now, judged from its history if that was never done.

    Attributes:
        request_id: Number of the question.
        run: Which run.
        partial: Where reading its samples takes long, what is stored may be the answer.
    """

    request_id: Count
    run: Id
    partial: bool = False


class VerdictsReply(Message, frozen=True, tag="verdicts_reply"):
    """Answer: the newest verdict of each metric that was measured.

    Attributes:
        request_id: The question.
        run: Run id.
        verdicts: At most one a metric.
        unread: Samples that are yet to be read; with any, these are the verdicts stored so far.
    """

    request_id: Count
    run: Id
    verdicts: Annotated[list[Verdict], msgspec.Meta(max_length=16)] = []
    unread: Count = 0


class ReplyPending(Message, frozen=True, tag="pending"):
    """Hub to desktop: an answer takes long; sent about each second until it comes.

    Attributes:
        request_id: The question.
        done: Events of its run that were read for it.
        of: Events there are to read; 0: not known.
        beat: Another number than before: the hub gets on, with this question or one before it.
    """

    request_id: Count
    done: Count = 0
    of: Count = 0
    beat: Count = 0


class CommandRequest(Message, frozen=True, tag="command_request"):
    """Desktop to hub: have this done; asked again with the same id until the state is final.

    Attributes:
        request_id: Number of the question.
        id: Given by who asks; the same id is the same command.
        run: Run id.
        name: What to do.
        session: The process it is meant for.
        args: Typed arguments.
        ttl_s: Time to live from when the agent receives it, seconds.
        requested_by: Who asks, for the audit and the event log.
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
    """Hub to desktop: how far the command is.

    Attributes:
        request_id: The question; 0: sent unasked.
        status: How far it is.
    """

    request_id: Count
    status: CommandStatus


class EditRequest(Message, frozen=True, tag="edit"):
    """Desktop to hub: rename, annotate or delete a run.

    Attributes:
        request_id: Number of the question.
        run: Run id.
        name: New name; None leaves it.
        note: New note; None leaves it.
        pin: Whether it is kept when old runs are removed; None leaves it.
        delete: Remove the run and all its rows (refused while its process lives).
    """

    request_id: Count
    run: Id
    name: Name | None = None
    note: Text | None = None
    pin: bool | None = None
    delete: bool = False


class EditReply(Message, frozen=True, tag="edit_reply"):
    """Answer: done.

    Attributes:
        request_id: The question.
        run: The run that was edited.
    """

    request_id: Count
    run: Id


class HubRequest(Message, frozen=True, tag="hub"):
    """Desktop to hub: how are you.

    Attributes:
        request_id: Number of the question.
        stop: Also end, once every commit is done (only the same user's local socket may).
    """

    request_id: Count
    stop: bool = False


class HubReply(Message, frozen=True, tag="hub_reply"):
    """Answer: the hub's own condition.

    Attributes:
        request_id: The question.
        hub: Its id.
        version: Program version.
        pid: Process id.
        host: Host name.
        started_wall_s: Since when it runs.
        agents: Sessions alive now.
        viewers: Desktops that are connected; not who asked once, as the command line does.
        rows: Rows stored.
        database_bytes: Size of database and WAL.
        faults: Faults counted since start, by part.
        wall_s: The hub's clock, to see a skew.
        is_shipping: There is more to come at once: spools of dead processes that are still being
            taken from the disk, or, just after its start, trainings that have not spoken yet.
        folder: It shows the spools of this folder, and nothing can be asked or changed; or empty.
        retention_days: Runs that ended longer ago are removed; 0: none for age.
        retention_bytes: The oldest runs are removed above so much history; 0: none for size.
        retention_is_fixed: Started with `--keep-days` or `--keep-size`, which win over settings.
        runs_removed: Runs that it removed for either since it started.
        role: What who asks may do here: a viewer only looks.
        troubles: What is wrong with it and what to do, a sentence each, without a full stop.
        unwritten: The one of them for which nothing can be written now; empty: it can.
        prometheus: Address of its page of figures, which has no login; empty: there is none.
        otlp: Address of the collector that figures are sent to; empty: none.
        alerts: Alerts of its runs to a command or webhook: "on": it hands them over; "off": it
            would, and none is set; empty: it is of before that.
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


class ChangeHint(Message, frozen=True, tag="change_hint"):
    """Hub to desktop: a hint that may be lost: rows up to `head`, changes up to `change`.

    Attributes:
        head: Newest row id.
        change: Newest change of a summary.
        is_troubled: Nothing can be written now; `HubReply.unwritten` says why.
        troubles: `troubles_checksum` of what the hub says is wrong; None: a hub that sends none.
    """

    head: Count
    change: Count
    is_troubled: bool = False
    troubles: Count | None = None


def troubles_checksum(troubles: Sequence[str]) -> int:
    """A number by which a desktop sees that a hub's troubles differ from those it has."""
    return zlib.crc32("\0".join(troubles).encode())
