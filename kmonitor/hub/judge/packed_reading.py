"""Samples of a run for its judge, as columns: a million of them need not be events each."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.hub.judge.units import KINDS, SAMPLED
from kmonitor.hub.store.connection import Connection
from kmonitor.hub.store.pages import Wanted, read_page
from kmonitor.hub.store.sample_blocks import (
    BLOCK_SAMPLES,
    DamagedBlocks,
    PackedSamples,
    read_samples,
)
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.errors import ProtocolError
from kmonitor_agent.wire.messages.events import Event

_OTHERS: Final = tuple(kind for kind in KINDS if kind != "sample")
_PAGE_ROWS: Final = 2_000


def read_packed(connection: Connection, run_key: int, judge: RunJudge) -> None:
    """Give a judge that has read nothing all up to the newest packed sample, other events too.

    Nothing is given where no sample is packed, or blocks are damaged: events stay the truth.

    Args:
        connection: Any connection on the hub's database.
        run_key: The run.
        judge: Of that run; its `row` is set to the last that was given.
    """
    try:
        packed = PackedSamples(connection, run_key)
        for name in SAMPLED:
            packed.read(connection, name)
    except DamagedBlocks:
        return
    if not packed.last_row:
        return
    found = ((name, packed.values(name)) for name in SAMPLED)
    columns = {name: values for name, values in found if values is not None}
    _give(judge, packed.t_s, columns, _events(connection, run_key, 0, packed.last_row))
    judge.row = packed.last_row


def read_part(
    connection: Connection,
    run_key: int,
    judge: RunJudge,
    head: int,
    n_samples: int = BLOCK_SAMPLES,
) -> int:
    """Give a judge what follows the row that it has got to.

    Args:
        connection: Any connection on the hub's database.
        run_key: The run.
        judge: Of that run; its `row` is set to the last that was given.
        head: Up to this row.
        n_samples: At most so many samples.

    Returns:
        How many samples were given.
    """
    samples = read_samples(connection, run_key, judge.row, head, n_samples)
    last_row = samples.last_row if len(samples.t_s) == n_samples else head
    columns = {name: samples.columns[name] for name in SAMPLED if name in samples.columns}
    _give(judge, samples.t_s, columns, _events(connection, run_key, judge.row, last_row))
    judge.row = last_row
    return len(samples.t_s)


def _give(
    judge: RunJudge,
    t_s: NDArray[np.float64],
    columns: dict[str, NDArray[np.float64]],
    events: Iterator[tuple[float, Event]],
) -> None:
    t_s = np.maximum.accumulate(t_s)
    done = 0
    for event_s, event in events:
        # Of one moment the event comes first, as the agent tells sources before samples.
        reached = int(np.searchsorted(t_s, event_s))
        if reached > done:
            judge.read_samples(t_s[done:reached], _part(columns, done, reached))
            done = reached
        judge.read(event_s, event)
    if done < len(t_s):
        judge.read_samples(t_s[done:], _part(columns, done, len(t_s)))


def _part(
    columns: dict[str, NDArray[np.float64]], first: int, last: int
) -> dict[str, NDArray[np.float64]]:
    return {name: values[first:last] for name, values in columns.items()}


def _events(
    connection: Connection, run_key: int, after_row: int, last_row: int
) -> Iterator[tuple[float, Event]]:
    cursor, more = after_row, True
    while more:
        page = read_page(connection, Wanted(cursor, _PAGE_ROWS, (run_key,), _OTHERS), last_row)
        for _row, _key, _seq, t_s, body in page.rows:
            try:
                yield t_s, decode_event(body)
            except ProtocolError:
                continue  # of a newer agent
        cursor, more = page.cursor, page.more
