"""Time for which a random user, another theme or another size holds the window up.

Run alone: `python tests/benchmarks/bench_random_user.py [SEED:ACTIONS]`; offscreen. Times are
processor time of the main thread; wall time is printed beside it.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication
from typing_extensions import override

from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor_agent.wire.local.folders import find_folders
from tests.benchmarks.judging import Judge, Measured
from tests.support.live_hub import LiveHub
from tests.support.random_user import Fleet, RandomUser, qt_application
from tests.support.stage import Stage, open_everything
from tests.support.watched_loop import WatchedLoop

SEED, ACTIONS = 7, 300
BOUND_MS = 50.0


@dataclass(frozen=True, slots=True)
class Block:
    """The longest time in which a user would not have been heard.

    Attributes:
        cpu_ms: CPU time of the main thread.
        wall_ms: Wall time.
        what: The action.
    """

    cpu_ms: float
    wall_ms: float
    what: str


class TimedLoop(WatchedLoop):
    """Keeps the longest block of each kind of action.

    Attributes:
        longest: By kind.
    """

    def __init__(self, qt: QApplication) -> None:
        super().__init__(qt)
        self.longest: dict[str, Block] = {}

    @override
    def hold(self, kind: str, what: str, act: Callable[[], object]) -> None:
        """Time one act or one pass of the loop."""
        cpu_s, began_s = time.thread_time(), time.perf_counter()
        super().hold(kind, what, act)
        cpu_ms = (time.thread_time() - cpu_s) * 1e3
        wall_ms = (time.perf_counter() - began_s) * 1e3
        before = self.longest.get(kind)
        if before is None or cpu_ms > before.cpu_ms:
            self.longest[kind] = Block(cpu_ms, wall_ms, what)

    def measured(self) -> list[Measured]:
        """A line for each kind: `resize 1562x744: 12 ms (bound 50 ms)`."""
        return [
            Measured(
                f"{kind} {block.what}" if block.what != kind else kind,
                block.cpu_ms,
                BOUND_MS,
                "ms",
                beside=f"clock {block.wall_ms:.0f} ms",
            )
            for kind, block in sorted(self.longest.items())
        ]


def switches() -> list[Measured]:
    """Other themes and sizes of a window in which every page was opened once."""
    stage = Stage(theme="dark")
    open_everything(stage)
    loop = TimedLoop(stage.desk.qt)
    for theme in ("light", "dark", "light"):
        loop.watched("theme", theme, lambda theme=theme: stage.desk.theme.choose(theme))
        loop.turn("theme", theme, 20)
    for width, height in ((1562, 744), (1100, 660), (1690, 990)):
        size = f"{width}x{height}"
        loop.watched("resize", size, lambda w=width, h=height: stage.window.resize(w, h))
        loop.turn("resize", size)
    stage.close()
    return loop.measured()


def random_user(seed: int, actions: int) -> list[Measured]:
    """This many random actions on a live window."""
    QDesktopServices.openUrl = lambda _url: True
    folders = find_folders()
    hub = LiveHub(folders)
    hub.start()
    fleet = Fleet(hub, 1)
    options = WindowOptions(with_hub=False, size=(1280, 760))
    app = KmonitorApp(make_qt_application(), folders, options)
    app.start()
    user = RandomUser(app, fleet, seed, folders.state, loop := TimedLoop(qt_application()))
    user.play(actions)
    app.stop()
    fleet.end()
    hub.kill()
    return [replace(each, name=f"at random: {each.name}") for each in loop.measured()]


def main(words: list[str]) -> int:
    """Print a line for each kind of action; 1 if a bound is missed on a quiet machine."""
    seed, actions = (int(word) for word in words[0].split(":")) if words else (SEED, ACTIONS)
    with tempfile.TemporaryDirectory(prefix="kmonitor-bench-") as home:
        os.environ["KMONITOR_HOME"] = os.environ["HOME"] = home
        with Judge() as judge:
            judge.take(*switches())
            judge.take(*random_user(seed, actions))
    return judge.status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
