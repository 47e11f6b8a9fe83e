"""The whole window by keyboard: regions, runs, charts, and the page that lists the keys."""

import re
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QWidget

from kmonitor.ui.events.qt.detail_windows import DiagnosisWindow
from kmonitor.ui.guide.pages import read_pages, reading_order
from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.guide.qt.help_controller import KeyboardWindow
from kmonitor.ui.history.qt.history_controller import NoteDialog
from kmonitor.ui.shell.qt.app import KmonitorApp
from kmonitor.ui.shortcuts import KEYS, shortcut_groups
from kmonitor.ui.theme.qt.theme import Theme
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.made_up_runs import made_up_run
from tests.support.started_app import start

__all__ = ["start"]

pytestmark = WINDOW

LINK = re.compile(r'href="([^"]+)"')
PLAIN = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def window() -> Iterator[DeskWindow]:
    made = DeskWindow()
    made.connect()
    made.tell_runs(*(made_up_run(f"run{n}", name=f"net-{n}") for n in range(3)))
    made.window.activateWindow()
    yield made
    made.close()


def press(key: Qt.Key, modifiers: Qt.KeyboardModifier = PLAIN) -> None:
    focused = QApplication.focusWidget()
    assert focused is not None
    QTest.keyClick(focused, key, modifiers)


def shortcuts_of(window: QWidget) -> dict[str, list[str]]:
    """The keys of all shortcuts of a window and what is in it, by name."""
    found: dict[str, list[str]] = {}
    for each in window.findChildren(QShortcut):
        if not each.key().isEmpty():
            found.setdefault(each.objectName(), []).append(each.key().toString())
    for button in window.findChildren(QAbstractButton):
        if not button.shortcut().isEmpty():
            found.setdefault("", []).append(button.shortcut().toString())
    for action in window.findChildren(QAction):
        if not action.shortcut().isEmpty():
            found.setdefault("", []).append(action.shortcut().toString())
    return found


def as_qt_writes(keys: str) -> str:
    return QKeySequence(keys).toString()


def test_every_shortcut_there_is_stands_in_the_table_and_the_other_way_round(
    start: Callable[..., KmonitorApp],
) -> None:
    app = start(with_hub=False)
    app.controller.help.open_guide()
    opened = [
        DiagnosisWindow(Theme(app.window), app.window),
        NoteDialog("run", "", app.window),
    ]
    found = shortcuts_of(app.window)
    unnamed = found.pop("", [])

    table = {as_qt_writes(key.keys) for key in KEYS.values()}
    # An edit field brings Qt's own keys along: undo, copy, select all.
    fields = {"Ctrl+Z", "Ctrl+Shift+Z", "Ctrl+X", "Ctrl+C", "Ctrl+V", "Ctrl+A", "Delete", "Del"}
    assert set(unnamed) - fields <= table
    assert {name: keys for name, keys in found.items() if name not in KEYS} == {}
    for name, keys in found.items():
        assert keys == [as_qt_writes(KEYS[name].keys)]
    made = {keys for each in found.values() for keys in each} | set(unnamed)
    of_actions = {as_qt_writes(key.keys) for key in KEYS.values() if key.scope == "charts"}
    assert table - made <= of_actions
    for each in opened:
        each.deleteLater()


def test_the_page_of_keys_shows_the_map(window: DeskWindow) -> None:
    press(Qt.Key.Key_Question)
    (page,) = window.window.findChildren(KeyboardWindow)
    shown = {label.text() for label in page.findChildren(QLabel)}

    for group in shortcut_groups():
        assert group.title.upper() in shown
        for line in group.lines:
            assert line.text in shown
    QTest.keyClick(page, Qt.Key.Key_Escape)
    assert not page.isVisible()


