"""Dialogs: name, confirmation, message, file to save."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLineEdit, QMessageBox, QWidget

from kmonitor.ui.actions.action_panel import Confirmation
from kmonitor.ui.text.language import tr
from kmonitor.ui.theme.qt.theme import repolish


@dataclass(frozen=True, slots=True)
class NameDialogText:
    """Texts of a `NameDialog`.

    Attributes:
        title: Above it.
        label: Beside the field.
        name: Of the field.
    """

    title: str
    label: str
    name: str


_NAME_DIALOG_PX = 440


class NameDialog(QInputDialog):
    """A field of one line; gone when it is closed, `textValueSelected` fires on yes."""

    def __init__(
        self,
        text: NameDialogText,
        value: str,
        parent: QWidget,
        *,
        most_letters: int | None = None,
    ) -> None:
        """Ask nothing before `open`.

        Args:
            value: What the field begins with.
            parent: The window that it is above.
            most_letters: How long a name may be; None: as long as it likes.
        """
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setTextValue(value)
        self.setWindowTitle(text.title)
        self.setLabelText(text.label)
        for field in self.findChildren(QLineEdit):
            field.setAccessibleName(text.name)
            if most_letters is not None:
                field.setMaxLength(most_letters)
            field.selectAll()
        self.resize(_NAME_DIALOG_PX, self.sizeHint().height())


class ConfirmationBox(QMessageBox):
    """Asks; `accepted` fires on yes, and it is gone when it is closed."""

    def __init__(
        self, confirmation: Confirmation, parent: QWidget, *, is_dangerous: bool = True
    ) -> None:
        """Ask nothing before `open`.

        Args:
            confirmation: The question; no is the default.
            parent: The window that it is above.
            is_dangerous: Whether yes cannot be undone.
        """
        super().__init__(parent)
        _prepare(self)
        # The default button is drawn bold, after the box has measured it plain: it gets more room.
        self.setObjectName("question")
        yes = self.addButton(confirmation.yes, QMessageBox.ButtonRole.AcceptRole)
        if is_dangerous:
            yes.setProperty("kind", "danger")
            repolish(yes)
        self.setDefaultButton(self.addButton(confirmation.no, QMessageBox.ButtonRole.RejectRole))
        self.setText(confirmation.title)
        self.setInformativeText(confirmation.text)


def message_box(what: str, remedy: str, parent: QWidget) -> QMessageBox:
    """A box with something to read; it is gone when it is closed.

    Args:
        what: What is to be said first.
        remedy: What to do about it, or more; may be empty.
        parent: The window that it is above.
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


class SaveDialog(QFileDialog):
    """For a new file; an ending that was not typed is that of the chosen kind."""

    def __init__(
        self,
        title: str,
        suggested: Path,
        kinds: Mapping[str, str],
        parent: QWidget,
    ) -> None:
        """Ask nothing before `open`.

        Args:
            title: What is to be written.
            suggested: Folder and name without ending.
            kinds: Ending without its dot to what the kind is called.
            parent: The window that it is above.
        """
        super().__init__(parent, "", str(suggested.parent))
        self._endings = {f"{name} (*.{ending})": ending for ending, name in kinds.items()}
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self.setFileMode(QFileDialog.FileMode.AnyFile)
        self.setNameFilters(list(self._endings))
        self.setDefaultSuffix(next(iter(kinds)))
        self.selectFile(suggested.name)
        self.filterSelected.connect(self._on_self_filter_selected)
        translate_labels(self)
        self.setWindowTitle(title)

    @Slot(str)
    def _on_self_filter_selected(self, chosen: str) -> None:
        self.setDefaultSuffix(self._endings.get(chosen, ""))


def translate_labels(dialog: QFileDialog) -> None:
    """Translate labels that Qt's own translation leaves in English."""
    dialog.setLabelText(QFileDialog.DialogLabel.LookIn, tr("Look in:"))
    dialog.setLabelText(QFileDialog.DialogLabel.FileType, tr("Files of type:"))
