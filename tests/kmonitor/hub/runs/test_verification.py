"""Flipped bits in the database: the hub continues, each event is itself or marked."""

import random
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from kmonitor.hub.runs.verification import EventVerifier
from kmonitor.hub.store.pages import PageRequest
from kmonitor.hub.store.row_checks import DAMAGED
from kmonitor.hub.store.salvage import DAMAGE, salvage
from kmonitor_agent.wire.messages.codec import decode_event
from kmonitor_agent.wire.messages.events import EpochEnded, LostEvents
from kmonitor_agent.wire.spool.format import (
    SessionFacts,
    encode_record,
    segment_head,
    segment_name,
)
from tests.support.hub_parts import HubParts
from tests.support.links import sample

N_EVENTS: Final = 600
_MOST_STEPS: Final = 200


@dataclass
class Stored:
    """A hub's folder with two runs, and what they are."""

    folder: Path
    events: dict[str, dict[int, tuple[float, bytes]]] = field(
        default_factory=dict[str, dict[int, tuple[float, bytes]]]
    )

    @property
    def path(self) -> Path:
        return self.folder / "hub.sqlite3"

    @property
    def spools(self) -> Path:
        return self.folder / "spool"


def read_events(parts: HubParts, run: str) -> dict[int, tuple[float, bytes]]:
    record = parts.event_log.registry.get(run)
    assert record is not None
    found: dict[int, tuple[float, bytes]] = {}
    cursor, more = 0, True
    while more:
        page = parts.database.page(PageRequest(cursor, 1000, (record.key,)))
        found |= {seq: (t_s, body) for _, _, seq, t_s, body in page.rows}
        cursor, more = page.cursor, page.more
    return found


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    stored = Stored(tmp_path_factory.mktemp("stored"))
    parts = HubParts(stored.folder)
    records = [parts.started_run(pid=pid) for pid in (11, 12)]
    for n in range(0, N_EVENTS, 50):
        for record in records:
            parts.take(record, *(sample(n + k) for k in range(49)))
            parts.take(record, EpochEnded(t_s=n + 49.5, fit=1, epoch=n // 50, seconds=49.0))
        assert parts.event_log.commit()
    for record in records:
        stored.events[record.run] = read_events(parts, record.run)
        assert len(stored.events[record.run]) == N_EVENTS + 1
        folder = stored.spools / record.run
        folder.mkdir(parents=True, mode=0o700)
        facts = SessionFacts(record.run, record.session, "here", record.pid, 1.8e9)
        bodies = ((seq, body) for seq, (_, body) in stored.events[record.run].items())
        held = b"".join(encode_record(seq, body) for seq, body in bodies)
        (folder / segment_name(1)).write_bytes(segment_head(facts) + held)
    parts.database.close()
    return stored


@pytest.fixture
def stored(original: Stored, tmp_path: Path) -> Stored:
    shutil.copytree(original.folder, tmp_path / "copy")
    return Stored(tmp_path / "copy", original.events)


def flip_bits(path: Path, n: int, seed: int, *, begin: int = 0) -> None:
    rng = random.Random(seed)  # noqa: S311 - no secret
    data = bytearray(path.read_bytes())
    for _ in range(n):
        place = rng.randrange(begin, len(data))
        data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def spoil_bodies(path: Path, n: int, seed: int, *, n_bytes: int = 8) -> None:
    """Write over the middle of some bodies; of one byte a bit is flipped."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    with closing(sqlite3.connect(path)) as file, file:
        for row in rng.sample(range(1, 2 * N_EVENTS), n):
            (body,) = file.execute("SELECT body FROM events WHERE row = ?", (row,)).fetchone()
            other = rng.randbytes(8) if n_bytes > 1 else bytes([body[10] ^ 1 << rng.randrange(8)])
            spoilt = body[:10] + other + body[10 + n_bytes :]
            file.execute("UPDATE events SET body = ? WHERE row = ?", (spoilt, row))


def verified(stored: Stored) -> tuple[HubParts, EventVerifier]:
    """Work of a hub on its database until all of it was verified."""
    for _ in range(3):
        try:
            parts = HubParts(stored.folder)
        except DAMAGE as exc:
            salvage(stored.path, exc)
            continue
        verification = EventVerifier(parts.event_log, stored.spools, parts.faults, parts.clock)
        for _ in range(_MOST_STEPS):
            parts.clock.move(6.0)
            with suppress(*DAMAGE):
                verification.step()
            if verification.is_broken:
                break
        if not verification.is_broken:
            return parts, verification
        parts.database.close()
        salvage(stored.path, sqlite3.DatabaseError("broken"))
    pytest.fail("the database is still broken")


def see(parts: HubParts, stored: Stored) -> tuple[int, int]:
    """Number of events that are as they were, and that are marked as damaged; no others exist."""
    same = marked = 0
    for run, expected in stored.events.items():
        found = read_events(parts, run)
        missing = set(expected)
        for seq, (t_s, body) in found.items():
            event: Any = decode_event(body)
            if isinstance(event, LostEvents):
                assert event.why == DAMAGED
                assert event.last <= N_EVENTS + 1
                missing -= set(range(event.first, event.last + 1))
                marked += event.last - event.first + 1
                continue
            assert (body, t_s) == (expected[seq][1], pytest.approx(expected[seq][0]))
            missing.discard(seq)
            same += 1
        assert not missing
    return same, marked


@pytest.mark.parametrize("has_spool", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_forty_bits_flipped_anywhere_leave_no_event_that_is_not_itself_or_marked(
    stored: Stored, seed: int, *, has_spool: bool
):
    if not has_spool:
        shutil.rmtree(stored.spools)
    flip_bits(stored.path, 40, seed)

    parts, _ = verified(stored)
    same, marked = see(parts, stored)
    parts.database.close()

    assert same + marked == 2 * (N_EVENTS + 1)
    assert not has_spool or marked == 0


def test_a_flipped_bit_of_each_of_forty_bodies_is_turned_back_without_a_spool(stored: Stored):
    shutil.rmtree(stored.spools)
    spoil_bodies(stored.path, 40, seed=1, n_bytes=1)

    parts, verification = verified(stored)
    same, marked = see(parts, stored)
    parts.database.close()

    assert (same, marked) == (2 * (N_EVENTS + 1), 0)
    assert (verification.restored, verification.text()) == (40, "")


def test_bodies_that_were_written_over_come_back_from_the_spool(stored: Stored):
    spoil_bodies(stored.path, 40, seed=2)

    parts, verification = verified(stored)
    same, marked = see(parts, stored)
    parts.database.close()

    assert (same, marked) == (2 * (N_EVENTS + 1), 0)
    assert (verification.restored, verification.marked) == (40, 0)


def test_bodies_that_nobody_has_any_more_are_marked_and_told(stored: Stored):
    shutil.rmtree(stored.spools)
    spoil_bodies(stored.path, 40, seed=3)

    parts, verification = verified(stored)
    same, marked = see(parts, stored)
    parts.database.close()

    assert (same, marked) == (2 * (N_EVENTS + 1) - 40, 40)
    assert "40 stored events were damaged: 0 were restored, and 40 are" in verification.text()


def test_rows_that_are_gone_are_one_gap_without_a_spool_and_filled_with_it(stored: Stored):
    with closing(sqlite3.connect(stored.path)) as file, file:
        file.execute("DELETE FROM events WHERE row BETWEEN 300 AND 499")
        file.execute("DELETE FROM events WHERE row > 1100")
    spools = stored.spools.rename(stored.folder / "away")

    parts, verification = verified(stored)
    same, marked = see(parts, stored)
    parts.database.close()
    assert same + marked == 2 * (N_EVENTS + 1)
    assert (verification.marked, marked) == (4, 200 + 102)

    spools.rename(stored.spools)
    with closing(sqlite3.connect(stored.path)) as file, file:
        file.execute("DELETE FROM events WHERE kind = 'lost'")
    parts, _ = verified(stored)
    assert see(parts, stored) == (2 * (N_EVENTS + 1), 0)
    parts.database.close()
