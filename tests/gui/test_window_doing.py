"""Results of what the user does."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QAction, QFont, QFontMetrics, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QMenu, QMessageBox, QTreeView

from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.plots.qt.limit_handle import LimitHandle
from kmonitor.ui.settings.window_settings import WindowSettings
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.commands import (
    CommandStatus,
    ReloadArguments,
    SaveArguments,
    SetLimits,
)
from kmonitor_agent.wire.messages.unions import CommandReply
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import GIB, limit, made_up_run, reload_record

pytestmark = WINDOW


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    made.connect()
    made.tell_runs(made_up_run(), made_up_run("run2", name="other", started_wall_s=1.0))
    yield made
    made.close()


def button(window: DeskWindow, text: str) -> QAbstractButton:
    found = [b for b in window.window.findChildren(QAbstractButton) if text in b.text()]
    return next(b for b in found if b.isVisible())


def names(window: DeskWindow) -> list[str]:
    return [command.name for command in window.commands()]


def test_buttons_ask_the_run_and_say_that_it_waits(window: DeskWindow):
    QTest.mouseClick(button(window, "Save checkpoint"), Qt.MouseButton.LeftButton)
    QTest.mouseClick(button(window, "Pause"), Qt.MouseButton.LeftButton)
    window.settle()

    assert names(window) == ["save", "pause"]
    assert window.commands()[0].requested_by == "tester"
    assert not button(window, "Save checkpoint").isEnabled()


def test_keys_do_the_same(window: DeskWindow):
    QTest.keyClick(window.window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(window.window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)

    assert names(window) == ["reload", "save"]


def test_other_ways_to_save_and_reload_are_in_menus_that_keys_reach(window: DeskWindow):
    def menu_of(name: str) -> dict[str, QAction]:
        more = next(b for b in buttons if b.accessibleName() == f"More options: {name}")
        more.setFocus()
        QTest.keyClick(more, Qt.Key.Key_Return)
        (menu,) = (m for m in window.window.findChildren(QMenu) if m.isVisible())
        entries = {entry.text().partition("\t")[0]: entry for entry in menu.actions()}
        menu.close()
        return entries

    buttons = window.window.actions_panel.findChildren(QAbstractButton)
    window.window.activateWindow()
    reload = menu_of("Save + Clear + Reload")["Recreate the variables (recreate)"]
    assert "no tf.function in your code" in reload.toolTip()
    reload.trigger()
    menu_of("Save checkpoint")
    QTest.keyClick(
        window.window,
        Qt.Key.Key_S,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
    )
    window.settle()

    assert [command.args for command in window.commands()] == [
        ReloadArguments(mode="recreate"),
        SaveArguments(export=True),
    ]
    assert not button(window, "Save checkpoint").isEnabled()
    assert not any(b.isEnabled() for b in buttons if b.accessibleName().startswith("Other ways"))


def test_a_stop_is_asked_back_first(window: DeskWindow):
    QTest.keyClick(window.window, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    box = window.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    assert "resnet50-imagenet" in box.text()
    assert names(window) == []
    keep = next(b for b in box.buttons() if "Keep" in b.text())
    bold = QFont(keep.font())
    bold.setBold(True)
    assert keep.width() >= QFontMetrics(bold).horizontalAdvance("Keep running") + 16
    QTest.mouseClick(keep, Qt.MouseButton.LeftButton)
    assert names(window) == []

    QTest.mouseClick(button(window, "Stop training"), Qt.MouseButton.LeftButton)
    boxes = [b for b in window.window.findChildren(QMessageBox) if b.isVisible()]
    yes = next(b for b in boxes[-1].buttons() if "Stop" in b.text())
    QTest.mouseClick(yes, Qt.MouseButton.LeftButton)
    assert names(window) == ["stop"]


def test_a_dragged_grip_asks_for_the_limit_and_is_pending_until_confirmed(window: DeskWindow):
    assert window.board is not None
    chart = window.board.chart("ram")
    grip = chart.findChild(LimitHandle)
    assert isinstance(grip, LimitHandle)
    middle = QPointF(grip.rect().center())
    before = grip.y()
    QTest.mousePress(grip, Qt.MouseButton.LeftButton, pos=middle.toPoint())
    for _ in range(8):
        # QTest.mouseMove holds no button.
        event = QMouseEvent(
            QEvent.Type.MouseMove,
            QPointF(middle.x(), middle.y() + 4),
            QPointF(grip.mapToGlobal(QPointF(middle.x(), middle.y() + 4))),
            Qt.MouseButton.NoButton,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        window.qt.sendEvent(grip, event)
    QTest.mouseRelease(grip, Qt.MouseButton.LeftButton, pos=middle.toPoint())
    window.settle()

    assert grip.y() > before
    (asked,) = window.commands()
    assert isinstance(asked.args, SetLimits)
    new = asked.args.limits[0]
    assert (new.metric, new.action) == ("ram", "reload")
    pending = window.board.standard_charts.state("ram", 300).limit
    assert pending is not None
    assert pending.style == "pending"
    window.tell_runs(made_up_run(limits=[new]))
    confirmed = window.board.standard_charts.state("ram", 300).limit
    assert confirmed is not None
    assert confirmed.style == "in_force"
    assert confirmed.value == pytest.approx(new.value)


def test_the_cards_button_and_menu_set_and_remove_a_limit(window: DeskWindow):
    card = window.window.cards["graph"]
    small = next(b for b in card.findChildren(QAbstractButton) if "limit" in b.text())
    QTest.mouseClick(small, Qt.MouseButton.LeftButton)
    window.settle()
    assert not small.isVisible()

    window.tell_runs(made_up_run(limits=[limit("graph", 30_000.0)]))
    card.limit_removed.emit("graph")
    asked = window.commands()[-1].args
    assert isinstance(asked, SetLimits)
    assert (asked.metrics, asked.limits) == (["graph"], [])


def test_a_failed_limit_goes_back(window: DeskWindow):
    card = window.window.cards["ram"]
    card.limit_dropped.emit("ram", 90 * GIB)
    asked = window.commands()[-1]
    status = CommandStatus(id=asked.id, run="run1", name="set_limits", state="failed", why="no")
    window.desk.apply_message(CommandReply(request_id=1, status=status))
    window.settle()

    assert window.board is not None
    offered = window.board.standard_charts.state("ram", 300).limit
    assert offered is not None
    assert offered.style == "offered"


def test_the_switch_decides_what_a_limit_does(window: DeskWindow):
    window.tell_runs(made_up_run(limits=[limit()]))
    QTest.mouseClick(button(window, "Reload automatically"), Qt.MouseButton.LeftButton)

    asked = window.commands()[-1].args
    assert isinstance(asked, SetLimits)
    assert asked.limits[0].action == "notify"
    assert window.controller.settings(WindowSettings()).reloads is False


def test_runs_are_found_chosen_and_stepped_through(window: DeskWindow):
    QTest.keyClick(window.window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = window.window.run_tree.findChild(QLineEdit)
    assert isinstance(field, QLineEdit)
    QTest.keyClicks(field, "other")
    tree = window.window.run_tree.findChild(QTreeView)
    assert isinstance(tree, QTreeView)
    assert tree.model().rowCount(tree.model().index(0, 0)) == 1
    field.clear()
    assert tree.model().rowCount(tree.model().index(0, 0)) == 2

    QTest.keyClick(window.window, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert window.desk.run_store.selected == "run2"
    QTest.keyClick(window.window, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert window.desk.run_store.selected == "run1"
    place = tree.visualRect(tree.model().index(1, 0, tree.model().index(0, 0))).center()
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert window.desk.run_store.selected == "run2"


def test_axis_hold_and_zoom_change_the_view(window: DeskWindow):
    assert window.board is not None
    presenter = window.board.standard_charts
    QTest.mouseClick(button(window, "Seconds"), Qt.MouseButton.LeftButton)
    assert presenter.x_kind == "seconds"
    window.window.cards["ram"].range_zoomed.emit(100.0, 200.0)
    assert presenter.x_range() == (100.0, 200.0)
    assert button(window, "Frozen").isVisible()
    QTest.keyClick(window.window, Qt.Key.Key_Space)
    assert presenter.is_live
    QTest.mouseClick(button(window, "Live"), Qt.MouseButton.LeftButton)
    assert not presenter.is_live
    window.window.cards["ram"].zoom_reset.emit()
    assert presenter.is_live


def test_a_training_that_begins_takes_an_ended_run_away_only_from_who_does_not_look_closely():
    for is_zoomed in (False, True):
        window = DeskWindow()
        window.connect()
        window.tell_runs(made_up_run(state="finished"))
        if is_zoomed:
            window.window.cards["ram"].range_zoomed.emit(10.0, 20.0)
        window.tell_runs(made_up_run("run2"))
        selected = window.desk.run_store.selected
        window.close()
        assert selected == ("run1" if is_zoomed else "run2")


def test_the_crosshair_stands_on_all_charts(window: DeskWindow):
    assert window.board is not None
    window.window.cards["ram"].crosshair_moved.emit("ram", 20.0)
    assert all(window.board.chart(m).crosshair_x == 20.0 for m in window.window.cards)
    window.window.cards["ram"].crosshair_left.emit("ram")
    assert all(window.board.chart(m).crosshair_x is None for m in window.window.cards)


def test_the_log_is_filtered(window: DeskWindow):
    window.tell_events(
        events.Notice(t_s=1.0, level="warning", code="c", text="careful"), reload_record()
    )
    log = window.window.event_log
    assert log.list_view.model().rowCount() == 2
    QTest.mouseClick(button(window, "Warnings"), Qt.MouseButton.LeftButton)
    assert log.list_view.model().rowCount() == 1
    QTest.mouseClick(button(window, "Actions"), Qt.MouseButton.LeftButton)
    assert log.list_view.model().rowCount() == 1


def test_themes_change_at_once_and_are_remembered(window: DeskWindow):
    dark = window.window.grab().toImage().pixelColor(5, 300)
    window.use_theme("light")
    window.settle()
    light = window.window.grab().toImage().pixelColor(5, 300)

    assert dark.lightness() < 60
    assert light.lightness() > 200
    assert window.controller.settings(WindowSettings()).theme == "light"
    window.use_theme("system")
    assert window.theme.choice == "system"


def test_help_opens_the_guide(window: DeskWindow):
    QTest.keyClick(window.window, Qt.Key.Key_F1)
    guide = window.window.findChild(GuideWindow)

    assert isinstance(guide, GuideWindow)
    assert guide.isVisible()
    assert len(guide.reader.toPlainText()) > 200
    window.settle()
    assert guide.isActiveWindow()
    guide.open_page("../../../../etc/passwd")
    assert "missing" in guide.reader.toPlainText()
    guide.close()
