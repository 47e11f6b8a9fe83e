"""Asks for a run's note."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.text.formats import count_text
from kmonitor.ui.theme.qt.theme import role_label, set_tone
from kmonitor.ui.widgets.keyboard import press_by_key
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor.ui.workspace.run_edits import MAX_NOTE


class NoteDialog(QDialog):
    """A field of several lines; a note that is too long cannot be saved, and is not cut.

    Signals (main thread):
        saved: With the note.
    """

    saved = Signal(str)

    def __init__(self, name: str, note: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._name = name
        self.resize(460, 280)
        self._field = QPlainTextEdit(note)
        self._length = role_label("meta")
        self._save = QPushButton()
        self._cancel = QPushButton()
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Note"))
        self._field.setAccessibleName(self.tr("Note on {name}").format(name=self._name))
        self._field.setPlaceholderText(self.tr("What it was for, or what came of it"))
        self._save.setText(self.tr("Save"))
        # A text takes the key of a button with it.
        press_by_key("note_save", self._save)
        self._save.setToolTip(self.tr("Save the note (Ctrl+Return)"))
        self._cancel.setText(self.tr("Cancel"))
        self._cancel.setToolTip(self.tr("Leave it as it was (Esc)"))
        for button in (self._save, self._cancel):
            button.setAccessibleName(button.text())
        self._on_field_changed()

    def _build(self) -> None:
        title = ElidedLabel("strong", self._name)
        self._field.setTabChangesFocus(True)
        self._save.setProperty("kind", "primary")
        for button in (self._save, self._cancel):
            button.setAutoDefault(False)
        self._field.textChanged.connect(self._on_field_changed)
        self._save.clicked.connect(self._on_save_clicked)
        self._cancel.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(self._length)
        row.addStretch(1)
        row.addWidget(self._cancel)
        row.addWidget(self._save)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 16, 18, 14)
        column.setSpacing(10)
        column.addWidget(title)
        column.addWidget(self._field, 1)
        column.addLayout(row)

    @Slot()
    def _on_field_changed(self) -> None:
        n = len(self._field.toPlainText().strip())
        is_long = n > MAX_NOTE
        text = self.tr("{n} of at most {most} letters")
        self._length.setText(text.format(n=count_text(n), most=count_text(MAX_NOTE)))
        self._length.setVisible(n > MAX_NOTE // 2)
        set_tone(self._length, "crit" if is_long else "")
        self._save.setEnabled(not is_long)

    @Slot()
    def _on_save_clicked(self) -> None:
        self.saved.emit(self._field.toPlainText())
        self.accept()
