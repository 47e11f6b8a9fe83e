"""Export, report and pictures of charts from the window: files are written, failures shown."""

import csv
import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QImage
from PySide6.QtWidgets import QFileDialog, QMenu, QMessageBox

from kmonitor.ui.report.qt.export_controller import ExportController
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.text.language import use_translation
from kmonitor.ui.widgets.dialogs import SaveDialog
from kmonitor_agent.wire.local.folders import Folders
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.drawings import Drawing, Page
from tests.support.live_hub import LiveHub, idle_hub, live_hub
from tests.support.made_up_runs import made_up_run
from tests.support.running_tests import LONG
from tests.support.simulated_agent import SimulatedAgent
from tests.support.started_app import start
from tests.support.waiting import DEADLINE_MS

__all__ = ["idle_hub", "live_hub", "start"]

pytestmark = [*WINDOW, LONG]

HOSTILE = '<b>&"run"</b>\u202e'


@pytest.fixture
def shown() -> Iterator[DeskWindow]:
    window = DeskWindow()
    window.connect()
    window.tell_runs(made_up_run(name=HOSTILE), made_up_run("run2", name="other"))
    yield window
    window.close()


@pytest.fixture
def export(shown: DeskWindow) -> Iterator[ExportController]:
    controller = ExportController(shown.window, shown.desk, shown.look)
    assert shown.board is not None
    controller.attach(None, shown.board)
    yield controller
    controller.stop()
    controller.deleteLater()


@pytest.mark.slow
def test_a_run_of_a_real_hub_is_exported_and_reported(
    start: Callable[..., KmonitorApp],
    live_hub: LiveHub,
    folders: Folders,
    tmp_path: Path,
    qtbot: Any,
) -> None:
    with SimulatedAgent(folders, name=HOSTILE) as agent:
        agent.start_fit(epochs=4)
        for _ in range(3):
            agent.start_epoch()
            agent.sample()
            agent.end_epoch()
        agent.wait_acked()
        app = start(with_hub=False)
        qtbot.waitUntil(
            lambda: app.charts_controller is not None and app.charts_controller.is_loaded,
            timeout=DEADLINE_MS,
        )
        writing = (
            (app.export.export_to, "run.csv"),
            (app.export.export_to, "run.json"),
            (app.export.report_to, "run.html"),
            (app.export.export_all_to, "drawn.csv"),
        )
        for write, name in writing:
            with qtbot.waitSignal(app.export.written, timeout=DEADLINE_MS):
                write(str(tmp_path / name))
            assert app.export.writer_thread is not None
            app.export.writer_thread.join()

        qtbot.waitUntil(lambda: "drawn.csv" in app.window.status.note.text(), timeout=DEADLINE_MS)

    rows = list(csv.DictReader((tmp_path / "run.csv").read_text().splitlines()))
    assert [row["type"] for row in rows] == ["sample", "epoch_end"] * 3
    events = [json.loads(line) for line in (tmp_path / "run.json").read_text().splitlines()]
    assert events[0]["name"] == HOSTILE
    drawn = list(csv.DictReader((tmp_path / "drawn.csv").read_text().splitlines()))
    assert [row["type"] for row in drawn] == ["sample", "epoch_end"] * 3
    assert len({row["run"] for row in drawn}) == 1
    assert "b" not in Page.of((tmp_path / "run.html").read_text()).names


def test_a_chart_is_saved_as_svg_and_png_as_it_is_shown(
    export: ExportController, shown: DeskWindow, tmp_path: Path, qtbot: Any
) -> None:
    for name in ("chart.svg", "chart.png"):
        with qtbot.waitSignal(export.written, timeout=DEADLINE_MS):
            export.save_picture("ram", str(tmp_path / name))
        assert export.writer_thread is not None
        export.writer_thread.join()

    drawing = Drawing.of((tmp_path / "chart.svg").read_text(encoding="utf-8"))
    words = " ".join(drawing.texts())
    assert "RAM" in words
    assert "<b>&" in words
    assert "other" in words
    assert "drag to set a limit" not in words
    image = QImage(str(tmp_path / "chart.png"))
    assert (image.width(), image.height()) == (1920, 880)
    colours = {image.pixelColor(x, 440).name() for x in range(0, 1920, 2)}
    palette = shown.look.palette
    assert palette.card in colours
    assert palette.series[0] in colours


@pytest.mark.parametrize(
    ("other", "title"),
    [("training", "Export all 2 runs on the charts"), ("finished", "Export <b>&")],
)
def test_all_that_is_drawn_is_called_by_how_many_there_are(
    export: ExportController, shown: DeskWindow, other: str, title: str
) -> None:
    shown.tell_runs(made_up_run("run2", name="other", state=other))
    export.choose_export_all_file()

    (dialog,) = shown.window.findChildren(QFileDialog)
    assert dialog.windowTitle().startswith(title)
    assert ("and-others" in dialog.selectedFiles()[0]) == (other == "training")
    dialog.close()


