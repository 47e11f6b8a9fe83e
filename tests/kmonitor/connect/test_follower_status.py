"""Follower: requests a hub's status once each time it changes."""

import itertools

import msgspec

from kmonitor.connect.follower import PullCursors
from kmonitor_agent.wire.messages.unions import ChangeHint, HubReply, HubRequest, troubles_checksum
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
