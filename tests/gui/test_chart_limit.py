"""The limit line: dragged with the mouse, moved with keys, reported to assistive technology."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from kmonitor.ui.plots.chart_state import LimitLineState
from kmonitor.ui.plots.qt.limit_handle import LimitHandle
from kmonitor.ui.plots.qt.live_chart import LiveChart
from tests.support.charts import GIB, Mouse, picture, shown_chart
from tests.support.waiting import DEADLINE_MS

pytestmark = pytest.mark.gui

LIMIT = LimitLineState(72 * GIB, "limit 72 GiB")


@pytest.fixture
def chart(qtbot: QtBot) -> LiveChart:
    return shown_chart(qtbot, picture(limit=LIMIT))


@pytest.fixture
def heard(chart: LiveChart) -> dict[str, list[float]]:
    said: dict[str, list[float]] = {"dragged": [], "dropped": []}
    chart.limit_dragged.connect(said["dragged"].append)
    chart.limit_dropped.connect(said["dropped"].append)
    return said


def grip_of(chart: LiveChart) -> LimitHandle:
    grip = chart.findChild(LimitHandle)
    assert grip is not None
    return grip


def line_y(chart: LiveChart) -> float:
    grip = grip_of(chart)
    return grip.y() + grip.height() / 2


def test_dragging_the_grip_tells_values_on_the_way_and_one_at_the_end(
    chart: LiveChart, heard: dict[str, list[float]]
):
    mouse, grip = Mouse(grip_of(chart)), grip_of(chart)
    middle = grip.height() / 2
    mouse.press(15, middle)
    mouse.move(15, middle + 20)
    assert chart.is_limit_held()
    # The grip has followed: the pointer is in its middle again.
    mouse.move(15, middle + 20)
    mouse.release(15, middle)

    assert heard["dragged"][0] < 72 * GIB
    assert heard["dragged"][1] < heard["dragged"][0]
    assert heard["dropped"] == [heard["dragged"][-1]]
    assert not chart.is_limit_held()


def test_line_stays_under_the_pointer(chart: LiveChart):
    y, mouse = line_y(chart), Mouse(chart)
    mouse.press(200, y)
    for step in range(0, 60, 7):
        mouse.move(200, y + step)
        assert line_y(chart) == pytest.approx(y + step, abs=2)
    mouse.release(200, y + 56)


def test_line_is_taken_anywhere_along_its_length(chart: LiveChart, heard: dict[str, list[float]]):
    y, mouse = line_y(chart), Mouse(chart)
    mouse.press(150, y + 2)
    mouse.move(150, y + 42)
    mouse.release(150, y + 42)

    assert len(heard["dropped"]) == 1
    assert heard["dropped"][0] < 65 * GIB


def test_pointer_near_the_line_says_that_it_can_be_moved(chart: LiveChart):
    mouse, y = Mouse(chart), line_y(chart)
    mouse.move(150, y)
    assert chart.cursor().shape() == Qt.CursorShape.SizeVerCursor
    mouse.move(150, y + 60)

    assert chart.cursor().shape() == Qt.CursorShape.ArrowCursor
    assert grip_of(chart).cursor().shape() == Qt.CursorShape.SizeVerCursor


def test_limit_can_be_dragged_above_the_top_of_the_plot(
    chart: LiveChart, heard: dict[str, list[float]]
):
    mouse, y = Mouse(chart), line_y(chart)
    mouse.press(150, y)
    mouse.move(150, y - 150)
    mouse.release(150, y - 150)

    assert heard["dropped"][0] > 100 * GIB
    assert line_y(chart) > 0


def test_limit_never_falls_to_nothing(chart: LiveChart, heard: dict[str, list[float]]):
    mouse, y = Mouse(chart), line_y(chart)
    mouse.press(150, y)
    mouse.move(150, 5_000)
    mouse.release(150, 5_000)

    assert heard["dropped"][0] > 0


def test_dragged_value_is_round_and_stands_in_the_label(chart: LiveChart):
    mouse, y = Mouse(chart), line_y(chart)
    mouse.press(150, y)
    mouse.move(150, y + 33)
    name = grip_of(chart).accessibleName()
    mouse.release(150, y + 33)

    assert name.startswith("RAM limit ")
    assert name.endswith("GiB")
    assert name != "RAM limit 72 GiB"


def test_pictures_that_arrive_during_a_drag_do_not_move_the_line(chart: LiveChart):
    mouse, y = Mouse(chart), line_y(chart)
    mouse.press(150, y)
    mouse.move(150, y + 40)
    chart.set_state(picture(limit=LIMIT))

    assert line_y(chart) == pytest.approx(y + 40, abs=2)
    mouse.release(150, y + 40)


def test_after_the_drop_the_next_picture_counts(chart: LiveChart):
    mouse, y = Mouse(chart), line_y(chart)
    mouse.press(150, y)
    mouse.move(150, y + 40)
    mouse.release(150, y + 40)
    assert line_y(chart) == pytest.approx(y + 40, abs=2)
    chart.set_state(picture(limit=LIMIT))

    assert line_y(chart) == pytest.approx(y, abs=2)


def test_press_and_release_without_moving_asks_for_nothing(
    chart: LiveChart, heard: dict[str, list[float]]
):
    mouse, y = Mouse(chart), line_y(chart)
    mouse.press(150, y)
    mouse.release(150, y)

    assert heard == {"dragged": [], "dropped": []}


def test_arrow_keys_move_it_and_enter_sets_it(chart: LiveChart, heard: dict[str, list[float]]):
    grip = grip_of(chart)
    QTest.keyClick(grip, Qt.Key.Key_Up)
    QTest.keyClick(grip, Qt.Key.Key_PageUp)
    QTest.keyClick(grip, Qt.Key.Key_Down)
    assert heard["dropped"] == []
    QTest.keyClick(grip, Qt.Key.Key_Return)

    first, second, third = heard["dragged"]
    assert 72 * GIB < first < third < second
    assert heard["dropped"] == [third]


def test_escape_puts_the_line_back(chart: LiveChart, heard: dict[str, list[float]]):
    grip, y = grip_of(chart), line_y(chart)
    QTest.keyClick(grip, Qt.Key.Key_PageDown)
    QTest.keyClick(grip, Qt.Key.Key_Escape)

    assert heard["dropped"] == []
    assert line_y(chart) == y
    assert not chart.is_limit_held()


def test_keys_count_by_themselves_after_a_while(
    chart: LiveChart, heard: dict[str, list[float]], qtbot: QtBot
):
    with qtbot.waitSignal(chart.limit_dropped, timeout=DEADLINE_MS):
        QTest.keyClick(grip_of(chart), Qt.Key.Key_Up)

    assert heard["dropped"] == heard["dragged"]


def test_other_keys_are_left_to_the_window(chart: LiveChart, heard: dict[str, list[float]]):
    QTest.keyClick(grip_of(chart), Qt.Key.Key_A)

    assert heard["dragged"] == []


def test_grip_is_reached_by_keyboard_and_announced(chart: LiveChart):
    grip = grip_of(chart)
    described = QAccessible.queryAccessibleInterface(grip)

    assert grip.focusPolicy() == Qt.FocusPolicy.StrongFocus
    assert described.text(QAccessible.Text.Name) == "RAM limit 72 GiB"
    assert "Up and Down" in described.text(QAccessible.Text.Description)


def test_focus_by_keyboard_draws_a_ring(chart: LiveChart):
    grip = grip_of(chart)
    chart.setFocus()
    without = grip.grab().toImage()
    grip.setFocus(Qt.FocusReason.TabFocusReason)
    with_ring = grip.grab().toImage()
    chart.setFocus()
    grip.setFocus(Qt.FocusReason.MouseFocusReason)

    assert with_ring != without
    assert grip.grab().toImage() == without


def test_limit_that_may_not_be_changed_has_no_grip(
    chart: LiveChart, heard: dict[str, list[float]]
):
    y = line_y(chart)
    chart.set_state(picture(limit=LimitLineState(72 * GIB, "limit", is_draggable=False)))
    mouse = Mouse(chart)
    mouse.press(150, y)
    mouse.move(150, y + 30)
    mouse.release(150, y + 30)

    assert not grip_of(chart).isVisible()
    assert heard["dragged"] == []


def test_limit_taken_away_while_it_is_dragged_ends_the_drag(
    chart: LiveChart, heard: dict[str, list[float]]
):
    mouse, y = Mouse(chart), line_y(chart)
    mouse.press(150, y)
    mouse.move(150, y + 30)
    chart.set_state(picture())
    mouse.move(150, y + 40)
    mouse.release(150, y + 40)

    assert heard["dropped"] == []


def test_grip_keys_do_nothing_without_a_limit(qtbot: QtBot):
    chart = shown_chart(qtbot, picture())
    grip_of(chart).stepped.emit(1)
    grip_of(chart).grabbed.emit(10.0)
    grip_of(chart).moved.emit(20.0)

    assert not chart.is_limit_held()
