"""A random user at a live window whose trainings start, end and die."""

import random
import subprocess
import sys
from pathlib import Path
from typing import IO, Final

from PySide6.QtWidgets import QApplication

from kmonitor.ui.shell.qt.app import KmonitorApp
from tests.support.live_hub import LiveHub
from tests.support.monkey import Monkey
from tests.support.monkey_home import Calm, bring_home, counted
from tests.support.waiting import DEADLINE_S
from tests.support.watched_loop import WatchedLoop

PER_S: Final = 5.0
RUNS: Final = ("vit-b16", "unet-3d", "bert-中文", "a-name-" + "x" * 73)
OWN: Final = "like-the-one-before"


class Fleet:
    """The trainings' process and the hub, both with moods."""

    def __init__(self, hub: LiveHub, seed: int) -> None:
        self._hub = hub
        self._random = random.Random(seed)  # noqa: S311 - the same moods each time
        words = [sys.executable, "-m", "tests.support.fleet", str(PER_S)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, text=True)
        for name in RUNS:
            self._say(f"start {name}")

    def moods(self) -> str:
        """Now and then something happens without the user; what, or nothing."""
        if self._random.random() > 0.01:
            return ""
        name = self._random.choice(RUNS)
        what = self._random.choice(("start", "end", "die", "start", "restart hub"))
        if what == "restart hub":
            self._hub.restart()
            return what
        self._say(f"{what} {name}")
        return f"{what} {name}"

    def own(self, what: str) -> None:
        """Start or end a run to which nothing happens by chance."""
        self._say(f"{what} {OWN}")

    def end(self) -> None:
        """All runs are over."""
        self._process.communicate(timeout=DEADLINE_S)

    def _say(self, line: str) -> None:
        pipe: IO[str] | None = self._process.stdin
        assert pipe is not None
        pipe.write(line + "\n")
        pipe.flush()


class RandomUser:
    """Plays on one app; main thread only.

    Attributes:
        app: The window.
        loop: Its loop; what failed is in `loop.faults`.
    """

    def __init__(
        self, app: KmonitorApp, fleet: Fleet, seed: int, folder: Path, loop: WatchedLoop
    ) -> None:
        self.app = app
        self.loop = loop
        self._fleet = fleet
        self._monkey = Monkey(app, seed, folder)
        loop.until(
            lambda: app.charts_controller is not None and app.charts_controller.is_loaded, "charts"
        )
        loop.until(lambda: len(app.workspace.run_store) == len(RUNS), "all runs")
        loop.listen()

    def play(self, actions: int) -> None:
        """This many actions, after each of which nothing has failed."""
        for _ in range(actions):
            if mood := self._fleet.moods():
                self._monkey.last.append(mood)
            self.loop.watched(*self._monkey.choose())
            assert not self.loop.faults, self.story()

    def calm(self) -> Calm:
        """Put all away that can be closed, and count what is left."""
        bring_home(self.app, self.loop, OWN, self._fleet.own)
        return counted(self.app)

    def story(self) -> str:
        """Facts that are needed to see a failure again."""
        monkey = self._monkey
        last, faults = "\n  ".join(monkey.last), "\n  ".join(self.loop.faults)
        seed = f"seed {monkey.seed}, action {monkey.n_actions}"
        return f"{seed}:\n  {faults}\nthe last actions:\n  {last}"


def qt_application() -> QApplication:
    """Qt, which runs already."""
    qt = QApplication.instance()
    assert isinstance(qt, QApplication)
    return qt
