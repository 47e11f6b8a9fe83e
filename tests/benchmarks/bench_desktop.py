"""Cost of the window while it is used: frames, memory, answers to the user, long runs.

Run alone: `python tests/benchmarks/bench_desktop.py [short_frames long_frames fleet history]`;
offscreen. A window as it is started, a hub process with runs in its database, agents in another
process. Bounds of milliseconds are on processor time of the main
thread, which a busy machine does not change; wall time is printed beside it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QTableView, QTreeView

from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor_agent.wire.local.folders import find_folders
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import Sample
from kmonitor_agent.wire.messages.unions import EventRow, RowsReply
from tests.benchmarks.judging import Judge, Measured

ROOT = Path(__file__).resolve().parents[2]
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier

SHORT, LONG = 10_000, 1_000_000
SHOWN = 8
FLEET, FLEET_SAMPLES, FLEET_S = 30, 100_000, 20.0
RECORDED = 5_000
SIZE = (1280, 760)
ROUNDS = 60

FRAME_MS = {SHORT: 16.0, LONG: 25.0}
FLEET_PERCENT = 25.0
FLEET_MB = 250.0
ACTION_MS = 50.0
OPEN_S = 1.0


@dataclass(frozen=True, slots=True)
class Stored:
    """Contents of the hub when the window starts.

    Attributes:
        runs: Number of runs.
        samples: Samples of each run.
        per_s: Samples a second that follow; 0: the runs have ended.
    """

    runs: int
    samples: int
    per_s: float


class Tried:
    """A window on its own hub, driven from here.

    Attributes:
        qt: Qt.
        app: The window with all its parts.
    """

    def __init__(self) -> None:
        self.qt = make_qt_application()
        options = WindowOptions(with_hub=False, size=SIZE, theme="dark")
        self.app = KmonitorApp(self.qt, find_folders(), options)
        # A failure in here is to be seen, not to be found in a log that is deleted.
        sys.excepthook = sys.__excepthook__
        self.app.start()
        self.app.window.activateWindow()
        assert QTest.qWaitForWindowActive(self.app.window)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the window run until this holds."""
        end_s = time.monotonic() + 120.0
        while not condition():
            assert time.monotonic() < end_s, f"not within 120 s: {what}"
            self.qt.processEvents()
            time.sleep(0.001)

    def rest(self, seconds: float) -> None:
        """Let it run for a while, as a user's window does."""
        # Its own loop: that of the application closes all windows when it ends.
        loop = QEventLoop()
        QTimer.singleShot(round(seconds * 1000), loop.quit)
        loop.exec()

    def look_at_all(self, n_runs: int) -> list[float]:
        """Select each run in turn; how long each took to its charts, seconds of the clock."""
        desk = self.app.workspace
        self.until(
            lambda: len(desk.run_store) == n_runs and self.app.charts_controller is not None,
            "all is there",
        )
        found: list[float] = []
        for run in [run.run for run in desk.run_store.runs()]:
            began_s = time.perf_counter()
            self.app.window.run_tree.run_chosen.emit(run)
            self.until(lambda run=run: self._is_loaded(run), "columns")
            self.app.controller.refresh()
            self.qt.processEvents()
            found.append(time.perf_counter() - began_s)
            self.rest(0.2)
        return found

    def figures(
        self,
        where: str,
        acts: dict[str, Callable[[], object]],
        bound: float | None = ACTION_MS,
    ) -> list[Measured]:
        """Do each of these once and rest; milliseconds of the main thread until it is painted."""
        found: list[Measured] = []
        for name, act in acts.items():
            cpu_ms, wall_ms = self.cost(act)
            found.append(
                Measured(where + name, cpu_ms, bound, "ms", beside=f"clock {wall_ms:.0f}")
            )
            self.rest(0.3)
        return found

    def cost(self, act: Callable[[], object]) -> tuple[float, float]:
        """Milliseconds until an action is painted: of the main thread, and of the clock."""
        cpu_s, began_s = time.thread_time(), time.perf_counter()
        act()
        self.qt.processEvents()
        return (time.thread_time() - cpu_s) * 1e3, (time.perf_counter() - began_s) * 1e3

    def _is_loaded(self, run: str) -> bool:
        board = self.app.charts_controller
        return (
            board is not None and board.is_loaded and self.app.workspace.run_store.selected == run
        )


