"""The messages between a desktop and a hub: questions carry `ask`, answers repeat it.

`ask` pairs an answer with its question; 0 means none.
"""

import zlib
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from kmonitor_agent.wire.messages.access_messages import Role
from kmonitor_agent.wire.messages.agent_messages import EventBytes, Message
from kmonitor_agent.wire.messages.commands import (
    Arguments,
    CommandName,
    CommandStatus,
    NoArguments,
)
from kmonitor_agent.wire.messages.identity import Amount, Count, Id, Name, Seconds, Text, Wall
from kmonitor_agent.wire.messages.readings import SourceOf
from kmonitor_agent.wire.messages.run_summary import RunSummary
from kmonitor_agent.wire.messages.verdict_events import Verdict
from kmonitor_agent.wire.messages.version import (
    MAX_COLUMN_BYTES,
    MAX_DELETED,
    MAX_EPOCH_BYTES,
    MAX_PAGE_ROWS,
)


class RunsAsked(Message, frozen=True, tag="runs"):
    """Desktop to hub: the summaries that changed after `since_change` (0: all).

    Attributes:
        ask: Number of the question.
        since_change: Newest change that is known already.
    """

    ask: Count
    since_change: Count = 0


class RunsTold(Message, frozen=True, tag="runs_told"):
    """Answer: summaries, newest start last; more follow when `more` (ask from `change`).

    Attributes:
        ask: The question.
        hub: The hub's id; when it changes, all cursors start anew.
        change: Newest change included.
        head: Newest row id.
        version: Version of the hub's program.
        host: Host name of the hub.
        runs: At most 200 of them.
        deleted: Ids of runs that are gone since.
        more: Whether there are more.
    """

    ask: Count
    hub: Id
    change: Count
    head: Count
    version: Name
    host: Name
    runs: Annotated[list[RunSummary], msgspec.Meta(max_length=200)]
    deleted: Annotated[list[Id], msgspec.Meta(max_length=MAX_DELETED)] = []
    more: bool = False


class RowsAsked(Message, frozen=True, tag="sub"):
    """Desktop to hub: one page of rows behind a cursor (credit: one page at a time).

    Attributes:
        ask: Number of the question.
        cursor: Row id after which to begin; 0: from the start.
        limit: Most rows wanted.
        runs: Only of these runs; empty: all.
        kinds: Only these event types; empty: all.
    """

    ask: Count
    cursor: Count
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE_ROWS)] = MAX_PAGE_ROWS
    runs: Annotated[list[Id], msgspec.Meta(max_length=1000)] = []
    kinds: Annotated[list[Name], msgspec.Meta(max_length=32)] = []


class Row(msgspec.Struct, frozen=True, gc=False):
    """One stored event.

    Attributes:
        row: Hub row id, rising.
        run: Run id.
        seq: Sequence number in the run; 0: the hub wrote it.
        t_s: Run time: seconds since the run's first boot started.
        body: The event as it was sent (`codec.decode_event`).
    """

    row: Count
    run: Id
    seq: Count
    t_s: Seconds
    body: EventBytes


class RowsTold(Message, frozen=True, tag="page"):
    """Answer: rows in order; `cursor` is what to ask from next.

    Attributes:
        ask: The question.
        hub: The hub's id; when it changes, all cursors start anew.
        cursor: Ask from here next.
        rows: In order.
        more: Whether rows behind `cursor` exist already.
        head: Newest row id of the hub.
    """

    ask: Count
    hub: Id
    cursor: Count
    rows: Annotated[list[Row], msgspec.Meta(max_length=MAX_PAGE_ROWS)]
    more: bool
    head: Count


SeriesColumn = Annotated[str, msgspec.Meta(max_length=64)]
"""A measured field of `Sample`, "deviceN_FIELD" of a further device, "batch:NAME" of a log within
epochs; one value an epoch: "epoch:step_time_s" (medians), "epoch:learning_rate", "log:NAME"."""


ColumnBytes = Annotated[bytes, msgspec.Meta(max_length=MAX_COLUMN_BYTES)]
EpochBytes = Annotated[bytes, msgspec.Meta(max_length=MAX_EPOCH_BYTES)]

MOST_COLUMNS: Final = 512
"""Names of columns in one answer."""


class SeriesAsked(Message, frozen=True, tag="series"):
    """Desktop to hub: columns of one run, thinned to at most two points a bucket.

    Attributes:
        ask: Number of the question.
        run: Which run.
        columns: Which fields.
        from_s: Run time to begin at.
        to_s: Run time to end at; None: the newest.
        buckets: How many, 1..4000; a column with fewer points comes raw.
        outline: Where all samples take long to read, some of them may come first (`one_of`).
    """

    ask: Count
    run: Id
    columns: Annotated[list[SeriesColumn], msgspec.Meta(min_length=1, max_length=16)]
    from_s: Seconds = 0.0
    to_s: Seconds | None = None
    buckets: Annotated[int, msgspec.Meta(ge=1, le=4000)] = 600
    outline: bool = False


class Column(msgspec.Struct, frozen=True, gc=False):
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


