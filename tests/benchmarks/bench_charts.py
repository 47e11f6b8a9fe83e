"""Main-thread CPU time of the charts: one full refresh, and a live window at 10 Hz.

Run alone: `python tests/benchmarks/bench_charts.py`; offscreen, so it needs no display.
"""

import os
import sys
import time
from statistics import median

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QGridLayout, QWidget

from kmonitor.ui.charts.series_store import SeriesStore, VisibleRange
from kmonitor.ui.plots.chart_state import (
    ChartState,
    CrosshairCard,
    CrosshairRow,
    CurveState,
    FlagState,
    LimitLineState,
)
from kmonitor.ui.plots.qt.live_chart import LiveChart
from kmonitor.ui.text.formats import Unit
from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.messages.unions import SeriesReply, ThinnedColumn
from tests.benchmarks.judging import Judge

RUNS = 8
POINTS = 100_000
HZ = 10
REFRESH_TARGET_MS = 30.0
LIVE_TARGET_PERCENT = 35.0
CHARTS: tuple[tuple[str, Unit, float], ...] = (
    ("vram_bytes", "bytes", 2.0**30),
    ("ram_bytes", "bytes", 2.0**30),
    ("graph_operations", "operations", 1000.0),
    ("step_time_s", "seconds", 0.01),
)


def filled_store(points: int) -> SeriesStore:
    """Eight runs with sawteeth and noise in four columns, as many raw points each."""
    store, t_s = SeriesStore(), np.arange(points, dtype=np.float64)
    rng = np.random.default_rng(7)
    epochs = t_s[:: max(1, points // 90)]
    for run in range(RUNS):
        columns = [
            ThinnedColumn(
                name,
                t_s.tobytes(),
                (
                    scale
                    * (
                        20
                        + 3 * run
                        + t_s % (points / 4) / points * 40
                        + np.abs(rng.normal(size=points))
                    )
                ).tobytes(),
                points,
            )
            for name, _, scale in CHARTS
        ]
        ends = np.append(epochs[1:], np.nan)
        store.backfill(SeriesReply(1, str(run), 1, columns, [], epochs.tobytes(), ends.tobytes()))
    return store


class Board:
    """Four charts in a window, refreshed as the app does it."""

    def __init__(self, store: SeriesStore) -> None:
        self.store = store
        self.window = QWidget()
        grid = QGridLayout(self.window)
        self.charts = [LiveChart() for _ in CHARTS]
        for i, chart in enumerate(self.charts):
            grid.addWidget(chart, i // 2, i % 2)
        self.window.resize(QSize(1010, 700))
        self.window.show()

    def refresh(self) -> None:
        """Thin, hand over, and paint into the backing store."""
        runs = [str(i) for i in range(RUNS)]
        span = self.store.full_range(runs, "epochs")
        for chart, (column, unit, scale) in zip(self.charts, CHARTS, strict=True):
            window = VisibleRange("epochs", *span, chart.plot_width_px())
            curves = tuple(
                CurveState(
                    run,
                    f"run-{run}",
                    i % 6,
                    *self.store.points(run, column, window),
                    dashed=i >= 6,
                    selected=i == 0,
                )
                for i, run in enumerate(runs)
            )
            chart.set_state(
                ChartState(
                    unit,
                    "epochs",
                    span,
                    curves,
                    limit=LimitLineState(80 * scale, "limit 80"),
                    flags=(FlagState(span[1] / 2, "reload"),),
                    epoch_marks=self.store.epoch_marks("0", "epochs"),
                )
            )
        QApplication.processEvents()


def refresh_ms(points: int, *, rounds: int = 40) -> float:
    """Median main-thread CPU of a refresh in which every run has a new point."""
    store = filled_store(points)
    board = Board(store)
    t_s, took = float(points), []
    for _ in range(rounds):
        t_s = _tell_all(store, t_s)
        began = time.thread_time()
        board.refresh()
        took.append((time.thread_time() - began) * 1e3)
    board.window.deleteLater()
    return median(took[5:])


def crosshair_ms(*, moves: int = 60) -> float:
    """Median main-thread CPU of one move of the crosshair over four linked charts."""
    board = Board(filled_store(10_000))
    board.refresh()
    rows = tuple(CrosshairRow(i, f"run-{i}", 20.0 * 2**30, "20 GiB") for i in range(RUNS))
    took: list[float] = []
    for move in range(moves):
        began = time.thread_time()
        for i, chart in enumerate(board.charts):
            chart.set_crosshair(float(move), CrosshairCard("epoch", rows, is_shown=i == 0))
        QApplication.processEvents()
        took.append((time.thread_time() - began) * 1e3)
    board.window.deleteLater()
    return median(took[5:])


def live_percent(*, seconds: float = 6.0) -> float:
    """Main-thread CPU as a part of wall time, samples taken and charts refreshed at 10 Hz."""
    store = filled_store(POINTS)
    board = Board(store)
    board.refresh()
    t_s, began, cpu = float(POINTS), time.monotonic(), time.thread_time()
    for tick in range(round(seconds * HZ)):
        t_s = _tell_all(store, t_s)
        board.refresh()
        time.sleep(max(0.0, began + (tick + 1) / HZ - time.monotonic()))
    percent = 100.0 * (time.thread_time() - cpu) / (time.monotonic() - began)
    board.window.deleteLater()
    return percent


def _tell_all(store: SeriesStore, t_s: float) -> float:
    value = 20.0 + t_s % 40.0
    sample = Sample(
        t_s=t_s + 1.0,
        vram_bytes=value * 2**30,
        ram_bytes=value * 2**30,
        graph_operations=value * 1000,
        step_time_s=value / 100,
    )
    for run in range(RUNS):
        store.apply_event(str(run), t_s + 1.0, sample)
    return t_s + 1.0


def main() -> int:
    """Print medians of the main thread beside their bounds; 1 if one is missed when quiet."""
    app = QApplication.instance() or QApplication([])
    with Judge() as judge:
        for points in (10_000, POINTS):
            what = f"4 charts x {RUNS} runs x {points} points, full refresh"
            judge.add(what, refresh_ms(points), REFRESH_TARGET_MS, "ms")
        live = f"{RUNS} runs x 4 charts at {HZ} Hz, of a core"
        judge.add(live, live_percent(), LIVE_TARGET_PERCENT, "%")
        judge.add("crosshair moved over 4 charts", crosshair_ms(), None, "ms")
    del app
    return judge.status


if __name__ == "__main__":
    sys.exit(main())
