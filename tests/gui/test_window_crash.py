"""A window that really ends badly, and the start after it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QPlainTextEdit, QWidget

from kmonitor.ui.shell.crash_reports import crash_notice
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.crash_views import CrashNoticeBar, CrashReportWindow
from kmonitor_agent.wire.local.folders import Folders
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.started_app import start
from tests.support.waiting import DEADLINE_S

__all__ = ["start"]

pytestmark = WINDOW

CRASH = """
import os, sys
from PySide6.QtCore import QTimer
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor_agent.wire.local.folders import find_folders

qt = make_qt_application()
app = KmonitorApp(qt, find_folders(), WindowOptions(with_hub=False, size=(1280, 760)))
app.start()

def fail():
    {"a": 1}["resnet-of-anna"]

def abort():
    os.abort()

QTimer.singleShot(0, {"fail": fail, "abort": abort}[sys.argv[1]])
QTimer.singleShot(300, qt.quit)
qt.exec()
app.stop()
"""


def crash(how: str, home: Path) -> subprocess.CompletedProcess[str]:
    """A window in its own process that fails or aborts."""
    return subprocess.run(
        [sys.executable, "-c", CRASH, how],
        env={**os.environ, "KMONITOR_HOME": str(home), "MY_SECRET": "s3cret-token"},
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=False,
    )


def button(of: QWidget, name: str) -> QAbstractButton:
    return next(b for b in of.findChildren(QAbstractButton) if b.accessibleName() == name)


def opened(app: KmonitorApp) -> CrashReportWindow:
    QTest.mouseClick(
        button(app.window.crash_notice, "Show report\u2026"), Qt.MouseButton.LeftButton
    )
    (report,) = app.window.findChildren(CrashReportWindow)
    return report


def text_of(report: CrashReportWindow) -> str:
    return report.findChildren(QPlainTextEdit)[0].toPlainText()


def test_a_slot_that_raises_is_told_in_the_terminal_and_offered_at_the_next_start(
    start: Callable[..., KmonitorApp], kmonitor_home: Path, folders: Folders, tmp_path: Path
) -> None:
    ran = crash("fail", kmonitor_home)
    assert ran.returncode == 0
    assert "KeyError: 'resnet-of-anna'" in ran.stderr

    app = start(with_hub=False)
    assert app.window.crash_notice.isVisible()
    assert "Part of the window stopped working" in app.window.crash_notice.accessibleName()
    report = opened(app)
    text = text_of(report)
    for word in ("KeyError", "in fail", "kmonitor:", "Python:"):
        assert word in text
    for word in ("resnet-of-anna", "s3cret", str(Path.home()) + "/", str(kmonitor_home)):
        assert word not in text
    QTest.mouseClick(button(report, "Copy"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == text
    QTest.mouseClick(button(report, "Save\u2026"), Qt.MouseButton.LeftButton)
    (dialog,) = report.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "mine.txt"))
    dialog.close()
    assert (tmp_path / "mine.txt").read_text() == text
    QTest.mouseClick(button(report, "Discard"), Qt.MouseButton.LeftButton)
    assert not app.window.crash_notice.isVisible()
    assert list(folders.logs.glob("crash-*")) == []


@pytest.mark.skipif(not hasattr(signal, "SIGABRT"), reason="no such signal here")
def test_a_process_that_aborts_is_offered_until_it_is_discarded(
    start: Callable[..., KmonitorApp], kmonitor_home: Path, folders: Folders
) -> None:
    ran = crash("abort", kmonitor_home)
    assert ran.returncode == -signal.SIGABRT

    app = start(with_hub=False)
    assert "The window crashed" in app.window.crash_notice.accessibleName()
    text = text_of(opened(app))
    assert "Fatal Python error: Aborted" in text
    assert "in abort" in text
    assert "window after" in text
    QTest.mouseClick(button(app.window.crash_notice, "Later"), Qt.MouseButton.LeftButton)
    assert not app.window.crash_notice.isVisible()
    app.stop()
    assert len(list(folders.logs.glob("crash-*"))) == 1
    assert list(folders.logs.glob("*.trail")) == []


def test_a_window_that_ended_well_offers_nothing(start: Callable[..., KmonitorApp]) -> None:
    start(with_hub=False).stop()

    assert not start(with_hub=False).window.crash_notice.isVisible()


@pytest.mark.parametrize("width", [820, 1280])
def test_the_offer_cuts_no_button_in_a_narrow_window(width: int) -> None:
    window = DeskWindow(size=(width, 640))
    try:
        bar = window.window.findChild(CrashNoticeBar)
        assert isinstance(bar, CrashNoticeBar)
        bar.show_notice(crash_notice(is_fatal=True, wall_s=1e9, n=3, now_wall_s=1e9))
        window.settle()

        buttons = bar.findChildren(QAbstractButton)
        assert all(one.width() >= one.sizeHint().width() for one in buttons)
        assert bar.height() < 120
    finally:
        window.close()
