"""The app as a whole: hub, threads, settings, logs, screenshots."""

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kmonitor.connect.local_hub import request_local_hub, stop_hub
from kmonitor.ui.hosts.qt.audit_window import AuditWindow
from kmonitor.ui.settings.window_settings import WindowSettings, load_settings, save_settings
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.app_log import AppLog
from kmonitor_agent.wire.local.folders import Folders
from tests.support.desk_window import WINDOW
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.started_app import start
from tests.support.waiting import DEADLINE_MS, DEADLINE_S

__all__ = ["idle_hub", "live_hub", "start"]

pytestmark = WINDOW


@pytest.mark.slow
def test_a_run_of_a_real_hub_appears_moves_and_is_commanded(
    start: Callable[..., KmonitorApp], live_hub: LiveHub, folders: Folders, qtbot: Any
) -> None:
    with SimulatedAgent(folders, name="simulated") as agent:
        agent.start_fit(epochs=4)
        for _ in range(3):
            agent.start_epoch()
            agent.sample()
            agent.graph()
            agent.end_epoch()
        app = start(with_hub=False)
        qtbot.waitUntil(
            lambda: app.charts_controller is not None and app.charts_controller.is_loaded,
            timeout=DEADLINE_MS,
        )
        assert app.charts_controller is not None

        assert app.window.windowTitle() == "kmonitor"
        assert app.charts_controller.standard_charts.state("ram", 600).has_points
        app.controller.commands.request("save")
        qtbot.waitUntil(lambda: bool(agent.commands), timeout=DEADLINE_MS)
        assert agent.commands[0].name == "save"
        app.window.header.audit_requested.emit()
        (listed,) = app.window.findChildren(AuditWindow)
        model = listed.model
        qtbot.waitUntil(lambda: model.rowCount() > 0, timeout=DEADLINE_MS)
        cells = [str(model.index(0, column).data()) for column in range(model.columnCount())]
        assert cells[3:5] == ["command save", "simulated"]


@pytest.mark.slow
def test_a_hub_is_started_kept_and_left_running(
    start: Callable[..., KmonitorApp], folders: Folders, qtbot: Any
) -> None:
    app = start()
    qtbot.waitUntil(lambda: app.workspace.link.is_live, timeout=DEADLINE_MS)
    first = app.workspace.link.hub
    assert first is not None
    stop_hub(folders)

    def is_another() -> bool:
        # The connection itself may outlive the hub: ZeroMQ joins it to the next one.
        hub = request_local_hub(folders, timeout_s=0.5)
        return app.workspace.link.is_live and hub is not None and hub.pid != first.pid

    qtbot.waitUntil(is_another, timeout=DEADLINE_MS)
    app.stop()

    # A check after every test sees to it that no thread of ours is left.
    assert request_local_hub(folders) is not None
    stop_hub(folders)


