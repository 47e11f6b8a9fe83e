"""Window with the evidence of a verdict and buttons for remedies, and its controller."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QPushButton, QWidget
from typing_extensions import override

from kmonitor.ui.charts.chart_kinds import judged_metric
from kmonitor.ui.events.qt.detail_windows import EvidenceWindow
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.verdicts.evidence import EvidenceState, evidence_state
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.commands import LimitMetric

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartsController


class VerdictWindow(EvidenceWindow):
    """Shows a verdict; not modal, so that the chart remains visible beside it.

    Signals (main thread):
        command_requested: Name of a command that may help.
        guide_requested: With the heading of the guide's page of folds that explains the memory of
            a loop.
        closed: The window was closed.
    """

    command_requested = Signal(str)
    guide_requested = Signal(str)
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._actions: tuple[tuple[str, str], ...] = ()
        self._buttons: list[QPushButton] = []
        self._heading = ""
        self._guide = QPushButton()
        super().__init__(theme, parent)
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
            self.tr("Guide: memory when training models in a loop, run_folds and collect")
        )
        self._guide.setAccessibleName(self._guide.text())

    @override
    def show_state(self, state: EvidenceState) -> None:
        super().show_state(state)
        self._heading = state.guide
        self._guide.setVisible(bool(state.guide))
        if state.actions != self._actions:
            self._actions = state.actions
            self._show_actions(state)

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        # Minimised by the desktop it is still open.
        if not event.spontaneous():
            self.closed.emit()

    def _show_actions(self, state: EvidenceState) -> None:
        for button in self._buttons:
            self.bottom.removeWidget(button)
            button.deleteLater()
        self._buttons = []
        for at, (command, title) in enumerate(state.actions):
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
        button.setToolTip(self.tr("Run this at the next safe point"))

    @Slot()
    def _on_action_clicked(self) -> None:
        self.command_requested.emit(self.sender().objectName())

    @Slot()
    def _on_guide_clicked(self) -> None:
        self.guide_requested.emit(self._heading)


class VerdictController(QObject):
    """Refreshed by the window's controller; main thread only.

    Signals:
        command_requested: Name of a command that the evidence suggests.
        guide_requested: Page of the guide, and its heading.
    """

    command_requested = Signal(str)
    guide_requested = Signal(str, str)

    def __init__(
        self, window: MainWindow, workspace: Workspace, theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._theme = theme
        self._charts_controller: ChartsController | None = None
        self._verdict_window: VerdictWindow | None = None
        self._metric: LimitMetric | None = None
        window.charts.evidence_requested.connect(self._on_charts_evidence_requested)

    def attach_controller(self, controller: "ChartsController") -> None:
        self._charts_controller = controller

    def refresh(self) -> None:
        """Update the open window; it closes when its verdict is gone."""
        window = self._verdict_window
        metric = self._metric
        run = self._workspace.run_store.current()
        if window is None or metric is None or not window.isVisible():
            return
        verdict = self._workspace.verdicts.get(run.run, metric) if run is not None else None
        if run is None or verdict is None:
            window.close()
            return
        can_request = self._workspace.is_reached(run.run) and not self._workspace.why_no_command(
            run.run
        )
        now_wall_s = self._workspace.now_wall_s()
        window.show_state(
            evidence_state(run, verdict, now_wall_s=now_wall_s, can_request=can_request)
        )

    def _shade(self, metric: LimitMetric | None) -> None:
        self._metric = metric
        if self._charts_controller is not None:
            self._charts_controller.standard_charts.evidence_of = metric
            self._charts_controller.refresh()

    @Slot(str)
    def _on_charts_evidence_requested(self, key: str) -> None:
        if self._verdict_window is None:
            self._verdict_window = VerdictWindow(self._theme, self._window)
            self._verdict_window.closed.connect(self._on_window_closed)
            self._verdict_window.command_requested.connect(self.command_requested)
            self._verdict_window.guide_requested.connect(self._on_window_guide_requested)
        self._shade(judged_metric(key))
        self._verdict_window.bring_to_front()
        self.refresh()

    @Slot(str)
    def _on_window_guide_requested(self, heading: str) -> None:
        self.guide_requested.emit("folds.md", heading)

    @Slot()
    def _on_window_closed(self) -> None:
        self._shade(None)
