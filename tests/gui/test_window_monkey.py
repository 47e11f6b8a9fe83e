"""Thousands of random actions on a live window: nothing fails, blocks, leaks or grows.

`KMONITOR_MONKEY=SEED:ACTIONS` tries another user. What fails tells the seed and the last actions.
"""

import faulthandler
import gc
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication

from kmonitor.desktop.app import KmonitorApp
from tests.support.desk_window import WINDOW
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.monkey import Monkey
from tests.support.started_app import start
from tests.support.watched_loop import WatchedLoop

__all__ = ["idle_hub", "live_hub", "start"]

pytestmark = WINDOW

PER_S = 5.0
RUNS = ("vit-b16", "unet-3d", "bert-中文", "a-name-" + "x" * 73)
MOST_BLOCK_MS = 50.0
MOST_THEME_MS = 200.0
"""Another theme is worked out for every widget anew: 40 ms for the 370 of a new window, 100 ms for
500 with every page opened once, whatever its age."""

ENOUGH_TO_OPEN_ALL = 3000
"""Half of so many actions open every window once, which is then kept."""

GROWTH_AN_ACTION = 5.0
"""Objects that the collector knows of; events and runs that came meanwhile are some of them."""

MOST_MORE_OF_A_KIND = 3
"""The run that is looked at at the end may need as many more chips and buttons."""

MOST_GROWTH_BYTES = 12 * 2**20


@dataclass(frozen=True, slots=True)
class Calm:
    """What is there while nothing happens."""

    windows: Counter[str]
    widgets: Counter[str]
    timers: int
    threads: int
    objects: int
    rss_bytes: int


class Fleet:
    """The trainings' process and the hub, both with moods."""

    def __init__(self, hub: LiveHub, seed: int) -> None:
        self._hub = hub
        self._random = random.Random(seed)  # noqa: S311 - the same moods each time
        self._stopped_until_s = 0.0
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

    def end(self) -> None:
        """All runs are over."""
        self._process.communicate(timeout=60)

    def _say(self, line: str) -> None:
        pipe: IO[str] | None = self._process.stdin
        assert pipe is not None
        pipe.write(line + "\n")
        pipe.flush()


@pytest.fixture
def fleet(live_hub: LiveHub) -> Iterator[Fleet]:
    made = Fleet(live_hub, 1)
    yield made
    made.end()


