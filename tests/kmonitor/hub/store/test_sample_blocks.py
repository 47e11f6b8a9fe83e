"""Packed samples are charted as the events that they stand for."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.connection import StoreConnection
from kmonitor.hub.store.sample_blocks import Samples, next_block, read_samples
from kmonitor.hub.views import run_columns, series
from kmonitor.hub.views.run_columns import RunColumns
from kmonitor.hub.views.series import SamplePacker, SeriesThread
from kmonitor_agent.wire.messages.events import DeviceSample, GraphSize, Sample
from kmonitor_agent.wire.messages.unions import ReplyPending, SeriesReply, SeriesRequest
from tests.support.hub_parts import HubParts, on_both_stores
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = on_both_stores

WANTED = [
    *("ram_bytes", "vram_bytes", "host_available_bytes", "graph_operations"),
    *("batch:loss", "device1_power_w"),
]
N_BLOCK = 10


@pytest.fixture
def connection(parts: HubParts) -> Iterator[StoreConnection]:
    found = parts.database.open_reader()
    yield found
    found.close()


def sampled(parts: HubParts, record: RunRecord, first: int, last: int) -> None:
    """Samples `first` to `last`; some values exist only in the middle of it."""
    for n in range(first, last):
        parts.take(
            record,
            Sample(
                # One thread of the agent overtook another there.
                t_s=n - 1.5 if n == 14 else float(n),
                step=n,
                ram_bytes=1e9 + n,
                vram_bytes=float(n) if 5 <= n < 25 else None,
                host_available_bytes=7.5 if n >= 20 else None,
                logs={"loss": 1.0 / (n + 1)} if n >= 8 else {},
                more_devices=[DeviceSample(1, power_w=50.0 + n)] if 12 <= n < 30 else [],
            ),
        )
    parts.take(
        record, GraphSize(t_s=float(last), fit=1, epoch=0, operations=last, traces=1, functions=1)
    )
    assert parts.event_log.commit()


def pack_all(parts: HubParts, connection: StoreConnection, record: RunRecord) -> int:
    n = 0
    while (block := next_block(connection, record.key, N_BLOCK)) is not None:
        parts.event_log.add_block(block)
        assert parts.event_log.commit()
        n += 1
    return n


def columns_of(
    parts: HubParts, connection: StoreConnection, record: RunRecord, *, is_packed_wanted: bool
) -> RunColumns:
    columns = RunColumns(record.key, is_packed_wanted=is_packed_wanted)
    columns.update(connection, parts.database.head, WANTED)
    return columns


def assert_same(one: RunColumns, other: RunColumns) -> None:
    for name in WANTED:
        for ours, theirs in zip(one.points(name), other.points(name), strict=True):
            assert np.array_equal(ours, theirs), name


def test_a_chart_is_the_same_whether_samples_were_packed_or_not(
    parts: HubParts, connection: StoreConnection
):
    other = parts.started_run(pid=1)
    record = parts.started_run(pid=2)
    sampled(parts, record, 0, 33)
    sampled(parts, other, 0, 15)

    assert pack_all(parts, connection, record) == 3
    packed = columns_of(parts, connection, record, is_packed_wanted=True)
    plain = columns_of(parts, connection, record, is_packed_wanted=False)

    assert_same(packed, plain)
    assert len(packed.points("ram_bytes")[0]) == 33
    sampled(parts, record, 33, 48)
    assert pack_all(parts, connection, record) == 1
    for columns in (packed, plain):
        columns.update(connection, parts.database.head, WANTED)
    assert_same(packed, plain)
    anew = columns_of(parts, connection, record, is_packed_wanted=True)
    assert_same(anew, plain)
    assert len(anew.points("batch:loss")[0]) == 40
    assert len(anew.points("device1_power_w")[0]) == 18
    assert anew.names() == plain.names()
    assert {"batch:loss", "device1_power_w"} <= set(anew.names())


def test_a_column_may_be_asked_for_later(parts: HubParts, connection: StoreConnection):
    record = parts.started_run(pid=1)
    sampled(parts, record, 0, 25)
    pack_all(parts, connection, record)
    columns = RunColumns(record.key)
    columns.update(connection, parts.database.head, ["ram_bytes"])
    columns.update(connection, parts.database.head, ["vram_bytes"])

    assert list(columns.points("vram_bytes")[1]) == [float(n) for n in range(5, 25)]


def test_blocks_go_with_their_run(parts: HubParts, connection: StoreConnection):
    record = parts.started_run(pid=1)
    sampled(parts, record, 0, 25)
    late = next_block(connection, record.key, N_BLOCK)
    assert late is not None
    pack_all(parts, connection, record)
    parts.event_log.registry.delete(record)
    parts.event_log.add_block(late)
    assert parts.event_log.commit()

    while parts.database.sweep():
        pass

    assert connection.execute("SELECT count(*) FROM sample_blocks").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (0,)


class Asking:
    """A series desk with its thread, and the main thread's part of it."""

    def __init__(self, parts: HubParts, record: RunRecord) -> None:
        self.parts, self.record = parts, record
        self.desk = SeriesThread(
            parts.database.open_reader, lambda: None, block_samples=N_BLOCK, outline_over=100
        )
        self.packing = SamplePacker(parts.event_log, self.desk, parts.clock)
        self.desk.start()

    def put(self, ask: int, record: RunRecord, *, outline: bool = False) -> None:
        asked = SeriesRequest(
            request_id=ask, run=record.run, columns=["ram_bytes"], outline=outline
        )
        assert self.desk.add_request(b"%d" % ask, asked, record.key, [], record.rows)

    def answers(self, n: int) -> list[SeriesReply]:
        told: list[object] = []
        wait_until(lambda: told.extend(t for _, t in self.desk.pop_answers()) or len(told) == n)
        return [one for one in told if isinstance(one, SeriesReply)]

    def ask(self) -> SeriesReply:
        self.put(1, self.record)
        return self.answers(1)[0]

    @contextmanager
    def held(self) -> Iterator[list[int]]:
        """The disk hangs meanwhile; the runs whose samples were requested."""
        gate, asked = threading.Event(), list[int]()

        def held_read(*args: Any) -> Samples:
            asked.append(args[1])
            assert gate.wait(DEADLINE_S)
            return read_samples(*args)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(run_columns, "read_samples", held_read)
            try:
                yield asked
            finally:
                gate.set()

    def packed(self) -> int:
        query = "SELECT coalesce(sum(n_samples), 0) FROM sample_blocks WHERE name = 't_s'"
        reader = self.parts.database.open_reader()
        try:
            return int(reader.execute(query).fetchone()[0])
        finally:
            reader.close()

    def step(self) -> int:
        self.packing.step()
        self.packing.store_packed()
        assert self.parts.event_log.commit()
        return self.packed()


