"""*Open folder...*: a separate window on files that trainings wrote, or why there is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from kmonitor.ui.shell.qt import launcher
from kmonitor.ui.shell.qt.launcher import FolderOpener
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor_agent.wire.local.folders import Folders
from tests.support.links import LinkUnderTest, sample

pytestmark = [pytest.mark.gui, pytest.mark.qt_log_ignore("This plugin does not support")]


class StartedProcess:
    """Process that would have been started."""

    arguments: list[str]
    last: "StartedProcess"

    def __init__(self) -> None:
        StartedProcess.last = self

    def setProgram(self, program: str) -> None: ...  # noqa: N802 - Qt's name

    def setArguments(self, arguments: list[str]) -> None:  # noqa: N802 - Qt's name
        self.arguments = arguments

    def startDetached(self) -> tuple[bool, int]:  # noqa: N802 - Qt's name
        return True, 1


@pytest.fixture
def opening(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderOpener]:
    monkeypatch.setattr(launcher, "QProcess", StartedProcess)
    window = MainWindow(Theme())
    qtbot.addWidget(window)
    opening = FolderOpener(window)
    opening.setParent(window)
    yield opening
    opening.stop()


def window_of(opening: FolderOpener) -> MainWindow:
    window = opening.parent()
    assert isinstance(window, MainWindow)
    return window


def test_a_folder_with_runs_is_opened_in_a_window_of_its_own(
    opening: FolderOpener, qtbot: QtBot, folders: Folders
):
    with LinkUnderTest(folders) as link:
        link.link.emit(sample(1))

    with qtbot.waitSignal(opening.opened):
        opening.open_if_runs(str(folders.spool))

    assert StartedProcess.last.arguments[-2:] == ["--folder", str(folders.spool)]


def test_a_folder_without_runs_says_what_to_do(
    opening: FolderOpener, qtbot: QtBot, tmp_path: Path
):
    with qtbot.waitSignal(opening.refused):
        opening.open_if_runs(str(tmp_path))
    qtbot.waitUntil(lambda: bool(window_of(opening).findChildren(QMessageBox)))

    (box,) = window_of(opening).findChildren(QMessageBox)
    assert "KMONITOR_SPOOL" in box.informativeText()
    box.close()


def test_it_can_be_asked_for_before_and_beside_the_first_run(opening: FolderOpener):
    window = window_of(opening)
    for panel in (window.run_tree, window.first_start):
        names = [button.text() for button in panel.findChildren(QPushButton)]
        assert "Open folder\N{HORIZONTAL ELLIPSIS}" in names
