"""Contents of the window in each state; every control can be reached and named."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QLabel,
    QLineEdit,
    QWidget,
)

from kmonitor.ui.plots.qt.live_chart import LiveChart
from kmonitor.ui.shell.qt.header_view import Chip
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor_agent.wire.messages import events
from kmonitor_agent.wire.messages.unions import MetricReading
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import limit, made_up_run, reload_record, told_hub

pytestmark = WINDOW


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    yield made
    made.close()


def texts_of(widget: QWidget) -> str:
    """All texts that can be seen in a widget."""
    labels = [w.text() for w in widget.findChildren(QLabel) if w.isVisible()]
    buttons = [w.text() for w in widget.findChildren(QAbstractButton) if w.isVisible()]
    return "\n".join(labels + buttons)


def live(window: DeskWindow, *, n: int = 1, **changed: Any) -> None:
    window.connect()
    others = [
        made_up_run(f"r{i}", name=f"other {i}", started_wall_s=float(i)) for i in range(n - 1)
    ]
    window.tell_runs(made_up_run(**changed), *others)


def test_while_connecting_nothing_pretends_to_be_known(window: DeskWindow):
    window.settle()

    shown = texts_of(window.window)
    assert "Starting the hub…" in shown
    assert "Connecting to the hub…" in shown
    assert "Save checkpoint" not in shown


def test_the_first_page_teaches_the_two_lines_and_copies_them(window: DeskWindow):
    window.desk.connected(told_hub(rows=0))
    window.settle()
    page = window.window.first_start

    assert page.isVisible()
    assert "from kmonitor_agent import MonitorCallback" in texts_of(page)
    assert not window.window.actions_panel.isVisible()
    assert not window.window.event_log.isVisible()
    copy = next(b for b in page.findChildren(QAbstractButton) if "Copy" in b.text())
    QTest.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert "callbacks=[MonitorCallback()]" in window.qt.clipboard().text()
    assert copy.text() == "Copied"


def test_a_live_run_is_told_in_words_everywhere(window: DeskWindow):
    live(window, limits=[limit()])
    window.tell_events(reload_record())

    shown = texts_of(window.window).replace("\u202f", " ")
    for words in (
        "resnet50-imagenet",
        "Training",
        "Epoch 37 / 90",
        "73.4 GiB",
        "of 192 GiB",
        "limit 128 GiB, reload",
        (
            "When RAM exceeds 128 GiB, kmonitor saves, clears and reloads the model after the"
            " current epoch."
        ),
        "Connected to the hub on gpu-01",
        "Last checkpoint: epoch 36",
    ):
        assert words in shown
    assert " / epoch" in shown


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("starting", "Starting"),
        ("idle", "Between fits"),
        ("paused", "Paused"),
        ("reclaiming", "Running an action"),
        ("silent", "No data for"),
        ("finished", "Finished"),
        ("stopped", "Stopped"),
        ("failed", "Failed"),
        ("interrupted", "Interrupted"),
        ("lost", "Lost"),
    ],
)
def test_each_state_is_an_icon_and_a_word_and_an_ended_run_stays_readable(
    window: DeskWindow, state: str, word: str
):
    live(window, state=state, fit=0 if state == "starting" else 1)

    chips = [chip for chip in window.window.findChildren(Chip) if chip.isVisible()]
    assert word in texts_of(chips[0])
    assert any(not label.pixmap().isNull() for label in chips[0].findChildren(QLabel))
    assert "73.4" in texts_of(window.window)
    save = next(b for b in window.window.findChildren(QAbstractButton) if "Save check" in b.text())
    assert save.isEnabled() == (state in {"starting", "idle", "paused", "reclaiming", "silent"})
    assert save.isEnabled() or "has ended" in save.toolTip()


def test_a_lost_hub_raises_a_banner_and_its_return_takes_it_away(window: DeskWindow):
    live(window)
    window.desk.disconnected("gone", retry_in_s=600.0, since_wall_s=1.0)
    window.settle()

    assert "training may still be running. Retrying in" in texts_of(window.window.banner)
    retried: list[bool] = []
    window.controller.retry_requested.connect(lambda: retried.append(True))
    button = window.window.banner.findChild(QAbstractButton)
    assert isinstance(button, QAbstractButton)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert retried
    window.connect()
    window.settle()
    assert not window.window.banner.isVisible()


@pytest.mark.parametrize("size", [(1000, 640), (1280, 760)])
def test_a_failure_is_told_in_full_lines_and_can_be_closed(size: tuple[int, int]):
    window = DeskWindow(size=size)
    try:
        live(window)
        log = "/home/somebody/.local/state/kmonitor/logs/app.log"
        window.desk.link.fail("FileNotFoundError: resource icons/x.svg is missing", log)
        window.settle()
        banner = window.window.banner

        assert banner.isVisible()
        for label in banner.findChildren(QLabel):
            assert label.width() >= min(300, label.fontMetrics().horizontalAdvance(label.text()))
        assert banner.height() < 100
        assert window.board is not None
        for metric, card in window.window.cards.items():
            assert window.board.chart(metric).geometry().bottom() < card.height()
        close = next(b for b in banner.findChildren(QAbstractButton) if b.isVisible())
        QTest.mouseClick(close, Qt.MouseButton.LeftButton)
        assert not banner.isVisible()
        assert window.window.event_log.isVisible()
    finally:
        window.close()


def test_without_a_gpu_the_card_is_the_allocators_and_a_missing_number_says_why(
    window: DeskWindow,
):
    source = "tensorflow allocator, CPU:0 in use (tensors of 256 KiB or more)"
    cpu = MetricReading(value=866 * 1024.0, source=source)
    live(window, vram=cpu, graph=MetricReading(absent="this backend keeps no graph"))
    missing = events.FieldSource(
        "device_used_bytes", "bytes", absent="no NVIDIA driver on this host"
    )
    window.tell_events(events.FieldSources(t_s=1.0, sources=[missing]))

    card = window.window.cards["vram"]
    hint = "no NVIDIA driver on this host \u00b7 counts tensors of 256 KiB or more"
    label = next(one for one in card.findChildren(ElidedLabel) if one.text() == hint)
    assert label.isVisible()
    # One line high, as the other labels: what does not fit goes as a whole part.
    assert label.shown_text() in (hint, "no NVIDIA driver on this host")
    assert "NVIDIA" not in texts_of(window.window.cards["ram"])
    heights = [card.height() for card in window.window.cards.values()]
    assert max(heights) - min(heights) <= 1
    assert "Framework allocator (CPU)" in texts_of(window.window)
    assert window.board is not None
    assert "keeps no graph" in window.board.chart("graph").accessibleDescription()


@pytest.mark.parametrize("size", [(1000, 640), (1280, 760), (1600, 980)])
def test_long_and_chinese_names_and_thirty_runs_break_no_layout(size: tuple[int, int]):
    window = DeskWindow(size=size, theme="light")
    try:
        name = "实验-多语言大模型微调-" + "x" * 80
        live(window, n=30, name=name, gaps=3, faults=1, fit=12, fits_done=11, limits=[limit()])

        assert (window.window.width(), window.window.height()) == size
        cards = list(window.window.cards.values())
        assert max(c.width() for c in cards) - min(c.width() for c in cards) <= 1
        assert min(c.height() for c in cards) > 150
        chips = [c for c in window.window.findChildren(Chip) if c.isVisible()]
        spans = sorted((chip.x(), chip.x() + chip.width()) for chip in chips)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
        assert chips
    finally:
        window.close()


def test_every_control_has_a_name_and_what_can_be_pressed_a_tooltip(window: DeskWindow):
    live(window)
    window.tell_events(events.Paused(t_s=1.0, paused=True))
    kinds = (QAbstractButton, QLineEdit, QAbstractItemView, LiveChart)
    controls = [w for kind in kinds for w in window.window.findChildren(kind) if w.isVisible()]

    nameless = [repr(w) for w in controls if not w.accessibleName()]

    assert len(controls) > 15
    assert nameless == []
    for chart in window.window.findChildren(LiveChart):
        assert chart.accessibleDescription()


def test_everything_can_be_reached_with_the_tab_key(window: DeskWindow):
    live(window)
    seen: set[str] = set()
    window.window.activateWindow()
    for _ in range(60):
        QTest.keyClick(window.window, Qt.Key.Key_Tab)
        focused = window.qt.focusWidget()
        if focused is not None:
            seen.add(focused.accessibleName())

    wanted = {"Find run or host", "Runs by host", "Save checkpoint", "Save + Clear + Reload"}
    assert wanted <= seen


def test_before_charts_are_loaded_the_cards_stand_already():
    window = DeskWindow(with_charts=False)
    try:
        live(window)
        assert "Graph size" in texts_of(window.window)
        window.load_charts()
        window.answer()
        window.settle()
        assert window.board is not None
        assert window.board.is_loaded
    finally:
        window.close()


def test_the_window_cannot_be_made_too_small_to_read_nor_larger_than_its_screen(
    window: DeskWindow,
):
    room = window.window.screen().availableSize()
    window.window.resize(300, 200)

    wanted = (min(1000, room.width()), min(640, room.height()))
    assert (window.window.width(), window.window.height()) == wanted
