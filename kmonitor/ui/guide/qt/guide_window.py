"""Window with the guide's pages, and the layout of a page.

Qt sets Markdown without space between paragraphs and with bright tables; `format_document` adds
margins and the theme's colours.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, cast

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import (
    QAction,
    QBrush,
    QColor,
    QDesktopServices,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextTable,
)
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QTextBrowser,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.guide.pages import (
    FIRST_PAGE,
    GuideMatch,
    find_matches,
    heading_slug,
    next_match,
    read_page,
    read_pages,
    reading_order,
)
from kmonitor.ui.theme.palettes import Palette
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.keyboard import add_shortcut

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub


class GuideWindow(QDialog):
    """Shows the guide's pages, beginning with index.md; links lead from page to page."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.resize(820, 680)
        self._theme = theme
        self._page = ""
        self._history: list[str] = []
        self._plain: dict[str, str] = {}
        self._page_order: list[str] = []
        self._found: GuideMatch | None = None
        self.reader = QTextBrowser()
        self._back = QPushButton()
        self._index = QPushButton()
        self.search = QLineEdit()
        self._search_icon = QAction(self)
        self.match_count = role_label("meta")
        self._build()
        self._connect()
        self.reader.setFocus(Qt.FocusReason.OtherFocusReason)
        self._on_theme_palette_changed()
        self._set_texts()
        self.open_page(FIRST_PAGE)

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("kmonitor guide"))
        self._back.setText(self.tr("Back"))
        self._back.setAccessibleName(self._back.text())
        self._back.setToolTip(self.tr("Previous page (Alt+Left)"))
        self._index.setText(self.tr("Contents"))
        self._index.setAccessibleName(self._index.text())
        self._index.setToolTip(self.tr("First page of the guide"))
        self.search.setPlaceholderText(self.tr("Find in the guide   Ctrl+F"))
        self.search.setAccessibleName(self.tr("Find in the guide"))
        self.search.setToolTip(
            self.tr("Search all pages; Enter or F3 finds the next match (Ctrl+F)")
        )
        for part in self.search.findChildren(QToolButton):
            part.setAccessibleName(self.search.accessibleName())
        self.reader.setAccessibleName(self.tr("Guide"))
        self.reader.setPlainText(self.tr("This page of the guide is missing."))

    @property
    def page(self) -> str:
        """File name of the page that is shown."""
        return self._page

    def open_page(self, name: str, heading: str = "") -> None:
        """Show one page by its file name; a name outside the guide is refused.

        Args:
            name: File name, for example "history.md".
            heading: Fragment of a link; empty: the top of the page.
        """
        name = Path(name).name
        source = read_page(name)
        if source is None:
            self.reader.setPlainText(self.tr("This page of the guide is missing."))
            return
        if self._page and self._page != name:
            self._history.append(self._page)
        if self._page != name:
            self._page = name
            self._show(source)
        self.reader.moveCursor(QTextCursor.MoveOperation.Start)
        if heading:
            self._go_to(heading)
        self._back.setEnabled(bool(self._history))

    @Slot()
    def find_next(self) -> None:
        """Show the next match of the search field, on whichever page it is."""
        search_text = self.search.text().strip()
        self._read_all()
        found = find_matches(self._plain, self._page_order, search_text)
        match = next_match(found, self._page, self._found)
        self._found = match
        if match is None:
            none = self.tr("No matches") if search_text else ""
            self.match_count.setText(none)
            return
        self.open_page(match.page)
        for _ in range(match.nth + 1):
            self.reader.find(search_text)
        text = self.tr("{n} of {total}")
        self.match_count.setText(text.format(n=found.index(match) + 1, total=len(found)))

    def _show(self, source: str) -> None:
        self.reader.document().setMarkdown(source, _FEATURES)
        format_document(self.reader.document(), self._theme.palette)

    def _headings(self) -> list[QTextBlock]:
        blocks = blocks_of(self.reader.document())
        return [block for block in blocks if block.blockFormat().headingLevel()]

    def _go_to(self, heading: str) -> None:
        for block in self._headings():
            if heading_slug(block.text()) == heading:
                self._go_to_block(block)
                return

    def _go_to_block(self, block: QTextBlock) -> None:
        self.reader.moveCursor(QTextCursor.MoveOperation.End)
        self.reader.setTextCursor(QTextCursor(block))

    def _read_all(self) -> None:
        """Return the texts of the pages without markup; read once, on the first search."""
        if self._plain:
            return
        sources = read_pages()
        for name, source in sources.items():
            document = QTextDocument()
            document.setMarkdown(source, _FEATURES)
            self._plain[name] = document.toPlainText()
        self._page_order = reading_order(sources)

    def _build(self) -> None:
        for button in (self._back, self._index):
            button.setAutoDefault(False)
        self.search.setClearButtonEnabled(True)
        self.search.addAction(self._search_icon, QLineEdit.ActionPosition.LeadingPosition)
        self.search.setMaximumWidth(320)
        self.reader.setOpenLinks(False)
        self.reader.document().setDocumentMargin(18)
        row = QHBoxLayout()
        row.addWidget(self._back)
        row.addWidget(self._index)
        row.addStretch(1)
        row.addWidget(self.match_count)
        row.addWidget(self.search, 1)
        column = QVBoxLayout(self)
        column.addLayout(row)
        column.addWidget(self.reader, 1)

    def _connect(self) -> None:
        self.reader.anchorClicked.connect(self._on_reader_anchor_clicked)
        self._back.clicked.connect(self._on_back_clicked)
        self._index.clicked.connect(self._on_index_clicked)
        self.search.textChanged.connect(self._on_search_text_changed)
        self.search.returnPressed.connect(self.find_next)
        self._theme.palette_changed.connect(self._on_theme_palette_changed)
        add_shortcut("guide_back", self, self._on_back_clicked)
        add_shortcut("guide_find", self, self._on_find_activated)
        add_shortcut("guide_next", self, self.find_next)

    @Slot(QUrl)
    def _on_reader_anchor_clicked(self, link: QUrl) -> None:
        if link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)
        else:
            self.open_page(link.path() or self._page, link.fragment())

    @Slot()
    def _on_back_clicked(self) -> None:
        if self._history:
            page = self._history.pop()
            self._page = ""
            self.open_page(page)

    @Slot()
    def _on_find_activated(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    @Slot(str)
    def _on_search_text_changed(self, text: str) -> None:
        self._found = None
        self.match_count.setText("")
        if not text.strip():
            self.reader.moveCursor(QTextCursor.MoveOperation.Start)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._back.setIcon(self._theme.icon("back"))
        self._search_icon.setIcon(self._theme.icon("search", "mute"))
        if self._page:
            format_document(self.reader.document(), self._theme.palette)

    @Slot()
    def _on_index_clicked(self) -> None:
        self.open_page(FIRST_PAGE)


_LINE_PX: Final = 21.0
"""Height of a line, the same for text and code, whose typeface is taller."""

_ABOVE_HEADING_PX: Final = (0.0, 22.0, 16.0)
"""Space above a heading by its level, pixels; the last value is for all further levels."""

_BELOW_HEADING_PX: Final = 8.0
_BELOW_PARAGRAPH_PX: Final = 9.0
_BELOW_ITEM_PX: Final = 4.0
_AROUND_TABLE_PX: Final = 6.0
_IN_CELL_PX: Final = 6.0
_CODE_PX: Final = 13


def format_document(document: QTextDocument, palette: Palette) -> None:
    """Set margins and the theme's colours for headings, paragraphs, items and tables.

    Args:
        document: Page as created from Markdown; may be formatted again.
    """
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    for block in blocks_of(document):
        cursor.setPosition(block.position())
        cursor.mergeBlockFormat(_spaced(block, is_cell=bool(cursor.currentTable())))
        _set_letters(cursor, block, palette)
    for frame in document.rootFrame().childFrames():
        _set_table(frame, palette)
    cursor.endEditBlock()
    document.clearUndoRedoStacks()


def blocks_of(document: QTextDocument) -> Iterator[QTextBlock]:
    """Every paragraph, item, line of code and cell, in order."""
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def _spaced(block: QTextBlock, *, is_cell: bool) -> QTextBlockFormat:
    spaced = QTextBlockFormat()
    known = block.blockFormat()
    level = known.headingLevel()
    if level:
        spaced.setTopMargin(_ABOVE_HEADING_PX[min(level, len(_ABOVE_HEADING_PX)) - 1])
        spaced.setBottomMargin(_BELOW_HEADING_PX)
        return spaced
    spaced.setLineHeight(_LINE_PX, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    if is_cell:
        spaced.setBottomMargin(0.0)
    elif not _continues_code(block):
        spaced.setBottomMargin(_BELOW_ITEM_PX if block.textList() else _BELOW_PARAGRAPH_PX)
    return spaced


def _continues_code(block: QTextBlock) -> bool:
    """True if the next line belongs to the same piece of code."""
    fence = QTextFormat.Property.BlockCodeFence
    following = block.next()
    return (
        block.blockFormat().hasProperty(fence)
        and following.isValid()
        and following.blockFormat().hasProperty(fence)
    )


def _set_letters(cursor: QTextCursor, block: QTextBlock, palette: Palette) -> None:
    parts = cast("Iterable[QTextBlock.iterator]", block.begin())
    found = [part.fragment() for part in parts]
    for fragment in [(each.position(), each.length(), each.charFormat()) for each in found]:
        start, length, known = fragment
        letters = QTextCharFormat()
        # Our typeface comes up to weight 600: bolder would be smeared.
        if known.fontWeight() > QFont.Weight.DemiBold:
            letters.setFontWeight(QFont.Weight.DemiBold)
        if known.fontFixedPitch():
            letters.setProperty(QTextFormat.Property.FontPixelSize, _CODE_PX)
        if known.isAnchor():
            letters.setForeground(QBrush(QColor(palette.accent)))
        if letters.propertyCount():
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(letters)


def _set_table(frame: QTextFrame, palette: Palette) -> None:
    if not isinstance(frame, QTextTable):
        return
    form = frame.format().toTableFormat()
    form.setBorderBrush(QBrush(QColor(palette.border)))
    form.setBorderCollapse(True)
    form.setCellPadding(_IN_CELL_PX)
    form.setTopMargin(_AROUND_TABLE_PX)
    form.setBottomMargin(_AROUND_TABLE_PX * 2)
    frame.setFormat(form)