@contextmanager
def hub(stored: Stored) -> Iterator[None]:
    """A hub process with such runs, and a process of agents with which they go on."""
    # Loaded here: the window's memory is measured in a process that has none of it.
    from tests.support.live_hub import LiveHub  # noqa: PLC0415
    from tests.support.stored_runs import store_runs  # noqa: PLC0415

    folders = find_folders()
    events = store_runs(
        folders,
        stored.runs,
        stored.samples,
        are_ended=not stored.per_s,
        are_copies=stored.samples > FLEET_SAMPLES,
    )
    words = [f"{run}={n}" for run, n in events.items()] if stored.per_s else []
    live = LiveHub(folders)
    live.start()
    source = [sys.executable, "-m", "tests.support.going_on", str(stored.per_s or 1), *words]
    agents = subprocess.Popen(source, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert agents.stdout is not None
    assert agents.stdout.readline() == "ready\n"
    try:
        yield
    finally:
        agents.communicate(timeout=60)
        live.kill()


def short_frames() -> list[Measured]:
    """Eight runs of an afternoon."""
    tried = Tried()
    tried.look_at_all(SHOWN)
    found = _frames(tried, SHORT)
    tried.app.stop()
    return found


def long_frames() -> list[Measured]:
    """Eight runs of twelve days, and what the user does with them."""
    tried = Tried()
    opened_s = tried.look_at_all(SHOWN)
    found = _chart_actions(tried)
    found += _frames(tried, LONG)
    tried.app.stop()
    return [
        *found,
        Measured(f"opening {LONG:,} samples", max(opened_s), OPEN_S, "s", beside="worst of 8"),
    ]


def fleet() -> list[Measured]:
    """Thirty runs with a day behind them, each of which sends a sample a second."""
    tried = Tried()
    tried.until(lambda: len(tried.app.workspace.run_store) == FLEET, "all runs are known")
    tried.until(lambda: tried.app.charts_controller is not None, "charts")
    tried.rest(3.0)
    cpu_s, main_s, began_s = time.process_time(), time.thread_time(), time.monotonic()
    tried.rest(FLEET_S)
    wall_s = time.monotonic() - began_s
    percent = 100.0 * (time.process_time() - cpu_s) / wall_s
    main_percent = 100.0 * (time.thread_time() - main_s) / wall_s
    tried.look_at_all(FLEET)
    now_mb, peak_mb = _memory_mb("VmRSS"), _memory_mb("VmHWM")
    tried.app.stop()
    what = f"memory, {FLEET} runs x {FLEET_SAMPLES:,} samples, each looked at"
    beside = f"main thread {main_percent:.0f}"
    return [
        Measured(f"{FLEET} runs at 1 Hz, all threads", percent, FLEET_PERCENT, "%", beside=beside),
        Measured(what, now_mb, FLEET_MB, "MB", beside=f"at its highest {peak_mb:.0f}"),
    ]


def history() -> list[Measured]:
    """Common actions of a user in a history of thousands of runs."""
    tried = Tried()
    app = tried.app
    tried.until(lambda: len(app.workspace.run_store) == RECORDED, "all runs are known")
    tried.until(
        lambda: app.charts_controller is not None and app.charts_controller.is_loaded, "charts"
    )
    tried.rest(2.0)
    panel = app.controller.history.panel
    table = panel.findChildren(QTableView)[0]
    field = next(f for f in panel.findChildren(QLineEdit) if f.accessibleName() == "Find runs")
    return tried.figures(
        f"{RECORDED:,} runs: ",
        {
            "open History": lambda: QTest.keyClick(app.window, Qt.Key.Key_H, CTRL | SHIFT),
            "select all rows": lambda: QTest.keyClick(table, Qt.Key.Key_A, CTRL),
            "one row": lambda: QTest.keyClick(table, Qt.Key.Key_Home, CTRL),
            "next row": lambda: QTest.keyClick(table, Qt.Key.Key_Down),
            "last row": lambda: QTest.keyClick(table, Qt.Key.Key_End, CTRL),
            "refresh": app.controller.refresh,
            "sort by name": lambda: panel.sort_requested.emit("name"),
            "sort by memory": lambda: panel.sort_requested.emit("ram"),
            "find, first letter": lambda: QTest.keyClick(field, Qt.Key.Key_U),
            "find, second letter": lambda: QTest.keyClick(field, Qt.Key.Key_N),
            "find nothing any more": field.clear,
            "select all, again": lambda: QTest.keyClick(table, Qt.Key.Key_A, CTRL),
            "refresh, all selected": app.controller.refresh,
            "find among all selected": lambda: QTest.keyClick(field, Qt.Key.Key_U),
            "find nothing any more, again": field.clear,
            "wheel": lambda: table.verticalScrollBar().setValue(20_000),
            "close History": lambda: QTest.keyClick(table, Qt.Key.Key_Escape),
        },
    )


def _chart_actions(tried: Tried) -> list[Measured]:
    app = tried.app
    window, board = app.window, app.charts_controller
    assert board is not None
    chart = board.chart("ram")
    header = window.header
    tree = window.run_tree.findChildren(QTreeView)[0]
    return tried.figures(
        "",
        {
            "select another run": lambda: QTest.keyClick(tree, Qt.Key.Key_Up),
            "zoom in": lambda: QTest.keyClick(chart, Qt.Key.Key_Plus),
            "move the crosshair": lambda: QTest.keyClick(chart, Qt.Key.Key_Left),
            "zoom out": lambda: QTest.keyClick(chart, Qt.Key.Key_Minus),
            "switch the axis": lambda: header.x_axis_chosen.emit("seconds"),
            "switch it back": lambda: header.x_axis_chosen.emit("epochs"),
            "hold": lambda: QTest.keyClick(window, Qt.Key.Key_Space),
            "follow": lambda: QTest.keyClick(window, Qt.Key.Key_Space),
            "find a run": lambda: window.run_tree.search_edited.emit("unet"),
            "find all": lambda: window.run_tree.search_edited.emit(""),
            "reclaims": lambda: window.records.show_tab("reclaims"),
            "events": lambda: window.records.show_tab("events"),
            "make it larger": lambda: window.resize(1600, 980),
            "make it smaller": lambda: window.resize(*SIZE),
            "open the guide": header.help_requested.emit,
            "open alerts": header.alerts_requested.emit,
        },
    ) + tried.figures(
        "",
        {
            "light theme": lambda: header.theme_chosen.emit("light"),
            "dark theme": lambda: header.theme_chosen.emit("dark"),
        },
        bound=None,
    )


def _frames(tried: Tried, points: int) -> list[Measured]:
    """Charts of eight runs of this many points, each of which has a new one at every frame."""
    assert tried.app.charts_controller is not None
    tried.app.controller.stop()
    runs = [run.run for run in tried.app.workspace.run_store.shown()]
    assert len(runs) == SHOWN
    took: dict[bool, list[float]] = {True: [], False: []}
    refresh = {True: tried.app.controller.refresh, False: tried.app.charts_controller.refresh}
    for number in range(ROUNDS):
        _tell(tried, runs, number)
        has_panels = number % 3 == 0
        took[has_panels].append(tried.cost(refresh[has_panels])[0])
    bare, whole = took[False][5:], took[True][3:]
    name = f"frame, {SHOWN} runs x 4 charts, {points:,} points a run"
    return [
        Measured(name, median(bare), FRAME_MS[points], "ms", beside=f"worst {max(bare):.1f}"),
        Measured(
            "the same with all panels", median(whole), None, "ms", beside=f"worst {max(whole):.1f}"
        ),
    ]


def _tell(tried: Tried, runs: list[str], number: int) -> None:
    desk = tried.app.workspace
    rows = []
    for at, run in enumerate(runs):
        known = desk.run_store.get(run)
        assert known is not None
        sample = Sample(
            t_s=known.duration_s + 3600.0 + number,
            ram_bytes=(40 + at + number / 100) * 2.0**30,
            vram_bytes=20 * 2.0**30,
            graph_operations=10_000.0 + number,
            step_time_s=0.4,
        )
        n = 2**40 + number * SHOWN + at
        rows.append(EventRow(row=n, run=run, seq=n, t_s=sample.t_s, body=encode_event(sample)))
    assert desk.link.hub is not None
    end = 2**41
    desk.apply_message(
        RowsReply(
            request_id=-1, hub=desk.link.hub.hub, cursor=end, rows=rows, more=False, head=end
        )
    )


def _memory_mb(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field))


PARTS = {
    "short_frames": (short_frames, Stored(SHOWN, SHORT, 0.2)),
    "long_frames": (long_frames, Stored(SHOWN, LONG, 0.2)),
    "fleet": (fleet, Stored(FLEET, FLEET_SAMPLES, 1.0)),
    "history": (history, Stored(RECORDED, 0, 0.0)),
}


def figures_of(part: str) -> list[Measured]:
    """Measure one part in its own home and process."""
    with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
        os.environ["KMONITOR_HOME"] = home
        words = [sys.executable, __file__, "--part", part]
        with hub(PARTS[part][1]):
            ran = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [Measured(**told) for told in json.loads(ran.stdout)]


def main(words: list[str]) -> int:
    """Print a line for each figure; 1 if a bound is missed on a quiet machine."""
    if words[:1] == ["--part"]:
        figures = PARTS[words[1]][0]()
        print(json.dumps([asdict(figure) for figure in figures]))
        return 0
    os.environ["PYTHONPATH"] = str(ROOT)
    with Judge() as judge:
        for part in PARTS:
            if not words or part in words:
                judge.take(*figures_of(part))
    return judge.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
