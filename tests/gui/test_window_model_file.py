"""The window about a model file: its content, and what each way to load it takes."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kmonitor.base.errors import UserError
from kmonitor.memory.model_files.description import DescriptionCancelled, ModelSource, answer_of
from kmonitor.memory.model_files.load_cost import LoadCost
from kmonitor.ui.memory.qt.model_file_controller import ModelFileController
from kmonitor.ui.memory.qt.model_file_window import ModelFileWindow
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.model_files import write_archive
from tests.support.waiting import DEADLINE_S, wait_until

pytestmark = WINDOW

MIB = 2**20
MODULE = "kmonitor.ui.memory.qt.model_file_controller"
COST = LoadCost("compiled", 713 * MIB, 401 * MIB, 4.1, "whole", can_train_on=True, repeats=3)


class Opened:
    """A window about a file; what it measures is the test's."""

    def __init__(self, desk: DeskWindow, path: Path, patch: pytest.MonkeyPatch) -> None:
        self.desk = desk
        patch.setattr(f"{MODULE}.model_source_of", lambda *_, **__: ModelSource())
        patch.setattr(f"{MODULE}._without_framework", _refused)
        self.controller = ModelFileController(desk.window, desk.controller.memory, desk.look)
        self.controller.file_opener.open(str(path))
        desk.controller.memory.panel.details_requested.emit()

    @property
    def window(self) -> ModelFileWindow:
        shown = self.controller.shown
        assert shown is not None
        return shown

    def until(self, condition: Callable[[], object]) -> None:
        wait_until(lambda: (self.desk.qt.processEvents(), condition())[1], deadline_s=DEADLINE_S)


def _refused(*_: object, **__: object) -> ModelSource:
    raise UserError("no map here")


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    desk = DeskWindow(with_charts=False)
    desk.connect()
    made = Opened(desk, write_archive(tmp_path / "small.keras"), monkeypatch)
    yield made
    made.controller.stop()
    desk.close()


def test_the_file_is_inspected_without_a_framework(opened: Opened):
    opened.until(lambda: opened.window.file_state.facts)

    told = {fact.title: fact.value for fact in opened.window.file_state.facts}
    assert told["Optimizer"] == "Adam"
    assert opened.window.model.rowCount() == 1


def test_each_way_is_measured_with_progress(opened: Opened, monkeypatch: pytest.MonkeyPatch):
    go_on = threading.Event()

    def measured(
        *_: object, on_progress: Callable[[int, int], None], **more: Any
    ) -> list[LoadCost]:
        on_progress(1, more["repeats"])
        assert go_on.wait(DEADLINE_S)
        return [COST]

    monkeypatch.setattr(f"{MODULE}.measure", measured)
    opened.window.cost.measure.click()
    opened.until(lambda: "1 of 3" in opened.window.cost.progress.text())
    assert opened.window.cost.measure.text() == "Cancel"

    go_on.set()
    opened.until(lambda: opened.window.cost.cost_state.rows)

    assert opened.window.cost.measure.text() == "Measure"
    assert "load_model" in opened.window.cost.recommended.text()


def test_a_cancel_ends_the_process_that_runs(opened: Opened, monkeypatch: pytest.MonkeyPatch):
    ended = threading.Event()

    def endless(*_: object, is_cancelled: Callable[[], bool], **__: object) -> list[LoadCost]:
        try:
            code = "import sys, threading; sys.stdin.read(); threading.Event().wait(3600)"
            answer_of(code, {}, dict, "sleeps", is_cancelled)
        except DescriptionCancelled:
            ended.set()
            raise
        return []

    monkeypatch.setattr(f"{MODULE}.measure", endless)
    opened.window.cost.measure.click()

    opened.window.cost.measure.click()

    assert ended.wait(DEADLINE_S)
    opened.until(lambda: opened.window.cost.text.text().startswith("Canceled"))


def test_what_cannot_be_measured_says_why(opened: Opened, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object, **__: object) -> list[LoadCost]:
        raise UserError("it cannot be loaded", "try another")

    monkeypatch.setattr(f"{MODULE}.measure", refused)
    opened.window.cost.measure.click()

    opened.until(lambda: "cannot be loaded" in opened.window.cost.text.text())


def test_who_closes_it_wants_no_more(opened: Opened, monkeypatch: pytest.MonkeyPatch):
    asked = threading.Event()

    def measured(*_: object, is_cancelled: Callable[[], bool], **__: object) -> list[LoadCost]:
        wait_until(is_cancelled, deadline_s=DEADLINE_S)
        asked.set()
        raise DescriptionCancelled

    monkeypatch.setattr(f"{MODULE}.measure", measured)
    opened.window.cost.measure.click()

    opened.window.close()

    assert asked.wait(DEADLINE_S)
    assert opened.controller.shown is None
