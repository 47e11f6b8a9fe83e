"""Follower: a hub's status, requested once each time it changes, says where live rows begin."""

import itertools

import msgspec

from kmonitor.connect.follower import PullCursors
from kmonitor_agent.wire.messages.unions import (
    ChangeHint,
    HubReply,
    HubRequest,
    RowsRequest,
    RunsReply,
    RunsRequest,
    troubles_checksum,
)
from tests.support.made_up_runs import told_hub


def asked(pull: PullCursors, now_s: float) -> list[int]:
    """Numbers of the questions about the hub that are due."""
    return [
        each.request_id for each in pull.due(now_s, is_full=False) if isinstance(each, HubRequest)
    ]


def connected() -> PullCursors:
    pull = PullCursors(itertools.count(1).__next__)
    pull.connected(told_hub())
    return pull


def telling(ask: int, *troubles: str, unwritten: str = "") -> HubReply:
    return msgspec.structs.replace(
        told_hub(), request_id=ask, troubles=list(troubles), unwritten=unwritten
    )


def test_a_hub_is_asked_once_for_each_change_of_its_troubles():
    pull = connected()
    pull.apply_message(ChangeHint(head=0, change=0, troubles=troubles_checksum([])), 0.0)
    assert asked(pull, 0.1) == []

    pull.apply_message(ChangeHint(head=0, change=0, troubles=troubles_checksum(["full"])), 0.2)
    (number,) = asked(pull, 0.3)
    assert asked(pull, 0.4) == []
    pull.apply_message(telling(number, "full"), 0.5)
    assert asked(pull, 2.5) == []

    pull.apply_message(
        ChangeHint(head=0, change=0, troubles=troubles_checksum(["read-only"])), 2.6
    )
    assert len(asked(pull, 2.7)) == 1


def test_an_older_hub_that_tells_only_whether_it_can_write_is_not_asked_over_and_over():
    pull = connected()
    pull.connected(telling(0, "a database was put aside"))
    pull.apply_message(ChangeHint(head=0, change=0), 0.1)
    assert asked(pull, 0.2) == []

    pull.apply_message(ChangeHint(head=0, change=0, is_troubled=True), 0.3)
    (number,) = asked(pull, 0.4)
    pull.apply_message(telling(number, "full", unwritten="full"), 0.5)
    assert asked(pull, 2.5) == []


def cursors(pull: PullCursors, hub: HubReply, head: int) -> list[int]:
    """Cursors of the rows requested after the first list of runs, which a hub sent at `head`."""
    pull.connected(hub)
    (ask,) = (each for each in pull.due(0.0, is_full=False) if isinstance(each, RunsRequest))
    runs = RunsReply(
        request_id=ask.request_id, hub=hub.hub, change=1, head=head, version="1", host="h", runs=[]
    )
    pull.apply_message(runs, 0.1)
    due = pull.due(0.2, is_full=False)
    return [each.cursor for each in due if isinstance(each, RowsRequest)]


def test_rows_committed_before_the_first_list_of_runs_are_pulled():
    pull = PullCursors(itertools.count(1).__next__)
    first = msgspec.structs.replace(told_hub(), head=7)

    assert cursors(pull, first, head=9) == [7]


def test_a_hub_with_a_new_database_is_followed_from_its_own_head():
    pull = PullCursors(itertools.count(1).__next__)
    cursors(pull, msgspec.structs.replace(told_hub(), head=700), head=700)
    other = msgspec.structs.replace(told_hub("f" * 32), head=0)

    assert cursors(pull, other, head=3) == [0]


def test_live_rows_of_an_older_hub_begin_at_its_first_list_of_runs():
    assert cursors(PullCursors(itertools.count(1).__next__), told_hub(), head=9) == []
