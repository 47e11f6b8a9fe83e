"""Asks where a file is to go, and as what."""

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from kmonitor.ui.widgets.file_dialog_words import say_labels


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
            parent: The window above which it stands.
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
        say_labels(self)
        self.setWindowTitle(title)

    @Slot(str)
    def _on_self_filter_selected(self, chosen: str) -> None:
        self.setDefaultSuffix(self._endings.get(chosen, ""))
