"""Charts are added, moved by pointer and menu, smoothed, removed, and remembered."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import cast

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QWidget

from kmonitor.ui.charts.arrangement import ChartSetup
from kmonitor.ui.charts.qt.chart_card import ChartCard
from kmonitor.ui.settings.window_settings import WindowSettings, load_settings, save_settings
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor_agent.wire.messages.events import EpochEnded, Sample
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import made_up_run

pytestmark = WINDOW

FOUR = ("vram", "ram", "graph", "step_time")


def made(
    settings: WindowSettings | None = None, size: tuple[int, int] = (1280, 760)
) -> DeskWindow:
    window = DeskWindow(settings=settings, size=size)
    window.connect()
    window.tell_runs(made_up_run())
    window.tell_events(
        EpochEnded(t_s=3700.0, fit=1, epoch=36, seconds=9.0, logs={"loss": 0.5, "val_loss": 0.7}),
        Sample(t_s=3721.0, ram_bytes=1e9, device_temperature_c=61.0),
    )
    return window


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    window = made()
    yield window
    window.close()


def shown(window: DeskWindow) -> tuple[str, ...]:
    return window.controller.arrangement_controller.arrangement.keys


def card(window: DeskWindow, key: str) -> ChartCard:
    return window.window.charts.card(key)


def open_menu(window: DeskWindow) -> QMenu:
    """The menu that was opened last, which is shown now."""
    window.settle()
    menu = cast("QMenu", QApplication.activePopupWidget())
    assert isinstance(menu, QMenu)
    return menu


def entry(menu: QMenu, title: str) -> QAction:
    for action in menu.actions():
        inner = cast("QMenu | None", action.menu())
        if action.text() == title:
            return action
        if inner is not None:
            for deeper in inner.actions():
                if deeper.text() == title:
                    return deeper
    raise AssertionError(f"{title} is not in the menu")


def choose(menu: QMenu, title: str) -> None:
    entry(menu, title).trigger()
    menu.close()


def card_menu(window: DeskWindow, key: str) -> QMenu:
    buttons = card(window, key).findChildren(QPushButton)
    next(b for b in buttons if b.accessibleName().endswith(" menu")).click()
    return open_menu(window)


def send(widget: QWidget, kind: QEvent.Type, at: QPoint) -> None:
    button = Qt.MouseButton.LeftButton
    held = Qt.MouseButton.NoButton if kind == QEvent.Type.MouseButtonRelease else button
    inside = QPointF(widget.mapFromGlobal(at))
    event = QMouseEvent(kind, inside, QPointF(at), button, held, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, event)


def test_a_chart_is_added_by_key_and_shows_what_the_run_told(window: DeskWindow):
    QTest.keyClick(window.window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    choose(open_menu(window), "loss")
    window.answer()
    window.tell_events(EpochEnded(t_s=3722.0, fit=1, epoch=37, seconds=9.0, logs={"loss": 0.4}))

    assert shown(window) == (*FOUR, "log:loss")
    assert window.board is not None
    picture = window.board.card("log:loss", now_s=0.0)
    assert picture is not None
    assert picture.value == "0.4"
    assert window.window.charts.is_in_sight("log:loss")
    assert card(window, "log:loss").isVisible()


def test_the_menu_lists_only_what_the_run_has(window: DeskWindow):
    QTest.keyClick(window.window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    menu = open_menu(window)
    titles = [action.text() for action in menu.actions()]
    menu.close()

    assert {"VRAM", "RAM", "loss", "GPU temperature"} <= set(titles)
    assert not {"val_loss", "GPU power", "accuracy"} & set(titles)


def test_a_card_is_dragged_to_another_place(window: DeskWindow):
    start = card(window, "vram").mapToGlobal(QPoint(60, 14))
    end = card(window, "graph").mapToGlobal(card(window, "graph").rect().center())
    send(card(window, "vram"), QEvent.Type.MouseButtonPress, start)
    send(card(window, "vram"), QEvent.Type.MouseMove, start + QPoint(30, 30))
    send(card(window, "vram"), QEvent.Type.MouseMove, end)
    assert card(window, "graph").property("is_target")
    send(card(window, "vram"), QEvent.Type.MouseButtonRelease, end)
    window.settle()

    assert shown(window) == ("ram", "graph", "vram", "step_time")
    assert not card(window, "graph").property("is_target")
    assert card(window, "ram").y() == card(window, "graph").y()
    assert card(window, "ram").x() < card(window, "graph").x()


def test_a_click_on_a_card_moves_nothing(window: DeskWindow):
    QTest.mouseClick(card(window, "vram"), Qt.MouseButton.LeftButton, pos=QPoint(60, 14))

    assert shown(window) == FOUR


def test_the_menu_of_a_card_moves_removes_and_resets(window: DeskWindow):
    choose(card_menu(window, "ram"), "Move left")
    assert shown(window) == ("ram", "vram", "graph", "step_time")
    choose(card_menu(window, "graph"), "Remove this chart")
    assert shown(window) == ("ram", "vram", "step_time")
    assert not card(window, "graph").isVisible()
    choose(card_menu(window, "ram"), "Restore default charts")
    window.settle()

    assert shown(window) == FOUR
    assert card(window, "graph").isVisible()


def test_smoothing_and_the_axis_are_chosen_in_the_menu(window: DeskWindow):
    window.controller.arrangement_controller.add("log:loss")
    window.answer()
    window.settle()
    choose(card_menu(window, "log:loss"), "0.9")
    choose(card_menu(window, "log:loss"), "Logarithmic axis")
    window.settle()

    setup = window.controller.arrangement_controller.arrangement.setup("log:loss")
    assert (setup.smoothing, setup.is_log) == (0.9, True)
    menu = card_menu(window, "ram")
    texts = [action.text() for action in menu.actions()]
    menu.close()
    assert "Smoothing" not in texts


def test_the_arrangement_is_remembered(window: DeskWindow, tmp_path: Path):
    changes: list[None] = []
    window.controller.settings_changed.connect(lambda: changes.append(None))
    window.controller.arrangement_controller.add("log:loss")
    window.controller.arrangement_controller.change("log:loss", smoothing=0.6)
    window.controller.arrangement_controller.remove("vram")
    save_settings(tmp_path, window.controller.settings(WindowSettings()))

    loaded = load_settings(tmp_path)
    assert len(changes) == 3
    assert loaded.charts == (
        *(ChartSetup(key) for key in FOUR[1:]),
        ChartSetup("log:loss", smoothing=0.6),
    )
    again = made(loaded)
    assert shown(again) == ("ram", "graph", "step_time", "log:loss")
    again.close()


def test_settings_of_before_have_the_usual_four():
    old = msgspec.json.decode(b'{"theme":"dark"}', type=WindowSettings)

    assert old.charts is None


def test_charts_out_of_sight_are_not_drawn_until_they_come_back():
    charts = (*(ChartSetup(key) for key in FOUR), *(ChartSetup(f"log:m{n}") for n in range(5)))
    window = made(WindowSettings(charts=charts))
    window.answer()
    board, last = window.board, "log:m4"
    assert board is not None
    drawn: list[str] = []
    picture = board.state
    board.state = lambda key, width_px: (drawn.append(key), picture(key, width_px))[1]
    board.refresh()
    assert "vram" in drawn
    assert last not in drawn

    drawn.clear()
    window.window.charts.scroll_to(last)
    assert last in drawn
    assert "vram" not in drawn
    window.close()


def test_more_charts_stand_in_three_columns_on_a_wide_screen():
    charts = (*(ChartSetup(key) for key in FOUR), ChartSetup("log:loss"), ChartSetup("log:auc"))
    window = made(WindowSettings(charts=charts), size=(1920, 1080))
    window.settle()
    wide = {card(window, setup.key).x() for setup in charts}
    window.window.resize(1280, 760)
    window.settle()
    narrow = {card(window, setup.key).x() for setup in charts}
    window.close()

    assert (len(wide), len(narrow)) == (3, 2)


def test_tab_goes_from_card_to_card_as_they_stand(window: DeskWindow):
    window.controller.arrangement_controller.add("log:loss")
    window.controller.arrangement_controller.step("log:loss", -3)
    window.window.activateWindow()
    window.settle()
    passed: list[str] = []
    window.window.header.add_chart.setFocus()
    for _ in range(60):
        QTest.keyClick(window.window.focusWidget(), Qt.Key.Key_Tab)
        focused = window.window.focusWidget()
        if window.window.records.isAncestorOf(focused):
            break
        cards = (key for key in shown(window) if card(window, key).isAncestorOf(focused))
        passed.append(next(cards, ""))
    order = [key for key, _ in groupby(passed) if key]

    assert order == [*shown(window)]
    assert order[1] == "log:loss"


def test_every_control_of_a_chart_has_a_name(window: DeskWindow):
    window.controller.arrangement_controller.add("log:loss")
    window.settle()

    buttons = card(window, "log:loss").findChildren(QPushButton)
    assert all(b.accessibleName() for b in buttons if b.isVisible())
    assert window.window.header.add_chart.accessibleName() == "Add a chart"


def test_what_stands_above_a_chart_loses_whole_parts_where_there_is_no_room():
    label = ElidedLabel(
        "strong", "best 0.19, epoch 36 \u00b7 +0.09", at_end=True, elides_parts=True
    )
    width = label.fontMetrics().horizontalAdvance(label.text())

    label.resize(width + 8, 20)
    assert label.shown_text() == label.text()
    label.resize(width - 4, 20)
    assert label.shown_text() == "best 0.19, epoch 36"
    assert label.full_tooltip() == label.text()
    label.resize(width // 2, 20)
    assert label.shown_text().endswith("\u2026")
