"""One run's measured values as columns, read from the database once and then only added to.

Old samples lie there packed, a column at a time; the newest, and all others, are read as events.
"""

import math
from collections.abc import Sequence

import numpy as np

from kmonitor.base.thinning import Floats
from kmonitor.hub.store.connection import StoreConnection
from kmonitor.hub.store.row_checks import WITHIN_KIND, seconds, sound_bodies
from kmonitor.hub.store.sample_blocks import (
    BLOCK_SAMPLES,
    PackedSamples,
    Samples,
    count_samples,
    pick_samples,
    read_samples,
    row_at_time,
)
from kmonitor_agent.wire.messages.codec import ProtocolError, decode_event
from kmonitor_agent.wire.messages.events import EpochEnded, EpochStarted, GraphSize
from kmonitor_agent.wire.messages.readings import epoch_values, is_sample_column

_FIRST_CAPACITY = 1_024
_EVENTS = (
    f"SELECT {WITHIN_KIND} FROM events"  # noqa: S608 - constant
    " WHERE run_key = ? AND kind = ? AND row > ? AND row <= ? ORDER BY row"
)


class GrowingArray:
    """Float64 values to which others are only appended."""

    def __init__(self, n_missing: int = 0) -> None:
        self._values = np.full(max(_FIRST_CAPACITY, 2 * n_missing), np.nan)
        self._n = n_missing

    def extend(self, values: Floats) -> None:
        end = self._n + len(values)
        if end > len(self._values):
            grown = np.full(max(end, 2 * len(self._values)), np.nan)
            grown[: self._n] = self._values[: self._n]
            self._values = grown
        self._values[self._n : end] = values
        self._n = end

    @property
    def values(self) -> Floats:
        return self._values[: self._n]

    @property
    def n_bytes(self) -> int:
        return self._values.nbytes


class EpochColumns:
    """Epochs of a run, in the order in which they began.

    Attributes:
        starts: Run times, seconds.
        ends: Run times, NaN while running.
        fits: Ordinals of their fits.
        values: Per-epoch values by column name, as (run time of the end, value).
    """

    def __init__(self) -> None:
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.fits: list[int] = []
        self.values: dict[str, list[tuple[float, float]]] = {}
        self._indices: dict[tuple[int, int], list[int]] = {}

    def begin(self, t_s: float, event: EpochStarted) -> None:
        """Begin an epoch; after a restart the same one may begin again."""
        self._indices.setdefault((event.fit, event.epoch), []).append(len(self.starts))
        self.starts.append(t_s)
        self.ends.append(math.nan)
        self.fits.append(event.fit)

    def end(self, t_s: float, event: EpochEnded) -> None:
        # Starts are read ahead of ends: of those of one number, an end is that of the last before.
        indices = self._indices.get((event.fit, event.epoch), [])
        index = next((at for at in reversed(indices) if self.starts[at] <= t_s), None)
        if index is not None:
            self.ends[index] = t_s
        for name, value in epoch_values(event):
            self._add(name, t_s, value)
        for name, value in event.logs.items():
            self._add(f"log:{name}"[:64], t_s, value)

    def _add(self, column: str, t_s: float, value: float) -> None:
        self.values.setdefault(column, []).append((t_s, value))


