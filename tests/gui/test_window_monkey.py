"""Thousands of random actions on a live window: nothing fails, blocks, leaks or grows.

`KMONITOR_MONKEY=SEED:ACTIONS` tries another user. What fails tells the seed and the last actions.
"""

import faulthandler
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication

from kmonitor.desktop.app import KmonitorApp
from tests.support.desk_window import WINDOW
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.monkey import Monkey
from tests.support.monkey_home import Calm, bring_home, counted
from tests.support.started_app import start
from tests.support.watched_loop import WatchedLoop

__all__ = ["idle_hub", "live_hub", "start"]

pytestmark = WINDOW

PER_S = 5.0
RUNS = ("vit-b16", "unet-3d", "bert-中文", "a-name-" + "x" * 73)
OWN = "like-the-one-before"
MOST_BLOCK_MS = 50.0

ENOUGH_FOR_GROWTH = 3000
"""Caches are full after half of so many actions."""

GROWTH_AN_ACTION = 5.0
"""Objects that the collector knows of; events and runs that came meanwhile are some of them."""

MOST_GROWTH_BYTES = 12 * 2**20


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

    def own(self, what: str) -> None:
        """Start or end a run to which nothing happens by chance."""
        self._say(f"{what} {OWN}")

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
    if actions >= ENOUGH_FOR_GROWTH:
        faulthandler.cancel_dump_traceback_later()  # it may take longer than any other test
    qt = QApplication.instance()
    assert isinstance(qt, QApplication)
    loop = WatchedLoop(qt)
    loop.until(lambda: app.board is not None and app.board.is_loaded, "charts")
    loop.until(lambda: len(app.desk.book) == len(RUNS), "all runs")
    loop.listen()
    monkey = Monkey(app, seed, tmp_path)

    play(loop, monkey, fleet, actions // 2)
    half = calm(app, loop, fleet)
    play(loop, monkey, fleet, actions - actions // 2)
    end = calm(app, loop, fleet)

    sys.stdout.write(f"\n{table(loop, half, end)}\n")
    assert app.window.isVisible(), told(loop, monkey)
    assert blocks(loop) == [], told(loop, monkey)
    # Each chart's picture is drawn for a widget that is never shown.
    doubles = {name: n for name, n in end.windows.items() if n > 1 and name != "QWidget"}
    assert doubles == {}, told(loop, monkey)
    if actions >= ENOUGH_FOR_GROWTH:
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
    more = (end.widgets - half.widgets) + (end.threads - half.threads)
    found = [f"{n} {name} more" for name, n in more.items()]
    for name, most in (
        ("timers", 0.0),
        ("objects", GROWTH_AN_ACTION * actions),
        ("rss_bytes", MOST_GROWTH_BYTES),
    ):
        risen = getattr(end, name) - getattr(half, name)
        if risen > most:
            found.append(f"{risen} {name} more")
    return found


def calm(app: KmonitorApp, loop: WatchedLoop, fleet: Fleet) -> Calm:
    """Put all away that can be closed, and count what is left."""
    bring_home(app, loop, fleet.own)
    return counted(app)


def blocks(loop: WatchedLoop) -> list[str]:
    """What held the window up for too long."""
    return [
        f"{kind} {block.what}: {block.cpu_ms:.0f} ms, {block.wall_ms:.0f} ms by the clock"
        for kind, block in loop.longest.items()
        if block.cpu_ms > MOST_BLOCK_MS
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
        for name in ("timers", "objects", "rss_bytes")
    ]
    lines.append(f"threads: {dict(half.threads)} at half, {dict(end.threads)} at the end")
    lines.append(f"widgets: {half.widgets.total()} at half, {end.widgets.total()} at the end")
    return "\n".join(lines)