@pytest.fixture
def asking(parts: HubParts, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asking]:
    monkeypatch.setattr(series, "BLOCK_SAMPLES", N_BLOCK)
    record = parts.started_run(pid=1)
    sampled(parts, record, 0, 33)
    asking = Asking(parts, record)
    yield asking
    asking.desk.stop()


def test_the_hub_packs_what_it_has_and_what_comes(asking: Asking):
    wait_until(lambda: asking.step() == 30)
    sampled(asking.parts, asking.record, 33, 52)
    asking.parts.clock.move(10.0)
    wait_until(lambda: asking.step() == 50)

    assert asking.ask().columns[0].n_raw == 52


def test_little_is_packed_while_events_arrive(asking: Asking):
    wait_until(lambda: asking.step() == 30)
    for n in range(40, 60):
        sampled(asking.parts, asking.record, n, n + 1)
        asking.step()
    assert asking.packed() == 30

    asking.parts.clock.move(series.BUSY_EVERY_S)
    wait_until(lambda: asking.step() == 40)


def test_what_a_question_reads_is_packed_with_it(asking: Asking):
    told = asking.ask()
    blocks = asking.desk.pop_blocks()
    for block in (*blocks, *blocks):  # packed twice: stored once
        asking.parts.event_log.add_block(block)
    assert asking.parts.event_log.commit()

    assert told.columns[0].n_raw == 33
    assert asking.packed() == 30


