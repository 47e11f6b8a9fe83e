"""A window that speaks Chinese, whatever typefaces this machine has."""

import time
from collections.abc import Iterator

import pytest

from kmonitor.ui.settings.qt import language_controller
from kmonitor.ui.settings.window_settings import WindowSettings
from tests.support.desk_window import DeskWindow
from tests.support.made_up_runs import NOW_WALL_S


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[DeskWindow]:
    """Connected, without runs, at a moment that stands: ages are texts as well."""
    monkeypatch.setattr(time, "time", lambda: NOW_WALL_S)
    monkeypatch.setattr(language_controller, "has_chinese_font", lambda: True)
    made = DeskWindow(settings=WindowSettings(language="zh_CN"))
    made.connect()
    yield made
    made.close()
