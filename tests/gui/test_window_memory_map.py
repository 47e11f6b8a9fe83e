"""The memory map's page in the window: whose map, what if, layers, device, and its keys."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog

from kmonitor.base.errors import UserError
from kmonitor.ui.memory.qt.memory_map_controller import MemoryMapController
from kmonitor.ui.memory.qt.model_file_controller import ModelFileOpener
from kmonitor.ui.memory.what_if import GIB
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_maps import convolutions, file_subject, told_model
from tests.support.made_up_runs import made_up_run
from tests.support.map_scenes import gpu_readings
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = WINDOW


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow(with_charts=False)
    made.connect()
    made.tell_runs(made_up_run(), made_up_run("run2", name="another"))
    yield made
    made.close()


def memory_of(window: DeskWindow) -> MemoryMapController:
    return window.controller.memory


def work_out(window: DeskWindow) -> None:
    memory = memory_of(window)
    wait_until(
        lambda: (window.qt.processEvents(), not memory.work_timer.isActive())[1],
        deadline_s=DEADLINE_S,
    )


def test_the_key_and_the_menu_show_the_selected_runs_map(window: DeskWindow):
    memory = memory_of(window)
    window.window.header.map_requested.emit()
    window.settle()
    assert memory.is_open
    assert memory.panel.text.text().startswith("This run has not reported its model yet")

    window.tell_events(told_model())
    work_out(window)

    assert memory.panel.table_view.model().rowCount() == 6
    assert memory.panel.totals.peak.text().startswith("\u2265")
    QTest.keyClick(memory.panel, Qt.Key.Key_Escape)
    assert not memory.is_open


def test_another_run_brings_its_own_map(window: DeskWindow):
    memory = memory_of(window)
    window.tell_events(told_model())
    memory.open()

    window.desk.select("run2")
    window.settle()

    assert memory.panel.title.text() == "another"
    assert memory.panel.text.isVisible()


def test_every_line_of_why_there_is_no_map_can_be_read(window: DeskWindow):
    memory = memory_of(window)
    memory.open()
    window.settle()
    text = memory.panel.text

    assert "no later than" in text.text()
    assert text.height() >= text.heightForWidth(text.width())
    assert text.heightForWidth(text.width()) > text.fontMetrics().height() * 1.5


def test_a_slider_moves_picture_and_peak_before_the_rest_is_worked_out(window: DeskWindow):
    memory = memory_of(window)
    memory.open_file(file_subject())
    work_out(window)
    slider = memory.panel.if_sidebar.controls.batch.slider
    peaks = [memory.panel.totals.peak.text()]

    for _ in range(3):
        slider.setValue(slider.value() + 1)
        assert not memory.map_estimator.map_estimate.is_whole
        peaks.append(memory.panel.totals.peak.text())

    assert len(set(peaks)) == 4
    work_out(window)
    assert memory.map_estimator.map_estimate.is_whole


def test_menus_and_sizes_ask_about_another_training_and_go_back(window: DeskWindow):
    memory = memory_of(window)
    memory.open_file(file_subject())
    controls = memory.panel.if_sidebar.controls
    assert not controls.reset.isVisible()

    controls.menus["optimizer"].chosen.emit("sgd")
    controls.menus["limit"].chosen.emit(str(8 * GIB))
    controls.input_size.slider.setValue(0)
    work_out(window)

    asked = memory.map_estimator.what_if
    assert (asked.optimizer, asked.limit_bytes, asked.size) == ("sgd", 8 * GIB, 0)
    assert memory.panel.if_sidebar.fit.text().startswith("With 8")
    controls.reset.click()
    assert memory.map_estimator.what_if.optimizer == ""
    assert not controls.reset.isVisible()


def test_picture_and_table_choose_the_same_layer(window: DeskWindow):
    memory = memory_of(window)
    memory.open_file(file_subject())
    window.settle()
    icicle = memory.panel.icicle
    icicle.setFocus()

    QTest.keyClick(icicle, Qt.Key.Key_Right)
    first = memory.panel.chosen_path()
    QTest.keyClick(icicle, Qt.Key.Key_Right)

    assert memory.panel.chosen_path() not in ("", first)
    memory.panel.table_view.choose_row(0)
    assert icicle.path == "encoder/block1/conv1"
    assert "conv1" in icicle.accessibleDescription()
    tile = next(t for t in icicle.tiles if t.path == "encoder/block1/norm1")
    QTest.mouseClick(icicle, Qt.MouseButton.LeftButton, pos=icicle.box_of(tile).center().toPoint())
    assert memory.panel.chosen_path() == "encoder/block1/norm1"


def test_a_click_on_a_head_sorts_and_a_second_one_goes_back(window: DeskWindow):
    memory = memory_of(window)
    memory.open_file(file_subject())

    head = memory.panel.table_view.horizontalHeader()
    head.sectionClicked.emit(2)
    totals = [row.values[2] for row in memory.panel.model.rows()]
    head.sectionClicked.emit(2)

    assert totals == sorted(totals, reverse=True)
    assert memory.panel.model.rows()[0].path == "encoder/block1/conv1"
    assert memory.panel.copy().startswith("Layer\tType")


def test_the_device_is_shown_for_a_run_only(window: DeskWindow):
    memory = memory_of(window)
    window.tell_events(told_model(), *gpu_readings())
    memory.open()
    memory.panel.views.chosen.emit("device")
    window.settle()
    assert memory.panel.split.isVisible()
    assert "Other processes" in memory.panel.split.accessibleDescription()

    memory.open_file(file_subject())

    assert memory.panel.table_view.isVisible()
    assert not memory.panel.views.isVisible()


@pytest.mark.parametrize(("width", "height"), [(820, 600), (1280, 760)])
def test_all_is_reached_in_a_small_window(window: DeskWindow, width: int, height: int):
    memory = memory_of(window)
    window.window.setMinimumSize(800, 600)
    window.window.resize(width, height)
    memory.open_file(file_subject(title="a_file_with_a_name_that_is_very_long_indeed.keras"))
    work_out(window)

    side = memory.panel.if_sidebar
    assert side.geometry().right() <= memory.panel.width()
    inside = side.widget()
    assert inside is not None
    assert inside.width() <= side.viewport().width()
    assert memory.panel.icicle.width() > 300
    assert memory.panel.icicle.geometry().bottom() < memory.panel.table_view.geometry().top()


def test_a_file_is_chosen_read_beside_the_window_and_shown(
    window: DeskWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    opening = ModelFileOpener(window.window, memory_of(window))
    monkeypatch.setattr(
        "kmonitor.ui.memory.qt.model_file_controller.model_source_of", lambda *_, **__: None
    )
    monkeypatch.setattr(
        "kmonitor.ui.memory.qt.model_file_controller.describe_scaled",
        lambda *_: [(1.0, convolutions(64)), (2.0, convolutions(128))],
    )
    window.window.header.model_file_requested.emit()
    dialog = next(top for top in QApplication.topLevelWidgets() if isinstance(top, QFileDialog))
    dialog.fileSelected.emit(str(tmp_path / "small.h5"))
    assert "separate process" in memory_of(window).panel.text.text()

    wait_until(
        lambda: (window.qt.processEvents(), memory_of(window).map_estimator.layout is not None)[1],
        deadline_s=DEADLINE_S,
    )

    assert memory_of(window).panel.title.text() == "small.h5"
    dialog.close()
    opening.stop()


def test_a_keras_file_is_mapped_at_once_also_where_keras_is_missing(
    window: DeskWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def no_keras(*_: object) -> list[object]:
        raise UserError("No module named 'keras'")

    module = "kmonitor.ui.memory.qt.model_file_controller"
    monkeypatch.setattr(f"{module}.model_source_of", lambda *_, **__: None)
    monkeypatch.setattr(f"{module}.layout_of_file", lambda _: convolutions(64))
    monkeypatch.setattr(f"{module}.describe_scaled", no_keras)
    opening = ModelFileOpener(window.window, memory_of(window))

    opening.open(str(tmp_path / "small.keras"))
    desk = memory_of(window).map_estimator
    wait_until(
        lambda: (
            window.qt.processEvents(),
            desk.subject is not None and "no other" in desk.subject.why_one_size,
        )[1],
        deadline_s=DEADLINE_S,
    )

    assert desk.map_estimate.found is not None
    opening.stop()


def test_a_file_with_own_classes_asks_for_them(window: DeskWindow, tmp_path: Path):
    opening = ModelFileOpener(window.window, memory_of(window))
    panel = memory_of(window).panel

    opening.open(str(tmp_path / "none.keras"))
    wait_until(
        lambda: (window.qt.processEvents(), "not found" in panel.text.text())[1],
        deadline_s=DEADLINE_S,
    )
    assert not panel.missing.isVisible()
    assert opening.reading is not None
    opening.refused.emit(
        opening.reading, "names mine", "For custom classes, use --custom classes.py"
    )
    window.settle()

    assert panel.missing.isVisible()
    assert "--custom" not in panel.remedy.text()
    opening.stop()


def test_who_leaves_a_file_gives_it_up(window: DeskWindow, tmp_path: Path):
    opening = ModelFileOpener(window.window, memory_of(window))
    opening.open(str(tmp_path / "none.keras"))
    reading = opening.reading
    assert reading is not None

    memory_of(window).close()

    assert reading.cancelled.is_set()
    opening.stop()
