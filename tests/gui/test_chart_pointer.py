"""Crosshair, zoom, pan, keys and tooltips of a chart."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QFocusEvent, QHelpEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from kmonitor.ui.plots.chart_state import (
    ChartState,
    CrosshairCard,
    CrosshairRow,
    FlagState,
    GapState,
)
from kmonitor.ui.plots.qt.live_chart import LiveChart, tooltip_at
from kmonitor.ui.plots.qt.scene import Scene
from tests.support.charts import GIB, Mouse, curve, image_of, picture, shown_chart

pytestmark = pytest.mark.gui

CARD = CrosshairCard(
    "epoch 20",
    (
        CrosshairRow(0, "run-a", 30 * GIB, "30.0 GiB"),
        CrosshairRow(1, "a name much too long for any card " * 3, None, "\u2013"),
    ),
)


@pytest.fixture
def chart(qtbot: QtBot) -> LiveChart:
    return shown_chart(qtbot, picture())


def scene_of(chart: LiveChart) -> Scene:
    return chart.scene


def x_px(chart: LiveChart, x: float) -> float:
    return scene_of(chart).frame.x_px(x)


def test_pointer_in_the_plot_tells_where_it_stands(chart: LiveChart, qtbot: QtBot):
    with qtbot.waitSignal(chart.crosshair_moved) as moved:
        Mouse(chart).move(x_px(chart, 20.0), 150)

    assert moved.args is not None
    assert moved.args[0] == pytest.approx(20.0, abs=0.1)


def test_pointer_beside_the_plot_or_away_ends_the_crosshair(chart: LiveChart, qtbot: QtBot):
    with qtbot.waitSignal(chart.crosshair_left):
        Mouse(chart).move(2, 150)
    with qtbot.waitSignal(chart.crosshair_left):
        QApplication.sendEvent(chart, QEvent(QEvent.Type.Leave))


def test_crosshair_draws_line_dots_and_card_and_goes_without_a_trace(chart: LiveChart):
    bare = image_of(chart)
    chart.set_crosshair(20.0, CARD)
    with_card = image_of(chart)
    chart.set_crosshair(20.0, CrosshairCard("epoch 20", CARD.lines, is_shown=False))
    without_card = image_of(chart)
    chart.set_crosshair(None)

    assert with_card != bare
    assert without_card != with_card
    assert without_card != bare
    assert image_of(chart) == bare


def test_crosshair_at_the_right_edge_has_its_card_inside_the_chart(chart: LiveChart):
    chart.set_crosshair(39.9, CARD)
    left_part = image_of(chart).copy(150, 0, 200, 280)
    chart.set_crosshair(None)

    assert image_of(chart).copy(150, 0, 200, 280) != left_part


def test_crosshair_outside_of_what_is_shown_is_not_drawn(chart: LiveChart):
    bare = image_of(chart)
    chart.set_crosshair(1_000.0, CARD)

    assert image_of(chart) == bare


def test_card_with_more_runs_than_fit_says_how_many_are_left_out(chart: LiveChart):
    lines = tuple(CrosshairRow(i, f"run {i}", i * GIB, "x") for i in range(40))
    chart.set_crosshair(20.0, CrosshairCard("epoch 20", lines))
    many = image_of(chart)
    chart.set_crosshair(20.0, CrosshairCard("epoch 20", lines[:39]))

    assert image_of(chart) != many


def test_wheel_zooms_around_the_pointer(chart: LiveChart, qtbot: QtBot):
    with qtbot.waitSignal(chart.range_zoomed) as asked:
        wheel(chart, QPointF(x_px(chart, 10.0), 100), 120)

    assert asked.args is not None
    lo, hi = asked.args
    assert hi - lo == pytest.approx(40.0 * 0.8)
    assert (10.0 - lo) / (hi - lo) == pytest.approx(0.25, abs=0.01)


def test_sideways_wheel_zooms_nothing(chart: LiveChart, qtbot: QtBot):
    with qtbot.assertNotEmitted(chart.range_zoomed):
        wheel(chart, QPointF(200, 100), 0)


def test_dragging_the_plot_shifts_the_range(chart: LiveChart, qtbot: QtBot):
    mouse = Mouse(chart)
    mouse.press(x_px(chart, 20.0), 200)
    with qtbot.waitSignal(chart.range_zoomed) as asked:
        mouse.move(x_px(chart, 10.0), 200)
    mouse.release(x_px(chart, 10.0), 200)

    assert asked.args is not None
    assert asked.args == [pytest.approx(10.0), pytest.approx(50.0)]


def test_click_without_moving_shifts_nothing(chart: LiveChart, qtbot: QtBot):
    mouse = Mouse(chart)
    with qtbot.assertNotEmitted(chart.range_zoomed):
        mouse.press(200, 200)
        mouse.move(202, 200)
        mouse.release(202, 200)
        mouse.press(2, 200)
        mouse.move(100, 200)
        mouse.release(100, 200)


def test_double_click_and_key_0_ask_for_the_whole_range(chart: LiveChart, qtbot: QtBot):
    with qtbot.waitSignal(chart.zoom_reset):
        Mouse(chart).double_click(200, 200)
    with qtbot.waitSignal(chart.zoom_reset):
        QTest.keyClick(chart, Qt.Key.Key_0)


def test_plus_and_minus_zoom_around_crosshair_or_middle(chart: LiveChart, qtbot: QtBot):
    with qtbot.waitSignal(chart.range_zoomed) as nearer:
        QTest.keyClick(chart, Qt.Key.Key_Plus)
    chart.set_crosshair(0.0)
    with qtbot.waitSignal(chart.range_zoomed) as farther:
        QTest.keyClick(chart, Qt.Key.Key_Minus)

    assert nearer.args == [pytest.approx(4.0), pytest.approx(36.0)]
    assert farther.args == [pytest.approx(0.0), pytest.approx(50.0)]


def test_left_and_right_move_the_crosshair(chart: LiveChart, qtbot: QtBot):
    chart.set_crosshair(20.0)
    with qtbot.waitSignal(chart.crosshair_moved) as left:
        QTest.keyClick(chart, Qt.Key.Key_Left)
    with qtbot.waitSignal(chart.crosshair_moved) as right:
        QTest.keyClick(chart, Qt.Key.Key_Right)
    chart.set_crosshair(None)
    with qtbot.waitSignal(chart.crosshair_moved) as from_the_end:
        QTest.keyClick(chart, Qt.Key.Key_Left)

    assert left.args is not None
    assert right.args is not None
    assert from_the_end.args is not None
    assert left.args[0] < 20.0 < right.args[0]
    assert from_the_end.args[0] > 39.0


def test_focus_by_keyboard_draws_a_ring_and_losing_it_ends_the_crosshair(
    chart: LiveChart, qtbot: QtBot
):
    gives_focus(chart, QEvent.Type.FocusOut)
    bare = image_of(chart)
    gives_focus(chart, QEvent.Type.FocusIn)
    with_ring = image_of(chart)
    with qtbot.waitSignal(chart.crosshair_left):
        gives_focus(chart, QEvent.Type.FocusOut)

    assert with_ring != bare
    assert image_of(chart) == bare


def test_other_keys_and_buttons_are_left_to_the_window(chart: LiveChart, qtbot: QtBot):
    with qtbot.assertNotEmitted(chart.range_zoomed):
        QTest.keyClick(chart, Qt.Key.Key_A)
        QTest.mouseClick(chart, Qt.MouseButton.RightButton, pos=QPoint(200, 200))


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_flags_and_gaps_say_what_they_are(qtbot: QtBot):
    chart = shown_chart(
        qtbot,
        ChartState(
            "bytes",
            "epochs",
            (0.0, 40.0),
            (curve(),),
            flags=(FlagState(10.0, "reload", "gave back 2 GiB"),),
            gaps=(GapState(20.0, 25.0, "events were lost"),),
        ),
    )
    scene = scene_of(chart)

    assert tooltip_at(scene, QPointF(x_px(chart, 10.0) + 20, 14)) == "gave back 2 GiB"
    assert tooltip_at(scene, QPointF(x_px(chart, 10.0), 150)) == "gave back 2 GiB"
    assert tooltip_at(scene, QPointF(x_px(chart, 22.0), 150)) == "events were lost"
    assert tooltip_at(scene, QPointF(x_px(chart, 35.0), 150)) == ""
    ask_tooltip(chart, QPoint(round(x_px(chart, 22.0)), 150))
    assert QToolTip.text() == "events were lost"
    ask_tooltip(chart, QPoint(round(x_px(chart, 35.0)), 150))
    QToolTip.hideText()


def gives_focus(chart: LiveChart, kind: QEvent.Type) -> None:
    QApplication.sendEvent(chart, QFocusEvent(kind, Qt.FocusReason.TabFocusReason))


def ask_tooltip(chart: LiveChart, at: QPoint) -> None:
    QApplication.sendEvent(chart, QHelpEvent(QEvent.Type.ToolTip, at, chart.mapToGlobal(at)))


def wheel(chart: LiveChart, at: QPointF, delta: int) -> None:
    event = QWheelEvent(
        at,
        QPointF(chart.mapToGlobal(at)),
        QPoint(0, 0),
        QPoint(0, delta),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,  # noqa: FBT003 - Qt's positional argument
    )
    QApplication.sendEvent(chart, event)
