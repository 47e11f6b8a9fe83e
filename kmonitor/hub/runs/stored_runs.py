"""Runs as the database has them, held to the bounds of their fields: rows may be damaged.

A record is only what its run's events say, so one that cannot be read is made again from them.
What is wrong with one run keeps no other from being read.
"""

from collections.abc import Iterator
from typing import Final, get_args

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.runs.apply_events import fold
from kmonitor.hub.runs.run_record import RunRecord, read_record
from kmonitor.hub.store.checked import whole
from kmonitor.hub.store.database import Database
from kmonitor.hub.store.pages import Wanted
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.errors import ProtocolError
from kmonitor_agent.wire.messages.events import AnyEvent
from kmonitor_agent.wire.messages.identity import is_id

_PAGE_ROWS: Final = 1_000
_ALL_BUT_SAMPLES: Final = tuple(
    str(kind.__struct_config__.tag)
    for kind in get_args(AnyEvent)
    if kind.__struct_config__.tag not in {"sample", "verdict"}
)


def read_runs(database: Database, faults: HubFaults) -> Iterator[RunRecord]:
    """Every run of this hub; who cannot be read as it was stored is named."""
    for key, named, body, stored in list(database.runs()):
        record = read_record(body)
        run = named if record is None else record.run
        if not isinstance(run, str) or not is_id(run):
            faults.record("store: run", "its id is none: it is left out", of=f"run number {key}")
            continue
        if record is None:
            faults.record("store: run", "cannot be read: made again from its events", of=run)
            record = rebuilt(database, key, run)
        record.key = key
        record.run = run
        # The rows are the truth: a number that is stored is never taken again.
        record.accepted = max(record.accepted, whole(stored))
        yield record


def rebuilt(database: Database, key: int, run: str) -> RunRecord:
    """A run as its events say, without samples, which only hold its last readings."""
    record = RunRecord(key=key, run=run)
    cursor, more = 0, True
    while more:
        page = database.page(Wanted(cursor, _PAGE_ROWS, (key,), _ALL_BUT_SAMPLES))
        for stored in page.rows:
            record.rows += 1
            try:
                fold(record, decode_event(stored[-1]))
            except ProtocolError:
                continue
        cursor, more = page.cursor, page.more
    record.last_wall_s = record.told_wall_s
    return record
