"""Another theme or language is no more work than needed; a theme looks as if started in it."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QAbstractAnimation, QPoint
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from kmonitor.ui.plots.qt.live_chart import LiveChart
from kmonitor.ui.settings.window_settings import ThemeName
from kmonitor.ui.theme.qt import theme_controller
from tests.support.desk_window import WINDOW
from tests.support.made_up_runs import NOW_WALL_S
from tests.support.scenes import SCENES
from tests.support.stage import Stage, open_everything

pytestmark = WINDOW

QUICK = ("live", "settings_hosts")
MENUS = ("limit_menu",)
"""Made again for each opening."""


class Readings:
    """Stands in for `time`: each look at the clock takes a millisecond."""

    def __init__(self) -> None:
        self.n = 0

    def thread_time(self) -> float:
        self.n += 1
        return self.n / 1000.0


@pytest.fixture
def full_stage() -> Iterator[Stage]:
    """A window in which every page was opened once."""
    stage = Stage(theme="dark")
    open_everything(stage)
    yield stage
    stage.close()


def test_another_theme_is_taken_up_in_slices_between_which_the_loop_goes_round(
    full_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, slices = Readings(), list[int]()
    monkeypatch.setattr(theme_controller, "time", clock)
    qt = full_stage.desk.qt
    shown = [each for each in qt.allWidgets() if each.isVisible()]

    full_stage.desk.theme.choose("light")
    while full_stage.desk.look.palette.name != "light":
        slices.append(clock.n)
        clock.n = 0
        qt.processEvents()

    assert sum(slices) > len(shown)
    # Ten milliseconds, the look that begins them, and the one that ends them.
    assert max(slices) <= 12


def test_another_size_is_drawn_twice_at_most(
    full_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn_charts = Counter[QWidget]()
    count_calls(monkeypatch, LiveChart, "set_state", drawn_charts)

    for width in (1562, 1100, 1562):
        full_stage.window.resize(width, 744)
        full_stage.desk.qt.processEvents()

        assert max(drawn_charts.values()) <= 2
        drawn_charts.clear()


def count_calls(
    monkeypatch: pytest.MonkeyPatch, kind: type[Any], name: str, calls: Counter[QWidget]
) -> None:
    """Count how often a method is called on each widget of exactly this kind."""
    method = getattr(kind, name)

    def counted(widget: QWidget, *words: Any) -> None:
        calls[widget] += type(widget) is kind
        method(widget, *words)

    monkeypatch.setattr(kind, name, counted)


def test_a_theme_chosen_amid_another_one_wins() -> None:
    stage = Stage(theme="dark")
    stage.judged()
    as_it_was = picture(stage.window)

    stage.desk.theme.choose("light")
    stage.desk.theme.choose("dark")
    until_restyled(stage)

    assert picture(stage.window) == as_it_was
    stage.close()


def test_a_page_that_was_closed_meanwhile_is_no_trouble() -> None:
    stage = Stage(theme="dark")
    page = SCENES["settings_general"](stage)

    stage.desk.theme.choose("light")
    page.setParent(None)
    page.deleteLater()
    until_restyled(stage)

    assert stage.desk.look.palette.name == "light"
    stage.close()


def test_a_menu_of_the_old_theme_closes() -> None:
    stage = Stage(theme="dark")
    SCENES[MENUS[0]](stage)

    stage.desk.theme.choose("light")

    assert QApplication.activePopupWidget() is None
    stage.close()


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(scene, marks=[] if scene in QUICK else pytest.mark.full)
        for scene in SCENES
        if scene not in MENUS
    ],
)
def test_it_looks_as_if_started_in_that_theme(scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW_WALL_S)
    ways: list[tuple[ThemeName, ThemeName]] = [("light", "dark"), ("dark", "light")]
    for first, then in ways:
        pictures = [drawn(SCENES[scene], then), drawn(SCENES[scene], first, then)]

        assert pictures[0] == pictures[1], f"{first} to {then}"


def drawn(
    scene: Callable[[Stage], QWidget], theme: ThemeName, then: ThemeName | None = None
) -> QImage:
    """A scene started in a theme, and perhaps brought into another one."""
    stage = Stage(theme=theme)
    QApplication.setCursorFlashTime(0)
    try:
        shown = scene(stage)
        if then:
            stage.desk.use_theme(then)
            until_restyled(stage)
        if QApplication.focusWidget() is not None and shown is stage.window:
            stage.desk.window.leave_focus_alone()
        QTest.mouseMove(stage.window, QPoint(1, 1))
        for fading in shown.findChildren(QAbstractAnimation):
            fading.setCurrentTime(fading.totalDuration())
        stage.desk.settle()
        return picture(shown)
    finally:
        stage.close()


def picture(shown: QWidget) -> QImage:
    """Visible picture of a window."""
    return shown.grab().toImage()


def until_restyled(stage: Stage) -> None:
    """Let the loop go round as long as there is something to restyle."""
    for _ in range(30):
        stage.desk.qt.processEvents()
