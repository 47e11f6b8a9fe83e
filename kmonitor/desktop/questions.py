"""Boxes above the window: questions before what cannot be undone, and what went wrong."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from kmonitor.desktop.controls.look import repolish
from kmonitor.presenters.action_panel import ConfirmPicture


class QuestionBox(QMessageBox):
    """Asks; `accepted` fires on yes, and it is gone when it is closed."""

    def __init__(self, picture: Callable[[], ConfirmPicture], parent: QWidget) -> None:
        """Ask nothing before `open`.

        Args:
            picture: What is asked, in the language in force; no is the default.
            parent: The window above which it stands.
        """
        super().__init__(parent)
        _prepare(self)
        # The default button is drawn bold, after the box has measured it plain: it gets more room.
        self.setObjectName("question")
        self._picture = picture
        self._yes = self.addButton("", QMessageBox.ButtonRole.AcceptRole)
        self._yes.setProperty("kind", "danger")
        repolish(self._yes)
        self._no = self.addButton("", QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(self._no)
        self.retranslate()

    def retranslate(self) -> None:
        """Say every text in the language in force."""
        picture = self._picture()
        self.setText(picture.title)
        self.setInformativeText(picture.text)
        for button, text in ((self._yes, picture.yes), (self._no, picture.no)):
            button.setText(text)


def message_box(what: str, remedy: str, parent: QWidget) -> QMessageBox:
    """A box with something to read; it is gone when it is closed.

    Args:
        what: What is to be said first.
        remedy: What to do about it, or more; may be empty.
        parent: The window above which it stands.
    """
    box = QMessageBox(parent)
    _prepare(box)
    box.setText(what)
    box.setInformativeText(remedy)
    return box


def _prepare(box: QMessageBox) -> None:
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("kmonitor")
    box.setTextFormat(Qt.TextFormat.PlainText)
