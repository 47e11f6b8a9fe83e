"""Verdicts in the window: on the cards, on the charts, in the tree, and in full."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QRect, QSizeF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QTextBrowser, QWidget

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.ui.charts.qt.chart_card import VerdictButton, VerdictRow
from kmonitor.ui.events.qt.detail_windows import RunEndWindow
from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.plots.qt.scene import GRIP_WIDTH_PX, ChartColours, scene_for
from kmonitor.ui.shell.qt.header_view import Chip
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.qt.verdict_window import VerdictWindow
from kmonitor_agent.wire.messages.commands import LimitMetric
from kmonitor_agent.wire.messages.events import LimitForecast, SessionDied, Verdict
from kmonitor_agent.wire.messages.unions import VerdictsReply, VerdictsRequest
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.growing_run import Growing, events_of
from tests.support.made_up_runs import limit, made_up_run
from tests.support.made_up_verdicts import GIB, LEAK

pytestmark = WINDOW

LONG = "a_model_with_a_name_of_eighty_letters_that_somebody_really_gave_to_a_run_of_hers"


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    yield made
    made.close()


def _live(window: DeskWindow, **about: Any) -> None:
    window.connect()
    limits = [limit("ram", 80 * GIB)]
    verdicts = {"ram": "suspected"}
    window.tell_runs(made_up_run(limits=limits, verdicts=verdicts, **about))
    window.tell_events(
        LEAK,
        replace(LEAK, metric="graph", state="measuring", units=4, forecast=None, cause=""),
        replace(LEAK, metric="step_time", state="steady", forecast=None, cause=""),
        replace(LEAK, metric="vram", state="cleared", forecast=None, cause=""),
    )
    window.controller.refresh()
    window.settle()


def _buttons(window: DeskWindow, metric: LimitMetric) -> list[VerdictButton]:
    found = window.window.cards[metric].findChildren(VerdictButton)
    return [button for button in found if button.isVisible()]


def _open(window: DeskWindow, metric: LimitMetric = "ram") -> VerdictWindow:
    (button,) = _buttons(window, metric)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    window.settle()
    (sheet,) = window.window.findChildren(VerdictWindow)
    return sheet


def _colours(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {
        QColor(image.pixel(x, y)).name()
        for x in range(0, image.width(), 2)
        for y in range(0, image.height(), 2)
    }


def test_each_card_says_its_verdict_in_words(window: DeskWindow):
    _live(window)

    said = {metric: [b.text() for b in _buttons(window, metric)] for metric in window.window.cards}
    assert said == {
        "ram": ["leak suspected"],
        "graph": ["measuring"],
        "step_time": ["steady"],
        "vram": ["no longer growing"],
    }
    card = window.window.cards["ram"]
    assert "leak suspected, limit in about 14 epochs (10 to 21)" in card.accessibleDescription()
    assert _buttons(window, "ram")[0].accessibleName() == "RAM: leak suspected"
    assert _buttons(window, "ram")[0].property("tone") == "crit"


def test_nothing_of_a_verdict_is_cut_off_in_a_small_window(window: DeskWindow):
    _live(window, name=LONG)

    for metric in window.window.cards:
        (button,) = _buttons(window, metric)
        assert button.width() >= button.sizeHint().width()
        inside = QRect(
            button.mapTo(window.window.cards[metric], button.rect().topLeft()), button.size()
        )
        assert window.window.cards[metric].rect().contains(inside)
    (row,) = [r for r in window.window.cards["ram"].findChildren(VerdictRow) if r.isVisible()]
    labels = [label for label in row.findChildren(QLabel) if label.isVisible()]
    assert [label.text() for label in labels] == ["limit in about 14 epochs (10 to 21)"]
    for label in labels:
        assert label.fontMetrics().horizontalAdvance(label.text()) <= label.width()
    heights = {card.height() for card in window.window.cards.values()}
    assert max(heights) - min(heights) <= 1


def test_a_window_that_looks_at_a_run_asks_how_it_stands(window: DeskWindow):
    window.connect()
    window.tell_runs(made_up_run())

    asked = [(n, m) for n, m in window.asked if isinstance(m, VerdictsRequest)]
    assert [message.run for _, message in asked] == ["run1"]
    window.desk.apply_message(VerdictsReply(request_id=asked[0][0], run="run1", verdicts=[LEAK]))
    window.settle()
    window.controller.refresh()

    assert [b.text() for b in _buttons(window, "ram")] == ["leak suspected"]


def test_the_evidence_opens_beside_the_chart_which_shades_its_window(window: DeskWindow):
    _live(window)
    assert window.board is not None
    sheet = _open(window)

    assert sheet.isVisible()
    assert "RAM: leak suspected" in sheet.text()
    assert "Grew along with it: traces of models that no longer exist" in sheet.text()
    picture = window.board.standard_charts.state("ram", 300)
    assert picture.evidence is not None
    assert window.board.standard_charts.state("graph", 300).evidence is None

    sheet.close()
    window.settle()
    assert window.board.standard_charts.state("ram", 300).evidence is None


def test_what_the_evidence_advises_is_asked_for_by_its_button(window: DeskWindow):
    _live(window, actions=["collect", "reload", "stop"])
    sheet = _open(window)

    titles = [b.text() for b in sheet.findChildren(QPushButton) if b.isVisible()]
    assert set(titles) == {"Collect", "Reload", "Copy", "Close"}
    button = next(b for b in sheet.findChildren(QPushButton) if b.text() == "Collect")
    assert button.accessibleName() == "Collect"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    assert [command.name for command in window.commands()] == ["collect"]


def test_the_evidence_follows_the_newest_figures_and_closes_with_its_run(window: DeskWindow):
    _live(window)
    sheet = _open(window)

    window.tell_events(replace(LEAK, unit=42, to_s=3700.0, turned=False, name="another_step"))
    window.controller.refresh()
    assert "another_step" in sheet.text()

    window.desk.run_store.select("nobody")
    window.connect()
    window.tell_runs(made_up_run("run2", started_wall_s=9e9))
    window.desk.select("run2")
    window.controller.refresh()
    assert not sheet.isVisible()


def test_a_forecast_is_drawn_and_gets_room_on_every_chart(window: DeskWindow):
    window.connect()
    window.tell_runs(made_up_run(limits=[limit("ram", 80 * GIB)]))
    assert window.board is not None
    without = window.board.standard_charts.x_range()[1]
    plain = _colours(window.board.chart("ram"))

    window.tell_events(LEAK)
    window.controller.refresh()
    window.settle()

    assert window.board.standard_charts.x_range()[1] > 1.3 * without
    pictures = [window.board.standard_charts.state(metric, 300) for metric in window.window.cards]
    assert len({picture.x_range for picture in pictures}) == 1
    assert window.board.standard_charts.state("ram", 300).forecast is not None
    assert window.look.palette.warn in _colours(window.board.chart("ram")) - plain


def test_what_the_hub_judged_from_a_trainings_events_is_what_the_window_says(window: DeskWindow):
    grows = Growing(ram_mib=40.0, traces=2, retained=2, ram_of_bytes=4 * GIB)
    judge = RunJudge()
    told: list[Verdict] = []
    for event in events_of(grows, 40):
        judge.read(event.t_s, event)
        told += judge.judge()
    window.connect()
    window.tell_runs(made_up_run())

    window.tell_events(*told)
    sheet = _open(window)

    assert [b.text() for b in _buttons(window, "ram")] == ["leak suspected"]
    assert [b.text() for b in _buttons(window, "graph")] == ["growing"]
    assert [b.text() for b in _buttons(window, "step_time")] == ["steady"]
    text = with_plain_spaces(sheet.text())
    assert "traces of models that no longer exist" in text
    assert "+40.0 MiB / epoch" in text
    assert "ost limit 4 GiB in about" in text


def test_what_the_forecast_meets_is_not_hidden_by_the_grip_and_is_named(window: DeskWindow):
    _live(window)
    host = LimitForecast(78 * GIB, "host", 2.0, 1.5, 3.0, 100.0)
    window.tell_events(replace(LEAK, unit=37, to_s=3700.0, forecast=host))
    assert window.board is not None
    picture = window.board.standard_charts.state("ram", 300)
    assert picture.forecast is not None

    scene = scene_for(picture, QSizeF(280.0, 150.0), ChartColours())

    met = scene.frame.x_px(picture.forecast.x_meets)
    assert met <= scene.frame.right - GRIP_WIDTH_PX
    assert scene.frame.y_px(picture.forecast.limit) >= scene.frame.top + 14.0
    assert with_plain_spaces(picture.forecast.limit_text) == "host limit 78 GiB"


def test_a_card_without_a_verdict_has_no_button(window: DeskWindow):
    window.connect()
    window.tell_runs(made_up_run())

    assert _buttons(window, "ram") == []


def test_the_line_of_a_death_and_the_state_open_the_last_minute_of_the_run(window: DeskWindow):
    window.connect()
    why = "out of memory: the kernel killed it"
    window.tell_runs(
        made_up_run(state="failed", state_why=why, cause="out of memory", checkpoint_bytes=None)
    )
    died = SessionDied(t_s=3700.0, session="b", how="memory", signal="SIGKILL", why=why)
    window.tell_events(died)
    (row,) = (each for each in window.desk.log.rows() if each.is_end)

    window.window.records.log.row_opened.emit(row.run, row.row)
    window.answer()
    window.settle()

    sheet = window.window.findChild(RunEndWindow)
    assert isinstance(sheet, RunEndWindow)
    assert sheet.isVisible()
    assert "Failed: out of memory" in sheet.text()
    assert "RAM over the last" in with_plain_spaces(sheet.text())
    assert "Nothing was saved" in sheet.text()
    sheet.close()
    chip = next(
        c for c in window.window.header.findChildren(Chip) if "Failed" in c.accessibleName()
    )
    QTest.mouseClick(chip, Qt.MouseButton.LeftButton)
    assert sheet.isVisible()
    sheet.close()
    QTest.keyClick(chip, Qt.Key.Key_Return)
    assert sheet.isVisible()
    sheet.close()


@pytest.fixture
def wide() -> Iterator[DeskWindow]:
    made = DeskWindow(size=(1920, 1080))
    yield made
    made.close()


def test_the_header_says_when_a_limit_is_met_until_the_run_ends(wide: DeskWindow):
    _live(wide, epochs=9000)

    def chips() -> list[str]:
        found = wide.window.header.findChildren(Chip)
        return [with_plain_spaces(chip.accessibleName()) for chip in found if chip.isVisible()]

    assert any("limit in about 14 epochs (10 to 21)" in text for text in chips())

    wide.tell_runs(made_up_run(state="finished"))

    assert not any("in about" in text for text in chips())


def test_a_loop_of_models_leads_to_what_the_guide_says_of_it(window: DeskWindow):
    _live(window)
    window.tell_events(replace(LEAK, per="fit"))
    window.controller.refresh()
    sheet = _open(window)
    (button,) = [b for b in sheet.findChildren(QPushButton) if "many models" in b.text()]

    QTest.mouseClick(button, Qt.MouseButton.LeftButton)

    (guide,) = window.window.findChildren(GuideWindow)
    assert guide.page == "folds.md"
    assert guide.findChildren(QTextBrowser)[0].textCursor().block().text() == (
        "Models trained in a loop in one process"
    )
    window.tell_events(LEAK)
    window.controller.refresh()
    assert not button.isVisible()
