"""When samples are packed into blocks: beside all else, and hardly at all while much arrives."""

from typing import Final

from kmonitor.hub.runs.event_log import Ledger
from kmonitor.hub.store.sample_blocks import BLOCK_SAMPLES
from kmonitor.hub.views.series import SeriesDesk
from kmonitor_agent.wire.local.clock import Clock

LOOK_EVERY_S: Final = 0.25
"""Where there was nothing to pack; while there is, one block follows the other."""

BUSY_EVERY_S: Final = 1.0
"""A block each so often while events arrive: packing one takes about 35 ms, of which the
interpreter has to give two thirds."""


class SamplePacking:
    """Owned by the hub's main thread; the work is done by the thread of the series.

    One block is under way at a time, so that none is packed twice.
    """

    def __init__(self, ledger: Ledger, series: SeriesDesk, clock: Clock) -> None:
        self._ledger = ledger
        self._series = series
        self._clock = clock
        self._is_under_way = False
        self._looked_at: dict[int, int] = {}
        self._rows_then: dict[int, int] = {}
        self._rows = 0
        self._not_before_s = 0.0

    def step(self) -> None:
        """Have the next block packed when it is time; called each `LOOK_EVERY_S`."""
        if self._is_under_way:
            return
        now_s, rows = self._clock.monotonic_s(), self._ledger.registry.rows
        if rows != self._rows and now_s < self._not_before_s:
            return
        self._rows, self._not_before_s = rows, now_s + BUSY_EVERY_S
        candidates = self._candidates()
        if candidates:
            self._is_under_way = True
            self._series.pack(candidates)

    def take(self) -> None:
        """Take what was packed; whenever the thread of the series has something."""
        for block in self._series.take_blocks():
            if not self._ledger.trouble:  # packed again when it can be written
                self._ledger.take_block(block)
        packed = self._series.take_packed()
        if packed is None:
            return
        block, too_few = packed
        for run_key in too_few:
            self._looked_at[run_key] = self._rows_then.get(run_key, 0)
        if block is not None:
            self._ledger.take_block(block)
            # The next look must find it committed; while nothing arrives it follows at once.
            self._ledger.then(self._go_on)
        else:
            self._is_under_way = False

    def _go_on(self) -> None:
        self._is_under_way = False
        self.step()

    def _candidates(self) -> list[int]:
        self._rows_then = {
            record.key: record.rows
            for record in self._ledger.registry.all()
            if record.rows - self._looked_at.get(record.key, 0) >= BLOCK_SAMPLES
        }
        return list(self._rows_then)
