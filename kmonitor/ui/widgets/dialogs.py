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
        name: Accessible name of the field.
    """

    title: str
    label: str
    name: str


_NAME_DIALOG_PX = 440


class NameDialog(QInputDialog):
    """A field of one line; deleted when it is closed, `textValueSelected` fires on yes."""

    def __init__(
        self,
        text: NameDialogText,
        value: str,
        parent: QWidget,
        *,
        most_letters: int | None = None,
    ) -> None:
        """Create the dialog; `open` shows it.

        Args:
            value: Initial value of the field.
            parent: Window below the dialog.
            most_letters: Maximum length of the name; None: unlimited.
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
    """A confirmation; `accepted` fires on yes, and it is deleted when it is closed."""

    def __init__(
        self, confirmation: Confirmation, parent: QWidget, *, is_dangerous: bool = True
    ) -> None:
        """Create the box; `open` shows it.

        Args:
            confirmation: Question; its default answer is no.
            parent: Window below the box.
            is_dangerous: True if yes cannot be undone.
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
    """Return a message box; it is deleted when it is closed.

    Args:
        what: First line of the message.
        remedy: Remedy or details; may be empty.
        parent: Window below the box.
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
    """Dialog for a new file; if the user types no suffix, that of the chosen type is added."""

    def __init__(
        self,
        title: str,
        suggested: Path,
        kinds: Mapping[str, str],
        parent: QWidget,
    ) -> None:
        """Create the dialog; `open` shows it.

        Args:
            title: Title that names the contents of the file.
            suggested: Folder and file name without suffix.
            kinds: Suffix without its dot to name of the file type.
            parent: Window below the dialog.
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
