"""Actions of a newcomer before the first run."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel
from pytestqt.qtbot import QtBot

from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.guide.qt.help_controller import KeyboardWindow
from kmonitor.ui.settings.window_settings import WindowSettings
from kmonitor.ui.shell.qt import launcher
from kmonitor.ui.shell.qt.launcher import DemoLauncher
from kmonitor_agent.wire.local.folders import Folders
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import told_runs

pytestmark = WINDOW


@pytest.fixture(params=[(1280, 760), (1000, 640)])
def window(request: pytest.FixtureRequest) -> Iterator[DeskWindow]:
    made = DeskWindow(size=request.param)
    made.connect()
    made.desk.apply_message(told_runs())
    made.settle()
    yield made
    made.close()


def buttons(window: DeskWindow) -> dict[str, QAbstractButton]:
    found = window.window.first_start.findChildren(QAbstractButton)
    return {b.accessibleName(): b for b in found if b.isVisible()}


def press(window: DeskWindow, name: str) -> None:
    QTest.mouseClick(buttons(window)[name], Qt.MouseButton.LeftButton)
    window.settle()


def test_everything_is_offered_and_nothing_is_cut_off(window: DeskWindow) -> None:
    page = window.window.first_start
    assert page.isVisible()
    assert {"Copy the two lines", "Start the demo", "Guide", "Keyboard"} <= set(buttons(window))
    parts = [*buttons(window).values(), *(p for p in page.findChildren(QLabel) if p.text())]
    for part in parts:
        at = part.mapTo(page, part.rect().topLeft())
        assert at.x() >= 0
        assert at.y() >= 0
        assert at.x() + part.width() <= page.width()
        assert at.y() + part.height() <= page.height()
        assert part.width() >= part.minimumSizeHint().width()


def test_a_theme_is_chosen_there_and_remembered(window: DeskWindow) -> None:
    press(window, "Theme: Light")

    assert window.look.palette.name == "light"
    assert window.controller.settings(WindowSettings()).theme == "light"


def test_guide_and_keyboard_are_opened_from_there(window: DeskWindow) -> None:
    press(window, "Guide")
    (guide,) = window.window.findChildren(GuideWindow)
    assert guide.page == "getting-started.md"
    guide.close()
    press(window, "Keyboard")
    (keys,) = window.window.findChildren(KeyboardWindow)

    assert keys.isVisible()
    keys.close()


def test_the_demo_is_started_as_a_process_of_its_own(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """By Qt itself, whose answer is not the same in all its versions."""
    monkeypatch.setattr(launcher, "_DEMO_MODULE", "__hello__")
    monkeypatch.setattr(launcher, "_missing_packages", list)
    demo = DemoLauncher(folders)
    with qtbot.waitSignal(demo.changed):
        demo.start()

    assert demo.error == ""
    assert demo.is_starting
    demo.mark_running()


def test_tab_goes_along_the_choices_as_they_stand(window: DeskWindow) -> None:
    window.window.first_start.choices.show_languages({"en": "English"}, "en")
    window.window.activateWindow()
    by_name = buttons(window)
    by_name["Theme: Dark"].setFocus()
    passed: list[str] = []
    for _ in range(3):
        QTest.keyClick(window.window.focusWidget(), Qt.Key.Key_Tab)
        passed.append(window.window.focusWidget().accessibleName().split(":")[0])

    assert passed == ["Language", "Guide", "Keyboard"]
