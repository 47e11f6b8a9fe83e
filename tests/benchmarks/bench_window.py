"""Time until the window is shown, and its share of a core with eight runs at 10 Hz.

Run alone: `python tests/benchmarks/bench_window.py`; offscreen, so it needs no display.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from tests.benchmarks.judging import Judge, Measured

ROOT = Path(__file__).resolve().parents[2]

STARTS = 5
RUNS = 8
HZ = 10
SECONDS = 10
SHELL_TARGET_S = 0.5
CHARTS_TARGET_S = 2.0
LIVE_TARGET_PERCENT = 35.0

_START = """
import sys, time
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor_agent.wire.local.folders import find_folders
qt = make_qt_application()
app = KmonitorApp(qt, find_folders(), WindowOptions(with_hub=False, size=(1400, 860)))
app.start()
shell = time.time()
while app.charts_controller is None:
    qt.processEvents()
print(shell, time.time())
app.stop()
"""


def measure_start() -> tuple[float, float]:
    """Seconds from starting the process until the shell is painted, and until charts are shown."""
    began = time.time()
    ran = subprocess.run(
        [sys.executable, "-c", _START], cwd=ROOT, capture_output=True, text=True, check=True
    )
    shell, charts = (float(text) for text in ran.stdout.split())
    return shell - began, charts - began


def measure_live() -> tuple[float, float]:
    """Main-thread CPU in percent of a core, and the memory in MiB, of a window on live data."""
    # Loaded here: the starts above must not profit from it.
    from PySide6.QtCore import QTimer  # noqa: PLC0415

    from kmonitor_agent.wire.messages.events import Sample  # noqa: PLC0415
    from kmonitor_agent.wire.messages.unions import RowsReply  # noqa: PLC0415
    from tests.support.desk_window import DeskWindow  # noqa: PLC0415
    from tests.support.made_up_runs import GIB, HUB, made_up_row, made_up_run  # noqa: PLC0415

    window = DeskWindow(size=(1400, 860))
    window.connect()
    runs = [made_up_run(f"run{i}", name=f"run {i}", started_wall_s=i) for i in range(RUNS)]
    window.tell_runs(*runs)
    window.controller.start()
    told = [0]

    def tell() -> None:
        told[0] += 1
        t_s = 3720.0 + told[0] / HZ
        rows = [
            made_up_row(
                5000 + told[0] * RUNS + i,
                Sample(
                    t_s=t_s,
                    ram_bytes=(20 + i + told[0] / 50) * GIB,
                    vram_bytes=(10 + i) * GIB,
                    graph_operations=9000.0 + told[0],
                    step_time_s=0.2 + 0.01 * (told[0] % 7),
                ),
                run.run,
            )
            for i, run in enumerate(runs)
        ]
        head = rows[-1].row
        page = RowsReply(request_id=-1, hub=HUB, cursor=head, rows=rows, more=False, head=head)
        window.desk.apply_message(page)

    timer = QTimer(interval=1000 // HZ)
    timer.timeout.connect(tell)
    timer.start()
    _run(2.0)
    cpu, wall = time.thread_time(), time.monotonic()
    _run(SECONDS)
    percent = 100.0 * (time.thread_time() - cpu) / (time.monotonic() - wall)
    timer.stop()
    window.close()
    return percent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _run(seconds: float) -> None:
    from PySide6.QtCore import QEventLoop, QTimer  # noqa: PLC0415

    # Its own loop: that of the application closes all windows when it ends.
    loop = QEventLoop()
    QTimer.singleShot(int(seconds * 1000), loop.quit)
    loop.exec()


def main() -> int:
    """Print each figure beside its bound; 1 if one is missed on a quiet machine."""
    with tempfile.TemporaryDirectory() as home, Judge() as judge:
        os.environ["KMONITOR_HOME"] = home
        measure_start()
        starts = [measure_start() for _ in range(STARTS)]
        percent, mib = measure_live()
        shell, charts = (median(each) for each in zip(*starts, strict=True))
        judge.add("shell visible after process start", shell, SHELL_TARGET_S, "s")
        judge.add("charts there after process start", charts, CHARTS_TARGET_S, "s")
        live = f"{RUNS} runs x 4 charts at {HZ} Hz, of a core"
        beside = f"{mib:.0f} MiB"
        judge.take(Measured(live, percent, LIVE_TARGET_PERCENT, "%", beside=beside))
    return judge.status


if __name__ == "__main__":
    sys.exit(main())
