"""The guide in the window's language: words are found, marks are taken."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QTextDocument, QTextFormat

from kmonitor.base.installation import resource_path
from kmonitor.ui.guide import pages
from kmonitor.ui.guide.pages import heading_slug
from kmonitor.ui.guide.qt.guide_window import GuideWindow, blocks_of
from tests.support.desk_window import WINDOW, DeskWindow
from tests.support.language_window import chinese

__all__ = ["chinese"]

pytestmark = WINDOW


@pytest.fixture
def guide(chinese: DeskWindow) -> Iterator[GuideWindow]:
    chinese.controller.help.open_guide()
    (made,) = chinese.window.findChildren(GuideWindow)
    chinese.settle()
    yield made
    made.close()


def test_the_guide_is_chinese_and_its_links_lead_to_headings(
    chinese: DeskWindow, guide: GuideWindow
) -> None:
    guide.open_page("limits-and-actions.md", "checkpoints")
    chinese.settle()
    blocks = blocks_of(guide.reader.document())
    assert next(b for b in blocks if b.blockFormat().headingLevel()).text() == "上限与操作"

    guide.reader.anchorClicked.emit(QUrl(f"remote-hosts.md#{heading_slug('主机失联时')}"))
    chinese.settle()

    assert guide.page == "remote-hosts.md"
    assert guide.reader.textCursor().block().text() == "主机失联时"


def test_chinese_words_are_found_on_all_pages(chinese: DeskWindow, guide: GuideWindow) -> None:
    guide.search.setText("many hosts")  # words that no Chinese page quotes
    guide.find_next()
    assert guide.match_count.text() == "指南中没有"
    guide.search.setText("疑似泄漏")
    pages: set[str] = set()
    for _ in range(8):
        guide.find_next()
        assert guide.reader.textCursor().selectedText() == "疑似泄漏"
        pages.add(guide.page)
    assert len(pages) > 1


def test_a_page_that_is_not_translated_is_shown_in_english(
    chinese: DeskWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "guide/index.md": "# Guide",
        "guide/new.md": "# New words",
        "guide/zh_CN/index.md": "# 指南",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(pages, "resource_path", tmp_path.joinpath)
    chinese.controller.help.open_guide()
    (guide,) = chinese.window.findChildren(GuideWindow)

    assert guide.reader.toPlainText() == "指南"
    guide.open_page("new.md")
    assert guide.reader.toPlainText() == "New words"
    guide.search.setText("new")
    guide.find_next()
    assert guide.match_count.text() == "1/1"
    guide.close()


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
