"""Opens the window, runs until it is closed, and says how that ended."""

import os
import signal
import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from kmonitor.connect.host_book import RememberedHost
from kmonitor.desktop.app import INTERRUPTED, KmonitorApp
from kmonitor.desktop.qt_application import make_qt_application
from kmonitor.desktop.qt_guard import require_sound_qt, settle_platform
from kmonitor.desktop.settings_file import ThemeName
from kmonitor.desktop.window_options import WindowOptions
from kmonitor_agent.local.folders import Folders


def run_window(  # noqa: PLR0913 - each is one of the user's options
    *,
    folders: Folders,
    screenshot: Path | None = None,
    quit_after_s: float | None = None,
    select: str | None = None,
    size: tuple[int, int] | None = None,
    theme: ThemeName | None = None,
    shown: Path | None = None,
    also: RememberedHost | None = None,
) -> int:
    """Open the window and return when it is closed.

    Call from the main thread, before any other QApplication. When a screenshot is wanted and
    there is no display, `QT_QPA_PLATFORM=offscreen` is set here.

    Args:
        folders: Which set-up: its hub is followed, and started when none answers.
        screenshot: See `WindowOptions`, also for all that follow.
        quit_after_s: As there.
        select: As there.
        size: As there.
        theme: As there.
        shown: As there.
        also: As there.

    Returns:
        0; 130 after SIGINT.

    Raises:
        BrokenQt: This PySide6 would crash.
        NoPicture: A screenshot was wanted, and is not there or shows no data.
    """
    settle_platform(offscreen=screenshot is not None and not _has_display())
    require_sound_qt()
    options = WindowOptions(
        screenshot,
        quit_after_s,
        select,
        size,
        theme,
        with_hub=shown is None,
        shown=shown,
        also=also,
    )
    qt = make_qt_application()
    return _run_to_end(KmonitorApp(qt, folders, options), qt)


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
