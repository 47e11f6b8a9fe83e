"""A verdict in full: what it rests on, and what may help, as buttons where it can be done."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QPushButton, QWidget
from typing_extensions import override

from kmonitor.ui.events.qt.detail_windows import EvidenceWindow
from kmonitor.ui.theme.qt.theme import Look
from kmonitor.ui.verdicts.evidence import EvidencePicture


class VerdictWindow(EvidenceWindow):
    """Shows a verdict; not modal, so that the chart beside it shows the window.

    Signals (main thread):
        command_wanted: Name of a command that may help.
        guide_wanted: With the heading of the guide's page of folds that explains a loop's memory.
        closed: It is shown no more.
    """

    command_wanted = Signal(str)
    guide_wanted = Signal(str)
    closed = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        self._actions: tuple[tuple[str, str], ...] = ()
        self._buttons: list[QPushButton] = []
        self._heading = ""
        self._guide = QPushButton()
        super().__init__(look, parent)
        self._guide.setAutoDefault(False)
        self._guide.hide()
        self._guide.clicked.connect(self._on_guide_clicked)
        self.bottom.insertWidget(0, self._guide)
        self.resize(560, 380)
        self._set_texts()

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Verdict"))
        self._guide.setText(self.tr("How to train many models\u2026"))
        self._guide.setToolTip(
            self.tr("What a loop of models does to memory; run_folds and collect, in the guide")
        )
        self._guide.setAccessibleName(self._guide.text())

    @override
    def show_picture(self, picture: EvidencePicture) -> None:
        super().show_picture(picture)
        self._heading = picture.guide
        self._guide.setVisible(bool(picture.guide))
        if picture.actions != self._actions:
            self._actions = picture.actions
            self._show_actions(picture)

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        # Minimised by the desktop it is still open.
        if not event.spontaneous():
            self.closed.emit()

    def _show_actions(self, picture: EvidencePicture) -> None:
        for button in self._buttons:
            self.bottom.removeWidget(button)
            button.deleteLater()
        self._buttons = []
        for at, (command, title) in enumerate(picture.actions):
            button = QPushButton(title)
            button.setObjectName(command)
            button.setAccessibleName(title)
            self._explain(button)
            button.setAutoDefault(False)
            button.clicked.connect(self._on_action_clicked)
            self.bottom.insertWidget(1 + at, button)
            self._buttons.append(button)
            button.show()

    def _explain(self, button: QPushButton) -> None:
        button.setToolTip(self.tr("Ask the training for it, at its next safe point"))

    @Slot()
    def _on_action_clicked(self) -> None:
        self.command_wanted.emit(self.sender().objectName())

    @Slot()
    def _on_guide_clicked(self) -> None:
        self.guide_wanted.emit(self._heading)
