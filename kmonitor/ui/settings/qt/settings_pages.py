"""Settings: this device's own key, and the keys that this machine's hub lets in."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.settings.hub_settings import KeyRow, KeysPicture
from kmonitor.ui.settings.qt.setting_rows import CardButton, CardColumn, word_card
from kmonitor.ui.theme.qt.theme import role_label, set_tone
from kmonitor.ui.widgets.labels import ElidedLabel


class KeySettings(QWidget):
    """The own key above, the others below.

    Signals (main thread):
        own_key_wanted: The own key is to be shown, and made if there is none.
        revoke_requested: Key and name of a device that may connect no more.
    """

    own_key_wanted = Signal()
    revoke_requested = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._picture: KeysPicture | None = None
        self._own = role_label("snippet_small")
        self._show = QPushButton()
        self._copy = QPushButton()
        self._own_head = role_label("strong_small")
        self._own_words = role_label("sub")
        self._others_head = role_label("strong_small")
        self._why = role_label("body")
        self._text = role_label("sub")
        self._trouble = role_label("body")
        self._column = CardColumn()
        self._build()
        self._set_texts()
        self._show.clicked.connect(self.own_key_wanted)
        self._copy.clicked.connect(self._on_copy_clicked)

    def _set_texts(self) -> None:
        self._own_head.setText(self.tr("This device"))
        self._own_words.setText(
            self.tr(
                "Give this public key to whoever runs a hub on the network, who lets it in "
                "with kmonitor authorize. Its secret never leaves this machine."
            )
        )
        self._others_head.setText(self.tr("Who may connect to this machine"))
        self._own.setAccessibleName(self.tr("This device's key"))
        self._text.setAccessibleName(self.tr("Where the hub listens"))
        self._copy.setText(self.tr("Copy"))
        self._copy.setToolTip(self.tr("Copy the key to the clipboard"))
        self._show.setText(self.tr("Show this device's key"))
        self._show.setToolTip(self.tr("It is made if there is none; its secret stays here"))
        for button in (self._copy, self._show):
            button.setAccessibleName(button.text())
        self._show_rows(self._picture.rows if self._picture is not None else ())

    def show_own(self, key: str, why_not: str = "") -> None:
        """Show the own key, or why there is none."""
        self._own.setText(key)
        self._own.setVisible(bool(key))
        self._copy.setVisible(bool(key))
        self._show.setVisible(not key)
        self._why.setText(why_not)
        self._why.setVisible(bool(why_not))

    def show_picture(self, picture: KeysPicture) -> None:
        """Show who may connect."""
        if picture == self._picture:
            return
        self._picture = picture
        self._text.setText(picture.text)
        self._text.setVisible(bool(picture.text))
        self._trouble.setText(picture.trouble)
        self._trouble.setVisible(bool(picture.trouble))
        self._show_rows(picture.rows)

    def _build(self) -> None:
        for label in (self._text, self._trouble, self._why, self._own, self._own_words):
            label.setWordWrap(True)
        for label in (self._trouble, self._why):
            set_tone(label, "crit")
            label.hide()
        selectable = (
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        for label in (self._own, self._text):
            label.setTextInteractionFlags(selectable)
        for button in (self._copy, self._show):
            button.setAutoDefault(False)
        self._own.hide()
        self._copy.hide()
        own = QHBoxLayout()
        own.addWidget(self._own, 1)
        own.addWidget(self._show)
        own.addWidget(self._copy)
        own.addStretch(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self._own_head)
        column.addWidget(self._own_words)
        column.addLayout(own)
        column.addWidget(self._why)
        column.addSpacing(10)
        column.addWidget(self._others_head)
        column.addWidget(self._text)
        column.addWidget(self._trouble)
        column.addLayout(self._column)
        column.addStretch(1)

    def _show_rows(self, rows: Sequence[KeyRow]) -> None:
        self._column.show_cards(map(self._row, rows))

    def _row(self, key: KeyRow) -> QWidget:
        labels = (
            ElidedLabel("strong_small", key.name),
            role_label("sub", f"{key.role} \u00b7 {key.since}"),
        )
        revoke = CardButton(
            self.tr("Revoke\u2026"),
            self.tr("Let it connect no more"),
            self.tr("Revoke {name}").format(name=key.name),
            partial(self.revoke_requested.emit, key.key, key.name),
        )
        return word_card(labels, [revoke])

    @Slot()
    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._own.text())
        self._copy.setText(self.tr("Copied"))