def test_a_hub_that_cannot_start_is_told_with_what_to_do(
    start: Callable[..., KmonitorApp],
    folders: Folders,
    qtbot: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folders.runtime.mkdir(parents=True, mode=0o755)
    folders.runtime.chmod(0o755)
    with caplog.at_level(logging.ERROR):
        app = start()
        qtbot.waitUntil(app.window.banner.isVisible, timeout=DEADLINE_MS)
    assert "chmod 700" in app.window.banner.accessibleName()


def test_the_shell_needs_neither_numpy_nor_charts(kmonitor_home: Path) -> None:
    script = (
        "import sys, kmonitor.ui.shell.qt.run_window as r;"
        "from kmonitor_agent.wire.local.folders import *;"
        "q = r.make_qt_application();"
        "app = r.KmonitorApp(q, find_folders(), r.WindowOptions(with_hub=False));"
        "app.start(); print(sorted({'numpy', 'pyqtgraph', 'tensorflow'} & set(sys.modules)));"
        "app.stop()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=True,
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_picture_is_drawn_without_a_screen(folders: Folders, tmp_path: Path) -> None:
    shot = tmp_path / "shots" / "window.png"
    script = (
        "import sys; from pathlib import Path;"
        "from kmonitor.ui.shell.qt.run_window import run_window;"
        "from kmonitor.ui.settings.window_settings import WindowOptions;"
        "from kmonitor_agent.wire.local.folders import find_folders;"
        f"sys.exit(run_window(find_folders(), WindowOptions(Path({str(shot)!r}))))"
    )
    try:
        subprocess.run([sys.executable, "-c", script], timeout=2 * DEADLINE_S, check=True)
    finally:
        stop_hub(folders)
    assert shot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        ("w.RecordsPanel.paintEvent = lambda *_: 1 / 0", 1, "failed: ZeroDivisionError"),
        ("a.save_screenshot = lambda *_: 1 / 0", 1, "No screenshot was saved.\nDetails are in "),
        pytest.param(
            "a.KmonitorApp._is_settled = lambda _: {}['gone']",
            1,
            "KeyError",
            marks=pytest.mark.full,
        ),
        ("s.ScreenshotTimer.start = lambda _: signal.raise_signal(signal.SIGINT)", 130, ""),
    ],
)
def test_a_picture_that_fails_ends_with_a_message_and_never_hangs(
    folders: Folders, tmp_path: Path, fault: str, status: int, message: str
) -> None:
    script = (
        "import os; os.environ['QT_QPA_PLATFORM'] = 'offscreen';"
        "import signal, sys; import kmonitor.ui.shell.qt.app as a, kmonitor.cli.main as m;"
        "import kmonitor.ui.shell.qt.screenshot as s, kmonitor.ui.shell.qt.window as w;"
        f"{fault};"
        f"sys.exit(m.main(['--screenshot', {str(tmp_path / 's.png')!r}]))"
    )
    with SimulatedAgent(folders, name="simulated"):
        try:
            ran = subprocess.run(
                [sys.executable, "-c", script],
                timeout=2 * DEADLINE_S,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            stop_hub(folders)
    assert ran.returncode == status
    assert message in ran.stderr
    assert ran.stderr.count("kmonitor: ") == (1 if status == 1 else 0)
    assert "Choose another file" not in ran.stderr
    assert not (tmp_path / "s.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "at",
    [
        "w.MainWindow.show = lambda self: a.QTimer.singleShot(0, self.close)",
        "w.MainWindow.leave_focus_alone = lambda self: self.close()",
        "a.KmonitorApp._follow_hub = lambda self: self.window.close()",
        "a.KmonitorApp._on_shell_shown = lambda self: self.window.close()",
    ],
)
def test_a_window_that_is_closed_while_it_starts_ends_its_process(
    folders: Folders, at: str
) -> None:
    script = (
        "import os; os.environ['QT_QPA_PLATFORM'] = 'offscreen';"
        "import sys; import kmonitor.ui.shell.qt.app as a, kmonitor.cli.main as m;"
        "import kmonitor.ui.shell.qt.window as w;"
        f"{at};"
        "sys.exit(m.main([]))"
    )
    try:
        ran = subprocess.run(
            [sys.executable, "-c", script],
            timeout=2 * DEADLINE_S,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        stop_hub(folders)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.slow
def test_another_language_is_spoken_by_the_window_that_is_opened_again(folders: Folders) -> None:
    script = (
        "import os; os.environ['QT_QPA_PLATFORM'] = 'offscreen';"
        "import sys; import kmonitor.ui.shell.qt.app as a, kmonitor.cli.main as m;"
        "import kmonitor.ui.settings.qt.language_controller as k;"
        "k.has_chinese_font = lambda: True;"
        "shown = a.KmonitorApp._on_shell_shown;"
        "said = [];"
        "again = lambda app: (app.controller.choices.choose_language('zh_CN'),"
        " app.controller.choices.reopening_requested.emit());"
        "close = lambda app: app.window.close();"
        "a.KmonitorApp._on_shell_shown = lambda app: (shown(app),"
        " said.append((app._language.current_language, app.window.header._help.toolTip())),"
        " (again if len(said) == 1 else close)(app));"
        "status = m.main([]);"
        "print([spoken for spoken, _ in said], len(set(said)));"
        "sys.exit(status)"
    )
    try:
        ran = subprocess.run(
            [sys.executable, "-c", script],
            timeout=2 * DEADLINE_S,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        stop_hub(folders)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "['en', 'zh_CN'] 2\n"
    assert load_settings(folders.settings).language == "zh_CN"


@pytest.mark.slow
def test_a_picture_without_data_says_so_and_why(folders: Folders, tmp_path: Path) -> None:
    shot = tmp_path / "s.png"
    script = (
        "import os; os.environ['QT_QPA_PLATFORM'] = 'offscreen';"
        "import sys; import kmonitor.ui.shell.qt.app as a, kmonitor.cli.main as m;"
        "import kmonitor.ui.hosts.qt.hub_starter as k, kmonitor.ui.shell.qt.screenshot as s;"
        "s._WAITS_S = 0.1;"
        "import kmonitor.cli.window as w; w.require_hub = lambda folders: None;"
        "k.HubStarter.start = lambda self: self.hub_failed.emit('The disk is full.');"
        f"sys.exit(m.main(['--screenshot', {str(shot)!r}]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        timeout=2 * DEADLINE_S,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 1
    assert (
        f"kmonitor: {shot} shows no data: none arrived in time (The disk is full)." in ran.stderr
    )
    assert "For details, run: kmonitor doctor" in ran.stderr
    assert shot.read_bytes().startswith(b"\x89PNG")


def test_settings_come_back_and_damaged_ones_are_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = WindowSettings(theme="light", x_axis="seconds", geometry=(1, 2, 1300, 800))
    save_settings(tmp_path, chosen)
    assert load_settings(tmp_path) == chosen
    assert json.loads((tmp_path / "window.json").read_text())["theme"] == "light"

    (tmp_path / "window.json").write_text('{"theme": ')
    assert load_settings(tmp_path) == WindowSettings()
    assert "is ignored" in caplog.text
    save_settings(tmp_path / "window.json" / "below", chosen)
    assert "was not written" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        '"theme": "pink"',
        '"geometry": [1, 2]',
        '"tables": {"runs": {"widths": {"name": -4}}}',
        '"of_another_version": {"a": 1}',
        '"left_px": "wide"',
    ],
)
def test_a_field_that_is_wrong_or_unknown_is_left_out_alone(
    tmp_path: Path, wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "window.json").write_text(f'{{"x_axis": "seconds", {wrong}, "pace": "calm"}}')

    assert load_settings(tmp_path) == WindowSettings(x_axis="seconds", pace="calm")
    assert ("is ignored" in caplog.text) == ("another" not in wrong)


def test_what_the_user_chose_is_there_at_the_next_start(
    start: Callable[..., KmonitorApp], folders: Folders
) -> None:
    first = start(with_hub=False, size=None)
    first.controller.choices.choose_theme("light")
    first.stop()
    second = start(with_hub=False, size=None)
    assert second.controller.settings(WindowSettings()).theme == "light"
    assert load_settings(folders.settings).theme == "light"


def test_a_part_that_fails_is_logged_and_shown_and_the_window_goes_on(
    start: Callable[..., KmonitorApp], folders: Folders, qtbot: Any
) -> None:
    app = start(with_hub=False)
    sys.excepthook(KeyError, KeyError("lost"), None)
    app.window.status.repaint()
    qtbot.waitUntil(app.window.banner.isVisible, timeout=DEADLINE_MS)

    assert "KeyError" in app.window.banner.accessibleName()
    app.stop()
    assert "KeyError: 'lost'" in (folders.logs / "app.log").read_text()


def test_failures_of_threads_are_kept_too(tmp_path: Path) -> None:
    told: list[str] = []
    log = AppLog(tmp_path, told.append)
    try:
        thread = threading.Thread(target=lambda: {}["gone"], name="other")
        thread.start()
        thread.join()
    finally:
        log.close()
    assert told == ["KeyError: 'gone'"]
    assert "gone" in (tmp_path / "app.log").read_text()
