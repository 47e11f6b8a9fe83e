"""The reclaim table, the flags that lead to it, and the sheets of evidence."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QMessageBox, QPushButton, QTableView

from kmonitor.ui.actions.qt.action_button import ActionButton
from kmonitor.ui.events.qt.detail_windows import DiagnosisWindow, RecordWindow
from kmonitor.ui.plots.qt.live_chart import flag_at, tooltip_at
from kmonitor.ui.plots.qt.overlay import placed_flags
from kmonitor.ui.settings.window_settings import WindowSettings
from kmonitor.ui.shell.qt.header_view import Chip
from kmonitor.ui.widgets.table_models import ROW_ROLE
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.commands import CommandName, CommandStatus, SetLimits
from kmonitor_agent.wire.messages.unions import CommandReply
from tests.support.charts import Mouse
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import ACTIONS, limit, made_up_run, reload_record

pytestmark = WINDOW

EVERYTHING: list[CommandName] = [*ACTIONS, "restart", "auto", "diagnose"]
HELD = "12 traces held by `my_step` (user tf.function) in " + "a/long/path/" * 20
FOUND = events.Diagnosis(
    t_s=3000.0,
    fit=1,
    epoch=30,
    seconds=0.08,
    objects=[events.ObjectGrowth("<b>dict</b>", 90_000, 1200)],
    holders=[HELD],
)


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    made.connect()
    made.tell_runs(made_up_run(actions=EVERYTHING))
    yield made
    made.close()


def record(t_s: float, **changed: Any) -> events.ActionRecord:
    return msgspec.structs.replace(reload_record(t_s), **changed)


def tell_three(window: DeskWindow) -> list[int]:
    """Three records, oldest first; their row ids."""
    window.tell_events(
        record(900.0, action="collect", epoch=8, seconds=9.0),
        record(1500.0, epoch=14, seconds=10.0, held=[HELD]),
        record(2400.0, epoch=23, seconds=0.5, ok=False, after=None, why="the disk is full"),
    )
    return [row.row for row in reversed(window.desk.reclaims.rows("run1"))]


def table_of(window: DeskWindow) -> QTableView:
    found = window.window.records.table.findChild(QTableView)
    assert isinstance(found, QTableView)
    return found


def column(window: DeskWindow, at: int) -> list[str]:
    model = table_of(window).model()
    return [str(model.index(row, at).data()) for row in range(model.rowCount())]


def button(window: DeskWindow, text: str) -> QPushButton:
    found = [b for b in window.window.findChildren(QPushButton) if text == b.text().strip()]
    return next(b for b in found if b.isVisible())


def menu_entries(menu: QMenu) -> dict[str, QAction]:
    return {entry.text(): entry for entry in menu.actions() if entry.text()}


def test_the_table_is_a_page_beside_the_log_and_newest_first(window: DeskWindow):
    tell_three(window)
    records = window.window.records
    assert records.log.isVisible()
    QTest.mouseClick(button(window, "Reclaims 3"), Qt.MouseButton.LeftButton)
    window.settle()

    assert not records.log.isVisible()
    assert table_of(window).isVisible()
    assert [text.rpartition(" ")[2] for text in column(window, 0)] == ["24", "15", "9"]
    assert window.controller.settings(WindowSettings()).records_tab == "reclaims"
    QTest.keyClick(window.window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert records.log.isVisible()
    QTest.keyClick(window.window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    assert table_of(window).isVisible()


def test_the_page_is_remembered():
    window = DeskWindow(settings=WindowSettings(records_tab="reclaims", limit_answer="collect"))
    try:
        assert window.window.records.tab == "reclaims"
        assert window.desk.limits.answer == "collect"
    finally:
        window.close()


def test_an_empty_table_teaches_instead_of_being_blank(window: DeskWindow):
    window.window.records.show_tab("reclaims")
    window.settle()

    assert not table_of(window).isVisible()
    label = window.window.records.table.empty_label
    assert label.isVisible()
    assert "press Collect (the lightest action) on the right" in label.text()


def test_another_runs_records_are_its_own(window: DeskWindow):
    tell_three(window)
    window.tell_runs(made_up_run("run2", name="other", started_wall_s=1.0))
    window.window.run_tree.run_chosen.emit("run2")
    window.settle()

    assert table_of(window).model().rowCount() == 0
    window.window.run_tree.run_chosen.emit("run1")
    window.settle()
    assert table_of(window).model().rowCount() == 3


def test_a_head_sorts_by_what_is_measured(window: DeskWindow):
    tell_three(window)
    window.window.records.show_tab("reclaims")
    table_of(window).sortByColumn(2, Qt.SortOrder.AscendingOrder)

    assert [text.replace("\u202f", " ") for text in column(window, 2)] == [
        "500 ms",
        "9.00 s",
        "10.0 s",
    ]


def test_selected_rows_or_all_are_copied_as_text(window: DeskWindow):
    rows = tell_three(window)
    window.controller.records.choose(rows[1])
    QTest.keyClick(table_of(window), Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text().splitlines()

    assert len(copied) == 2
    assert copied[0].startswith("When\tAction")
    assert HELD in copied[1]
    table_of(window).clearSelection()
    QTest.mouseClick(button(window, "Copy"), Qt.MouseButton.LeftButton)
    assert len(QGuiApplication.clipboard().text().splitlines()) == 4


def test_long_words_are_cut_and_whole_under_the_pointer_and_the_row_stays_low(window: DeskWindow):
    rows = tell_three(window)
    window.controller.records.choose(rows[1])
    table = table_of(window)
    at = next(i for i in range(11) if table.model().headerData(i, _ACROSS) == "Still held")

    assert table.columnWidth(at) <= 300
    assert table.rowHeight(0) <= 28
    index = table.model().index(1, at)
    assert index.data(Qt.ItemDataRole.ToolTipRole) == HELD
    assert HELD in str(index.data(Qt.ItemDataRole.AccessibleTextRole))


def test_a_width_that_the_user_gave_a_column_stays(window: DeskWindow):
    tell_three(window)
    window.window.records.show_tab("reclaims")
    table = table_of(window)
    table.horizontalHeader().resizeSection(1, 77)
    window.tell_events(record(3000.0, epoch=30))

    assert table.model().rowCount() == 4
    assert table.columnWidth(1) == 77


def test_enter_opens_a_record_in_full_and_it_follows_the_theme(window: DeskWindow):
    rows = tell_three(window)
    window.controller.records.choose(rows[1])
    QTest.keyClick(table_of(window), Qt.Key.Key_Return)
    sheet = window.window.findChild(RecordWindow)
    assert isinstance(sheet, RecordWindow)

    assert sheet.isVisible()
    assert HELD in sheet.text()
    assert "88.0" in sheet.reader.toPlainText()
    before = sheet.reader.toHtml()
    window.use_theme("light")
    window.settle()
    assert sheet.reader.toHtml() != before
    sheet.copy()
    assert HELD in QGuiApplication.clipboard().text()
    sheet.close()


def test_a_flag_tells_its_record_and_a_click_selects_its_row(window: DeskWindow):
    rows = tell_three(window)
    assert window.board is not None
    chart = window.board.chart("ram")
    flag, place = placed_flags(chart.scene)[1]
    label = QPointF(place.left + place.width / 2, chart.scene.frame.top + 8)

    assert place.width > 0
    assert "Reload after epoch 15" in tooltip_at(chart.scene, label)
    assert "still held: 12 traces held by `my_step`" in flag.tooltip
    mouse = Mouse(chart)
    mouse.press(label.x(), label.y())
    mouse.release(label.x(), label.y())
    window.settle()

    assert [row.row for row in window.window.records.table.chosen()] == [rows[1]]
    assert table_of(window).isVisible()


def test_a_flags_pole_can_be_hit_and_a_drag_from_it_is_none(window: DeskWindow):
    tell_three(window)
    assert window.board is not None
    chart = window.board.chart("graph")
    places = placed_flags(chart.scene)
    pole = QPointF(places[2][1].x, chart.scene.frame.bottom - 10)
    chosen: list[int] = []
    chart.flag_clicked.connect(chosen.append)
    mouse = Mouse(chart)
    mouse.move(pole.x() - 5, pole.y())
    assert chart.cursor().shape() == Qt.CursorShape.PointingHandCursor
    mouse.press(pole.x() - 5, pole.y())
    mouse.move(pole.x() - 60, pole.y())
    mouse.release(pole.x() - 60, pole.y())
    assert chosen == []
    mouse.move(pole.x() + 40, pole.y())
    assert chart.cursor().shape() == Qt.CursorShape.ArrowCursor

    window.board.standard_charts.follow()
    window.settle()
    assert flag_at(chart.scene, pole + QPointF(5, 0)) == places[2][0]
    mouse.press(pole.x() + 5, pole.y())
    mouse.release(pole.x() + 5, pole.y())
    assert chosen == [places[2][0].row]
    assert flag_at(chart.scene, QPointF(pole.x(), 0.0)) is None


def test_between_two_poles_the_nearer_is_meant(window: DeskWindow):
    window.tell_events(record(2000.0), record(2120.0))
    assert window.board is not None
    scene = window.board.chart("ram").scene
    (first, left), (second, right) = placed_flags(scene)
    low = scene.frame.bottom - 5

    assert 2.0 < right.x - left.x < 12.0
    assert flag_at(scene, QPointF(left.x + 0.5, low)) == first
    assert flag_at(scene, QPointF(right.x - 0.5, low)) == second


def test_a_save_has_a_pole_without_a_label(window: DeskWindow):
    window.tell_events(record(1000.0, action="save", after=None), record(1010.0))
    assert window.board is not None
    (save, quiet), (_, loud) = placed_flags(window.board.chart("ram").scene)

    assert (save.is_quiet, quiet.width) == (True, 0.0)
    assert loud.width > 0


def test_a_line_of_the_log_leads_to_its_record_or_diagnosis(window: DeskWindow):
    tell_three(window)
    window.tell_events(FOUND)
    view = window.window.records.log.list_view
    model = view.model()
    view.activated.emit(model.index(0, 0))
    window.settle()
    sheet = window.window.findChild(DiagnosisWindow)
    assert isinstance(sheet, DiagnosisWindow)
    assert sheet.isVisible()
    sheet.close()
    view.activated.emit(model.index(2, 0))
    window.settle()

    assert [row.ok for row in window.window.records.table.chosen()] == [True]
    assert window.window.records.tab == "reclaims"


def test_diagnose_is_asked_followed_and_read(window: DeskWindow):
    QTest.mouseClick(button(window, "Diagnose"), Qt.MouseButton.LeftButton)
    window.settle()
    sheet = window.window.findChild(DiagnosisWindow)
    assert isinstance(sheet, DiagnosisWindow)
    assert [command.name for command in window.commands()] == ["diagnose"]
    assert sheet.progress.text() == "Diagnose: requested"
    assert not sheet.again_button.isEnabled()
    assert sheet.text() == ""

    asked = window.commands()[-1]
    done = CommandStatus(id=asked.id, run="run1", name="diagnose", state="done")
    window.desk.apply_message(CommandReply(request_id=1, status=done))
    window.tell_events(FOUND)
    read = sheet.reader.toPlainText()
    assert "<b>dict</b>" in read
    assert "+1 200" in sheet.text()
    assert HELD in sheet.text()
    assert not sheet.progress.isVisible()
    assert sheet.again_button.isEnabled()
    QTest.mouseClick(sheet.again_button, Qt.MouseButton.LeftButton)
    assert [command.name for command in window.commands()] == ["diagnose", "diagnose"]
    sheet.close()


def test_a_refused_diagnosis_says_why(window: DeskWindow):
    window.controller.commands.request("diagnose")
    asked = window.commands()[-1]
    refused = CommandStatus(
        id=asked.id, run="run1", name="diagnose", state="refused", why="no fit"
    )
    window.desk.apply_message(CommandReply(request_id=1, status=refused))
    window.settle()
    sheet = window.window.findChild(DiagnosisWindow)
    assert isinstance(sheet, DiagnosisWindow)

    assert sheet.progress.text() == "Diagnose was not performed: no fit"
    assert sheet.again_button.isEnabled()
    sheet.close()


def test_older_diagnoses_are_stepped_through_and_a_held_one_stays(window: DeskWindow):
    window.tell_events(FOUND, msgspec.structs.replace(FOUND, epoch=40))
    window.controller.records.open_diagnosis()
    window.settle()
    sheet = window.window.findChild(DiagnosisWindow)
    assert isinstance(sheet, DiagnosisWindow)
    assert "after epoch 41" in sheet.text()
    QTest.mouseClick(sheet.before_button, Qt.MouseButton.LeftButton)
    window.tell_events(msgspec.structs.replace(FOUND, epoch=50))

    assert "after epoch 31" in sheet.text()
    assert not sheet.before_button.isEnabled()
    QTest.mouseClick(sheet.after_button, Qt.MouseButton.LeftButton)
    assert "after epoch 41" in sheet.text()
    sheet.close()


def test_actions_are_offered_only_where_the_process_can(window: DeskWindow):
    def shown() -> list[str]:
        found = window.window.actions_panel.findChildren(ActionButton)
        return [each.accessibleName() for each in found if each.isVisible()]

    assert {"Collect", "Auto", "Restart", "Diagnose"} <= set(shown())
    window.tell_runs(made_up_run(actions=["save", "reload", "pause", "stop"], change=2))
    assert shown() == ["Save checkpoint", "Save + Clear + Reload", "Pause", "Stop training"]
    QTest.keyClick(window.window, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert window.commands() == []


def test_a_restart_is_asked_back_first(window: DeskWindow):
    QTest.mouseClick(button(window, "Restart"), Qt.MouseButton.LeftButton)
    box = window.window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    assert "are kept" in box.informativeText()
    assert window.commands() == []
    yes = next(each for each in box.buttons() if "Restart" in each.text())
    QTest.mouseClick(yes, Qt.MouseButton.LeftButton)

    assert [command.name for command in window.commands()] == ["restart"]


def test_collect_and_reclaim_are_asked_at_once(window: DeskWindow):
    QTest.mouseClick(button(window, "Collect"), Qt.MouseButton.LeftButton)
    QTest.mouseClick(button(window, "Auto"), Qt.MouseButton.LeftButton)

    assert [command.name for command in window.commands()] == ["collect", "auto"]


def test_a_limits_own_menu_says_what_it_can_do_and_does_it(window: DeskWindow):
    window.tell_runs(made_up_run(actions=EVERYTHING, limits=[limit()], change=2))
    card = window.window.cards["ram"]
    QTest.mouseClick(card.limit_button, Qt.MouseButton.LeftButton)
    menu = card.findChild(QMenu)
    assert isinstance(menu, QMenu)
    entries = menu_entries(menu)

    assert entries["Save + Clear + Reload"].isChecked()
    assert "Restart the process and continue" in entries
    entries["Collect: release retained traces"].trigger()
    asked = window.commands()[-1].args
    assert isinstance(asked, SetLimits)
    assert [(each.metric, each.action) for each in asked.limits] == [("ram", "collect")]
    menu.close()


def test_what_limits_do_is_chosen_beside_the_switch_and_remembered(window: DeskWindow):
    at_limit = window.window.actions_panel.at_limit
    menu = at_limit.menu()
    menu_entries(menu)["Auto: collect, then reload or restart if needed"].trigger()
    menu.close()
    window.settle()

    assert at_limit.switch.text() == "Reclaim automatically"
    assert window.controller.settings(WindowSettings()).limit_answer == "auto"
    window.window.cards["graph"].limit_requested.emit("graph")
    asked = window.commands()[-1].args
    assert isinstance(asked, SetLimits)
    assert asked.limits[0].action == "auto"


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", [(1000, 640), (1280, 760), (1600, 980)])
def test_everything_fits_whatever_is_offered(theme: str, size: tuple[int, int]):
    window = DeskWindow(size=size, theme=theme)  # type: ignore[arg-type]
    try:
        window.connect()
        window.tell_runs(
            made_up_run(name="实验-" + "x" * 80, actions=EVERYTHING, limits=[limit()])
        )
        tell_three(window)
        window.window.records.show_tab("reclaims")
        window.settle()
        area = window.window.actions_panel.scroll_area
        inside = area.widget()
        assert inside is not None

        assert (window.window.width(), window.window.height()) == size
        assert inside.width() <= area.viewport().width()
        window.tell_runs(made_up_run(actions=ACTIONS, limits=[limit()], change=2))
        assert inside.width() <= area.viewport().width()
        window.tell_runs(made_up_run(actions=EVERYTHING, limits=[limit()], change=3))
        assert min(card.height() for card in window.window.cards.values()) > 150
        assert table_of(window).viewport().height() >= 2 * 27
        for each in window.window.actions_panel.findChildren(ActionButton):
            if each.isVisible():
                text = each.fontMetrics().horizontalAdvance(each.text())
                assert text + 16 + 4 + 2 * 8 <= each.width() + 1, each.text()
    finally:
        window.close()


def test_a_restart_and_a_death_are_told_in_tree_header_and_log(window: DeskWindow):
    why = "restarting in a new process"
    window.tell_runs(made_up_run(state="starting", state_why=why, change=2))
    window.tell_events(events.SessionEnded(t_s=3000.0, why="restart", supervisor=7))
    tree = window.window.run_tree.model
    row = tree.index_of("run1").data(ROW_ROLE)
    assert (row.state.label, row.state.icon, row.line) == ("Restarting", "restart", "Restarting")
    assert why in row.tooltip

    killed = "out of memory: the kernel killed it (memory.events: oom_kill)"
    window.tell_runs(
        made_up_run(state="failed", state_why=killed, cause="out of memory", actions=[], change=3)
    )
    window.tell_events(
        events.SessionDied(t_s=3001.0, session="session1", how="memory", why=killed)
    )
    row = tree.index_of("run1").data(ROW_ROLE)
    assert row.line.startswith("Failed: out of memory")
    chip = next(each for each in window.window.findChildren(Chip) if each.isVisible())
    assert chip.accessibleName() == "Failed: out of memory"
    assert chip.toolTip() == f"{killed}. Click to see what led to it."
    assert window.window.header.subtitle.text().startswith(killed)
    lines = [each.line.text for each in window.desk.log.rows()]
    assert lines[0] == f"Process died: {killed}"


_ACROSS = Qt.Orientation.Horizontal


def test_tab_leads_through_the_table_and_out_again(window: DeskWindow):
    rows = tell_three(window)
    window.controller.records.choose(rows[0])
    table = table_of(window)
    window.window.activateWindow()
    assert table.hasFocus()
    QTest.keyClick(table, Qt.Key.Key_Up)
    assert [row.row for row in window.window.records.table.chosen()] == [rows[1]]
    QTest.keyClick(table, Qt.Key.Key_Tab)

    assert not table.hasFocus()
    at = table.visualRect(table.model().index(0, 1)).center()
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(at))
    QTest.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(at))
    sheets = window.window.findChildren(RecordWindow)
    assert [sheet.isVisible() for sheet in sheets] == [True]
    sheets[0].close()
