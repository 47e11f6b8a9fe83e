"""Limits of the hub on one key and on its own memory, and its audit log."""

import typing

import pytest

from kmonitor.hub.access.authorization import BYTES_PER_S, MESSAGES_PER_S, Refusals, SendQuota
from kmonitor.hub.access.endpoints import CLIMB_BYTES, JUMP_BYTES, MemoryGuard
from kmonitor.hub.access.keys import KeyList, KeyNameTaken
from kmonitor.hub.access.peers import Peer
from kmonitor.hub.store import database as audit_table
from kmonitor_agent.wire.messages.access_messages import KeyGrant
from kmonitor_agent.wire.messages.codec import pack
from kmonitor_agent.wire.messages.unions import (
    AuditRequest,
    CommandRequest,
    EditRequest,
    KeysRequest,
)
from tests.support.clock import MovedClock
from tests.support.hub_parts import HubParts

if typing.TYPE_CHECKING:
    from pathlib import Path


def test_a_key_may_send_a_burst_and_then_so_much_a_second():
    allowance = SendQuota()
    taken = sum(allowance.try_spend("a", 10, 0.0) for _ in range(3 * MESSAGES_PER_S))

    assert taken == 2 * MESSAGES_PER_S
    assert (
        sum(allowance.try_spend("a", 10, 0.5) for _ in range(MESSAGES_PER_S)) == MESSAGES_PER_S / 2
    )
    assert allowance.try_spend("b", 10, 0.5), "another key has its own"


def test_bytes_are_counted_too():
    allowance = SendQuota()

    assert allowance.try_spend("a", 2 * BYTES_PER_S, 0.0)
    assert not allowance.try_spend("a", 1000, 0.0)
    assert allowance.try_spend("a", 1000, 0.1)


class Memory:
    def __init__(self) -> None:
        self.clock = MovedClock()
        self.rss = 100 * 2**20
        self.guard = MemoryGuard(self.clock, lambda: self.rss)

    def grow(self, n_bytes: int, seconds: float, *, is_working: bool = False) -> int:
        """Number of alarms while memory grew evenly."""
        rang = 0
        for _ in range(10):
            self.rss += n_bytes // 10
            self.clock.move(seconds / 10)
            rang += self.guard.check(is_working=is_working)
        return rang


def test_a_jump_within_a_second_rings_once():
    memory = Memory()
    memory.guard.check()

    assert memory.grow(JUMP_BYTES + 2**20, 0.9) == 1
    assert memory.grow(0, 0.9) == 0


def test_honest_growth_does_not_ring():
    memory = Memory()
    memory.guard.check()

    assert memory.grow(JUMP_BYTES, 20.0) == 0


def test_the_hubs_own_work_on_a_long_series_does_not_ring():
    memory = Memory()
    memory.guard.check()

    assert memory.grow(3 * JUMP_BYTES, 0.5, is_working=True) == 0
    assert memory.grow(0, 2.0) == 0
    assert memory.grow(JUMP_BYTES + 2**20, 0.9) == 1


def test_a_slow_flood_rings_too():
    memory = Memory()
    memory.guard.check()

    assert memory.grow(CLIMB_BYTES + 2**20, 60.0) == 1


def test_two_keys_do_not_share_a_name(tmp_path: "Path", parts: HubParts):
    keys = KeyList(tmp_path / "keys", parts.faults)
    keys.grant(KeyGrant(key="ab" * 32, name="laptop", role="viewer"))

    with pytest.raises(KeyNameTaken):
        keys.grant(KeyGrant(key="cd" * 32, name="laptop", role="viewer"))
    assert [grant.key for grant in keys.all()] == ["ab" * 32]


def test_a_list_of_keys_outlives_its_hub(tmp_path: "Path", parts: HubParts):
    grant = KeyGrant(key="ab" * 32, name="laptop", role="viewer", since_wall_s=5.0)
    KeyList(tmp_path / "keys", parts.faults).grant(grant)

    again = KeyList(tmp_path / "keys", parts.faults)

    assert again.find(grant.key) == grant
    assert again.revoke("laptop") == grant
    assert again.revoke("laptop") is None
    assert KeyList(tmp_path / "keys", parts.faults).all() == []


@pytest.fixture
def refusals(parts: HubParts) -> tuple[Refusals, list[tuple[str, ...]]]:
    rows: list[tuple[str, ...]] = []
    refusals = Refusals(parts.clock, lambda *row: rows.append(row))
    return refusals, rows


VIEWER = Peer("viewer", "ab" * 32, "anna")
ANNA = "anna (key abababab)"


def test_each_kind_of_refusal_is_written_with_run_and_subject_and_the_rest_counted(
    parts: HubParts, refusals: tuple[Refusals, list[tuple[str, ...]]]
):
    noting, rows = refusals
    save = pack(CommandRequest(request_id=1, id="c1", run="r1", name="save", session="b"))[1]
    for _ in range(3):
        noting.of_role(VIEWER, "command_request", save)
        noting.of_role(VIEWER, "audit", pack(AuditRequest(request_id=2))[1])
        noting.of_role(VIEWER, "keys", pack(KeysRequest(request_id=3, revoke="bob"))[1])
        noting.of_role(VIEWER, "edit", pack(EditRequest(request_id=4, run="r2", delete=True))[1])
        noting.note_unknown_key("cd" * 32, "connect")

    why = "refused: its role is viewer"
    assert rows == [
        (ANNA, "command save", "r1", "c1", why),
        (ANNA, "audit", "", "", why),
        (ANNA, "revoke", "", "bob", why),
        (ANNA, "delete", "r2", "", why),
        ("unknown keys", "connect", "", "cd" * 32, "refused: this key has no access"),
    ]
    rows.clear()
    parts.clock.move(601.0)
    noting.step()
    assert [row[-1] for row in rows] == ["refused 2 more times"] * 5
    noting.step()
    assert len(rows) == 5


def test_a_flood_of_refusals_does_not_fill_the_audit(
    parts: HubParts, refusals: tuple[Refusals, list[tuple[str, ...]]]
):
    noting, rows = refusals
    for number in range(1000):
        noting.note_unknown_key(f"{number:064x}", "connect")
        noting.of_role(VIEWER, "keys", pack(KeysRequest(request_id=1, revoke=f"k{number}"))[1])
    parts.clock.move(601.0)
    noting.step()

    assert len(rows) == 21
    assert rows[-1] == ("several", "several", "", "", "refused: 1980 more")


def test_what_cannot_be_read_is_written_down_as_what_it_calls_itself(
    refusals: tuple[Refusals, list[tuple[str, ...]]],
):
    noting, rows = refusals

    noting.of_role(VIEWER, "edit", b"\xff")

    assert rows == [(ANNA, "edit", "", "", "refused: its role is viewer")]


def test_the_audit_is_paged_newest_first_and_bounded(
    parts: HubParts, monkeypatch: pytest.MonkeyPatch
):
    for number in range(10):
        parts.event_log.audit("this user", f"act {number}", "", "", "done")
    parts.event_log.commit()

    newest, more = parts.database.audit_rows(0, 4)
    assert [row.what for row in newest] == ["act 9", "act 8", "act 7", "act 6"]
    older, _ = parts.database.audit_rows(newest[-1].row, 2)
    assert more
    assert [row.what for row in older] == ["act 5", "act 4"]

    monkeypatch.setattr(audit_table, "MAX_AUDIT_ROWS", 3)
    parts.database.bound_audit()
    assert len(parts.database.audit_rows(0, 100)[0]) == 3
