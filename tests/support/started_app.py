"""The app as it is started, with its threads, and stopped again."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor.ui.text.formats import use_byte_units
from kmonitor_agent.wire.local.folders import Folders


@pytest.fixture
def start(folders: Folders) -> Iterator[Callable[..., KmonitorApp]]:
    """Starts apps with options of `WindowOptions`; each is stopped after the test."""
    started: list[KmonitorApp] = []

    def make(**options: Any) -> KmonitorApp:
        options.setdefault("size", (1280, 760))
        app = KmonitorApp(make_qt_application(), folders, WindowOptions(**options))
        started.append(app)
        app.start()
        return app

    yield make
    for app in started:
        app.stop()
        app.window.deleteLater()
    qt = QApplication.instance()
    assert qt is not None
    qt.processEvents()
    use_byte_units("binary")  # what a user chose is in force for all of this process
