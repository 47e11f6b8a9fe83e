"""The settings window: a list of pages at the left, the selected page beside it."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QListWidget,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.settings.qt.settings_pages import (
    GeneralPage,
    HistoryPage,
    HostsPage,
    KeysPage,
)
from kmonitor.ui.theme.qt.theme import role_label

_SIZE = (780, 560)
_LIST_PX = 150


class SettingsWindow(QDialog):
    """Settings window; not modal, and every change applies at once.

    Signals (main thread):
        page_shown: Another page was selected.
        guide_requested: The guide's page about settings should open.
    """

    page_shown = Signal()
    guide_requested = Signal()

    def __init__(self, languages: Mapping[str, str], parent: QWidget | None = None) -> None:
        """Args: `languages`: See `GeneralPage`."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("guide_page", "settings.md")
        self.resize(*_SIZE)
        self.general = GeneralPage(languages)
        self.history = HistoryPage()
        self.hosts = HostsPage()
        self.keys = KeysPage()
        self._list = QListWidget()
        self._title = role_label("title")
        self._pages = QStackedWidget()
        self._frames: list[QScrollArea] = []
        self._guide = QPushButton()
        self._close = QPushButton()
        self._build()
        self._set_texts()
        self._list.currentRowChanged.connect(self._on_list_row_changed)
        self._list.setCurrentRow(0)
        self._list.setFocus(Qt.FocusReason.OtherFocusReason)

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Settings"))
        self._list.setAccessibleName(self.tr("Settings"))
        for at, title in enumerate(
            (self.tr("General"), self.tr("History"), self.tr("Hosts"), self.tr("Keys"))
        ):
            self._list.item(at).setText(title)
            self._frames[at].setAccessibleName(title)
            if at == self.page:
                self._title.setText(title)
        self._guide.setText(self.tr("Guide"))
        self._guide.setToolTip(self.tr("Help with these settings (F1)"))
        self._close.setText(self.tr("Close"))
        self._close.setToolTip(self.tr("Close (Esc); changes are already applied"))
        for button in (self._guide, self._close):
            button.setAccessibleName(button.text())

    @property
    def page(self) -> int:
        """Index of the current page, from 0."""
        return self._list.currentRow()

    def show_page(self, at: int) -> None:
        self._list.setCurrentRow(at)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Leave Return to the focused field, which may have opened a question.

        A dialog presses the default button of any child, and a question's default is no.
        """
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)

    def _build(self) -> None:
        self._list.setObjectName("sections")
        self._list.setFixedWidth(_LIST_PX)
        self._list.setFrameShape(QFrame.Shape.NoFrame)
        for page in (self.general, self.history, self.hosts, self.keys):
            self._list.addItem("")
            self._frames.append(_scrolled(page))
            self._pages.addWidget(self._frames[-1])
        for button in (self._guide, self._close):
            button.setAutoDefault(False)
        self._guide.clicked.connect(self.guide_requested)
        self._close.clicked.connect(self.close)
        bottom = QHBoxLayout()
        bottom.addWidget(self._guide)
        bottom.addStretch(1)
        bottom.addWidget(self._close)
        right = QVBoxLayout()
        right.setSpacing(14)
        right.addWidget(self._title)
        right.addWidget(self._pages, 1)
        right.addLayout(bottom)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 16, 18, 14)
        row.setSpacing(20)
        row.addWidget(self._list)
        row.addLayout(right, 1)

    @Slot(int)
    def _on_list_row_changed(self, at: int) -> None:
        item = self._list.item(at)
        self._pages.setCurrentIndex(at)
        self._title.setText(item.text())
        self.page_shown.emit()


def _scrolled(page: QWidget) -> QScrollArea:
    page.setObjectName("scrolled")
    scroll = QScrollArea()
    scroll.setWidgetResizable(True)
    scroll.setFrameShape(QFrame.Shape.NoFrame)
    scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    scroll.setWidget(page)
    return scroll
