"""A window that speaks Chinese, whatever typefaces this machine has."""

import time
from collections.abc import Iterator

import pytest

from kmonitor.desktop import language_keeper
from kmonitor.desktop.settings_file import WindowSettings
from tests.support.desk_window import DeskWindow
from tests.support.made_up_runs import NOW_WALL_S


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[DeskWindow]:
    """Connected, without runs, at a moment that stands: ages are texts as well."""
    monkeypatch.setattr(time, "time", lambda: NOW_WALL_S)
    monkeypatch.setattr(language_keeper, "has_chinese_font", lambda: True)
    made = DeskWindow(settings=WindowSettings(language="zh_CN"))
    made.connect()
    yield made
    made.close()
