"""The window without a mouse: a run is found, judged, acted on, compared, and exported."""

from collections.abc import Callable, Iterator

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from kmonitor.ui.report.qt.export_controller import ExportController
from kmonitor.ui.verdicts.qt.verdict_window import VerdictWindow
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import ACTIONS, GIB, limit, made_up_run, reload_record
from tests.support.made_up_verdicts import LEAK

pytestmark = WINDOW

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
PLAIN = Qt.KeyboardModifier.NoModifier
MOST_TABS = 60


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    made.connect()
    made.tell_runs(
        made_up_run(
            name="resnet50",
            actions=[*ACTIONS],
            limits=[limit("ram", 80 * GIB)],
            verdicts={"ram": "suspected"},
        ),
        made_up_run("run2", name="vit-b16", started_wall_s=2.0),
        made_up_run("run3", name="unet", state="finished", actions=[], started_wall_s=1.0),
    )
    made.tell_events(reload_record(), LEAK)
    made.desk.select("run2")
    made.settle()
    bring_up(made)
    yield made
    made.close()


@pytest.fixture
def export(window: DeskWindow) -> Iterator[ExportController]:
    controller = ExportController(window.window, window.desk, window.look)
    assert window.board is not None
    controller.attach(None, window.board)
    yield controller
    controller.stop()
    controller.deleteLater()


def bring_up(window: DeskWindow) -> None:
    """As the window manager does when another window was closed."""
    window.window.activateWindow()
    assert QTest.qWaitForWindowActive(window.window)


def press(key: Qt.Key, modifiers: Qt.KeyboardModifier = PLAIN) -> None:
    """As a keyboard does: to what has the focus."""
    target = QApplication.focusWidget() or QApplication.activeWindow()
    target = target or QApplication.activeModalWidget()
    assert target is not None
    QTest.keyClick(target, key, modifiers)
    QApplication.processEvents()


def write(text: str) -> None:
    """Letter by letter, to what has the focus."""
    target = QApplication.focusWidget()
    assert target is not None
    QTest.keyClicks(target, text)


def tab_to(is_there: Callable[[QWidget], bool]) -> None:
    """Press Tab until this has the focus."""
    for _ in range(MOST_TABS):
        press(Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        if focused is not None and is_there(focused):
            return
    pytest.fail("Tab does not lead there")


def named(words: str) -> Callable[[QWidget], bool]:
    """True if a control's name begins with these words."""
    return lambda widget: widget.accessibleName().startswith(words)


def test_all_is_done_without_a_mouse(window: DeskWindow, export: ExportController) -> None:
    find_and_select(window)
    open_the_verdict_and_collect(window)
    save_a_checkpoint(window)
    compare_two_of_the_history(window)
    assert file_of_an_export(export).endswith(".csv")

    # The key that closes a window is the window manager's; it ends here.
    window.window.close()
    assert not window.window.isVisible()


def find_and_select(window: DeskWindow) -> None:
    """By a part of its name."""
    press(Qt.Key.Key_F, CTRL)
    write("resnet")
    press(Qt.Key.Key_Return)
    assert window.desk.run_store.selected == "run1"
    window.answer()
    window.settle()


def open_the_verdict_and_collect(window: DeskWindow) -> None:
    """From the card to its evidence, to what may help, and back."""
    tab_to(lambda widget: "leak suspected" in widget.accessibleName().casefold())
    press(Qt.Key.Key_Space)
    sheet = QApplication.activeWindow()
    assert isinstance(sheet, VerdictWindow)
    tab_to(named("Collect"))
    press(Qt.Key.Key_Space)
    assert [command.name for command in window.commands()] == ["collect"]
    press(Qt.Key.Key_Escape)
    assert not sheet.isVisible()


def save_a_checkpoint(window: DeskWindow) -> None:
    """By its key."""
    bring_up(window)
    press(Qt.Key.Key_S, CTRL)
    assert [command.name for command in window.commands()] == ["collect", "save"]


def compare_two_of_the_history(window: DeskWindow) -> None:
    """There and back to the charts."""
    press(Qt.Key.Key_H, CTRL | SHIFT)
    pages = window.controller.history
    assert pages.panel.isVisible()
    press(Qt.Key.Key_Home, CTRL)
    press(Qt.Key.Key_Down, SHIFT)
    assert len(pages.panel.selected()) == 2
    press(Qt.Key.Key_K, CTRL)
    window.answer()
    window.settle()
    assert pages.comparison.panel.isVisible()
    press(Qt.Key.Key_Escape)
    press(Qt.Key.Key_Escape)
    assert not pages.panel.isVisible()


def file_of_an_export(export: ExportController) -> str:
    """The requested file; the field of its name has the focus."""
    asked: list[str] = []
    export.export_to = asked.append  # type: ignore[method-assign]
    press(Qt.Key.Key_E, CTRL)
    assert isinstance(QApplication.activeModalWidget(), QFileDialog)
    press(Qt.Key.Key_Return)
    assert len(asked) == 1
    return asked[0]


def test_a_question_is_answered_by_keys(window: DeskWindow) -> None:
    window.desk.select("run1")
    window.settle()
    press(Qt.Key.Key_Period, CTRL)
    box = QApplication.activeModalWidget()
    assert box is not None
    press(Qt.Key.Key_Escape)
    assert window.commands() == []

    bring_up(window)
    press(Qt.Key.Key_Period, CTRL)
    press(Qt.Key.Key_Tab)
    press(Qt.Key.Key_Return)
    assert [msgspec.structs.asdict(command)["name"] for command in window.commands()] == ["stop"]