def test_a_block_that_does_not_follow_the_one_before_is_left_out(asking: Asking):
    asking.ask()
    _first, *others = asking.desk.pop_blocks()
    for block in others:
        asking.parts.event_log.add_block(block)
    assert asking.parts.event_log.commit()

    assert asking.packed() == 0
    assert asking.ask().columns[0].n_raw == 33


def test_a_question_is_answered_between_the_parts_of_a_long_one(asking: Asking):
    other = asking.parts.started_run(pid=2)
    sampled(asking.parts, other, 0, 3)
    asking.ask()
    sampled(asking.parts, asking.record, 33, 133)
    with asking.held() as read:
        asking.put(1, asking.record)
        wait_until(lambda: read)
        asking.put(2, other)
    told = asking.answers(2)

    assert [one.request_id for one in told] == [2, 1]
    assert [one.columns[0].n_raw for one in told] == [3, 133]


def test_the_first_answer_is_an_outline_where_much_is_to_be_read(asking: Asking):
    sampled(asking.parts, asking.record, 33, 9000)
    asking.put(1, asking.record, outline=True)
    outline, whole = asking.answers(2)
    t_s = np.frombuffer(outline.columns[0].t_s, "<f8")

    assert outline.one_of == 2
    assert (outline.row, outline.have) == (whole.row, whole.have)
    assert 3000 < outline.columns[0].n_raw <= 4000
    assert (t_s[0], t_s[-1]) == (0.0, pytest.approx(9000.0, abs=5.0))
    assert (whole.one_of, whole.columns[0].n_raw) == (1, 9000)
    assert asking.desk.late_replies() == []


@pytest.mark.parametrize("n_packed", [0, 300, pytest.param(3000, marks=pytest.mark.full)])
def test_a_part_of_a_long_run_is_answered_without_the_rest(asking: Asking, n_packed: int):
    sampled(asking.parts, asking.record, 33, 9000)
    wait_until(lambda: not n_packed or asking.step() >= n_packed)
    ends = SeriesRequest(
        request_id=1, run=asking.record.run, columns=["ram_bytes"], from_s=8_000.0, to_s=8_500.0
    )
    with asking.held() as read:
        assert asking.desk.add_request(b"1", ends, asking.record.key, [], asking.record.rows)
        wait_until(lambda: read)
    (part,) = asking.answers(1)
    assert asking.desk.late_replies() == []
    asking.ask()
    assert asking.desk.add_request(b"1", ends, asking.record.key, [], asking.record.rows)
    (of_all,) = asking.answers(1)

    assert len(read) == 1, "a part, then only what was asked for"
    assert part.one_of == 1
    assert part.columns == of_all.columns
    assert 450 < part.columns[0].n_raw < 550


def test_a_short_run_or_one_that_is_packed_needs_no_outline(asking: Asking):
    sampled(asking.parts, asking.record, 33, 400)
    other = asking.parts.started_run(pid=2)
    sampled(asking.parts, other, 0, 35)
    wait_until(lambda: asking.step() == 430)
    asking.put(1, asking.record, outline=True)
    (packed,) = asking.answers(1)
    asking.put(2, other, outline=True)
    (short,) = asking.answers(1)

    assert (packed.one_of, packed.columns[0].n_raw) == (1, 400)
    assert (short.one_of, short.columns[0].n_raw) == (1, 35)


def test_who_waits_is_told_how_far_it_is(asking: Asking):
    with asking.held() as read:
        asking.put(1, asking.record)
        asking.put(1, asking.record)  # requested again: taken once
        wait_until(lambda: read)
        assert asking.desk.late_replies() == []
        ((who, working),) = asking.desk.late_replies()
    (told,) = asking.answers(1)

    assert (who, working) == (b"1", ReplyPending(request_id=1, done=0, of=asking.record.rows))
    assert told.columns[0].n_raw == 33
    assert asking.desk.late_replies() == []


def test_damaged_blocks_are_answered_from_the_events(asking: Asking):
    wait_until(lambda: asking.step() == 30)
    asking.parts.spoil("UPDATE sample_blocks SET body = substr(body, 2) WHERE name = 'ram_bytes'")

    told = asking.ask()

    assert list(np.frombuffer(told.columns[0].values, "<f8")) == [1e9 + n for n in range(33)]
