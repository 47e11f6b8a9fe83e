"""The quiet bar and the window that offer a crash report of an earlier start."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.desktop.controls.look import Look, role_label
from kmonitor.presenters.crash_notice import CrashNotice


class CrashNoticeBar(QFrame):
    """One line above the charts; hidden until there is something to offer.

    Signals (main thread):
        show_requested: The report is to be read.
        discard_requested: All reports are to be deleted.
        later_requested: It is to be offered at the next start again.
        toggled: It came or went.
    """

    show_requested = Signal()
    discard_requested = Signal()
    later_requested = Signal()
    toggled = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._look = look
        self._icon = QLabel()
        self._title = role_label("strong_small")
        self._text = role_label("sub")
        self._show = QPushButton(self.tr("Show report\u2026"))
        self._later = QPushButton(self.tr("Later"))
        self._discard = QPushButton(self.tr("Discard"))
        self._build()
        look.palette_changed.connect(self._on_look_palette_changed)
        self._on_look_palette_changed()
        self.hide()

    def show_notice(self, notice: CrashNotice | None) -> None:
        """Offer this; None: nothing any more."""
        if notice is not None:
            self._title.setText(notice.title)
            self._text.setText(notice.text)
            self.setAccessibleName(f"{notice.title} {notice.text}")
        self.setVisible(notice is not None)
        self.toggled.emit()

    def _build(self) -> None:
        self._show.setToolTip(self.tr("Read it, copy it, save it"))
        self._later.setToolTip(self.tr("Ask again at the next start"))
        self._discard.setToolTip(self.tr("Delete what was kept"))
        words = QVBoxLayout()
        words.setSpacing(1)
        for label in (self._title, self._text):
            label.setWordWrap(True)
            words.addWidget(label)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 7, 10, 7)
        row.setSpacing(10)
        row.addWidget(self._icon)
        row.addLayout(words, 1)
        for button, told in (
            (self._show, self.show_requested),
            (self._discard, self.discard_requested),
            (self._later, self.later_requested),
        ):
            button.setProperty("kind", "filter")
            button.setAccessibleName(button.text())
            button.clicked.connect(told)
            row.addWidget(button)

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self._icon.setPixmap(self._look.pixmap("info", "mute", 16, self))


class CrashReportWindow(QDialog):
    """The report to be read, with what can be done with it; not modal.

    Signals (main thread):
        save_requested: It is to be written to a file of the user's.
        discard_requested: All reports are to be deleted.
    """

    save_requested = Signal()
    discard_requested = Signal()

    def __init__(self, notice: CrashNotice, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Crash report"))
        self.resize(760, 560)
        self._text = QPlainTextEdit(text)
        self._copy = QPushButton(self.tr("Copy"))
        self._save = QPushButton(self.tr("Save\u2026"))
        self._discard = QPushButton(self.tr("Discard"))
        self._close = QPushButton(self.tr("Close"))
        self._told = role_label("sub")
        self._build(notice)

    def tell(self, text: str) -> None:
        """Say what came of it."""
        self._told.setText(text)

    def _build(self, notice: CrashNotice) -> None:
        title, lead = role_label("title", notice.title), role_label("sub", notice.lead)
        for label in (title, lead, self._told):
            label.setWordWrap(True)
        self._text.setReadOnly(True)
        self._text.setAccessibleName(self.tr("Crash report"))
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setTabChangesFocus(True)
        bottom = QHBoxLayout()
        bottom.addWidget(self._told, 1)
        for button, tip, slot in (
            (self._discard, self.tr("Delete what was kept"), self.discard_requested),
            (self._save, self.tr("Write it to a file"), self.save_requested),
            (self._copy, self.tr("Copy all of it as text"), self._on_copy_clicked),
            (self._close, self.tr("Close this window (Esc)"), self.close),
        ):
            button.setAccessibleName(button.text())
            button.setToolTip(tip)
            button.setAutoDefault(False)
            button.clicked.connect(slot)
            bottom.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(8)
        column.addWidget(title)
        column.addWidget(lead)
        column.addWidget(self._text, 1)
        column.addLayout(bottom)

    @Slot()
    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._text.toPlainText())
        self.tell(self.tr("Copied."))
