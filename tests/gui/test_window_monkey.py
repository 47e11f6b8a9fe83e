"""Thousands of random actions on a live window: nothing fails, leaks or grows.

`KMONITOR_MONKEY=SEED:ACTIONS` tries another user. A failure names the seed and the last actions.
The time for which actions hold the window up is measured by `make bench ARGS=random_user`.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QDesktopServices

from kmonitor.ui.shell.qt.app import KmonitorApp
from tests.support.desk_window import WINDOW
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.monkey_home import Calm
from tests.support.random_user import Fleet, RandomUser, qt_application
from tests.support.running_tests import LONG
from tests.support.started_app import start
from tests.support.watched_loop import WatchedLoop

__all__ = ["idle_hub", "live_hub", "start"]

pytestmark = [*WINDOW, LONG]

ENOUGH_FOR_GROWTH = 3000
"""Caches are full after half of this number of actions."""

GROWTH_AN_ACTION = 5.0
"""Objects that the collector knows of; events and runs that came meanwhile are some of them."""

MOST_GROWTH_BYTES = 12 * 2**20


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
    [
        (7, 60),
        pytest.param(7, 300, marks=pytest.mark.full),
        pytest.param(1, 10_000, marks=pytest.mark.full),
    ],
)
def test_a_user_without_a_plan_breaks_nothing(
    app: KmonitorApp, fleet: Fleet, tmp_path: Path, seed: int, actions: int
) -> None:
    if given := os.environ.get("KMONITOR_MONKEY"):
        seed, actions = (int(word) for word in given.split(":"))
    user = RandomUser(app, fleet, seed, tmp_path, WatchedLoop(qt_application()))

    user.play(actions // 2)
    half = user.calm()
    user.play(actions - actions // 2)
    end = user.calm()

    sys.stdout.write(f"\n{table(half, end)}\n")
    assert app.window.isVisible(), user.story()
    # Each chart's picture is drawn for a widget that is never shown.
    doubles = {name: n for name, n in end.windows.items() if n > 1 and name != "QWidget"}
    assert doubles == {}, user.story()
    if actions >= ENOUGH_FOR_GROWTH:
        assert grown(half, end, actions // 2) == []


def grown(half: Calm, end: Calm, actions: int) -> list[str]:
    """Things that there are more of than after the first half."""
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


def table(half: Calm, end: Calm) -> str:
    """Figures for who runs it with `-s`."""
    lines = [
        f"{name}: {getattr(half, name)} at half, {getattr(end, name)} at the end"
        for name in ("timers", "objects", "rss_bytes")
    ]
    lines.append(f"threads: {dict(half.threads)} at half, {dict(end.threads)} at the end")
    lines.append(f"widgets: {half.widgets.total()} at half, {end.widgets.total()} at the end")
    return "\n".join(lines)
