"""Questions before something that cannot be undone."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from kmonitor.desktop.controls.look import repolish
from kmonitor.presenters.action_panel import ConfirmPicture

_BUTTON_SPARE = 24


def question_box(picture: ConfirmPicture, parent: QWidget) -> QMessageBox:
    """A box that asks; `accepted` fires on yes, and it is gone when it is closed.

    Args:
        picture: What is asked; no is the default.
        parent: The window above which it stands.
    """
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("kmonitor")
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(picture.title)
    box.setInformativeText(picture.text)
    yes = box.addButton(picture.yes, QMessageBox.ButtonRole.AcceptRole)
    yes.setProperty("kind", "danger")
    no = box.addButton(picture.no, QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(no)
    # The default one is drawn bold, after the box has measured it plain.
    for button in (yes, no):
        repolish(button)
        button.setMinimumWidth(button.sizeHint().width() + _BUTTON_SPARE)
    return box
