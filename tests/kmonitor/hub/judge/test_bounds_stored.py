"""A database edited by hand: every cell at extremes; other runs and other users' views go on."""

import logging
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from kmonitor.hub.judge.judge_thread import JudgeDispatcher, JudgeThread
from kmonitor.hub.store.database import DATABASE_NAME
from kmonitor.hub.store.sample_blocks import next_block
from kmonitor.hub.views.series import SeriesThread
from kmonitor_agent.wire.messages.codec import pack, unpack_to_desktop
from kmonitor_agent.wire.messages.events import EpochEnded, EpochStarted, FitStarted, Sample
from kmonitor_agent.wire.messages.fields import MAX_COUNT, new_id
from kmonitor_agent.wire.messages.unions import (
    CommandRequest,
    ErrorMessage,
    RowsReply,
    RowsRequest,
    RunsReply,
    RunsRequest,
    SeriesReply,
    SeriesRequest,
    VerdictsRequest,
)
from tests.support.hub_parts import HubParts
from tests.support.waiting import wait_until

CELLS: Final[dict[str, Any]] = {
    "none": 0,
    "below": -1,
    "most": MAX_COUNT,
    "beyond": MAX_COUNT + 1,
    "largest": 2**63 - 1,
    "least": -(2**63),
    "infinite": float("inf"),
    "huge": 1e300,
    "text": "a text",
    "nul": "a\0b",
    "no text": "CAST(x'fffe41' AS TEXT)",
    "empty": b"",
    "bytes": b"\xff" * 40,
    "nested": b"\x91" * 100_000,
    "map": b"\x81\xa3key\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
    "long": b"\xc0" * 200_000,
}
COLUMNS: Final = {
    "facts": ("value",),
    "runs": ("run", "change", "record"),
    "events": ("row", "run_key", "seq", "t_s", "wall_s", "kind", "body"),
    "commands": ("id", "entry", "open"),
    "audit": ("wall_s", "who", "what", "run", "subject", "result"),
    "deleted": ("run", "change", "swept"),
    "sample_blocks": ("run_key", "name", "last_row", "n_samples", "body"),
}
EDITS: Final = [
    (table, column, cell)
    for table, columns in COLUMNS.items()
    for column in columns
    for cell in CELLS
]


