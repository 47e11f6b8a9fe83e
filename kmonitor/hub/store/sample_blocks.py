"""Samples packed as columns, so that a chart of a million of them need not decode each.

The events stay the truth: a block repeats what they say, and a run whose blocks cannot be read is
read from its events.
"""

import math
import zlib
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from kmonitor.hub.store.connection import StoreConnection
from kmonitor.hub.store.row_checks import WITHIN_KIND, seconds, sound_bodies, text
from kmonitor_agent.wire.messages.fields import MAX_DURATION_S
from kmonitor_agent.wire.messages.readings import (
    MAX_COLUMN,
    SAMPLE_COLUMNS,
    DeviceSample,
    extra_sample_values,
)

Floats = NDArray[np.float64]

BLOCK_SAMPLES: Final = 8_192
"""Samples of a block: two hours at one a second."""

TIMES: Final = "t_s"
"""The column of run times, which every block has."""

_LEVEL: Final = 1
_EVENTS = (
    f"SELECT {WITHIN_KIND} FROM events"  # noqa: S608 - constant
    " WHERE run_key = ? AND kind = 'sample' AND row > ? AND row <= ? ORDER BY row LIMIT ?"
)
_ENDS = tuple(
    f"SELECT {end}(row) FROM events WHERE run_key = ? AND kind = 'sample' AND row > ? AND row <= ?"  # noqa: S608 - constant
    for end in ("min", "max")
)
_COUNT = (
    "SELECT count(*) FROM events WHERE run_key = ? AND kind = 'sample' AND row > ? AND row <= ?"
)
_TIME_BEHIND = (
    "SELECT row, t_s FROM events"
    " WHERE run_key = ? AND kind = 'sample' AND row > ? AND row <= ? ORDER BY row LIMIT 1"
)
_ENOUGH = (
    "SELECT row FROM events"
    " WHERE run_key = ? AND kind = 'sample' AND row > ? ORDER BY row LIMIT 1 OFFSET ?"
)

# Only what is charted, absent as NaN: one decode and one tuple a sample instead of 18 look-ups.
_Charted: type[Any] = msgspec.defstruct(
    "_Charted",
    [
        *((field, float | None, math.nan) for field in SAMPLE_COLUMNS),
        ("logs", dict[str, float], {}),
        ("more_devices", list[DeviceSample], []),
    ],
    gc=False,
)
_decode_charted = msgspec.msgpack.Decoder(_Charted).decode
_CANNOT_DECODE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError)


class DamagedBlocks(Exception):
    """Blocks of a run cannot be unpacked, or have another number of samples than they should."""


@dataclass(frozen=True, slots=True)
class SampleBlock:
    """Consecutive samples of one run.

    Attributes:
        after_row: Row id of the newest sample in the block before; 0: it is the first.
        last_row: Row id of the newest sample in it.
        columns: Packed columns by name; one without any reading is left out.
    """

    run_key: int
    after_row: int
    last_row: int
    n_samples: int
    columns: dict[str, bytes]

    @property
    def n_bytes(self) -> int:
        return sum(map(len, self.columns.values()))


@dataclass(frozen=True, slots=True)
class Samples:
    """Consecutive samples of one run, as columns.

    Attributes:
        after_row: Row id after which they begin.
        last_row: Row id of the newest of them; `after_row` if there is none.
        t_s: Their run times, as stored.
        columns: See `decoded_samples`.
    """

    run_key: int
    after_row: int
    last_row: int
    t_s: Floats
    columns: dict[str, Floats]

    def packed(self) -> SampleBlock:
        columns = {TIMES: self.t_s, **self.columns}
        packed = {name: _packed(values) for name, values in columns.items()}
        return SampleBlock(self.run_key, self.after_row, self.last_row, len(self.t_s), packed)


def read_samples(
    connection: StoreConnection, run_key: int, after_row: int, head: int, limit: int
) -> Samples:
    """The oldest samples after a row, read as events.

    Args:
        connection: Any connection on the hub's database.
        head: Up to this row.
    """
    found = connection.execute(_EVENTS, (run_key, after_row, head, limit))
    return _samples(run_key, after_row, list(sound_bodies(found, run_key, "sample")))


