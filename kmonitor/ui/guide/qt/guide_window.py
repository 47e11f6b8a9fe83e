"""The manual, in a simple reader of its own."""

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QAction, QDesktopServices, QTextBlock, QTextCursor, QTextDocument
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

from kmonitor.ui.guide.guide_pages import read_page, read_pages
from kmonitor.ui.guide.pages import FIRST_PAGE, Place, after, places, reading_order, slug
from kmonitor.ui.guide.qt.guide_page import blocks_of, set_well
from kmonitor.ui.theme.qt.theme import Look, role_label
from kmonitor.ui.widgets.keyboard import add_key

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub


class GuideWindow(QDialog):
    """Shows the guide's pages, beginning with index.md; links lead from page to page."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.resize(820, 680)
        self._look = look
        self._page = ""
        self._history: list[str] = []
        self._plain: dict[str, str] = {}
        self._order: list[str] = []
        self._found: Place | None = None
        self._reader = QTextBrowser()
        self._back = QPushButton()
        self._index = QPushButton()
        self._search = QLineEdit()
        self._search_icon = QAction(self)
        self._count = role_label("meta")
        self._build()
        self._connect()
        self._reader.setFocus(Qt.FocusReason.OtherFocusReason)
        self._on_look_palette_changed()
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
        self._search.setPlaceholderText(self.tr("Find in the guide   Ctrl+F"))
        self._search.setAccessibleName(self.tr("Find in the guide"))
        self._search.setToolTip(self.tr("Words of any page; Enter or F3: the next place (Ctrl+F)"))
        for part in self._search.findChildren(QToolButton):
            part.setAccessibleName(self._search.accessibleName())
        self._reader.setAccessibleName(self.tr("Guide"))
        self._reader.setPlainText(self.tr("This page of the guide is missing."))

    @property
    def page(self) -> str:
        """File name of the page that is shown."""
        return self._page

    def open_page(self, name: str, heading: str = "") -> None:
        """Show one page by its file name; a name outside the guide is refused.

        Args:
            name: Such as "history.md".
            heading: What stands behind the # of a link; empty: from the top.
        """
        name = Path(name).name
        source = read_page(name)
        if source is None:
            self._reader.setPlainText(self.tr("This page of the guide is missing."))
            return
        if self._page and self._page != name:
            self._history.append(self._page)
        if self._page != name:
            self._page = name
            self._show(source)
        self._reader.moveCursor(QTextCursor.MoveOperation.Start)
        if heading:
            self._go_to(heading)
        self._back.setEnabled(bool(self._history))

    @Slot()
    def find_next(self) -> None:
        """Show the next place of the words in the search field, on whichever page it is."""
        words = self._search.text().strip()
        self._read_all()
        found = places(self._plain, self._order, words)
        place = after(found, self._page, self._found)
        self._found = place
        if place is None:
            none = self.tr("Not in the guide") if words else ""
            self._count.setText(none)
            return
        self.open_page(place.page)
        for _ in range(place.nth + 1):
            self._reader.find(words)
        text = self.tr("{n} of {total}")
        self._count.setText(text.format(n=found.index(place) + 1, total=len(found)))

    def _show(self, source: str) -> None:
        self._reader.document().setMarkdown(source, _FEATURES)
        set_well(self._reader.document(), self._look.palette)

    def _headings(self) -> list[QTextBlock]:
        blocks = blocks_of(self._reader.document())
        return [block for block in blocks if block.blockFormat().headingLevel()]

    def _go_to(self, heading: str) -> None:
        for block in self._headings():
            if slug(block.text()) == heading:
                self._go_to_block(block)
                return

    def _go_to_block(self, block: QTextBlock) -> None:
        self._reader.moveCursor(QTextCursor.MoveOperation.End)
        self._reader.setTextCursor(QTextCursor(block))

    def _read_all(self) -> None:
        """The pages as they are read, without marks: once, when something is first searched."""
        if self._plain:
            return
        sources = read_pages()
        for name, source in sources.items():
            document = QTextDocument()
            document.setMarkdown(source, _FEATURES)
            self._plain[name] = document.toPlainText()
        self._order = reading_order(sources)

    def _build(self) -> None:
        for button in (self._back, self._index):
            button.setAutoDefault(False)
        self._search.setClearButtonEnabled(True)
        self._search.addAction(self._search_icon, QLineEdit.ActionPosition.LeadingPosition)
        self._search.setMaximumWidth(320)
        self._reader.setOpenLinks(False)
        self._reader.document().setDocumentMargin(18)
        row = QHBoxLayout()
        row.addWidget(self._back)
        row.addWidget(self._index)
        row.addStretch(1)
        row.addWidget(self._count)
        row.addWidget(self._search, 1)
        column = QVBoxLayout(self)
        column.addLayout(row)
        column.addWidget(self._reader, 1)

    def _connect(self) -> None:
        self._reader.anchorClicked.connect(self._on_reader_anchor_clicked)
        self._back.clicked.connect(self._on_back_clicked)
        self._index.clicked.connect(self._on_index_clicked)
        self._search.textChanged.connect(self._on_search_text_changed)
        self._search.returnPressed.connect(self.find_next)
        self._look.palette_changed.connect(self._on_look_palette_changed)
        add_key("guide_back", self, self._on_back_clicked)
        add_key("guide_find", self, self._on_find_activated)
        add_key("guide_next", self, self.find_next)

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
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    @Slot(str)
    def _on_search_text_changed(self, text: str) -> None:
        self._found = None
        self._count.setText("")
        if not text.strip():
            self._reader.moveCursor(QTextCursor.MoveOperation.Start)

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self._back.setIcon(self._look.icon("back"))
        self._search_icon.setIcon(self._look.icon("search", "mute"))
        if self._page:
            set_well(self._reader.document(), self._look.palette)

    @Slot()
    def _on_index_clicked(self) -> None:
        self.open_page(FIRST_PAGE)
