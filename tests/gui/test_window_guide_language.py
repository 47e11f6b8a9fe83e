"""The guide in the window's language: page and place stay, words are found, marks are taken."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QUrl
from PySide6.QtGui import QTextDocument, QTextFormat

from kmonitor.desktop.panels import guide_pages
from kmonitor.desktop.panels.guide import GuideWindow
from kmonitor.desktop.panels.guide_page import blocks_of
from kmonitor.presenters.guide import slug
from kmonitor.resource_files import resource_path
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.language_window import window

__all__ = ["window"]

pytestmark = WINDOW


@pytest.fixture
def guide(window: DeskWindow) -> Iterator[GuideWindow]:
    window.controller.help.open_guide()
    (made,) = window.window.findChildren(GuideWindow)
    window.settle()
    yield made
    made.close()


def speak(window: DeskWindow, language: str) -> None:
    window.window.header.language_chosen.emit(language)
    window.settle()


def heading_at_top(guide: GuideWindow) -> int:
    """How many headings stand at the upper edge or above it."""
    top = guide._reader.cursorForPosition(QPoint(0, 0)).position()
    return sum(block.position() <= top for block in guide._headings())


def test_the_page_and_its_place_stay_when_the_language_changes(
    window: DeskWindow, guide: GuideWindow
) -> None:
    guide.open_page("limits-and-actions.md", "checkpoints")
    window.settle()
    place = heading_at_top(guide)

    speak(window, "zh_CN")

    assert guide.page == "limits-and-actions.md"
    assert guide._headings()[0].text() == "上限与操作"
    assert guide._headings()[place - 1].text() == "检查点"
    assert heading_at_top(guide) == place
    speak(window, "en")
    assert guide._headings()[place - 1].text() == "Checkpoints"
    assert heading_at_top(guide) == place


def test_a_guide_that_is_opened_in_chinese_is_chinese_and_its_links_lead_to_headings(
    window: DeskWindow,
) -> None:
    speak(window, "zh_CN")
    window.controller.help.open_page("settings.md")
    (guide,) = window.window.findChildren(GuideWindow)
    window.settle()

    guide._reader.anchorClicked.emit(QUrl(f"remote-hosts.md#{slug('主机失联时')}"))
    window.settle()

    assert guide.page == "remote-hosts.md"
    assert guide._reader.textCursor().block().text() == "主机失联时"
    guide.close()


def test_chinese_words_are_found_on_all_pages_and_english_ones_anew(
    window: DeskWindow, guide: GuideWindow
) -> None:
    guide._search.setText("many hosts")  # words that no Chinese page quotes
    guide.find_next()
    assert guide._count.text() not in {"", "Not in the guide"}

    speak(window, "zh_CN")
    assert guide._count.text() == ""
    guide.find_next()
    assert guide._count.text() == "指南中没有"
    guide._search.setText("疑似泄漏")
    pages: set[str] = set()
    for _ in range(8):
        guide.find_next()
        assert guide._reader.textCursor().selectedText() == "疑似泄漏"
        pages.add(guide.page)
    assert len(pages) > 1


def test_a_page_that_is_not_translated_is_shown_in_english(
    window: DeskWindow, guide: GuideWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "guide/index.md": "# Guide",
        "guide/new.md": "# New words",
        "guide/zh_CN/index.md": "# 指南",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(guide_pages, "resource_path", tmp_path.joinpath)

    speak(window, "zh_CN")
    assert guide._reader.toPlainText() == "指南"
    guide.open_page("new.md")
    assert guide._reader.toPlainText() == "New words"
    guide._search.setText("new")
    guide.find_next()
    assert guide._count.text() == "1/1"


@pytest.mark.parametrize("name", sorted(p.name for p in resource_path("guide").glob("*.md")))
@pytest.mark.parametrize("language", ["", "zh_CN"])
def test_every_mark_of_emphasis_is_taken_as_one(qapp: object, language: str, name: str) -> None:
    """A closing mark between a full stop and a Chinese word stays a star."""
    document = QTextDocument()
    document.setMarkdown(resource_path("guide", language, name).read_text(encoding="utf-8"))

    stars: list[str] = []
    for block in blocks_of(document):
        if block.blockFormat().hasProperty(QTextFormat.Property.BlockCodeFence):
            continue  # in code a star is a star
        part = block.begin()
        while not part.atEnd():
            piece = part.fragment()
            if "*" in piece.text() and not piece.charFormat().fontFixedPitch():
                stars.append(block.text())
            part += 1

    assert stars == []