def test_a_question_mark_that_is_typed_stays_a_letter(window: DeskWindow) -> None:
    press(Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = QApplication.focusWidget()
    assert isinstance(field, QLineEdit)
    QTest.keyClicks(field, "a?")

    assert field.text() == "a?"
    assert not window.window.findChildren(KeyboardWindow)


def test_f6_goes_around_the_parts_of_the_window_in_both_directions(window: DeskWindow) -> None:
    seen: list[QWidget] = []
    for _ in range(6):
        press(Qt.Key.Key_F6) if seen else QTest.keyClick(window.window, Qt.Key.Key_F6)
        focused = QApplication.focusWidget()
        assert focused is not None
        seen.append(focused)
    regions = [region for region in window.window.regions() if region.isVisible()]
    places = [next(r for r in regions if r.isAncestorOf(each)) for each in seen[:5]]

    assert places == [
        window.window.header,
        window.window.run_tree,
        window.window.centre,
        window.window.actions_panel,
        window.window.records,
    ]
    assert seen[5] is seen[0]
    press(Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)
    assert QApplication.focusWidget() is seen[4]


def test_up_and_down_go_from_run_to_run(window: DeskWindow) -> None:
    first = window.desk.run_store.selected
    press(Qt.Key.Key_Down)
    second = window.desk.run_store.selected
    press(Qt.Key.Key_Up)

    assert second != first
    assert window.desk.run_store.selected == first


def test_arrows_and_signs_move_crosshair_and_zoom_without_a_chart_having_the_focus(
    window: DeskWindow,
) -> None:
    assert window.board is not None
    press(Qt.Key.Key_Left)
    charts = [window.board.chart("ram"), window.board.chart("graph")]
    assert all(chart.crosshair_x is not None for chart in charts)
    press(Qt.Key.Key_Plus)
    assert not window.board.standard_charts.is_live
    press(Qt.Key.Key_0)
    assert window.board.standard_charts.is_live
    press(Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
    assert window.board.standard_charts.is_live


def test_f1_opens_the_page_about_what_is_looked_at(window: DeskWindow) -> None:
    press(Qt.Key.Key_Question)
    (page,) = window.window.findChildren(KeyboardWindow)
    window.settle()
    QTest.keyClick(page, Qt.Key.Key_F1)
    (guide,) = window.window.findChildren(GuideWindow)
    assert guide.page == "keyboard.md"

    for each in (page, guide):
        each.close()
    window.window.activateWindow()
    window.controller.history.open()
    window.settle()
    press(Qt.Key.Key_F1)
    assert guide.page == "history.md"
    guide.close()


def test_the_guide_is_searched_page_by_page(window: DeskWindow) -> None:
    window.controller.help.open_guide()
    (guide,) = window.window.findChildren(GuideWindow)
    window.settle()
    QTest.keyClick(guide, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(guide.search, "fonts-noto")
    QTest.keyClick(guide.search, Qt.Key.Key_Return)
    first = guide.match_count.text()
    assert guide.page == "troubleshooting.md"
    guide.search.setText("training")
    pages: set[str] = set()
    for _ in range(60):
        QTest.keyClick(guide, Qt.Key.Key_F3)
        assert guide.reader.textCursor().selectedText().lower() == "training"
        pages.add(guide.page)
    assert len(pages) > 2
    guide.search.setText("no such words anywhere")
    guide.find_next()

    assert guide.match_count.text() == "No matches"
    assert first != ""
    guide.close()


def test_every_page_of_the_guide_opens_and_its_links_lead_somewhere(window: DeskWindow) -> None:
    window.controller.help.open_guide()
    (guide,) = window.window.findChildren(GuideWindow)
    names = reading_order(read_pages())
    assert len(names) > 10
    for name in names:
        guide.open_page(name)
        assert guide.page == name
        for link in LINK.findall(guide.reader.document().toHtml()):
            if "://" not in link:
                guide.reader.anchorClicked.emit(QUrl(link))
                assert "missing" not in guide.reader.toPlainText()[:60]
                guide.open_page(name)
    guide.open_page("keyboard.md", "history-and-comparison")
    assert guide.reader.textCursor().block().text() == "History and comparison"
    guide.close()
