"""A gap is one row of the history, however long it is and however it is reported."""

import pytest

from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import AnyEvent, LostEvents, Notice
from tests.support import hub_parts
from tests.support.hub_parts import HubParts, on_both_stores

parts = hub_parts.parts

FULL = "No space left on device"


def rows(parts: HubParts, run_key: int) -> dict[int, AnyEvent]:
    return {
        seq: decode_event(body) for seq, body in parts.database.bodies(run_key, 1, 2**40).items()
    }


@on_both_stores
@pytest.mark.parametrize("commits", [False, True])
def test_a_long_gap_is_one_row(parts: HubParts, *, commits: bool):
    record = parts.started_run(pid=1)
    lost = [LostEvents(t_s=float(n), first=n, last=n, why=FULL) for n in range(2, 31_248)]

    for at in range(0, len(lost), 5_000):
        parts.take(record, *lost[at : at + 5_000])
        if commits:
            assert parts.event_log.commit()
    parts.take(record, Notice(t_s=1.0, level="info", code="x", text="goes on"))
    assert parts.event_log.commit()

    found = rows(parts, record.key)
    assert list(found) == [1, 31_247, 31_248]
    gap = found[31_247]
    assert isinstance(gap, LostEvents)
    assert (gap.first, gap.last, gap.why) == (2, 31_247, FULL)
    assert (record.gaps, record.rows) == (31_246, 3)
    assert record.accepted == 31_248


def test_gaps_of_other_reasons_or_with_an_event_between_stay_apart(parts: HubParts):
    record = parts.started_run(pid=1)

    parts.take(
        record,
        LostEvents(t_s=1.0, first=2, last=2, why=FULL),
        LostEvents(t_s=1.0, first=3, last=3, why="refused"),
        Notice(t_s=1.0, level="info", code="x", text="goes on"),
        LostEvents(t_s=1.0, first=5, last=5, why="refused"),
    )
    assert parts.event_log.commit()

    assert list(rows(parts, record.key)) == [1, 2, 3, 4, 5]


def test_a_hub_that_starts_anew_goes_on_behind_a_gap(parts: HubParts):
    record = parts.started_run(pid=1)
    parts.take(record, LostEvents(t_s=1.0, first=2, last=2, why=FULL))
    assert parts.event_log.commit()

    parts.reopen()
    (again,) = parts.event_log.registry.all()
    parts.take(again, LostEvents(t_s=1.0, first=3, last=3, why=FULL))
    assert parts.event_log.commit()

    assert list(rows(parts, again.key)) == [1, 2, 3]
    assert again.gaps == 2
