"""Runs that a real hub has recorded: named, noted, compared and deleted from the window."""

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox, QPlainTextEdit, QPushButton

from kmonitor.connect.hub_client import HubClient
from kmonitor.ui.history.qt.history_controller import NoteDialog
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.local.hub_address import ipc_endpoint, view_socket_path
from tests.support.desk_window import WINDOW
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.simulated_agent import SimulatedAgent
from tests.support.started_app import start
from tests.support.waiting import DEADLINE_MS

__all__ = ["idle_hub", "live_hub", "start"]

pytestmark = [*WINDOW, pytest.mark.slow]


def _record(folders: Folders, name: str, *, fits: int) -> str:
    """A run of this many fits of two epochs each, that has ended."""
    with SimulatedAgent(folders, name=name) as agent:
        for _ in range(fits):
            agent.start_fit(epochs=2)
            for _ in range(2):
                agent.start_epoch()
                agent.sample()
                agent.end_epoch()
            agent.end_fit()
        agent.end_boot()
        agent.wait_acked()
        return agent.run


def test_what_a_hub_recorded_is_noted_compared_and_deleted(
    start: Callable[..., KmonitorApp], live_hub: LiveHub, folders: Folders, qtbot: Any
) -> None:
    first, second = _record(folders, "first", fits=2), _record(folders, "second", fits=3)
    app = start(with_hub=False)
    qtbot.waitUntil(
        lambda: app.charts_controller is not None and len(app.workspace.run_store) == 2,
        timeout=DEADLINE_MS,
    )
    history = app.controller.history
    history.open()

    history.panel.choose(first)
    history.panel.selection_bar.do("note")
    (dialog,) = app.window.findChildren(NoteDialog)
    dialog.findChildren(QPlainTextEdit)[0].setPlainText("the one to beat")
    save = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Save")
    QTest.mouseClick(save, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: _note(app, first) == "the one to beat", timeout=DEADLINE_MS)

    history.comparison.open([first, second])
    desk = history.comparison.comparison
    assert desk is not None
    desk.count("models")
    qtbot.waitUntil(lambda: all(len(c.x) for c in desk.state(300).curves), timeout=DEADLINE_MS)
    assert desk.state(300).x_range == (0.0, 3.0)
    assert [float(curve.x[-1]) > 2.0 for curve in desk.state(300).curves] == [False, True]

    history.open()
    history.panel.choose(second)
    history.panel.selection_bar.do("delete")
    (box,) = app.window.findChildren(QMessageBox)
    yes = next(button for button in box.buttons() if button.text() == "Remove run")
    QTest.mouseClick(yes, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: app.workspace.run_store.get(second) is None, timeout=DEADLINE_MS)
    assert app.workspace.edits.trouble == ""
    with HubClient(ipc_endpoint(view_socket_path(folders))) as client:
        assert [(run.run, run.note) for run in client.runs()] == [(first, "the one to beat")]


def _note(app: KmonitorApp, run: str) -> str:
    known = app.workspace.run_store.get(run)
    return known.note if known is not None else ""
