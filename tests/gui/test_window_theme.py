"""Another theme or language holds nothing up; another theme looks as if started in it."""

import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QAbstractAnimation, QPoint
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTableView, QWidget

from kmonitor.desktop.settings_file import ThemeName
from tests.support.desk_window import WINDOW
from tests.support.made_up_runs import NOW_WALL_S
from tests.support.scenes import SCENES
from tests.support.stage import Stage, fleet
from tests.support.watched_loop import WatchedLoop

pytestmark = WINDOW

MOST_BLOCK_MS = 50.0
QUICK = ("live", "out_of_memory", "settings_hosts", "verdict_sheet")
MENUS = ("limit_menu",)
"""Made anew for each opening."""


def test_another_theme_or_language_keeps_nobody_waiting_with_every_page_opened_once() -> None:
    stage = Stage(theme="dark")
    open_everything(stage)
    loop = WatchedLoop(stage.desk.qt)

    for theme in ("light", "dark", "light"):
        loop.watched(theme, theme, lambda theme=theme: stage.desk.theme.choose(theme))
        loop.turn(theme, theme, 20)
    for language in ("zh_CN", "en"):
        loop.watched(language, language, lambda to=language: stage.desk.language.choose(to))
        loop.turn(language, language, 20)

    stage.close()
    assert [b for b in loop.longest.values() if b.cpu_ms > MOST_BLOCK_MS] == []


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
    """What is seen of a window."""
    return shown.grab().toImage()


def until_restyled(stage: Stage) -> None:
    """Let the loop go round as long as there is something to restyle."""
    for _ in range(30):
        stage.desk.qt.processEvents()


def open_everything(stage: Stage) -> None:
    """Each page once; the charts are shown at the end."""
    stage.judged()
    stage.live(*fleet(10))
    desk = stage.desk
    parts = desk.controller
    parts.history.open()
    desk.settle()
    parts.history.panel.findChildren(QTableView)[0].selectAll()
    parts.history.panel.strip.do("compare")
    desk.settle()
    parts.history.close()
    parts.preferences.open()
    parts.help.open_keyboard()
    desk.window.header.help_requested.emit()
    parts.verdicts._on_card_evidence_wanted("ram")
    parts.hosts.open_dialog()
    desk.settle()
    for top in QApplication.topLevelWidgets():
        if top is not desk.window:
            top.close()
    desk.window.show_page(None)
    desk.settle()
