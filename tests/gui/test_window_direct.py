"""A hub that listens on the network, in the window of a device that may only look."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from kmonitor.ui.settings.window_settings import WindowOptions
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shell.qt.run_window import make_qt_application
from kmonitor_agent.wire.local.folders import Folders, find_folders
from kmonitor_agent.wire.local.host_identity import own_keys
from tests.support.desk_window import WINDOW
from tests.support.direct_hub import ListeningHub, listening
from tests.support.simulated_agent import SimulatedAgent
from tests.support.waiting import DEADLINE_MS

pytestmark = [*WINDOW, pytest.mark.slow]


@pytest.fixture
def hub(folders: Folders) -> Iterator[ListeningHub]:
    yield from listening(folders)


def reported(app: KmonitorApp, file: Path, qtbot: Any) -> str:
    """The report of the selected run, whose hub is queried again."""
    qtbot.waitUntil(lambda: app.charts_controller is not None, timeout=DEADLINE_MS)
    with qtbot.waitSignal(app.export.written, timeout=DEADLINE_MS):
        app.export.report_to(str(file))
    return file.read_text(encoding="utf-8")


def test_a_viewer_sees_runs_reports_them_and_is_told_why_the_buttons_are_off(
    hub: ListeningHub, tmp_path: Path, qtbot: Any
):
    laptop = find_folders({"KMONITOR_HOME": str(tmp_path / "laptop")})
    laptop.state.mkdir(parents=True)
    app = KmonitorApp(
        make_qt_application(), laptop, WindowOptions(size=(1280, 760), with_hub=False)
    )
    app.start()
    try:
        assert app.hosts is not None
        assert app.hosts.connect_to(hub.address.url, "", "") == ""
        host = app.workspace.hosts.get(hub.address.url)
        assert host is not None
        assert host.name == f"127.0.0.1:{hub.address.port}"
        qtbot.waitUntil(lambda: "kmonitor authorize" in str(host.banner(0.0)), timeout=DEADLINE_MS)

        hub.device("viewer", own_keys(laptop, "desktop"))
        with SimulatedAgent(hub.live.folders, name="far away") as agent:
            agent.start_fit()
            qtbot.waitUntil(lambda: bool(app.workspace.run_store.runs()), timeout=DEADLINE_MS)
            run = app.workspace.run_store.runs()[0]
            app.workspace.select(run.run)
            app.controller.refresh()
            assert "your key there has the viewer role" in app.workspace.why_no_command(run.run)
            app.workspace.command("save")
            assert not agent.commands

            assert "far away" in reported(app, tmp_path / "far.html", qtbot)
    finally:
        app.stop()
        app.window.deleteLater()
        qt = QApplication.instance()
        assert qt is not None
        qt.processEvents()
