"""The page of a study in the window: in the place of the charts, with a way into each fold."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QTextBrowser, QToolTip

from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.studies.qt.study_view import StudyPanel
from kmonitor_agent.wire.messages.unions import RowsRequest
from tests.support.desk_window import WINDOW
from tests.support.made_up_runs import made_up_run
from tests.support.made_up_studies import RUNNING, STUDY, MadeUpStudy
from tests.support.stage import Stage
from tests.support.study_scenes import told

pytestmark = WINDOW


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage(with_charts=False)
    yield made
    made.close()


def page_of(stage: Stage) -> StudyPanel:
    return stage.desk.controller.study.panel


def show(stage: Stage, study: MadeUpStudy) -> StudyPanel:
    told(stage, study)
    return page_of(stage)


def test_a_study_takes_the_place_of_the_charts_and_gives_it_back(stage: Stage):
    window = stage.desk.window
    page = show(stage, MadeUpStudy(RUNNING))

    assert page.isVisible()
    assert not window.actions_panel.isVisible()
    assert not window.records.isVisible()
    stage.desk.window.run_tree.run_chosen.emit("fold1")
    assert not page.isVisible()
    assert window.actions_panel.isVisible()
    assert window.records.isVisible()
    assert window.charts.isVisible()


def test_a_click_in_the_strip_opens_the_run_of_a_fold(stage: Stage):
    page = show(stage, MadeUpStudy(RUNNING))
    spot = page.fold_grid.box(2).center().toPoint()

    QTest.mouseMove(page.fold_grid, spot)
    QTest.mouseClick(page.fold_grid, Qt.MouseButton.LeftButton, pos=spot)

    assert stage.desk.desk.run_store.selected == "fold2"


def test_a_fold_that_told_nothing_opens_nothing(stage: Stage):
    page = show(stage, MadeUpStudy(RUNNING))

    page.fold_grid.opened.emit(8)

    assert stage.desk.desk.run_store.selected == STUDY


def test_the_strip_is_walked_by_keys(stage: Stage):
    page = show(stage, MadeUpStudy(RUNNING))
    page.focus_first()

    for _ in range(4):
        QTest.keyClick(page.fold_grid, Qt.Key.Key_Right)
    QTest.keyClick(page.fold_grid, Qt.Key.Key_Left)
    assert page.fold_grid.accessibleDescription().startswith("fold 3: Out of memory, attempt 2")
    QTest.keyClick(page.fold_grid, Qt.Key.Key_Return)

    assert stage.desk.desk.run_store.selected == "fold3"


def test_a_row_of_the_attempts_and_a_bar_open_the_run_too(stage: Stage):
    page = show(stage, MadeUpStudy(["finished", "hang, finished"]))
    page.table_view.choose_row(2)

    QTest.keyClick(page.table_view, Qt.Key.Key_Return)
    assert stage.desk.desk.run_store.selected == "fold1"
    stage.desk.window.run_tree.run_chosen.emit(STUDY)
    chart = page.memory_chart
    QTest.mouseClick(
        chart, Qt.MouseButton.LeftButton, pos=QPoint(chart.width() // 4, chart.height() // 2)
    )

    assert stage.desk.desk.run_store.selected == "fold0"


def test_folds_and_bars_say_what_they_are_under_the_pointer(stage: Stage):
    page = show(stage, MadeUpStudy(RUNNING))

    for widget, spot in (
        (page.fold_grid, page.fold_grid.box(4).center().toPoint()),
        (page.memory_chart, QPoint(page.memory_chart.width() // 2, 60)),
    ):
        event = QHelpEvent(QEvent.Type.ToolTip, spot, widget.mapToGlobal(spot))
        QApplication.sendEvent(widget, event)
        assert "fold 4" in QToolTip.text()


def test_another_metric_is_chosen_by_menu(stage: Stage):
    page = show(stage, MadeUpStudy(RUNNING))
    before = page.metric_chart.accessibleDescription()

    page.metric_chosen.emit("val_accuracy")

    assert before.startswith("val_loss, 0.41")
    assert page.metric_chart.accessibleDescription().startswith("val_accuracy, 0.87")


def test_epochs_are_asked_for_once_while_the_study_is_looked_at(stage: Stage):
    show(stage, MadeUpStudy(RUNNING))
    stage.desk.controller.refresh()

    asked = [each for _, each in stage.desk.asked if isinstance(each, RowsRequest)]

    assert len([each for each in asked if each.kinds == ["epoch_end"]]) == 1


def test_the_table_is_copied_as_text(stage: Stage):
    page = show(stage, MadeUpStudy(["hang, finished"]))

    QTest.keyClick(page.table_view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)

    lines = QApplication.clipboard().text().splitlines()
    assert lines[0].startswith("Fold\tAttempt\tState")
    assert lines[1].startswith("0\t1\tHung")


def test_the_guide_opens_at_its_page(stage: Stage):
    page = show(stage, MadeUpStudy(RUNNING))

    page.guide_requested.emit()

    (guide,) = stage.desk.window.findChildren(GuideWindow)
    assert guide.page == "folds.md"
    assert guide.findChildren(QTextBrowser)[0].textCursor().block().text() == "In the window"


def test_tries_that_begin_are_added_and_the_selection_stays(stage: Stage):
    page = show(stage, MadeUpStudy(["running", "queued"]))
    page.table_view.choose_row(1)

    show(stage, MadeUpStudy(["hang, running", "queued"]))

    assert page.table_view.model().rowCount() == 3
    assert page.table_view.currentIndex().row() == 1
    show(stage, MadeUpStudy(["queued"], study={"folds": 1}))
    assert page.table_view.model().rowCount() == 2


def test_what_changed_alone_is_painted_anew(stage: Stage, monkeypatch: pytest.MonkeyPatch):
    page = show(stage, MadeUpStudy(["finished"] * 3, study={"state": "finished"}))
    painted: list[str] = []
    for part in (page.fold_grid, page.metric_chart, page.memory_chart):
        name = type(part).__name__
        monkeypatch.setattr(part, "update", lambda name=name: painted.append(name))

    stage.desk.controller.study.refresh_texts()

    assert painted == []


def test_a_lost_hub_stops_the_clock_of_folds(stage: Stage):
    page = show(stage, MadeUpStudy(["running"]))
    stage.desk.desk.disconnected("gone", retry_in_s=4.0, since_wall_s=1.0)
    asked = len(stage.desk.asked)

    stage.desk.controller.study.refresh_texts()

    assert page.isVisible()
    assert len(stage.desk.asked) == asked


@pytest.mark.parametrize(
    ("folds", "size"),
    [(50, (820, 640)), (1, (1280, 760)), (300, (1280, 760)), (50, (1900, 1000))],
)
def test_any_number_of_folds_has_room_at_any_size(folds: int, size: tuple[int, int]):
    stage = Stage(with_charts=False)
    try:
        stage.desk.window.setMinimumSize(1, 1)
        stage.desk.window.resize(*size)
        study = MadeUpStudy(["finished"] * folds, study={"state": "finished"})
        told(stage, study, with_epochs=False)
        page = page_of(stage)

        last = page.fold_grid.box(folds - 1)
        assert page.fold_grid.rect().contains(last.toRect())
        assert last.width() >= 10.0
        assert not page.horizontalScrollBar().maximum()
    finally:
        stage.close()


def test_a_recorded_study_opens_from_the_history(stage: Stage):
    study = MadeUpStudy(["finished"] * 3, study={"state": "finished"})
    stage.desk.connect()
    stage.desk.tell_runs(made_up_run(), *study.runs())
    stage.desk.controller.history.open()

    stage.desk.controller.history.run_requested.emit(STUDY)
    stage.desk.controller.history.close()

    assert page_of(stage).isVisible()
    asked = [each for _, each in stage.desk.asked if isinstance(each, RowsRequest)]
    assert any(each.runs == [STUDY] and "fold_end" in each.kinds for each in asked)


def test_every_control_is_named(stage: Stage):
    page = show(stage, MadeUpStudy(RUNNING))

    for part in (page.fold_grid, page.metric_chart, page.memory_chart, page.table_view):
        assert part.accessibleName()
    assert all(button.accessibleName() for button in page.findChildren(QPushButton))
