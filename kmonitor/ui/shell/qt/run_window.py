"""Entry point of the window: the QApplication, its event loop, its exit status."""

import os
import signal
import sys
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QApplication

from kmonitor.base.installation import resource_path
from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.app import INTERRUPTED, KmonitorApp
from kmonitor.ui.shell.qt.qt_guard import require_sound_qt, settle_platform
from kmonitor.ui.theme.qt.style_sheet import load_fonts, window_font
from kmonitor_agent.wire.local.folders import Folders


def run_window(folders: Folders, options: WindowOptions) -> int:
    """Open the window and return when it is closed.

    Call from the main thread, before any other QApplication. If a screenshot is requested and
    there is no display, this sets `QT_QPA_PLATFORM=offscreen`.

    Args:
        folders: Folders of the hub to follow, which is started if none answers.

    Returns:
        0; 130 after SIGINT.

    Raises:
        BrokenQt: This PySide6 would crash.
        NoScreenshot: A screenshot was requested, and is missing or shows no data.
    """
    settle_platform(offscreen=options.screenshot is not None and not _has_display())
    require_sound_qt()
    qt = make_qt_application()
    while True:
        app = KmonitorApp(qt, folders, options)
        status = _run_to_end(app, qt)
        if not app.opens_again:
            return status
        options = replace(options, select=app.workspace.run_store.selected or options.select)
        app.window.deleteLater()
        app.deleteLater()


def _run_to_end(app: KmonitorApp, qt: QApplication) -> int:
    before = signal.signal(signal.SIGINT, lambda _number, _frame: app.interrupt())
    app.start()
    try:
        status = 1 if app.failure else 0
        if not app.has_left:
            status = qt.exec()
    finally:
        signal.signal(signal.SIGINT, before)
        app.stop()
    status = status or app.status
    if app.failure is not None and status != INTERRUPTED:
        raise app.failure
    return status


def _has_display() -> bool:
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def make_qt_application() -> QApplication:
    """Create the only QApplication, with the product's name, typeface, icon and style."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        qt = existing
    else:
        settle_platform(offscreen=False)
        QGuiApplication.setHighDpiScaleFactorRoundingPolicy(
            Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
        )
        qt = QApplication(["kmonitor"])
    qt.setApplicationName("kmonitor")
    qt.setApplicationDisplayName("kmonitor")
    qt.setDesktopFileName("kmonitor")
    qt.setStyle("Fusion")
    qt.setFont(window_font(load_fonts()))
    qt.setWindowIcon(QIcon(str(resource_path("icons", "kmonitor.svg"))))
    return qt