class Asked:
    """The hub's answers to a desktop, as it receives them."""

    def __init__(self, parts: HubParts) -> None:
        self.told: list[Any] = []
        reader = parts.database.open_reader
        self.series = SeriesThread(reader, lambda: None)
        self.verdicts = JudgeThread(reader, lambda: None)
        self.views = parts.viewer_service(self._send, self.series, self.verdicts)
        self._judging = JudgeDispatcher(parts.event_log, self.verdicts, parts.faults, self._send)
        self.series.start()
        self.verdicts.start()

    def _send(self, _identity: bytes, message: msgspec.Struct) -> bool:
        self.told.append(unpack_to_desktop(pack(message)))
        return True

    def answer(self, message: msgspec.Struct) -> Any:
        """The answer, once it is sent."""
        self.told.clear()
        self.views.handle([b"desktop", *pack(message)])

        def found() -> Any:
            for identity, told in self.series.pop_answers():
                self._send(identity, told)
            self._judging.dispatch_results()
            return self.told

        return wait_until(found)[0]

    def close(self) -> None:
        self.series.stop()
        self.verdicts.stop()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A database with a run to spoil and one to read, and their ids."""
    folder = tmp_path_factory.mktemp("stored")
    parts = HubParts(folder)
    runs = []
    for pid in (11, 12, 13):
        record = parts.started_run(pid=pid)
        parts.take(record, FitStarted(t_s=0.5, fit=1, model="net", epochs=2, steps=30))
        parts.take(record, EpochStarted(t_s=0.6, fit=1, epoch=0))
        parts.take(record, *(Sample(t_s=1.0 + n, fit=1, ram_bytes=2.0**30 + n) for n in range(40)))
        parts.take(record, EpochEnded(t_s=50.0, fit=1, epoch=0, seconds=49.0, logs={"loss": 1.0}))
        parts.event_log.notify(record, 51.0, "info", "own", "a row of the hub's own")
        runs.append(record)
    gone = runs.pop()
    for record in runs:
        asked = CommandRequest(
            request_id=1, id=new_id(), run=record.run, name="save", session=record.session
        )
        parts.event_log.command_queue.add(asked, 1.8e9)
        parts.event_log.audit("this user", "note", record.run, "net", "done")
    parts.event_log.commit()
    with closing(parts.database.open_reader()) as reader:
        for record in runs:
            block = next_block(reader, record.key, 20)
            assert block is not None
            parts.event_log.add_block(block)
    parts.event_log.registry.delete(gone)
    parts.event_log.commit()
    parts.database.close()
    return folder, runs[0].run, runs[1].run


@contextmanager
def reopened(folder: Path) -> Iterator[HubParts]:
    parts = HubParts(folder)
    try:
        yield parts
    finally:
        parts.database.close()


def edit(folder: Path, table: str, column: str, cell: Any) -> bool:
    """Write one cell of the first row; False where the database itself does not let that be."""
    value, values = "?", (cell,)
    if isinstance(cell, str) and cell.startswith("CAST"):
        value, values = cell, ()
    where = f"WHERE rowid = (SELECT min(rowid) FROM {table})"  # noqa: S608 - names of ours
    if table in {"facts", "commands"}:  # they have no row id
        key = "name" if table == "facts" else "id"
        where = f"WHERE {key} = (SELECT min({key}) FROM {table})"  # noqa: S608 - likewise
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as file, file:
        try:
            statement = f"UPDATE {table} SET {column} = {value} {where}"  # noqa: S608 - likewise
            done = file.execute(statement, values)
        except sqlite3.Error:
            return False
        return done.rowcount == 1


@pytest.mark.parametrize(("table", "column", "cell"), EDITS)
def test_a_cell_of_one_run_ends_nothing_and_hides_no_other(
    stored: tuple[Path, str, str],
    tmp_path: Path,
    table: str,
    column: str,
    cell: str,
    caplog: pytest.LogCaptureFixture,
):
    folder, spoilt, sound = stored
    shutil.copytree(folder, tmp_path / "copy")
    if not edit(tmp_path / "copy", table, column, CELLS[cell]):
        pytest.skip("SQLite refuses it")
    with caplog.at_level(logging.ERROR), reopened(tmp_path / "copy") as parts:
        asked = Asked(parts)
        try:
            _see_everything(asked, sound)
            _see_everything(asked, spoilt, is_spoilt=True)
            _go_on(parts, sound)
            _go_on(parts, spoilt)
            parts.database.sweep()
            parts.database.bound_audit()
        finally:
            asked.close()
        told = parts.faults.fault_counts()
    with reopened(tmp_path / "copy") as parts:
        assert parts.event_log.registry.get(sound) is not None

    assert not [name for name in told if name in {"view", "view: run", "event", "answer"}]


def _see_everything(asked: Asked, run: str, *, is_spoilt: bool = False) -> None:
    runs = asked.answer(RunsRequest(request_id=1))
    rows = asked.answer(RowsRequest(request_id=2, cursor=0, runs=[run]))
    all_rows = asked.answer(RowsRequest(request_id=3, cursor=0))
    kinds = asked.answer(
        RowsRequest(request_id=4, cursor=0, runs=[run], kinds=["sample", "epoch_end"])
    )
    series = asked.answer(SeriesRequest(request_id=5, run=run, columns=["ram_bytes", "log:loss"]))
    asked.answer(VerdictsRequest(request_id=6, run=run))

    assert isinstance(runs, RunsReply)
    assert isinstance(all_rows, RowsReply)
    assert isinstance(rows, RowsReply)
    assert isinstance(kinds, RowsReply)
    if not is_spoilt:
        assert run in {each.run for each in runs.runs}
        assert len(rows.rows) == 45
        assert len(kinds.rows) == 41
        assert isinstance(series, SeriesReply)
        assert series.columns[0].n_raw == 40
    else:
        assert isinstance(series, SeriesReply | ErrorMessage)


def _go_on(parts: HubParts, run: str) -> None:
    """The training of a run continues, and its events are stored."""
    event_log = parts.event_log
    record = event_log.registry.get_or_add(run)
    before = record.accepted
    parts.take(record, Sample(t_s=60.0, fit=1, ram_bytes=2.0**30))
    event_log.notify(record, 61.0, "info", "own", "one more of the hub's own")
    event_log.audit("this user", "note", run, "net", "done")

    assert event_log.commit()
    assert record.accepted == min(before + 1, record.accepted)
