"""The history in the window: found, opened, named, noted, and deleted after a question."""

from collections.abc import Iterator
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QInputDialog,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QTableView,
    QWidget,
)

from kmonitor.ui.history.qt.history_controller import NoteDialog
from kmonitor.ui.history.qt.history_model import RunHistoryModel
from kmonitor.ui.history.qt.history_view import RunHistoryPanel
from kmonitor.ui.history.run_history import HistoryRow
from kmonitor.ui.widgets.row_table import RowTableView
from kmonitor.ui.workspace.run_edits import MAX_NOTE
from kmonitor_agent.wire.messages.unions import EditRequest, ErrorMessage, RunSummary
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import NOW_WALL_S, made_up_run, told_hub, told_runs

pytestmark = WINDOW

T = TypeVar("T", bound=QWidget)


def ended(run: str, **changed: Any) -> RunSummary:
    return made_up_run(run, **{"state": "finished", "actions": [], **changed})


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    made.connect()
    made.tell_runs(
        made_up_run("live", name="vit-finetune"),
        ended("old", name="resnet-baseline", started_wall_s=NOW_WALL_S - 9e5, note="the paper's"),
        ended("mid", name="unet", started_wall_s=NOW_WALL_S - 9e4, host="gpu-02"),
    )
    made.window.activateWindow()
    yield made
    made.close()


def panel_of(window: DeskWindow) -> RunHistoryPanel:
    return window.controller.history.panel


def table_of(window: DeskWindow) -> QTableView:
    return panel_of(window).findChildren(QTableView)[0]


def button(parent: QWidget, name: str) -> QAbstractButton:
    return next(b for b in parent.findChildren(QAbstractButton) if b.accessibleName() == name)


def the(window: DeskWindow, kind: type[T]) -> T:
    found = [each for each in window.window.findChildren(kind) if each.isVisible()]
    assert len(found) == 1
    return found[0]


def click(target: QWidget) -> None:
    QTest.mouseClick(target, Qt.MouseButton.LeftButton)


def open_history(window: DeskWindow) -> None:
    click(button(window.window.run_tree, "History · 3 runs"))
    window.settle()


def names(window: DeskWindow) -> list[str]:
    model = table_of(window).model()
    return [str(model.index(at, 0).data()) for at in range(model.rowCount())]


def choose(window: DeskWindow, *runs: str) -> None:
    table = table_of(window)
    for at, run in enumerate(runs):
        place = table.visualRect(table.model().index(names(window).index(run), 0)).center()
        keys = Qt.KeyboardModifier.ControlModifier if at else Qt.KeyboardModifier.NoModifier
        QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, keys, place)


def edits(window: DeskWindow) -> list[EditRequest]:
    return [message for _, message in window.asked if isinstance(message, EditRequest)]


def test_the_history_opens_in_the_place_of_the_charts_and_closes_again(window: DeskWindow):
    assert not panel_of(window).isVisible()
    open_history(window)

    assert panel_of(window).isVisible()
    assert not window.window.actions_panel.isVisible()
    assert names(window) == ["vit-finetune", "unet", "resnet-baseline"]
    assert QApplication.focusWidget() is table_of(window)

    QTest.keyClick(table_of(window), Qt.Key.Key_Escape)
    assert not panel_of(window).isVisible()
    assert window.window.actions_panel.isVisible()
    QTest.keyClick(
        window.window,
        Qt.Key.Key_H,
        Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
    )
    assert panel_of(window).isVisible()


