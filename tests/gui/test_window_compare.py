"""Comparing runs in the window: chosen in the history, drawn, listed, copied and left out."""

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QTableView, QWidget

from kmonitor.ui.compare.qt.compare_view import ComparePanel
from kmonitor.ui.plots.qt.live_chart import LiveChart
from kmonitor.ui.theme.palettes import DARK, LIGHT
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import NOW_WALL_S, made_up_run

pytestmark = WINDOW

LONG = "a_model_with_a_name_of_eighty_letters_that_somebody_really_gave_to_a_run_of_hers"


def ended(run: str, **changed: Any) -> RunSummary:
    return made_up_run(run, **{"state": "finished", "actions": [], "name": run, **changed})


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    made.connect()
    runs = [
        ended(f"run{i}", name=LONG if i == 2 else f"exp-{i}", started_wall_s=NOW_WALL_S - 9e4 * i)
        for i in range(7)
    ]
    made.tell_runs(*runs)
    made.window.activateWindow()
    yield made
    made.close()


def page(window: DeskWindow) -> ComparePanel:
    return window.controller.history.comparison.panel


def button(parent: QWidget, name: str) -> QAbstractButton:
    return next(b for b in parent.findChildren(QAbstractButton) if b.accessibleName() == name)


def click(target: QWidget) -> None:
    QTest.mouseClick(target, Qt.MouseButton.LeftButton)


def compare(window: DeskWindow, n: int) -> None:
    """The first runs of the history, chosen by Shift and arrows, compared by a key."""
    window.controller.history.open()
    table = window.controller.history.panel.findChildren(QTableView)[0]
    table.selectRow(0)
    for _ in range(n - 1):
        QTest.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(table, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    window.answer()
    window.settle()


def heads(window: DeskWindow) -> list[str]:
    model = page(window).findChildren(QTableView)[0].model()
    return [
        str(model.headerData(at, Qt.Orientation.Horizontal))
        for at in range(1, model.columnCount())
    ]


def colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {
        QColor(image.pixel(x, y)).name()
        for x in range(image.width())
        for y in range(image.height())
    }


def test_selected_runs_are_compared_and_the_way_back_leads_to_the_history(window: DeskWindow):
    compare(window, 3)

    assert page(window).isVisible()
    assert heads(window) == ["exp-0", "exp-1", LONG]
    (chart,) = page(window).findChildren(LiveChart)
    assert chart.accessibleName() == "Comparison, RAM"
    assert chart.accessibleDescription().startswith("RAM: exp-0 ")

    focused = window.window.focusWidget()
    assert isinstance(focused, QTableView)
    QTest.keyClick(focused, Qt.Key.Key_Escape)
    assert window.controller.history.panel.isVisible()


def test_one_run_or_seven_cannot_be_compared_and_the_button_says_how_many(window: DeskWindow):
    compare(window, 1)
    assert not page(window).isVisible()
    compare(window, 7)
    assert not page(window).isVisible()

    strip = window.controller.history.panel.selection_bar
    assert not button(strip, "Compare").isEnabled()
    assert "two to six" in button(strip, "Compare").toolTip()


def test_each_run_is_drawn_in_the_colour_of_its_legend_in_both_themes(window: DeskWindow):
    compare(window, 3)
    (chart,) = page(window).findChildren(LiveChart)

    assert set(DARK.series[:3]) <= colours(chart)
    window.use_theme("light")
    window.settle()
    assert set(LIGHT.series[:3]) <= colours(chart)


def test_axis_and_metric_are_chosen_and_a_run_is_left_out(window: DeskWindow):
    compare(window, 3)
    (chart,) = page(window).findChildren(LiveChart)

    click(button(page(window), "Horizontal axis: Models"))
    click(button(page(window), "Metric: Graph size"))
    assert chart.accessibleName() == "Comparison, Graph size"
    click(button(page(window), "Horizontal axis: Time"))
    click(button(page(window), "Metric: Step time"))
    assert chart.accessibleName() == "Comparison, Step time"

    click(button(page(window), "Remove exp-1"))
    window.settle()
    assert heads(window) == ["exp-0", LONG]
    # Two are the fewest that can be compared.
    left = [b for b in page(window).findChildren(QAbstractButton) if b.isVisible()]
    assert not any(b.accessibleName().startswith("Leave out") for b in left)


def test_the_chart_has_a_crosshair_and_zooms(window: DeskWindow):
    compare(window, 2)
    (chart,) = page(window).findChildren(LiveChart)

    QTest.mouseMove(chart, QPoint(chart.width() // 2, chart.height() // 2))
    chart.crosshair_moved.emit(3.0)
    chart.range_zoomed.emit(5.0, 9.0)
    controller = window.controller.history.comparison
    assert controller.comparison is not None
    assert controller.comparison.state(300).x_range == (5.0, 9.0)
    chart.zoom_reset.emit()
    chart.crosshair_left.emit()
    assert controller.comparison.state(300).x_range[0] == 0.0


def test_the_table_is_copied_and_shortened_to_what_differs(window: DeskWindow):
    compare(window, 2)
    table = page(window).findChildren(QTableView)[0]
    n_all = table.model().rowCount()

    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    text = QGuiApplication.clipboard().text()
    assert text.splitlines()[0] == "\texp-0\texp-1"
    assert len(text.splitlines()) == n_all + 1
    click(button(page(window), "Differences only"))
    assert 0 < table.model().rowCount() < n_all
    index = table.model().index(0, 1)
    assert "exp-0" in str(index.data(Qt.ItemDataRole.AccessibleTextRole))
    assert str(index.data()) in str(index.data(Qt.ItemDataRole.ToolTipRole))


@pytest.mark.parametrize("size", [(1280, 760), (1000, 640)])
def test_six_runs_with_long_names_fit_a_small_window(window: DeskWindow, size: tuple[int, int]):
    window.window.resize(*size)
    compare(window, 6)

    assert page(window).width() <= size[0]
    (chart,) = page(window).findChildren(LiveChart)
    assert chart.height() >= 140
    table = page(window).findChildren(QTableView)[0]
    assert sum(table.columnWidth(at) for at in range(7)) <= table.viewport().width() + 1
    for each in page(window).findChildren(QAbstractButton):
        assert not each.isVisible() or each.accessibleName()


def test_a_run_that_lives_goes_on_and_one_that_is_deleted_leaves(window: DeskWindow):
    window.tell_runs(made_up_run("live", name="live", started_wall_s=NOW_WALL_S))
    compare(window, 3)
    assert heads(window)[0] == "live"

    told = window.desk.run_store.get("live")
    assert told is not None
    window.controller.history.comparison.open(["live", "run0"])
    window.settle()
    assert heads(window) == ["live", "exp-0"]
