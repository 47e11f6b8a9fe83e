"""The window by keyboard alone: what has the focus is what a key presses."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLineEdit, QMessageBox, QTreeView

from kmonitor.ui.shortcuts import KEYS
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor_agent.wire.messages.commands import CommandStatus
from kmonitor_agent.wire.messages.unions import CommandReply
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import made_up_run

pytestmark = WINDOW


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    made.connect()
    made.tell_runs(made_up_run(actions=["save", "reload", "collect", "auto", "pause", "stop"]))
    made.window.activateWindow()
    yield made
    made.close()


def action(window: DeskWindow, name: str) -> QAbstractButton:
    buttons = window.window.actions_panel.findChildren(QAbstractButton)
    return next(b for b in buttons if b.accessibleName() == name)


def press(key: Qt.Key) -> None:
    """As a keyboard does: to whatever has the focus."""
    focused = QApplication.focusWidget()
    assert focused is not None
    QTest.keyClick(focused, key)


def names(window: DeskWindow) -> list[str]:
    return [command.name for command in window.commands()]


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_space_and_enter_press_the_button_that_has_the_focus(window: DeskWindow, key: Qt.Key):
    assert window.board is not None
    action(window, "Collect").setFocus()
    press(key)

    assert names(window) == ["collect"]
    assert window.board.standard_charts.is_live


def test_elsewhere_space_holds_the_charts(window: DeskWindow):
    assert window.board is not None
    press(Qt.Key.Key_Space)
    assert not window.board.standard_charts.is_live
    window.window.run_tree.findChildren(QTreeView)[0].setFocus()
    press(Qt.Key.Key_Space)
    assert window.board.standard_charts.is_live


@pytest.mark.parametrize("by_mouse", [True, False])
def test_a_button_that_was_pressed_keeps_the_focus_and_no_other_is_pressed_instead(
    window: DeskWindow, *, by_mouse: bool
):
    assert window.board is not None
    pause = action(window, "Pause")
    pause.setFocus()
    if by_mouse:
        QTest.mouseClick(pause, Qt.MouseButton.LeftButton)
    else:
        press(Qt.Key.Key_Space)
    window.settle()
    assert not pause.isEnabled()
    assert QApplication.focusWidget() is pause
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Return):
        press(key)

    assert names(window) == ["pause"]
    assert not window.window.findChildren(QMessageBox)
    assert window.board.standard_charts.is_live
    (asked,) = window.commands()
    told = CommandStatus(id=asked.id, run="run1", name="pause", state="done")
    window.desk.apply_message(CommandReply(request_id=1, status=told))
    window.settle()
    assert pause.isEnabled()
    assert pause.hasFocus()
    press(Qt.Key.Key_Space)
    assert names(window) == ["pause", "pause"]


def test_tab_goes_on_from_a_button_that_waits(window: DeskWindow):
    save = action(window, "Save checkpoint")
    save.setFocus()
    press(Qt.Key.Key_Return)
    window.settle()
    press(Qt.Key.Key_Tab)

    assert QApplication.focusWidget() is action(window, "Save + Clear + Reload")


def test_a_menu_that_was_used_leaves_the_focus_on_its_action(window: DeskWindow):
    more = action(window, "More options: Save checkpoint")
    more.setFocus()
    window.window.actions_panel.command_requested.emit("save", "export")
    window.settle()

    assert QApplication.focusWidget() is action(window, "Save checkpoint")


def test_every_action_has_a_key_of_its_own_that_its_tooltip_names(window: DeskWindow):
    buttons = window.window.actions_panel.findChildren(QAbstractButton)
    named = {b.accessibleName(): b.toolTip() for b in buttons if "Ctrl+" in b.toolTip()}
    keys = {name: text.rpartition("(")[2].rstrip(")") for name, text in named.items()}
    QTest.keyClick(
        window.window,
        Qt.Key.Key_A,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
    )
    QTest.keyClick(
        window.window,
        Qt.Key.Key_C,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
    )
    window.settle()

    assert names(window) == ["auto", "collect"]
    assert keys == {
        "Save checkpoint": "Ctrl+S",
        "Save + Clear + Reload": "Ctrl+R",
        "Collect": "Ctrl+Shift+C",
        "Auto": "Ctrl+Shift+A",
        "Pause": "Ctrl+P",
        "Stop training": "Ctrl+.",
    }
    assert "(Ctrl+Shift+C)" in action(window, "Collect").toolTip()


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("diagnose", "Diagnose: Not possible in this process."),
        ("restart", "Restart: Not possible in this process."),
        ("save", "Save checkpoint: Already requested; waiting for a safe point."),
        ("save_export", "Save checkpoint: Already requested; waiting for a safe point."),
        ("pause", ""),
    ],
)
def test_the_key_of_what_a_run_cannot_do_says_why(window: DeskWindow, key: str, said: str):
    window.window.actions_panel.command_requested.emit("save", "")
    window.settle()
    QTest.keySequence(window.window, QKeySequence(KEYS[key].keys))
    notes = [label.text() for label in window.window.status.findChildren(ElidedLabel)]

    assert notes == [said]
    assert names(window) == ["save"] + ["pause"] * (not said)


def test_the_keys_of_a_run_that_has_ended_say_so_and_those_of_no_run_nothing():
    window = DeskWindow()
    window.connect()
    window.window.actions_panel.show_blank(is_blank=True)
    QTest.keySequence(window.window, QKeySequence(KEYS["save"].keys))
    (note,) = window.window.status.findChildren(ElidedLabel)
    assert note.text() == ""
    window.tell_runs(made_up_run(state="finished", actions=["save"]))
    QTest.keySequence(window.window, QKeySequence(KEYS["stop"].keys))
    said = note.text()
    window.close()

    assert said == "Stop training: The run has ended (finished); no further actions are possible."


def test_a_search_changes_what_the_tree_shows_and_not_which_run_is_looked_at(window: DeskWindow):
    window.tell_runs(
        made_up_run("run1", name="resnet"),
        made_up_run("run2", name="vit", started_wall_s=2.0),
        made_up_run("run3", name="unet", started_wall_s=1.0),
    )
    window.desk.select("run1")
    window.settle()
    field = window.window.run_tree.findChildren(QLineEdit)[0]
    field.setFocus()

    QTest.keyClicks(field, "et")
    QTest.keyClicks(field, "x")
    field.clear()
    assert window.desk.run_store.selected == "run1"
    QTest.keyClicks(field, "unet")
    assert window.desk.run_store.selected == "run1"
    QTest.keyClick(field, Qt.Key.Key_Return)

    assert window.desk.run_store.selected == "run3"
    assert QApplication.focusWidget() is window.window.run_tree.findChildren(QTreeView)[0]