def test_runs_are_found_by_typing_and_by_menus(window: DeskWindow):
    open_history(window)
    QTest.keyClick(table_of(window), Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    search = QApplication.focusWidget()
    assert isinstance(search, QLineEdit)

    QTest.keyClicks(search, "paper")
    assert names(window) == ["resnet-baseline"]
    QTest.keyClicks(search, "x")
    assert not table_of(window).isVisible()
    QTest.keyClick(search, Qt.Key.Key_Escape)
    assert len(names(window)) == 3

    click(button(panel_of(window), "Host: all"))
    menu = next(m for m in panel_of(window).findChildren(QMenu) if m.isVisible())
    menu.actions()[-1].trigger()
    menu.close()
    assert names(window) == ["unet"]
    click(button(panel_of(window), "Clear filters"))
    assert len(names(window)) == 3
    click(button(panel_of(window), "Pinned"))
    assert names(window) == []


def test_the_key_that_opens_it_selects_the_run_that_is_looked_at(window: DeskWindow):
    held = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    for run in ("old", "live"):
        window.desk.select(run)
        window.settle()
        QTest.keyClick(window.window, Qt.Key.Key_H, held)

        assert panel_of(window).selected() == [run]
        window.controller.history.close()


def test_home_and_end_lead_to_the_first_and_the_last_run(window: DeskWindow):
    open_history(window)
    table = table_of(window)

    QTest.keyClick(table, Qt.Key.Key_End)
    assert [index.row() for index in table.selectionModel().selectedRows()] == [2]
    QTest.keyClick(table, Qt.Key.Key_Home)
    assert [index.row() for index in table.selectionModel().selectedRows()] == [0]
    QTest.keyClick(table, Qt.Key.Key_End, Qt.KeyboardModifier.ShiftModifier)
    assert len(table.selectionModel().selectedRows()) == 3


def test_a_click_on_a_head_sorts_and_a_second_one_turns_it_around(window: DeskWindow):
    open_history(window)
    head = table_of(window).horizontalHeader()

    place = QPoint(head.sectionViewportPosition(0) + 20, head.height() // 2)
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert names(window) == ["resnet-baseline", "unet", "vit-finetune"]
    QTest.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert names(window) == ["vit-finetune", "unet", "resnet-baseline"]

    click(button(panel_of(window), "Sort: Run"))
    menu = next(m for m in panel_of(window).findChildren(QMenu) if m.isVisible())
    next(entry for entry in menu.actions() if entry.text() == "Started").trigger()
    menu.close()
    assert names(window)[0] == "vit-finetune"


def test_a_recorded_run_opens_on_the_charts_like_a_live_one(window: DeskWindow):
    open_history(window)
    choose(window, "resnet-baseline")
    QTest.keyClick(table_of(window), Qt.Key.Key_Return)
    window.answer()
    window.settle()

    assert window.desk.run_store.selected == "old"
    assert not panel_of(window).isVisible()
    assert window.board is not None
    assert window.board.is_loaded
    assert len(window.board.standard_charts.state("ram", 300).curves[0].x) > 0


def test_a_run_is_renamed_and_noted_for_everyone(window: DeskWindow):
    open_history(window)
    choose(window, "unet")
    QTest.keyClick(table_of(window), Qt.Key.Key_F2)
    box = the(window, QInputDialog)
    field = box.findChildren(QLineEdit)[0]
    QTest.keyClicks(field, "unet, deeper")
    box.accept()

    click(button(panel_of(window).selection_bar, "Note…"))
    dialog = the(window, NoteDialog)
    text = dialog.findChildren(QPlainTextEdit)[0]
    text.setPlainText("z" * (MAX_NOTE + 1))
    assert not button(dialog, "Save").isEnabled()
    text.setPlainText("two levels more")
    click(button(dialog, "Save"))

    assert [(e.run, e.name, e.note) for e in edits(window)] == [
        ("mid", "unet, deeper", None),
        ("mid", None, "two levels more"),
    ]
    window.tell_runs(ended("mid", name="unet, deeper", started_wall_s=NOW_WALL_S - 9e4))
    assert "unet, deeper" in names(window)
    assert panel_of(window).selected() == ["mid"]


def test_deleting_is_asked_first_and_what_is_gone_is_gone_from_the_window(window: DeskWindow):
    open_history(window)
    choose(window, "resnet-baseline", "unet")
    QTest.keyClick(table_of(window), Qt.Key.Key_Delete)
    box = the(window, QMessageBox)
    assert "cannot be undone" in box.informativeText()
    box.reject()
    assert edits(window) == []

    click(button(panel_of(window).selection_bar, "Remove…"))
    click(next(b for b in the(window, QMessageBox).buttons() if b.text() == "Remove 2 runs"))
    assert [(e.run, e.delete) for e in edits(window)] == [("mid", True), ("old", True)]

    window.desk.apply_message(replace(told_runs(), deleted=["mid", "old"]))
    window.settle()
    assert names(window) == ["vit-finetune"]
    assert panel_of(window).selected() == ["live"]


def test_a_living_run_is_pinned_but_not_deleted_and_a_refusal_is_told(window: DeskWindow):
    open_history(window)
    choose(window, "vit-finetune")

    delete = button(panel_of(window).selection_bar, "Remove…")
    assert not delete.isEnabled()
    assert "is still running" in delete.toolTip()
    QTest.keyClick(table_of(window), Qt.Key.Key_Delete)
    assert not any(box.isVisible() for box in window.window.findChildren(QMessageBox))

    table_of(window).customContextMenuRequested.emit(QPoint(40, 10))
    menu = next(m for m in panel_of(window).findChildren(QMenu) if m.isVisible())
    next(entry for entry in menu.actions() if entry.data() == "pin").trigger()
    menu.close()
    number = next(n for n, message in window.asked if isinstance(message, EditRequest))
    window.desk.apply_message(
        ErrorMessage(code="busy", text="the disk is full", request_id=number)
    )
    window.settle()
    labels = [
        label.accessibleName() for label in panel_of(window).selection_bar.findChildren(QWidget)
    ]
    assert "“vit-finetune” was not changed: the disk is full." in labels


def test_a_viewer_sees_why_nothing_can_be_changed(window: DeskWindow):
    window.desk.connected(replace(told_hub(), role="viewer"))
    open_history(window)
    choose(window, "unet")

    strip = panel_of(window).selection_bar
    enabled = [b.accessibleName() for b in strip.findChildren(QAbstractButton) if b.isEnabled()]
    assert enabled == ["Open"]
    assert any("viewer" in label.accessibleName() for label in strip.findChildren(QWidget))


def test_every_control_of_the_page_is_named_and_reached_by_tab(window: DeskWindow):
    open_history(window)
    controls = [b for b in panel_of(window).findChildren(QAbstractButton) if b.isVisible()]
    assert all(control.accessibleName() for control in controls)

    reached: set[QWidget] = set()
    for _ in range(40):
        focused = QApplication.focusWidget()
        assert focused is not None
        reached.add(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    pressed = {c for c in controls if c.focusPolicy() & Qt.FocusPolicy.TabFocus and c.isEnabled()}
    assert pressed <= reached
    assert table_of(window) in reached


@pytest.mark.parametrize("size", [(1280, 760), (1000, 640)])
def test_nothing_of_the_strip_is_cut_off(window: DeskWindow, size: tuple[int, int]):
    window.window.resize(*size)
    open_history(window)

    for each in panel_of(window).selection_bar.findChildren(QAbstractButton):
        assert each.width() >= each.sizeHint().width()
    assert panel_of(window).width() <= size[0]


def _row(run: str) -> HistoryRow:
    return HistoryRow(run, ended(run), "gpu-01", is_reached=True)


def test_the_model_moves_rows_without_losing_what_points_to_them():
    rows = {run: _row(run) for run in "abcdef"}
    model = RunHistoryModel()
    model.show_rows([rows[run] for run in "abcd"])
    told: list[str] = []
    model.rowsInserted.connect(lambda _p, first, last: told.append(f"+{first}..{last}"))
    model.rowsRemoved.connect(lambda _p, first, last: told.append(f"-{first}..{last}"))
    model.modelReset.connect(lambda: told.append("reset"))

    model.show_rows([rows[run] for run in "efdba"])

    assert [row.run for row in model.rows()] == list("efdba")
    assert told == ["-2..2", "+0..1"]
    assert model.index_of_run("b") == 3
    assert model.index_of_run("c") is None
    assert model.row_at(QModelIndex()) is None


def test_only_rows_that_changed_are_drawn_anew():
    rows = [_row(run) for run in "abc"]
    model = RunHistoryModel()
    model.show_rows(rows)
    changed: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda a, b, _roles: changed.append((a.row(), b.row())))

    model.show_rows([rows[0], _row("b"), rows[2]])
    model.show_rows([*model.rows()])

    assert changed == [(1, 1)]


def test_thousands_that_come_and_go_here_and_there_are_told_at_once_and_stay_selected():
    rows = [_row(f"run{n}") for n in range(2000)]
    table = RowTableView()
    model = RunHistoryModel(table)
    table.setModel(model)
    model.show_rows(rows)
    table.selectAll()
    told: list[str] = []
    for signal in (model.rowsInserted, model.rowsRemoved, model.layoutChanged):
        signal.connect(lambda *_: told.append("told"))

    model.show_rows(rows[::3])
    assert [row.run for row in model.rows()] == [row.run for row in rows[::3]]
    assert len(table.selectionModel().selectedRows()) == len(rows[::3])
    model.show_rows(rows)

    assert list(model.rows()) == rows
    chosen = {model.rows()[index.row()].run for index in table.selectionModel().selectedRows()}
    assert chosen == {row.run for row in rows[::3]}
    assert len(told) <= 6


def test_the_head_asks_nothing_of_the_rows_when_all_are_selected(window: DeskWindow):
    window.tell_runs(*(ended(f"n{number}") for number in range(400)))
    window.controller.history.open()
    window.settle()
    table = table_of(window)
    asked = [0]

    def count(parent: object = None) -> int:
        asked[0] += 1
        return 403

    model = table.model()
    model.rowCount = count  # type: ignore[method-assign]
    table.selectAll()
    window.qt.processEvents()

    assert asked[0] < 1000


def test_a_search_tells_of_the_selection_once_however_much_of_it_goes(window: DeskWindow):
    window.tell_runs(*(ended(f"n{n}", name="ab"[n % 2]) for n in range(100)))
    window.controller.history.open()
    window.settle()
    table_of(window).selectAll()
    told: list[int] = []
    panel_of(window).selection_changed.connect(
        lambda: told.append(len(panel_of(window).selected()))
    )

    panel_of(window).filters.changed.emit()
    panel_of(window).search.setText("baseline")

    assert told == []
    assert panel_of(window).selected() == ["old"]
    assert button(panel_of(window).selection_bar, "Open").isEnabled()
