"""Boxes above the window: questions before what cannot be undone, and what went wrong."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from kmonitor.desktop.controls.look import repolish
from kmonitor.presenters.action_panel import ConfirmPicture

_BUTTON_SPARE = 24


def message_box(what: str, remedy: str, parent: QWidget) -> QMessageBox:
    """A box with something to read; it is gone when it is closed.

    Args:
        what: What is to be said first.
        remedy: What to do about it, or more; may be empty.
        parent: The window above which it stands.
    """
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("kmonitor")
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(what)
    box.setInformativeText(remedy)
    return box


def question_box(picture: ConfirmPicture, parent: QWidget) -> QMessageBox:
    """A box that asks; `accepted` fires on yes, and it is gone when it is closed.

    Args:
        picture: What is asked; no is the default.
        parent: The window above which it stands.
    """
    box = message_box(picture.title, picture.text, parent)
    yes = box.addButton(picture.yes, QMessageBox.ButtonRole.AcceptRole)
    yes.setProperty("kind", "danger")
    no = box.addButton(picture.no, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(no)
    # The default one is drawn bold, after the box has measured it plain.
    for button in (yes, no):
        repolish(button)
        button.setMinimumWidth(button.sizeHint().width() + _BUTTON_SPARE)
    return box