def row_at_time(
    connection: StoreConnection, run_key: int, after_row: int, head: int, t_s: float
) -> int:
    """Row id after which a run's samples of a time and later begin, by some thirty look-ups.

    Args:
        connection: Any connection on the hub's database.
        head: Up to this row.
        t_s: Run time, seconds; samples of rising rows have rising times.
    """
    before = after_row
    end = head
    while before < end:
        middle = (before + end) // 2
        found = connection.execute(_TIME_BEHIND, (run_key, middle, end)).fetchone()
        if found is not None and seconds(found[1]) < t_s:
            before = int(found[0])
        else:
            end = middle
    return before


def count_samples(connection: StoreConnection, run_key: int, after_row: int, head: int) -> int:
    """Number of a run's samples after a row, up to another."""
    return int(connection.execute(_COUNT, (run_key, after_row, head)).fetchone()[0])


def pick_samples(
    connection: StoreConnection, run_key: int, after_row: int, head: int, n_samples: int
) -> Samples:
    """Some of the samples after a row, about evenly far apart; as `read_samples`."""
    found: dict[int, tuple[int, object, bytes]] = {}
    of = (run_key, after_row, head)
    first, last = (connection.execute(query, of).fetchone()[0] for query in _ENDS)
    if first is None:
        return _samples(run_key, after_row, [])
    # By row, since that needs no search; rows of other runs between them make it uneven.
    for n in range(n_samples):
        row = first - 1 + (last - first) * n // max(1, n_samples - 1)
        rows = connection.execute(_EVENTS, (run_key, row, head, 1))
        found |= {picked[0]: picked for picked in sound_bodies(rows, run_key, "sample")}
    return _samples(run_key, after_row, list(found.values()))


def _samples(run_key: int, after_row: int, rows: list[tuple[int, object, bytes]]) -> Samples:
    columns = decoded_samples([body for _, _, body in rows])
    last_row = rows[-1][0] if rows else after_row
    return Samples(run_key, after_row, last_row, _times([t_s for _, t_s, _ in rows]), columns)


def _times(cells: list[Any]) -> Floats:
    """Each of them as `seconds` has it; a fifth of what reading samples takes, cell by cell."""
    if set(map(type, cells)) <= {float}:
        t_s = np.array(cells, dtype=np.float64)
        if np.all((t_s >= 0.0) & (t_s <= MAX_DURATION_S)):
            return t_s
    return np.array([seconds(cell) for cell in cells], dtype=np.float64)


def decoded_samples(bodies: list[bytes]) -> dict[str, Floats]:
    """Charted values of encoded samples by column, `[n]` each, absent as NaN.

    A column without any reading is left out.
    """
    samples = _charted(bodies)
    n_fields = len(SAMPLE_COLUMNS)
    values = np.array(
        [msgspec.structs.astuple(sample)[:n_fields] for sample in samples], dtype=np.float64
    ).reshape(-1, n_fields)
    n_read = np.count_nonzero(~np.isnan(values), axis=0).tolist()
    columns = {
        name: np.ascontiguousarray(values[:, number])
        for number, name in enumerate(SAMPLE_COLUMNS)
        if n_read[number]
    }
    for row, sample in enumerate(samples):
        if sample.logs or sample.more_devices:
            for name, value in extra_sample_values(sample.logs, sample.more_devices):
                if name not in columns:
                    columns[name] = np.full(len(samples), np.nan)
                columns[name][row] = value
    return columns


def _charted(bodies: list[bytes]) -> list[Any]:
    try:
        return [_decode_charted(body) for body in bodies]
    except _CANNOT_DECODE:
        return [_charted_or_absent(body) for body in bodies]


def _charted_or_absent(body: bytes) -> Any:
    """A damaged sample is one without readings."""
    try:
        return _decode_charted(body)
    except _CANNOT_DECODE:
        return _Charted()


def next_block(
    connection: StoreConnection, run_key: int, n_samples: int = BLOCK_SAMPLES
) -> SampleBlock | None:
    """The oldest samples of a run that no block has; None while they are fewer than `n_samples`.

    Args:
        connection: Any connection on the hub's database.
    """
    packed = _last_row(connection, run_key)
    enough = connection.execute(_ENOUGH, (run_key, packed, n_samples - 1)).fetchone()
    if enough is None:
        return None
    return read_samples(connection, run_key, packed, int(enough[0]), n_samples).packed()


