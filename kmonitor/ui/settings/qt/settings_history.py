"""Settings: how much history this machine's hub keeps."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from kmonitor.ui.settings.hub_settings import StoredPicture
from kmonitor.ui.settings.qt.setting_row import SettingRow
from kmonitor.ui.settings.setting_values import Typed, days_text, days_typed, size_text, size_typed
from kmonitor.ui.theme.qt.theme import role_label, set_tone

_FIELD_PX = 150


class HistorySettings(QWidget):
    """Two bounds, of which either may be empty.

    Signals (main thread):
        keep_wanted: Days and bytes, 0 for no bound; both are sound.
    """

    keep_wanted = Signal(float, float)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = ("", "")
        self._in_force = (0.0, 0.0)
        self._handed_on: tuple[float, float] | None = None
        self._stored = role_label("body")
        self._fixed = role_label("body")
        self._trouble = role_label("body")
        self._days = QLineEdit()
        self._size = QLineEdit()
        self._notes = role_label("sub")
        self._days_row = SettingRow([self._days])
        self._size_row = SettingRow([self._size])
        self._build()
        self._set_texts()
        for field in (self._days, self._size):
            field.editingFinished.connect(self._on_field_editing_finished)
            field.textEdited.connect(self._on_field_text_edited)

    def _set_texts(self) -> None:
        self._days_row.call(self.tr("Days"))
        self._days_row.explain(self.tr("Runs that ended longer ago are removed."))
        self._size_row.call(self.tr("Size"))
        self._size_row.explain(
            self.tr("While the history is larger, the run that ended first is removed.")
        )
        self._days.setAccessibleName(self.tr("Days of history"))
        self._size.setAccessibleName(self.tr("Size of the history"))
        for field in (self._days, self._size):
            field.setPlaceholderText(self.tr("all"))
        self._days.setToolTip(self.tr("A number of days; nothing: all are kept"))
        self._size.setToolTip(self.tr("Such as 20 GiB; nothing: no bound"))
        self._notes.setText(
            self.tr(
                "Pinned runs and living ones stay in any case, and so do checkpoints. It counts "
                "for this machine's hub, whoever starts it, within seconds."
            )
        )
        self._check()

    def show_keep(self, days: float, n_bytes: int) -> None:
        """Show the bounds in force, unless others are being typed."""
        self._in_force = (days, float(n_bytes))
        shown = (days_text(days), size_text(n_bytes))
        if shown != self._shown:
            self._shown = shown
            self.take_back()

    def show_stored(self, picture: StoredPicture) -> None:
        """Show what is stored now."""
        self._stored.setText(picture.text)
        self._fixed.setText(picture.fixed)
        self._fixed.setVisible(bool(picture.fixed))

    def refuse(self, why: str) -> None:
        """Say why it could not be kept; empty: it was."""
        self._handed_on = None
        self._trouble.setText(why)
        self._trouble.setVisible(bool(why))

    def take_back(self) -> None:
        """Show the bounds in force again."""
        self._handed_on = None
        self._days.setText(self._shown[0])
        self._size.setText(self._shown[1])
        self._check()

    def _build(self) -> None:
        for field in (self._days, self._size):
            field.setFixedWidth(_FIELD_PX)
            field.setMaxLength(40)
        set_tone(self._fixed, "warn")
        set_tone(self._trouble, "crit")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        for label in (self._stored, self._fixed, self._trouble, self._notes):
            label.setWordWrap(True)
        column.addWidget(self._stored)
        column.addWidget(self._fixed)
        column.addWidget(self._days_row)
        column.addWidget(self._size_row)
        column.addWidget(self._trouble)
        column.addWidget(self._notes)
        column.addStretch(1)
        self._fixed.hide()
        self._trouble.hide()

    def _check(self) -> tuple[Typed, Typed]:
        days, size = days_typed(self._days.text()), size_typed(self._size.text())
        self._days_row.refuse(days.why_not)
        self._size_row.refuse(size.why_not)
        return days, size

    @Slot(str)
    def _on_field_text_edited(self, text: str) -> None:
        del text
        self._handed_on = None
        self._check()

    @Slot()
    def _on_field_editing_finished(self) -> None:
        if (self._days.text(), self._size.text()) == self._shown:
            return
        days, size = self._check()
        if days.value is None or size.value is None:
            return
        typed = (days.value, size.value)
        if typed == self._in_force:
            self.take_back()
        elif typed != self._handed_on:
            # The question that this opens takes the focus, which ends the same editing once more.
            self._handed_on = typed
            self.keep_wanted.emit(*typed)
