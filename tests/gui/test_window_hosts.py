"""Hosts in the window: the tree, the dialog, a host's menu, the banner; and a real sshd."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QLineEdit, QMessageBox, QPushButton

from kmonitor.connect.local_hub import ensure_hub
from kmonitor.connect.remembered_hosts import HostStore
from kmonitor.ui.hosts.qt.host_menus import ConnectDialog
from kmonitor.ui.run_tree.run_tree import HostRow
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor_agent.wire.local.folders import Folders
from tests.support.desk_window import DeskWindow
from tests.support.made_up_runs import made_up_run, told_hub, told_runs
from tests.support.simulated_agent import SimulatedAgent
from tests.support.ssh_host import NAME, SshHost, live_ssh_host, ssh_host
from tests.support.started_app import start
from tests.support.waiting import DEADLINE_MS

__all__ = ["live_ssh_host", "ssh_host", "start"]

pytestmark = [
    pytest.mark.gui,
    pytest.mark.usefixtures("qapp"),
    pytest.mark.qt_log_ignore("This plugin does not support"),
]

FAR = "me@gpu-01"


class Asked(QObject):
    """Stands in for the controller of hosts: notes each request."""

    changed_elsewhere = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, ...]] = []
        self.why = ""

    def connect_to(self, address: str, name: str, command: str) -> str:
        self.calls.append(("connect", address, name, command))
        return self.why

    def retry(self, address: str) -> None:
        self.calls.append(("retry", address))

    def rename(self, address: str, name: str) -> str:
        self.calls.append(("rename", address, name))
        return self.why

    def remove(self, address: str) -> None:
        self.calls.append(("remove", address))


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    window = DeskWindow(with_charts=False)
    window.connect()
    window.tell_runs(made_up_run("run1"))
    window.desk.add_host(FAR, "big one")
    told = msgspec.structs.replace(told_hub(hub="far"), request_id=0)
    window.desk.connected(told, FAR)
    window.desk.apply_message(told_runs(made_up_run("run2", name="far run"), hub="far"), FAR)
    window.settle()
    yield window
    window.close()


@pytest.fixture
def asked(window: DeskWindow) -> Asked:
    asked = Asked()
    window.controller.hosts.attach(asked)  # type: ignore[arg-type]
    return asked


def rows_of(window: DeskWindow) -> list[HostRow]:
    model = window.window.run_tree.model
    rows = [model.host_at(model.index(at, 0)) for at in range(model.rowCount())]
    return [row for row in rows if row is not None]


def test_hosts_stand_in_the_tree_and_a_run_there_can_be_looked_at(window: DeskWindow) -> None:
    assert [row.host for row in rows_of(window)] == ["gpu-01", "big one"]

    window.window.run_tree.run_chosen.emit("run2")

    assert window.desk.run_store.selected == "run2"
    assert window.window.status.link.text().endswith("1 of 1 hosts connected")


def test_a_lost_host_shows_a_banner_whose_button_retries_it(
    window: DeskWindow, asked: Asked
) -> None:
    window.window.run_tree.run_chosen.emit("run2")
    window.desk.disconnected("x", retry_in_s=1.0, since_wall_s=1.0, at=FAR)
    window.desk.set_route(FAR, "closed", "It is off.", "", retry_in_s=4.0)
    window.settle()
    banner = window.window.banner

    assert banner.isVisible()
    assert "It is off." in banner.text.text()
    banner.retry_button.click()
    assert asked.calls == [("retry", FAR)]
    banner.close_button.click()
    assert not banner.isVisible()
    window.window.run_tree.grab()  # draws the host as lost


def test_the_dialog_gives_address_name_and_command_and_says_why_not(
    window: DeskWindow, asked: Asked
) -> None:
    connect = window.window.run_tree.connect_button
    assert connect.text() == "Connect to a host\u2026"
    connect.click()
    dialog = window.window.findChild(ConnectDialog)
    assert isinstance(dialog, ConnectDialog)
    button = next(b for b in dialog.findChildren(QPushButton) if b.text() == "Connect")
    assert not button.isEnabled()
    address, name, command = dialog.findChildren(QLineEdit)
    address.setText("gpu-02")
    name.setText("two")
    command.setText("/opt/kmonitor")
    asked.why = "not a host name"
    button.click()
    assert dialog.isVisible()
    assert dialog.why.text() == "not a host name"

    asked.why = ""
    QTest.keyClick(address, Qt.Key.Key_Return)
    window.settle()

    assert asked.calls == 2 * [("connect", "gpu-02", "two", "/opt/kmonitor")]
    assert not [box for box in window.window.findChildren(ConnectDialog) if box.isVisible()]


def test_a_hosts_menu_retries_renames_and_removes_after_asking(
    window: DeskWindow, asked: Asked
) -> None:
    hosts = window.controller.hosts
    assert hosts.menu("unknown") is None
    menu = hosts.menu(FAR)
    assert menu is not None
    retry, rename, remove = menu.findChildren(QAction)[-3:]
    retry.trigger()
    rename.trigger()
    box = window.window.findChild(QInputDialog)
    assert isinstance(box, QInputDialog)
    assert box.textValue() == "big one"
    box.setTextValue("three")
    box.accept()
    remove.trigger()
    question = window.window.findChild(QMessageBox)
    assert isinstance(question, QMessageBox)
    assert ("remove", FAR) not in asked.calls
    question.accepted.emit()
    question.close()
    menu.close()

    assert asked.calls == [("retry", FAR), ("rename", FAR, "three"), ("remove", FAR)]


def test_a_name_that_is_refused_is_asked_for_again_with_the_reason(
    window: DeskWindow, asked: Asked
) -> None:
    menus = window.controller.hosts
    menus.open_rename_dialog(FAR)
    (box,) = window.window.findChildren(QInputDialog)
    asked.why = '"three" is already the name of another host.'
    box.setTextValue("three")
    box.accept()

    again = [each for each in window.window.findChildren(QInputDialog) if each.isVisible()]
    assert [each.textValue() for each in again] == ["three"]
    assert again[0].labelText().startswith(asked.why)
    again[0].close()


def test_the_menu_of_a_run_is_that_of_its_host(window: DeskWindow) -> None:
    panel = window.window.run_tree
    wanted: list[str] = []
    panel.host_menu_requested.connect(lambda address, _at: wanted.append(address))

    for run in ("run1", "run2"):
        panel.tree.customContextMenuRequested.emit(
            panel.tree.visualRect(panel.model.index_of(run)).center()
        )
    panel.tree.customContextMenuRequested.emit(QPoint(5, panel.tree.height() - 2))

    assert wanted == [FAR]


def test_before_the_first_run_hosts_are_shown_too() -> None:
    window = DeskWindow(with_charts=False)
    try:
        window.desk.connected(msgspec.structs.replace(told_hub(), rows=0))
        window.settle()
        assert not window.window.run_tree.isVisible()
        assert window.window.first_start.connect_button.isVisible()
        window.desk.add_host(FAR)
        window.settle()
        assert window.window.run_tree.isVisible()
    finally:
        window.close()


@pytest.mark.ssh
@pytest.mark.slow
def test_a_host_is_connected_to_its_run_charted_commanded_and_remembered(
    start: Callable[..., KmonitorApp], live_ssh_host: SshHost, folders: Folders, qtbot: Any
) -> None:
    ensure_hub(live_ssh_host.there)
    with SimulatedAgent(live_ssh_host.there, name="far") as agent:
        agent.start_fit(epochs=4)
        agent.start_epoch()
        agent.sample()
        agent.end_epoch()
        app = start(with_hub=False)
        hosts = app.hosts
        assert hosts is not None
        assert "not a host name" in hosts.connect_to("-x", "", "")
        assert hosts.connect_to(NAME, "big one", "") == ""
        qtbot.waitUntil(
            lambda: app.charts_controller is not None and app.charts_controller.is_loaded,
            timeout=DEADLINE_MS,
        )
        app.controller.commands.request("save")
        qtbot.waitUntil(lambda: bool(agent.commands), timeout=DEADLINE_MS)
        (known,) = HostStore(folders).hosts()
        assert (known.called, known.socket != "") == ("big one", True)
        hosts.rename(NAME, "")
        assert [host.name for host in app.workspace.hosts.all()] == [NAME]
        hosts.remove(NAME)

    assert agent.commands[0].name == "save"
    assert HostStore(folders).hosts() == []
    assert len(app.workspace.run_store) == 0


def test_what_the_command_line_does_with_hosts_is_seen_by_an_open_window(
    start: Callable[..., KmonitorApp], folders: Folders, qtbot: Any
) -> None:
    first, second = (f"tcp://127.0.0.1:{port}?key={'ab' * 32}" for port in (7, 9))
    book = HostStore(folders)
    book.add(first, name="one")
    app = start(with_hub=False)
    hosts = app.hosts
    assert hosts is not None
    hosts.poll_timer.setInterval(10)

    def names() -> list[str]:
        return [host.name for host in app.workspace.hosts.all()]

    book.add(second, name="two")
    qtbot.waitUntil(lambda: names() == ["one", "two"], timeout=DEADLINE_MS)
    book.rename(first, "first")
    qtbot.waitUntil(lambda: names() == ["first", "two"], timeout=DEADLINE_MS)
    book.remove(first)
    qtbot.waitUntil(lambda: names() == ["two"], timeout=DEADLINE_MS)
    assert list(hosts.bridges()) == ["", second]
    (folders.settings / "hosts.json").write_text("{")
    qtbot.waitUntil(
        lambda: bool(list(folders.settings.glob("hosts-damaged-*"))), timeout=DEADLINE_MS
    )

    assert names() == ["two"]
    qtbot.waitUntil(lambda: len(HostStore(folders).hosts()) == 1, timeout=DEADLINE_MS)
    banner = app.workspace.banner(0.0)
    assert banner is not None
    assert "renamed" in banner.text