@pytest.fixture
def app(
    start: Callable[..., KmonitorApp],
    fleet: Fleet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> KmonitorApp:
    """A window that opens no other program, with its files in the test's folder."""
    del fleet
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: True)
    return start(with_hub=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "actions"),
    [(7, 300), pytest.param(1, 10_000, marks=pytest.mark.full)],
)
def test_a_user_without_a_plan_breaks_nothing(
    app: KmonitorApp, fleet: Fleet, tmp_path: Path, seed: int, actions: int
) -> None:
    if given := os.environ.get("KMONITOR_MONKEY"):
        seed, actions = (int(word) for word in given.split(":"))
    if actions >= ENOUGH_TO_OPEN_ALL:
        faulthandler.cancel_dump_traceback_later()  # it may take longer than any other test
    qt = QApplication.instance()
    assert isinstance(qt, QApplication)
    loop = WatchedLoop(qt)
    loop.until(lambda: app.board is not None and app.board.is_loaded, "charts")
    loop.until(lambda: len(app.desk.book) == len(RUNS), "all runs")
    loop.listen()
    monkey = Monkey(app, seed, tmp_path)

    play(loop, monkey, fleet, actions // 2)
    half = calm(app, loop)
    play(loop, monkey, fleet, actions - actions // 2)
    end = calm(app, loop)

    sys.stdout.write(f"\n{table(loop, half, end)}\n")
    assert app.window.isVisible(), told(loop, monkey)
    assert blocks(loop) == [], told(loop, monkey)
    # Each chart's picture is drawn for a widget that is never shown.
    doubles = {name: n for name, n in end.windows.items() if n > 1 and name != "QWidget"}
    assert doubles == {}, told(loop, monkey)
    if actions >= ENOUGH_TO_OPEN_ALL:
        assert grown(half, end, actions // 2) == []


def play(loop: WatchedLoop, monkey: Monkey, fleet: Fleet, actions: int) -> None:
    """So many actions, after each of which nothing has failed."""
    for _ in range(actions):
        if mood := fleet.moods():
            monkey.last.append(mood)
        loop.watched(*monkey.choose())
        assert not loop.faults, told(loop, monkey)


def grown(half: Calm, end: Calm, actions: int) -> list[str]:
    """What there is more of than after the first half."""
    more_widgets = end.widgets - half.widgets
    found = [f"{n} {name} more" for name, n in more_widgets.items() if n > MOST_MORE_OF_A_KIND]
    for name, most in (
        ("timers", 0.0),
        ("threads", 0.0),
        ("objects", GROWTH_AN_ACTION * actions),
        ("rss_bytes", MOST_GROWTH_BYTES),
    ):
        more = getattr(end, name) - getattr(half, name)
        if more > most:
            found.append(f"{more} {name} more")
    return found


def calm(app: KmonitorApp, loop: WatchedLoop) -> Calm:
    """Put all away that can be closed, and count what is left."""
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
    for top in QApplication.topLevelWidgets():
        if top is not app.window:
            top.close()
    app.controller.history.close()
    app.window.resize(1280, 760)
    app.controller.arranger.reset()  # cards that were added are the user's, and no leak
    if app._hosts is not None:
        # Each has threads of its own for as long as it is shown.
        for address in [address for address in app._hosts.bridges() if address]:
            app._hosts.remove(address)
    # The clipboard holds what was copied last.
    QApplication.clipboard().clear()
    loop.rest(1.0)
    gc.collect()
    widgets = Counter(type(widget).__name__ for widget in QApplication.allWidgets())
    page = os.sysconf("SC_PAGE_SIZE")
    windows = Counter(type(window).__name__ for window in QApplication.topLevelWidgets())
    return Calm(
        windows=windows,
        widgets=widgets,
        timers=len(app.findChildren(QTimer)) + len(app.window.findChildren(QTimer)),
        threads=threading.active_count(),
        objects=len(gc.get_objects()),
        rss_bytes=int(Path("/proc/self/statm").read_text().split()[1]) * page,
    )


def blocks(loop: WatchedLoop) -> list[str]:
    """What held the window up for too long."""
    found = loop.longest.items()
    bounds = {"theme": MOST_THEME_MS}
    return [
        f"{kind} {block.what}: {block.cpu_ms:.0f} ms, {block.wall_ms:.0f} ms by the clock"
        for kind, block in found
        if block.cpu_ms > bounds.get(kind, MOST_BLOCK_MS)
    ]


def told(loop: WatchedLoop, monkey: Monkey) -> str:
    """What is needed to see it again."""
    last = "\n  ".join(monkey.last)
    faults = "\n  ".join([*loop.faults, *blocks(loop)])
    return (
        f"seed {monkey.seed}, action {monkey.n_actions}:\n  {faults}\nthe last actions:\n  {last}"
    )


def table(loop: WatchedLoop, half: Calm, end: Calm) -> str:
    """Figures for who runs it with `-s`."""
    lines = [
        f"{kind:8} {block.cpu_ms:6.1f} ms cpu {block.wall_ms:6.1f} ms clock  {block.what}"
        for kind, block in sorted(loop.longest.items())
    ]
    lines += [
        f"{name}: {getattr(half, name)} at half, {getattr(end, name)} at the end"
        for name in ("timers", "threads", "objects", "rss_bytes")
    ]
    lines.append(f"widgets: {half.widgets.total()} at half, {end.widgets.total()} at the end")
    return "\n".join(lines)