class RunColumns:
    """Owned by the series thread.

    Attributes:
        gaps_t_s: Run times at which events are lost or a later process began.
        row: Newest row id up to which everything is in here.
        is_packed_wanted: See `__init__`.
    """

    def __init__(self, run_key: int, *, is_packed_wanted: bool = True) -> None:
        """Args: `is_packed_wanted`: False to read all samples as events: blocks are damaged."""
        self.epochs = EpochColumns()
        self.gaps_t_s: list[float] = []
        self.row = 0
        self.run_key = run_key
        self.is_packed_wanted = is_packed_wanted
        self._samples_row = 0
        self._packed: PackedSamples | None = None
        self._packed_t_s = np.empty(0)
        self._t_s = GrowingArray()
        self._columns: dict[str, GrowingArray] = {}
        self._counted: dict[str, list[tuple[float, float]]] = {}
        self._session_count = 0

    @property
    def n_bytes(self) -> int:
        packed = self._packed.n_bytes + self._packed_t_s.nbytes if self._packed else 0
        tail = self._t_s.n_bytes + sum(column.n_bytes for column in self._columns.values())
        return packed + tail

    @property
    def n_samples(self) -> int:
        """Number of samples read so far."""
        return len(self._packed_t_s) + len(self._t_s.values)

    def update(
        self,
        connection: StoreConnection,
        head: int,
        wanted: Sequence[str],
        n_samples: int = BLOCK_SAMPLES,
    ) -> Samples | None:
        """Read the next part of the run, up to row `head`.

        Once `row` has reached `head`, everything is read and the `wanted` columns are ready.

        Args:
            connection: Any connection on the hub's database.
            head: Last row; columns may go further if samples after it are read already.
            n_samples: Maximum number of samples read as events.

        Returns:
            The samples that were read as events.

        Raises:
            DamagedBlocks: Packed samples are not what they were.
        """
        samples = None
        if head > self.row:
            samples = self._read_stored(connection, max(head, self._samples_row), n_samples)
        if self._packed is not None and head <= self.row:
            for column in wanted:
                self._packed.read(connection, column)
        return samples

    def outline(
        self,
        connection: StoreConnection,
        head: int,
        wanted: Sequence[str],
        n_samples: int,
        between_s: tuple[float, float] = (0.0, math.inf),
    ) -> int:
        """Read packed samples and some of the others, all up to row `head`; once, first.

        Args:
            connection: Any connection on the hub's database.
            head: Last row.
            n_samples: Number of the others to read; all of them if there are no more.
            between_s: Others of these run times only, seconds, both included.

        Returns:
            n: one in n of the others was read; 1: all of them.

        Raises:
            DamagedBlocks: Packed samples are not what they were.
        """
        self._read_packed(connection)
        from_s, to_s = between_s
        key = self.run_key
        first = self._samples_row
        last = head
        if from_s > 0.0:
            first = row_at_time(connection, key, first, head, from_s)
        if to_s < math.inf:
            last = row_at_time(connection, key, first, head, math.nextafter(to_s, math.inf))
        n_found = count_samples(connection, key, first, last)
        read = read_samples if n_found <= n_samples else pick_samples
        picked = read(connection, key, first, last, n_samples)
        self._add(picked.t_s, picked.columns)
        self._read_others(connection, head)
        self._samples_row = self.row = head
        self.update(connection, head, wanted)
        return 1 if n_found <= n_samples else max(2, round(n_found / max(1, len(picked.t_s))))

    def _read_packed(self, connection: StoreConnection) -> None:
        self._packed = PackedSamples(connection, self.run_key)
        self._packed_t_s = np.maximum.accumulate(self._packed.t_s)
        self._samples_row = self._packed.last_row

    def _read_stored(self, connection: StoreConnection, head: int, n_samples: int) -> Samples:
        if self._packed is None and self.is_packed_wanted:
            self._read_packed(connection)
        samples = read_samples(connection, self.run_key, self._samples_row, head, n_samples)
        self._add(samples.t_s, samples.columns)
        self._samples_row = samples.last_row
        if len(samples.t_s) < n_samples:
            self._read_others(connection, head)
            self._samples_row = self.row = head
        return samples

    def _read_others(self, connection: StoreConnection, head: int) -> None:
        self._read_counts(connection, head)
        self._read_epochs(connection, head)
        self.gaps_t_s += [t_s for t_s, _ in self._rows(connection, "lost", head)]
        for t_s, _ in self._rows(connection, "session", head):
            self._session_count += 1
            if self._session_count > 1:
                self.gaps_t_s.append(t_s)

    def points(self, column: str) -> tuple[Floats, Floats]:
        """Run times and values of a column without its NaNs; empty if it was never read.

        Args:
            column: A column requested in the last `update`, or any that is not of samples.
        """
        if is_sample_column(column):
            return self._with_counts(column, *self._sampled(column))
        pairs = _as_pairs(self.epochs.values.get(column, []))
        pairs = pairs[~np.isnan(pairs[:, 1])]
        return pairs[:, 0], pairs[:, 1]

    def breaks_t_s(self, column: str) -> Floats:
        """Run times, rising, at which the line of a column breaks.

        The line breaks where events are lost, where a later process began, and where an epoch has
        no number (NaN).
        """
        pairs = _as_pairs(self.epochs.values.get(column, []))
        return np.sort(np.concatenate((self.gaps_t_s, pairs[np.isnan(pairs[:, 1]), 0])))

    def names(self) -> list[str]:
        """Columns with at least one value, sorted by name."""
        packed = self._packed.names if self._packed is not None else frozenset[str]()
        return sorted({*packed, *self._columns, *self._counted, *self.epochs.values})

    def _sampled(self, column: str) -> tuple[Floats, Floats]:
        old = self._packed.values(column) if self._packed is not None else None
        new = self._columns.get(column)
        blocks = [
            _present(self._packed_t_s, old),
            _present(self._t_s.values, None if new is None else new.values),
        ]
        return np.concatenate([t for t, _ in blocks]), np.concatenate([v for _, v in blocks])

    def _with_counts(self, column: str, t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
        # Samples repeat the last count once a second; the count itself, at an epoch's end and
        # after a reload, is when the graph really changed.
        counted = _as_pairs(self._counted.get(column, []))
        if not len(counted):
            return t_s, values
        t_s = np.concatenate([t_s, counted[:, 0]])
        order = np.argsort(t_s, kind="stable")
        return t_s[order], np.concatenate([values, counted[:, 1]])[order]

    def _read_counts(self, connection: StoreConnection, head: int) -> None:
        for t_s, body in self._rows(connection, "graph", head):
            event = _decoded(body)
            if isinstance(event, GraphSize):
                self._counted.setdefault("graph_operations", []).append((t_s, event.operations))
                self._counted.setdefault("functions", []).append((t_s, event.functions))

    def _read_epochs(self, connection: StoreConnection, head: int) -> None:
        for t_s, body in self._rows(connection, "epoch_start", head):
            event = _decoded(body)
            if isinstance(event, EpochStarted):
                self.epochs.begin(t_s, event)
        for t_s, body in self._rows(connection, "epoch_end", head):
            event = _decoded(body)
            if isinstance(event, EpochEnded):
                self.epochs.end(t_s, event)

    def _add(self, times: Floats, block: dict[str, Floats]) -> None:
        n_before = len(self._t_s.values)
        before = self._t_s.values if n_before else self._packed_t_s
        if len(before):
            times = np.maximum(times, before[-1])
        # Threads of the agent may overtake each other by microseconds; charts need rising times.
        self._t_s.extend(np.maximum.accumulate(times))
        for name in block:
            if name not in self._columns:  # one that is never read takes no memory
                self._columns[name] = GrowingArray(n_before)
        unread = np.full(len(times), np.nan)
        for name, column in self._columns.items():
            column.extend(block.get(name, unread))

    def _rows(
        self, connection: StoreConnection, kind: str, head: int
    ) -> list[tuple[float, bytes]]:
        found = connection.execute(_EVENTS, self._cursor(kind, head))
        sound = sound_bodies(found, self.run_key, kind)
        return [(seconds(t_s), body) for _, t_s, body in sound]

    def _cursor(self, kind: str, head: int) -> tuple[int, str, int, int]:
        return self.run_key, kind, self.row, head


def _present(t_s: Floats, values: Floats | None) -> tuple[Floats, Floats]:
    if values is None:
        return np.empty(0), np.empty(0)
    is_read = ~np.isnan(values)
    return t_s[is_read], values[is_read]


def _as_pairs(points: list[tuple[float, float]]) -> Floats:
    return np.array(points, dtype=np.float64).reshape(-1, 2)


def _decoded(body: bytes) -> object:
    try:
        return decode_event(body)
    except (ProtocolError, TypeError):
        return None  # it was read once when it was taken; never let a chart fail over it