class SeriesTold(Message, frozen=True, tag="series_told"):
    """Answer.

    Attributes:
        ask: The question.
        run: Run id.
        columns: As asked, those that exist.
        row: Newest row id that the columns include: follow live from here.
        sources: Sources of the columns asked.
        epoch_t_s: Float64 run times of epoch starts, `[n_epochs]`, all of the run.
        epoch_end_t_s: Float64 run times of epoch ends, NaN while running, `[n_epochs]`.
        fit_of_epoch: Little-endian int32 fit ordinals, `[n_epochs]`.
        have: Columns of the run in which anything was read, in order of their names; a hub of
            before 0.3 tells none.
        one_of: 1: made of all samples; more: an outline, made of one of so many of those that are
            not packed; another answer to the same question follows.
    """

    ask: Count
    run: Id
    row: Count
    columns: Annotated[list[Column], msgspec.Meta(max_length=16)]
    sources: Annotated[list[SourceOf], msgspec.Meta(max_length=64)] = []
    epoch_t_s: EpochBytes = b""
    epoch_end_t_s: EpochBytes = b""
    fit_of_epoch: EpochBytes = b""
    have: Annotated[list[SeriesColumn], msgspec.Meta(max_length=MOST_COLUMNS)] = []
    one_of: Count = 1


class VerdictsAsked(Message, frozen=True, tag="verdicts"):
    """Desktop to hub: how one run stands now, judged from its history if that was never done.

    Attributes:
        ask: Number of the question.
        run: Which run.
    """

    ask: Count
    run: Id


class VerdictsTold(Message, frozen=True, tag="verdicts_told"):
    """Answer: the newest verdict of each metric that was measured.

    Attributes:
        ask: The question.
        run: Run id.
        verdicts: At most one a metric.
    """

    ask: Count
    run: Id
    verdicts: Annotated[list[Verdict], msgspec.Meta(max_length=16)] = []


class Working(Message, frozen=True, tag="working"):
    """Hub to desktop: an answer takes long; told about each second until it comes.

    Attributes:
        ask: The question.
        done: Events of its run that were read for it.
        of: Events there are to read; 0: not known.
        beat: Another number than before: the hub gets on, with this question or one before it.
    """

    ask: Count
    done: Count = 0
    of: Count = 0
    beat: Count = 0


class CommandAsked(Message, frozen=True, tag="cmdreq"):
    """Desktop to hub: have this done; asked again with the same id until the state is final.

    Attributes:
        ask: Number of the question.
        id: Given by who asks; the same id is the same command.
        run: Run id.
        name: What to do.
        boot: The process it is meant for.
        args: Typed arguments.
        ttl_s: Time to live from when the agent receives it, seconds.
        asked_by: Who asks, for the audit and the event log.
    """

    ask: Count
    id: Id
    run: Id
    name: CommandName
    boot: Id
    args: Arguments = NoArguments()
    ttl_s: Seconds = 3600.0
    asked_by: Name = ""


class CommandTold(Message, frozen=True, tag="cmdst"):
    """Hub to desktop: where the command stands.

    Attributes:
        ask: The question; 0: told unasked.
        status: Where it stands.
    """

    ask: Count
    status: CommandStatus


class EditAsked(Message, frozen=True, tag="edit"):
    """Desktop to hub: rename, annotate or delete a run.

    Attributes:
        ask: Number of the question.
        run: Run id.
        name: New name; None leaves it.
        note: New note; None leaves it.
        pin: Whether it is kept when old runs are removed; None leaves it.
        delete: Remove the run and all its rows (refused while its process lives).
    """

    ask: Count
    run: Id
    name: Name | None = None
    note: Text | None = None
    pin: bool | None = None
    delete: bool = False


class EditTold(Message, frozen=True, tag="edited"):
    """Answer: done.

    Attributes:
        ask: The question.
        run: The run that was edited.
    """

    ask: Count
    run: Id


class HubAsked(Message, frozen=True, tag="hub"):
    """Desktop to hub: how are you.

    Attributes:
        ask: Number of the question.
        stop: Also end, once every commit is done (only the same user's local socket may).
    """

    ask: Count
    stop: bool = False


class HubTold(Message, frozen=True, tag="hub_told"):
    """Answer: the hub's own condition.

    Attributes:
        ask: The question.
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
        keep_days: Runs that ended longer ago are removed; 0: none for their age.
        keep_bytes: The oldest runs are removed above so much history; 0: none for their size.
        keep_is_fixed: It was started with `--keep-days` or `--keep-size`: what the settings say of
            this does not count.
        runs_removed: Runs that it removed for either since it started.
        role: What who asks may do here: a viewer only looks.
        troubles: What is wrong with it and what to do, a sentence each, without a full stop.
        unwritten: The one of them for which nothing can be written now; empty: it can.
        prometheus: Address of its page of figures, which has no login; empty: there is none.
        otlp: Address of the collector that figures are sent to; empty: none.
    """

    ask: Count
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
    keep_days: Amount = 0.0
    keep_bytes: Count = 0
    keep_is_fixed: bool = False
    runs_removed: Count = 0
    role: Role = "operator"
    troubles: Annotated[list[Text], msgspec.Meta(max_length=16)] = []
    unwritten: Text = ""
    prometheus: Text = ""
    otlp: Text = ""


class Head(Message, frozen=True, tag="note"):
    """Hub to desktop: a hint that may be lost: rows up to `head`, changes up to `change`.

    Attributes:
        head: Newest row id.
        change: Newest change of a summary.
        is_troubled: Nothing can be written now; `HubTold.unwritten` says why.
        troubles: `mark_of` what the hub says is wrong; None: a hub that tells no such mark.
    """

    head: Count
    change: Count
    is_troubled: bool = False
    troubles: Count | None = None


def mark_of(troubles: Sequence[str]) -> int:
    """A number by which a desktop sees that a hub's troubles are others than it was told."""
    return zlib.crc32("\0".join(troubles).encode())
