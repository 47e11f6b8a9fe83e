"""The layout is the user's: dragged, remembered, and bounded on a smaller screen."""

from collections.abc import Iterator

import msgspec
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from kmonitor.ui.settings.window_settings import TableLayout, WindowSettings
from kmonitor.ui.widgets.buttons import SegmentedControl
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import made_up_run
from tests.support.made_up_verdicts import LEAK

pytestmark = WINDOW


def opened(**wanted: object) -> DeskWindow:
    made = DeskWindow(**wanted)  # type: ignore[arg-type]
    made.connect()
    made.tell_runs(made_up_run())
    return made


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = opened()
    yield made
    made.close()


def mouse(kind: QEvent.Type, at: QPointF, *, is_down: bool) -> QMouseEvent:
    left = Qt.MouseButton.LeftButton
    down = left if is_down else Qt.MouseButton.NoButton
    return QMouseEvent(kind, QPointF(1, 1), at, left, down, Qt.KeyboardModifier.NoModifier)


def drag(edge: QWidget, x: int, y: int) -> None:
    """As a hand does: pressed, moved in two steps, let go."""
    start = QPointF(400, 400)
    for kind, at in (
        (QEvent.Type.MouseButtonPress, start),
        (QEvent.Type.MouseMove, start + QPointF(x / 2, y / 2)),
        (QEvent.Type.MouseMove, start + QPointF(x, y)),
        (QEvent.Type.MouseButtonRelease, start + QPointF(x, y)),
    ):
        is_down = kind != QEvent.Type.MouseButtonRelease
        QApplication.sendEvent(edge, mouse(kind, at, is_down=is_down))


def test_edges_are_dragged_and_what_was_chosen_is_there_at_the_next_start(
    window: DeskWindow,
) -> None:
    told: list[int] = []
    window.controller.settings_changed.connect(lambda: told.append(1))
    edges, main = window.window.panel_sizes.edges, window.window
    before = (main.run_tree.width(), main.actions_panel.width(), main.records.height())
    drag(edges["left"], 40, 0)
    drag(edges["right"], -30, 0)
    drag(edges["below"], 0, -50)
    window.settle()
    after = (main.run_tree.width(), main.actions_panel.width(), main.records.height())
    kept = window.controller.settings(WindowSettings())

    assert after == (before[0] + 40, before[1] + 30, before[2] + 50)
    assert (kept.left_px, kept.right_px, kept.below_px) == after
    assert len(told) == 3
    other = opened(settings=kept)
    assert other.window.run_tree.width() == after[0]
    assert other.window.records.height() == after[2]
    other.close()


def test_a_double_click_brings_the_usual_size_back(window: DeskWindow) -> None:
    edge, tree = window.window.panel_sizes.edges["left"], window.window.run_tree
    usual = tree.width()
    drag(edge, 60, 0)
    double = mouse(QEvent.Type.MouseButtonDblClick, QPointF(0, 0), is_down=True)
    QApplication.sendEvent(edge, double)

    assert tree.width() == usual
    assert window.controller.settings(WindowSettings()).left_px is None


def test_sizes_of_a_large_screen_leave_the_charts_room_on_a_small_one() -> None:
    large = WindowSettings(left_px=900, right_px=900, below_px=900)
    window = opened(settings=large, size=(1000, 640))
    main = window.window

    assert main.run_tree.width() + main.actions_panel.width() < 0.7 * main.width()
    assert main.records.height() <= main.height() / 2
    assert main.cards["ram"].width() > 120
    window.close()


def test_columns_keep_their_widths_and_order(window: DeskWindow) -> None:
    table = window.controller.history.panel.table
    head = table.horizontalHeader()
    head.resizeSection(0, 333)
    head.moveSection(0, 2)
    kept = window.controller.settings(WindowSettings())
    other = opened(settings=kept)
    found = other.controller.history.panel.table.horizontalHeader()

    assert kept.tables["history"].widths == {"name": 333}
    assert found.sectionSize(0) == 333
    assert found.visualIndex(0) == 2
    assert other.controller.settings(WindowSettings()).tables == kept.tables
    other.close()


def test_columns_of_another_version_are_passed_over() -> None:
    strange = TableLayout(order=("name", "gone"), widths={"gone": 50, "name": 222})
    window = opened(settings=WindowSettings(tables={"history": strange}))
    table = window.controller.history.panel.table

    assert table.horizontalHeader().sectionSize(0) == 222
    assert table.current_layout() == msgspec.structs.replace(
        strange, order=(), widths={"name": 222}
    )
    window.close()


@pytest.mark.parametrize("tab", ["events", "reclaims"])
def test_no_switch_below_the_charts_is_cut_off_in_a_narrow_window(tab: str) -> None:
    window = opened(size=(800, 640))
    main = window.window
    main.setMinimumSize(400, 300)
    main.resize(800, 640)
    main.records.show_tab(tab)
    window.settle()
    shown = [b for b in main.records.findChildren(QPushButton) if b.isVisible()]
    assert len(shown) >= 3
    for button in shown:
        at = button.mapTo(main.records, button.rect().topLeft())
        assert at.x() >= 0
        assert at.x() + button.width() <= main.records.width()
        assert button.width() >= button.minimumSizeHint().width()
    window.close()


def test_a_low_list_gives_way_and_no_letter_of_its_switches() -> None:
    window = opened(size=(800, 640))
    records = window.window.records
    window.window.setMinimumSize(400, 300)
    window.window.resize(800, 640)
    window.tell_events(LEAK)
    records.setFixedHeight(132)
    window.settle()

    for switch in records.findChildren(SegmentedControl):
        if switch.isVisible():
            assert switch.height() >= switch.sizeHint().height()
    window.close()
