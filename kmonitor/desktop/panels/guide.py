"""The manual, in a simple reader of its own."""

from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut, QTextDocument
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QTextBrowser, QVBoxLayout, QWidget

from kmonitor.desktop.controls.look import Look
from kmonitor.desktop.panels.guide_page import set_well
from kmonitor.resource_files import resource_path


class GuideWindow(QDialog):
    """Shows `resources/guide/*.md`, beginning with index.md; links lead from page to page."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("kmonitor guide"))
        self.resize(820, 680)
        self._look = look
        self._folder = _guide_folder()
        self._page = ""
        self._history: list[str] = []
        self._reader = QTextBrowser()
        self._back = QPushButton(self.tr("Back"))
        self._index = QPushButton(self.tr("Contents"))
        self._build(look)
        self._reader.setFocus(Qt.FocusReason.OtherFocusReason)
        self.open_page("index.md")

    def open_page(self, name: str) -> None:
        """Show one page by its file name; a name outside the guide is refused."""
        page = self._folder / Path(name).name if self._folder else None
        if page is None or not page.is_file():
            self._reader.setPlainText(self.tr("This page of the guide is missing."))
            return
        if self._page and self._page != page.name:
            self._history.append(self._page)
        self._page = page.name
        features = QTextDocument.MarkdownFeature.MarkdownDialectGitHub
        self._reader.document().setMarkdown(page.read_text(encoding="utf-8"), features)
        set_well(self._reader.document(), self._look.palette)
        self._reader.moveCursor(self._reader.textCursor().MoveOperation.Start)
        self._back.setEnabled(bool(self._history))

    def _build(self, look: Look) -> None:
        self._back.setIcon(look.icon("back"))
        self._back.setAccessibleName(self._back.text())
        self._back.setToolTip(self.tr("Previous page (Alt+Left)"))
        self._index.setAccessibleName(self._index.text())
        self._index.setToolTip(self.tr("First page of the guide"))
        self._reader.setOpenLinks(False)
        self._reader.setAccessibleName(self.tr("Guide"))
        self._reader.document().setDocumentMargin(18)
        self._reader.anchorClicked.connect(self._on_reader_anchor_clicked)
        self._back.clicked.connect(self._on_back_clicked)
        self._index.clicked.connect(self._on_index_clicked)
        look.palette_changed.connect(self._on_look_palette_changed)
        back = QShortcut(QKeySequence("Alt+Left"), self)
        back.activated.connect(self._on_back_clicked)
        row = QHBoxLayout()
        row.addWidget(self._back)
        row.addWidget(self._index)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.addLayout(row)
        column.addWidget(self._reader, 1)

    @Slot(QUrl)
    def _on_reader_anchor_clicked(self, link: QUrl) -> None:
        if link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)
        elif link.path():
            self.open_page(link.path())

    @Slot()
    def _on_back_clicked(self) -> None:
        if self._history:
            page = self._history.pop()
            self._page = ""
            self.open_page(page)

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self._back.setIcon(self._look.icon("back"))
        if self._page:
            set_well(self._reader.document(), self._look.palette)

    @Slot()
    def _on_index_clicked(self) -> None:
        self.open_page("index.md")


def _guide_folder() -> Path | None:
    try:
        return resource_path("guide")
    except FileNotFoundError:
        return None
