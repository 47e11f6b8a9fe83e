"""What Qt's own translation of its file dialogs leaves in English."""

from PySide6.QtWidgets import QFileDialog

from kmonitor.ui.text.language import tr


def say_labels(dialog: QFileDialog) -> None:
    """Say them in the language in force."""
    dialog.setLabelText(QFileDialog.DialogLabel.LookIn, tr("Look in:"))
    dialog.setLabelText(QFileDialog.DialogLabel.FileType, tr("Files of type:"))
