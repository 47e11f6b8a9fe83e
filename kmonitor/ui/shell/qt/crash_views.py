"""The quiet bar and the window that offer a crash report of an earlier start."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.shell.crash_reports import CrashNotice
from kmonitor.ui.theme.qt.theme import Theme, role_label

_NARROW_BELOW = 520
"""Width below which the buttons move below the text, pixels."""


class CrashNoticeBar(QFrame):
    """One line above the charts; hidden until there is something to offer.

    Signals (main thread):
        show_requested: The report should open.
        discard_requested: All reports should be deleted.
        later_requested: The report should be offered again at the next start.
        toggled: The bar appeared or disappeared.
    """

    show_requested = Signal()
    discard_requested = Signal()
    later_requested = Signal()
    toggled = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._theme = theme
        self._icon = QLabel()
        self._title = role_label("strong_small")
        self._text = role_label("sub")
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._show = QPushButton()
        self._later = QPushButton()
        self._discard = QPushButton()
        self._build()
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._on_theme_palette_changed()
        self._set_texts()
        self.hide()

    def _set_texts(self) -> None:
        for button, text, tip in (
            (self._show, self.tr("Show report\u2026"), self.tr("Read, copy or save the report")),
            (self._later, self.tr("Later"), self.tr("Remind me the next time kmonitor starts")),
            (self._discard, self.tr("Discard"), self.tr("Remove the report")),
        ):
            button.setText(text)
            button.setAccessibleName(text)
            button.setToolTip(tip)

    def show_notice(self, notice: CrashNotice | None) -> None:
        """Show this notice; None hides the bar."""
        if notice is not None:
            self._title.setText(notice.title)
            self._text.setText(notice.text)
            self.setAccessibleName(f"{notice.title} {notice.text}")
        self.setVisible(notice is not None)
        self.toggled.emit()

    def _build(self) -> None:
        text_column = QVBoxLayout()
        text_column.setSpacing(1)
        for label in (self._title, self._text):
            label.setWordWrap(True)
            text_column.addWidget(label)
        self._row.setContentsMargins(14, 7, 10, 7)
        self._row.setSpacing(10)
        link_row = QHBoxLayout()
        buttons = QHBoxLayout()
        for row in (link_row, buttons):
            row.setSpacing(10)
        link_row.addWidget(self._icon)
        link_row.addLayout(text_column, 1)
        self._row.addLayout(link_row, 1)
        self._row.addLayout(buttons)
        for button, slot in (
            (self._show, self.show_requested),
            (self._discard, self.discard_requested),
            (self._later, self.later_requested),
        ):
            button.setProperty("kind", "filter")
            button.clicked.connect(slot)
            buttons.addWidget(button)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Beside the buttons the text would be one word a line, and squeeze them.
        is_narrow = self.width() < _NARROW_BELOW
        direction = (
            QBoxLayout.Direction.TopToBottom if is_narrow else QBoxLayout.Direction.LeftToRight
        )
        if self._row.direction() != direction:
            self._row.setDirection(direction)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._icon.setPixmap(self._theme.pixmap("info", "mute", 16, self))


class CrashReportWindow(QDialog):
    """Window with a crash report and actions on it; not modal.

    Args:
        notice: Texts above the report.
        text: Text of the report, in English as stored.

    Signals (main thread):
        save_requested: The report should be saved to a file that the user chooses.
        discard_requested: All reports should be deleted.
    """

    save_requested = Signal()
    discard_requested = Signal()

    def __init__(self, notice: CrashNotice, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.resize(760, 560)
        self._title = role_label("title")
        self._lead = role_label("sub")
        self._text = QPlainTextEdit(text)
        self._copy = QPushButton()
        self._save = QPushButton()
        self._discard = QPushButton()
        self._close = QPushButton()
        self._outcome = role_label("sub")
        self._build()
        self._set_texts()
        self._title.setText(notice.title)
        self._lead.setText(notice.lead)

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Crash report"))
        self._text.setAccessibleName(self.tr("Crash report"))
        for button, text, tip in (
            (self._discard, self.tr("Discard"), self.tr("Remove the report")),
            (self._save, self.tr("Save\u2026"), self.tr("Write it to a file")),
            (self._copy, self.tr("Copy"), self.tr("Copy everything as text")),
            (self._close, self.tr("Close"), self.tr("Close this window (Esc)")),
        ):
            button.setText(text)
            button.setAccessibleName(text)
            button.setToolTip(tip)

    def show_outcome(self, text: str) -> None:
        self._outcome.setText(text)

    def _build(self) -> None:
        for label in (self._title, self._lead, self._outcome):
            label.setWordWrap(True)
        self._text.setReadOnly(True)
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setTabChangesFocus(True)
        bottom = QHBoxLayout()
        bottom.addWidget(self._outcome, 1)
        for button, slot in (
            (self._discard, self.discard_requested),
            (self._save, self.save_requested),
            (self._copy, self._on_copy_clicked),
            (self._close, self.close),
        ):
            button.setAutoDefault(False)
            button.clicked.connect(slot)
            bottom.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(8)
        column.addWidget(self._title)
        column.addWidget(self._lead)
        column.addWidget(self._text, 1)
        column.addLayout(bottom)

    @Slot()
    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._text.toPlainText())
        self.show_outcome(self.tr("Copied."))
