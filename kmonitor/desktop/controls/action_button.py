"""A wide button with an icon, a title and its shortcut."""

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget
from typing_extensions import override

from kmonitor.desktop.controls.look import Look, repolish, set_tone
from kmonitor.presenters.action_panel import ButtonPicture

_AROUND_TEXT = 62
"""Icon, padding and the least gap before the shortcut, pixels."""


class ActionButton(QPushButton):
    """Shows one `ButtonPicture`.

    Signals:
        command_requested: With the command's name, on click or shortcut; main thread.
    """

    command_requested = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._picture: ButtonPicture | None = None
        self._shortcut = QShortcut(self)
        self._shortcut.setContext(Qt.ShortcutContext.WindowShortcut)
        self._shortcut.activated.connect(self._on_shortcut_activated)
        self._hint = QLabel()
        self._hint.setProperty("role", "meta")
        self._hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.addStretch(1)
        row.addWidget(self._hint)
        self.setStyleSheet("text-align: left;")
        self.setMinimumHeight(36)
        # The panel's width is the panel's: what has no room there must not widen it.
        self.setMinimumWidth(1)
        self.clicked.connect(self._on_self_clicked)
        look.palette_changed.connect(self._on_look_palette_changed)

    def show_picture(self, picture: ButtonPicture) -> None:
        """Show this from now on."""
        if picture == self._picture:
            return
        shape = (picture.kind, picture.is_half)
        if self._picture is None or (self._picture.kind, self._picture.is_half) != shape:
            self.setProperty("kind", picture.kind)
            self.setProperty("is_half", picture.is_half)
            repolish(self)
        self._picture = picture
        self.setText(f"  {picture.title}")
        self.setToolTip(picture.tooltip)
        self.setAccessibleName(picture.title)
        self.setAccessibleDescription(picture.tooltip)
        self.setEnabled(picture.is_enabled)
        self._hint.setText("" if picture.is_half else picture.shortcut)
        self._shortcut.setKey(QKeySequence(picture.shortcut))
        self._draw()
        self._fit_hint()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_hint()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_hint()

    def _fit_hint(self) -> None:
        taken = self.fontMetrics().horizontalAdvance(self.text()) + _AROUND_TEXT
        hint = self._hint.fontMetrics().horizontalAdvance(self._hint.text())
        self._hint.setVisible(taken + hint <= self.width())

    @Slot()
    def _on_self_clicked(self) -> None:
        if self._picture is not None:
            self.command_requested.emit(self._picture.command)

    @Slot()
    def _on_shortcut_activated(self) -> None:
        self.click()

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self._draw()

    def _draw(self) -> None:
        picture = self._picture
        if picture is None:
            return
        if picture.kind == "primary":
            self.setIcon(self._look.icon_on_accent(picture.icon))
            colour = self._look.palette.on_accent if picture.is_enabled else ""
            self._hint.setStyleSheet(f"color: {colour};" if colour else "")
            return
        is_danger = picture.kind == "danger"
        self.setIcon(self._look.icon(picture.icon, "crit" if is_danger else "plain"))
        set_tone(self._hint, "crit" if is_danger and picture.is_enabled else "")
