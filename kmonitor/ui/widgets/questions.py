"""Boxes above the window: questions before what cannot be undone, and what went wrong."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from kmonitor.ui.actions.action_panel import ConfirmPicture
from kmonitor.ui.theme.qt.theme import repolish


class QuestionBox(QMessageBox):
    """Asks; `accepted` fires on yes, and it is gone when it is closed."""

    def __init__(
        self, picture: ConfirmPicture, parent: QWidget, *, is_dangerous: bool = True
    ) -> None:
        """Ask nothing before `open`.

        Args:
            picture: What is asked; no is the default.
            parent: The window above which it stands.
            is_dangerous: Whether yes cannot be undone.
        """
        super().__init__(parent)
        _prepare(self)
        # The default button is drawn bold, after the box has measured it plain: it gets more room.
        self.setObjectName("question")
        yes = self.addButton(picture.yes, QMessageBox.ButtonRole.AcceptRole)
        if is_dangerous:
            yes.setProperty("kind", "danger")
            repolish(yes)
        self.setDefaultButton(self.addButton(picture.no, QMessageBox.ButtonRole.RejectRole))
        self.setText(picture.title)
        self.setInformativeText(picture.text)


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
