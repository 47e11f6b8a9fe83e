"""Scenes of what stands beside the charts: first page, settings, keyboard, crash, end of a run."""

from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace
from PySide6.QtWidgets import QWidget

from kmonitor.ui.events.qt.detail_windows import RunEndWindow
from kmonitor.ui.guide.qt.help_controller import KeyboardWindow
from kmonitor.ui.settings.qt.settings_window import SettingsWindow
from kmonitor.ui.shell.crash_reports import CrashReport
from kmonitor.ui.shell.qt.crash_controller import CrashController
from kmonitor.ui.shell.qt.crash_views import CrashReportWindow
from kmonitor_agent.wire.messages.unions import (
    KeyGrant,
    KeysReply,
    SeriesReply,
    SeriesRequest,
    ThinnedColumn,
)
from tests.support.made_up_runs import GIB, NOW_WALL_S, made_up_run, told_hub
from tests.support.settings_bridge import SettingsBridge
from tests.support.stage import Stage

_SINCE_WALL_S: Final = NOW_WALL_S - 40 * 86_400.0
_REPORT: Final = """kmonitor 0.1.0 Python 3.11.9 PySide6 6.9.1 Linux x86_64
2026-09-21 14:10:02 INFO kmonitor.desktop.app: the window is shown
2026-09-21 14:13:18 ERROR kmonitor.desktop.qt_guard: a slot failed
Traceback (most recent call last):
  File "kmonitor/desktop/chart_board.py", line 139, in refresh
KeyError: '<run 1>'
"""


def first_start(stage: Stage) -> QWidget:
    """Before the first run."""
    stage.desk.desk.connected(told_hub(rows=0))
    stage.desk.settle()
    return stage.window


def settings_general(stage: Stage) -> QWidget:
    """Its first page."""
    return _settings(stage, 0)


def settings_history(stage: Stage) -> QWidget:
    """Settings of the history."""
    return _settings(stage, 1)


def settings_hosts(stage: Stage) -> QWidget:
    """One that is reached, one that is not."""
    return _settings(stage, 2)


def settings_keys(stage: Stage) -> QWidget:
    """Settings of the keys that may connect."""
    return _settings(stage, 3)


def keyboard(stage: Stage) -> QWidget:
    """Every key."""
    stage.live()
    stage.desk.controller.help.open_keyboard()
    return stage.only(KeyboardWindow)


def crash_notice(stage: Stage) -> QWidget:
    """The bar over the window."""
    stage.live()
    _crashed(stage)
    stage.desk.settle()
    return stage.window


def crash_report(stage: Stage) -> QWidget:
    """The crash report that was kept."""
    stage.live()
    _crashed(stage)
    stage.desk.window.crash_notice.show_requested.emit()
    return stage.only(CrashReportWindow)


def end_of_run(stage: Stage) -> QWidget:
    """A death for want of memory, with its last minute."""
    why = "out of memory: the kernel killed it"
    run = made_up_run(state="failed", state_why=why, cause="out of memory", actions=[])
    stage.desk.connect()
    stage.desk.tell_runs(run)
    desk = stage.desk
    desk.controller.records.open_end("run1")
    asked = next(
        n for n, each in desk.asked if isinstance(each, SeriesRequest) and each.buckets == 4000
    )
    t_s = np.arange(run.duration_s - 60.0, run.duration_s)
    part = (t_s - t_s[0]) / 60.0
    ram = (120.0 + 60.0 * part**2 + np.sin(part * 40.0)) * GIB
    columns = [
        ThinnedColumn("ram_bytes", t_s.tobytes(), ram.tobytes(), len(t_s)),
        ThinnedColumn("ram_of_bytes", t_s[:1].tobytes(), np.array([192 * GIB]).tobytes(), 1),
    ]
    desk.desk.apply_message(SeriesReply(request_id=asked, run="run1", columns=columns, row=60))
    return stage.only(RunEndWindow)


def end_unknown(stage: Stage) -> QWidget:
    """A run that vanished, of whose last minute nothing is known."""
    stage.live(state="lost", actions=[], checkpoint_bytes=None)
    stage.desk.controller.records.open_end("run1")
    return stage.only(RunEndWindow)


def _settings(stage: Stage, page: int) -> QWidget:
    stage.live()
    stage.desk.desk.add_host("me@gpu-02", "the big one")
    stage.desk.desk.connected(told_hub(hub="far"), "me@gpu-02")
    stage.desk.desk.add_host("tcp://10.0.0.7:7400", "")
    stage.desk.desk.set_route(
        "tcp://10.0.0.7:7400", "closed", "Connection refused.", "", retry_in_s=4.0
    )
    preferences = stage.desk.controller.preferences
    bridge = SettingsBridge(preferences)
    preferences.open()
    keys = [
        KeyGrant(key="ab12" * 16, name="anna-laptop", role="operator", since_wall_s=_SINCE_WALL_S),
        KeyGrant(key="7f03" * 16, name="wall display", role="viewer", since_wall_s=_SINCE_WALL_S),
    ]
    bridge.reply(replace(told_hub(), request_id=1, rows=48_213, database_bytes=int(0.3 * GIB)))
    bridge.reply(KeysReply(request_id=2, keys=keys, address="tcp://0.0.0.0:7400"))
    found = stage.only(SettingsWindow)
    assert isinstance(found, SettingsWindow)
    found.show_page(page)
    stage.desk.settle()
    return found


def _crashed(stage: Stage) -> None:
    crash = CrashReport(Path("crash-1.txt"), NOW_WALL_S - 3600.0, is_fatal=True, text=_REPORT)
    # The window is its parent.
    CrashController(stage.desk.window, stage.desk.window).offer([crash])


PAGE_SCENES: Final = (
    first_start, settings_general, settings_history, settings_hosts, settings_keys, keyboard,
    crash_notice, crash_report, end_of_run, end_unknown,
)  # fmt: skip
