"""A zoomed stretch of a long run is requested in detail, and drawn from what comes."""

import math

import numpy as np
import pytest

from kmonitor.ui.charts.feed import ChartFeed
from kmonitor.ui.charts.series_store import VisibleRange
from kmonitor.ui.plots.chart_state import FloatArray
from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.messages.unions import EventRow, SeriesReply, SeriesRequest, ThinnedColumn
from tests.support.made_up_runs import made_up_run

RAM = "ram_bytes"
N = 1_000_000
RAW = np.where(np.arange(N) % 7 == 0, 5.0, 3.0)
"""A value each second."""


class LongRun:
    """A feed beside a hub that has a million samples of one run."""

    def __init__(self) -> None:
        self.asked: list[SeriesRequest] = []
        self.feed = ChartFeed(self._ask)
        self.feed.show_runs([made_up_run("r")])
        self.answer()

    def _ask(self, message: object) -> int:
        assert isinstance(message, SeriesRequest)
        self.asked.append(message)
        return len(self.asked)

    def answer(self) -> None:
        """Answer the last question as a hub does: every so manieth sample."""
        asked = self.asked[-1]
        to_s = N if asked.to_s is None else min(N, math.floor(asked.to_s) + 1)
        t_s = np.arange(math.ceil(asked.from_s), to_s, dtype=np.float64)
        step = max(1, len(t_s) // (2 * asked.buckets))
        told = t_s[::step]
        column = ThinnedColumn(RAM, told.tobytes(), RAW[told.astype(int)].tobytes(), len(t_s))
        self.feed.apply_series(
            SeriesReply(request_id=len(self.asked), run="r", row=7, columns=[column], have=[RAM])
        )

    def seen(self, from_s: float, to_s: float) -> tuple[FloatArray, FloatArray]:
        """Points drawn of a stretch now."""
        return self.feed.points("r", RAM, VisibleRange("seconds", from_s, to_s, 600))


@pytest.fixture
def run() -> LongRun:
    return LongRun()


def test_all_of_a_run_is_asked_for_once(run: LongRun):
    run.seen(0.0, float(N))
    run.seen(0.0, float(N))

    assert len(run.asked) == 1


def test_a_zoomed_stretch_is_drawn_as_it_was(run: LongRun):
    t_s, y = run.seen(500_000.0, 500_060.0)
    assert len(t_s) < 5
    for _ in range(2):
        run.answer()
        t_s, y = run.seen(500_000.0, 500_060.0)

    inside = (t_s >= 500_000.0) & (t_s <= 500_060.0)
    assert t_s[inside].tolist() == list(range(500_000, 500_061))
    assert y[inside].tolist() == RAW[500_000:500_061].tolist()
    assert t_s[0] < 500_000.0
    assert t_s[-1] > 500_060.0
    assert len(run.asked) == 2
    value = run.feed.store.value_at("r", RAM, 500_003.5, "seconds")
    assert value == RAW[500_003]


def test_one_question_waits_at_a_time_while_one_zooms_on(run: LongRun):
    for half in range(1000, 10, -10):
        run.seen(500_000.0 - half, 500_000.0 + half)

    assert len(run.asked) == 2


def test_what_lies_beside_the_stretch_is_drawn_from_the_whole(run: LongRun):
    run.seen(500_000.0, 510_000.0)
    run.answer()

    t_s, _ = run.seen(0.0, float(N))
    assert t_s[0] == 0.0
    assert t_s[-1] > N - 1000


def test_live_rows_go_on_in_a_stretch_that_reaches_to_the_newest(run: LongRun):
    run.seen(N - 600.0, N + 100.0)
    run.answer()
    row = EventRow(run="r", row=8, seq=8, t_s=float(N), body=b"")
    run.feed.apply_event(row, Sample(t_s=float(N), ram_bytes=9.0), is_live=True)

    t_s, y = run.seen(N - 600.0, N + 100.0)
    assert (t_s[-1], y[-1]) == (float(N), 9.0)
    assert len(t_s) > 600


def test_a_stretch_that_was_refused_is_not_asked_for_at_each_repaint(run: LongRun):
    run.seen(500_000.0, 500_060.0)
    run.feed.refuse(len(run.asked))
    run.seen(500_000.0, 500_060.0)
    assert len(run.asked) == 2

    run.seen(600_000.0, 600_060.0)
    assert len(run.asked) == 3


def test_a_short_run_is_held_as_it_was(run: LongRun):
    told = SeriesReply(
        request_id=1,
        run="s",
        row=1,
        columns=[ThinnedColumn(RAM, np.arange(9.0).tobytes(), np.ones(9).tobytes(), 9)],
    )
    run.feed.store.backfill(told)
    run.feed.points("s", RAM, VisibleRange("seconds", 2.0, 4.0, 600))

    assert len(run.asked) == 1
