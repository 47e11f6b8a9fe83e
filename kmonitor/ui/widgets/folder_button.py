"""The button *Open folder...*, wherever it stands."""

from PySide6.QtWidgets import QPushButton, QWidget


class FolderButton(QPushButton):
    """Says what it does; whoever shows it connects `clicked`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(self.tr("Open folder\u2026"))
        self.setAccessibleName(self.text())
        self.setToolTip(self.tr("See what trainings wrote into a folder (Ctrl+O)"))