def test_a_file_that_cannot_be_written_is_told_and_all_else_goes_on(
    export: ExportController, shown: DeskWindow, tmp_path: Path, qtbot: Any
) -> None:
    with qtbot.waitSignal(export.refused, timeout=DEADLINE_MS):
        export.save_picture("ram", str(tmp_path / "no-such-folder" / "chart.png"))
    qtbot.waitUntil(lambda: bool(shown.window.findChildren(QMessageBox)))

    (box,) = shown.window.findChildren(QMessageBox)
    assert "no-such-folder/chart.png cannot be written: No such file" in box.text()
    box.close()
    assert export.writer_thread is not None
    export.writer_thread.join()
    with qtbot.waitSignal(export.written, timeout=DEADLINE_MS):
        export.save_picture("ram", str(tmp_path / "chart.png"))


def test_a_full_disk_is_told(export: ExportController, shown: DeskWindow, qtbot: Any) -> None:
    full = Path("/dev/full")
    if not full.exists() or not stat.S_ISCHR(full.stat().st_mode):
        pytest.skip("there is no full device here")

    with qtbot.waitSignal(export.refused, timeout=DEADLINE_MS) as told:
        export.save_picture("ram", str(full))

    assert "No space left on device" in told.args[0]
    for box in shown.window.findChildren(QMessageBox):
        box.close()


@pytest.mark.parametrize(
    ("method", "title", "ending"),
    [
        ("choose_export_file", "Export", "csv"),
        ("choose_report_file", "Report on", "html"),
    ],
)
def test_where_to_is_asked_with_a_name_of_the_run(
    export: ExportController, shown: DeskWindow, method: str, title: str, ending: str
) -> None:
    getattr(export, method)()

    (dialog,) = shown.window.findChildren(QFileDialog)
    assert dialog.windowTitle().startswith(title)
    assert dialog.defaultSuffix() == ending
    assert "run1" in dialog.selectedFiles()[0]
    dialog.close()


def test_the_ending_follows_the_chosen_kind(export: ExportController, shown: DeskWindow) -> None:
    export.choose_export_file()

    (dialog,) = shown.window.findChildren(QFileDialog)
    dialog.selectNameFilter("Parquet (*.parquet)")
    dialog.filterSelected.emit("Parquet (*.parquet)")
    assert dialog.defaultSuffix() == "parquet"
    dialog.close()


def test_while_the_view_is_held_what_is_shown_is_exported(
    export: ExportController, shown: DeskWindow
) -> None:
    assert shown.board is not None
    assert export.held_span_s() is None

    shown.board.standard_charts.count("seconds")
    shown.board.standard_charts.zoom(600.0, 900.0)
    export.choose_export_file()

    assert export.held_span_s() == pytest.approx((600.0, 900.0))
    (dialog,) = shown.window.findChildren(QFileDialog)
    assert dialog.windowTitle().startswith("Export the visible range of")
    dialog.close()


def test_the_menus_offer_it(export: ExportController, shown: DeskWindow) -> None:
    header, card = shown.window.header, shown.window.cards["ram"]
    header.theme_button.click()
    card.open_menu(card.mapToGlobal(card.rect().center()))

    entries = [
        action.text()
        for menu in (*header.findChildren(QMenu), *card.findChildren(QMenu))
        for action in menu.actions()
    ]
    for text in ("Export\u2026", "Report\u2026", "Save as PNG\u2026", "Save as SVG\u2026"):
        assert text in entries
    for menu in (*header.findChildren(QMenu), *card.findChildren(QMenu)):
        menu.close()


def test_a_menus_entry_asks_where_its_picture_goes(
    export: ExportController, shown: DeskWindow
) -> None:
    card = shown.window.cards["graph"]
    card.open_menu(card.mapToGlobal(card.rect().center()))
    (menu,) = card.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)
    (save,) = [each for each in menu.actions() if each.text() == "Save as SVG\u2026"]
    assert isinstance(save, QAction)

    save.trigger()

    (dialog,) = shown.window.findChildren(QFileDialog)
    assert dialog.defaultSuffix() == "svg"
    assert "-graph" in dialog.selectedFiles()[0]
    dialog.close()
    menu.close()


def test_without_a_run_there_is_nothing_to_export() -> None:
    window = DeskWindow()
    controller = ExportController(window.window, window.desk, window.look)
    controller.choose_export_file()
    controller.choose_report_file()
    controller.export_to("unwritten.csv")
    window.window.header.theme_button.click()

    assert window.window.findChildren(QFileDialog) == []
    menu = window.window.header.findChild(QMenu)
    assert menu is not None
    assert "Export\u2026" not in [action.text() for action in menu.actions()]
    menu.close()
    controller.deleteLater()
    window.close()


def test_labels_that_qt_leaves_in_english_are_said_in_the_language_in_force(
    shown: DeskWindow, tmp_path: Path
) -> None:
    use_translation(lambda text: f"~{text}")
    try:
        dialog = SaveDialog("x", tmp_path / "a", {"csv": "CSV"}, shown.window)
    finally:
        use_translation(str)

    assert dialog.labelText(QFileDialog.DialogLabel.LookIn) == "~Look in:"
    assert dialog.labelText(QFileDialog.DialogLabel.FileType) == "~Files of type:"
    dialog.deleteLater()