class PackedSamples:
    """The packed samples of a run; columns are read on request.

    Attributes:
        last_row: Row id of the newest of them; 0: there is none.
        t_s: Their run times, as stored.
        names: Columns that any of the blocks has.
    """

    def __init__(self, connection: StoreConnection, run_key: int) -> None:
        """Args: as `next_block`. Raises: `DamagedBlocks`."""
        self._run_key = run_key
        found = _rows_of(connection, run_key, TIMES)
        self.last_row = int(found[-1][0]) if found else 0
        self._locations: dict[int, tuple[int, int]] = {}
        times: list[Floats] = []
        n = 0
        for last_row, n_samples, body in found:
            times.append(_unpacked(body, n_samples))
            self._locations[last_row] = (n, n_samples)
            n += n_samples
        self.t_s: Floats = np.concatenate(times) if times else np.empty(0)
        self._columns: dict[str, Floats | None] = {}
        self.names: frozenset[str] = _names_of(connection, run_key) - {TIMES}

    @property
    def n_bytes(self) -> int:
        columns = (column for column in self._columns.values() if column is not None)
        return self.t_s.nbytes + sum(column.nbytes for column in columns)

    def read(self, connection: StoreConnection, column: str) -> None:
        """Have a column ready. Raises: `DamagedBlocks`."""
        if column in self._columns or not self.last_row:
            return
        values: Floats | None = None
        for last_row, n_samples, body in _rows_of(connection, self._run_key, column):
            location = self._locations.get(last_row)
            if location is None:
                continue  # a block of later, whose samples were read as events
            if location[1] != n_samples:
                raise DamagedBlocks(f"{n_samples} samples instead of {location[1]}")
            if values is None:
                values = np.full(len(self.t_s), np.nan)
            values[location[0] : location[0] + n_samples] = _unpacked(body, n_samples)
        self._columns[column] = values

    def values(self, column: str) -> Floats | None:
        """A column that `read` has made ready, `[len(t_s)]`, absent as NaN; None: all absent."""
        return self._columns.get(column)


def write_blocks(connection: StoreConnection, blocks: list[SampleBlock]) -> None:
    """Store blocks, within the transaction of the caller.

    One that does not follow the newest of its run is left out, so that none is missing between
    two: it was packed twice, or the one before could not be stored.
    """
    for block in blocks:
        if _last_row(connection, block.run_key) == block.after_row:
            connection.executemany(
                "INSERT INTO sample_blocks (run_key, name, last_row, n_samples, body)"
                " VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING",
                [
                    (block.run_key, name, block.last_row, block.n_samples, body)
                    for name, body in block.columns.items()
                ],
            )


def remove_blocks(connection: StoreConnection, run_key: int, limit: int) -> int:
    """Remove at most `limit` columns of blocks of a run; how many were removed."""
    return connection.execute(
        "DELETE FROM sample_blocks WHERE (run_key, name, last_row) IN"
        " (SELECT run_key, name, last_row FROM sample_blocks WHERE run_key = ? LIMIT ?)",
        (run_key, limit),
    ).rowcount


def _last_row(connection: StoreConnection, run_key: int) -> int:
    found = connection.execute(
        "SELECT max(last_row) FROM sample_blocks WHERE run_key = ? AND name = ?", (run_key, TIMES)
    ).fetchone()
    return int(found[0] or 0)


def _names_of(connection: StoreConnection, run_key: int) -> frozenset[str]:
    found = connection.execute(
        "SELECT DISTINCT name FROM sample_blocks WHERE run_key = ?", (run_key,)
    )
    return frozenset(text(name, MAX_COLUMN) for (name,) in found) - {""}


def _rows_of(
    connection: StoreConnection, run_key: int, column: str
) -> list[tuple[int, int, bytes]]:
    return connection.execute(
        "SELECT last_row, n_samples, body FROM sample_blocks"
        " WHERE run_key = ? AND name = ? ORDER BY last_row",
        (run_key, column),
    ).fetchall()


def _packed(values: Floats) -> bytes:
    # Bytes of equal weight side by side: what changes little then packs to little, and fast.
    as_bytes = values.astype("<f8").view(np.uint8).reshape(-1, 8)
    return zlib.compress(as_bytes.T.tobytes(), _LEVEL)


def _unpacked(body: bytes, n_samples: int) -> Floats:
    try:
        # One byte more than there can be shows a body that unpacks to more than it should.
        plain = zlib.decompressobj().decompress(body, 8 * n_samples + 1)
        as_bytes = np.frombuffer(plain, np.uint8).reshape(8, n_samples)
    except (zlib.error, ValueError, TypeError, OverflowError, MemoryError) as exc:
        raise DamagedBlocks(str(exc)) from exc
    return np.ascontiguousarray(as_bytes.T).view("<f8").reshape(n_samples)
