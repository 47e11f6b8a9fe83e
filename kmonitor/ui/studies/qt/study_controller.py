"""Binds the page of a study: shown in place of the charts while a study is selected."""

import time
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal, Slot

from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.studies.fold_charts import fold_memory_state
from kmonitor.ui.studies.folds import attempts_by_fold
from kmonitor.ui.studies.qt.study_view import StudyPanel
from kmonitor.ui.studies.study_page import study_guide_slug, study_state
from kmonitor.ui.studies.study_store import folds_of, is_search, is_study
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.unions import RunSummary

if TYPE_CHECKING:
    from kmonitor_agent.wire.local.fold_identity import Noun

_EVERY_S: Final = 0.5
"""Reading a study of hundreds of folds takes some milliseconds: not done at each refresh."""


class StudyController(QObject):
    """Binds the page of a study; refreshed by the window's controller; main thread only.

    Signals:
        run_requested: Id of a fold's run to show.
        guide_requested: Page and heading of the guide's section about studies.
    """

    run_requested = Signal(str)
    guide_requested = Signal(str, str)

    def __init__(
        self, window: MainWindow, workspace: Workspace, theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._runs: dict[int, str] = {}
        self._finished: set[int] = set()
        self._noun: Noun = "fold"
        self._shown: tuple[str, float] = ("", 0.0)
        self.panel = StudyPanel(theme)
        window.hold_study(self.panel)
        self.panel.fold_opened.connect(self._on_panel_fold_opened)
        self.panel.metric_chosen.connect(self._on_panel_metric_chosen)
        self.panel.guide_requested.connect(self._on_panel_guide_requested)
        self.panel.metric_chart.resized.connect(self._on_metric_resized)

    def refresh(self) -> None:
        """Update the page, and show it while a study is selected."""
        run = self._workspace.run_store.current()
        study = run if run is not None and is_study(run) else None
        self._window.show_study(None if study is None else self.panel)
        if study is None:
            self._shown = ("", 0.0)
        elif study.run != self._shown[0] or self._is_due():
            self._show(study)

    @Slot()
    def refresh_texts(self) -> None:
        """Rewrite every size in the units in force."""
        self._shown = ("", 0.0)
        self.refresh()

    def _is_due(self) -> bool:
        return time.monotonic() - self._shown[1] >= _EVERY_S

    def _show(self, study: RunSummary) -> None:
        workspace = self._workspace
        self._shown = (study.run, time.monotonic())
        folds = folds_of(study, workspace.run_store.all_runs())
        self._runs = {fold: folds[fold].run for fold in sorted(folds)}
        record = workspace.studies.get(study.run)
        self._noun = "trial" if is_search(study) else "fold"
        is_reached = workspace.is_reached(study.run)
        now_wall_s = workspace.now_wall_s() if is_reached else study.last_wall_s
        tries = attempts_by_fold(study, record, folds, now_wall_s=now_wall_s)
        self.panel.show_state(study_state(study, record, tries, now_wall_s=now_wall_s))
        bound = None if record.started is None else record.started.memory_bytes
        height_px = float(self.panel.memory_chart.plot_px()[1])
        self.panel.show_memory(fold_memory_state(tries, bound, height_px=height_px))
        if is_reached:
            workspace.fold_metrics.want(list(self._runs.values()))
        self._finished = {each[-1].fold for each in tries if each[-1].state == "finished"}
        self._show_metric()

    def _show_metric(self) -> None:
        metrics = self._workspace.fold_metrics
        size_px = self.panel.metric_chart.plot_px()
        state = metrics.state(self._runs, self._finished, size_px=size_px, noun=self._noun)
        self.panel.show_metric(state)

    @Slot(int)
    def _on_panel_fold_opened(self, fold: int) -> None:
        run = self._runs.get(fold)
        if run is not None:
            self.run_requested.emit(run)

    @Slot(str)
    def _on_panel_metric_chosen(self, metric: str) -> None:
        self._workspace.fold_metrics.metric = metric
        self._show_metric()

    @Slot()
    def _on_panel_guide_requested(self) -> None:
        self.guide_requested.emit("folds.md", study_guide_slug())

    @Slot()
    def _on_metric_resized(self) -> None:
        if self._shown[0]:
            self._show_metric()
