"""A judge that takes packed samples finds what one that decodes each event finds."""

from collections.abc import Iterator

import pytest

from kmonitor.hub.judge.judge_thread import read_packed, read_part
from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.connection import StoreConnection
from kmonitor.hub.store.sample_blocks import next_block
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import Event, Verdict
from tests.support.growing_run import Growing, events_of
from tests.support.hub_parts import HubParts, on_both_stores

pytestmark = on_both_stores

LEAK = Growing(ram_mib=8.0, traces=2, retained=2, function="train_function")
N_BLOCK = 16


@pytest.fixture
def connection(parts: HubParts) -> Iterator[StoreConnection]:
    found = parts.database.open_reader()
    yield found
    found.close()


def stored(parts: HubParts, connection: StoreConnection) -> RunRecord:
    """A leaking run of 45 epochs, of whose 90 samples 80 are packed."""
    record = parts.started_run(pid=1)
    parts.take(record, *events_of(LEAK, 45))
    assert parts.event_log.commit()
    while (block := next_block(connection, record.key, N_BLOCK)) is not None:
        parts.event_log.add_block(block)
        assert parts.event_log.commit()
    return record


def read_rest(connection: StoreConnection, record: RunRecord, judge: RunJudge) -> None:
    rows = connection.execute(
        "SELECT row, t_s, body FROM events WHERE run_key = ? AND row > ? ORDER BY row",
        (record.key, judge.row),
    )
    for judge.row, t_s, body in rows:
        event = decode_event(body)
        assert isinstance(event, Event)
        judge.read(t_s, event)


def judged(judge: RunJudge) -> list[Verdict]:
    judge.judge()
    return judge.newest_verdicts()


def test_packed_samples_and_events_give_the_same_verdicts(
    parts: HubParts, connection: StoreConnection
):
    record = stored(parts, connection)
    by_events, by_blocks = RunJudge(), RunJudge()
    read_rest(connection, record, by_events)

    read_packed(connection, record.key, by_blocks)
    assert 0 < by_blocks.row < by_events.row
    read_rest(connection, record, by_blocks)

    found = judged(by_blocks)
    assert found == judged(by_events)
    assert {one.metric: one.state for one in found}["ram"] == "suspected"


def test_parts_of_a_run_and_its_events_give_the_same_verdicts(
    parts: HubParts, connection: StoreConnection
):
    record = stored(parts, connection)
    by_events, by_parts = RunJudge(), RunJudge()
    read_rest(connection, record, by_events)

    given = [0]
    while by_parts.row < parts.database.head:
        given.append(read_part(connection, record.key, by_parts, parts.database.head, N_BLOCK))

    assert judged(by_parts) == judged(by_events)
    assert (max(given), sum(given)) == (N_BLOCK, 90)


def test_no_packed_sample_is_decoded_as_an_event(
    parts: HubParts, connection: StoreConnection, monkeypatch: pytest.MonkeyPatch
):
    record = stored(parts, connection)
    decoded: list[Event] = []

    def decode(body: bytes) -> Event:
        decoded.append(decode_event(body))
        return decoded[-1]

    monkeypatch.setattr("kmonitor.hub.judge.judge_thread.decode_event", decode)

    read_packed(connection, record.key, RunJudge())

    assert decoded
    assert all(type(event).__name__ != "Sample" for event in decoded)


def test_damaged_blocks_leave_all_to_the_events(parts: HubParts, connection: StoreConnection):
    record = stored(parts, connection)
    parts.spoil("UPDATE sample_blocks SET body = substr(body, 2) WHERE name = 'ram_bytes'")
    judge = RunJudge()

    read_packed(connection, record.key, judge)

    assert judge.row == 0
