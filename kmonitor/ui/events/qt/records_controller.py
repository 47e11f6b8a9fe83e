"""Binds the event log, the reclaim table and the detail windows to the workspace."""

from PySide6.QtCore import QObject, Signal, Slot

from kmonitor.ui.actions.action_panel import command_status_text
from kmonitor.ui.events import diagnosis, reclaims
from kmonitor.ui.events.qt.detail_windows import DiagnosisWindow, RecordWindow, RunEndWindow
from kmonitor.ui.events.run_end import run_end_state
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.unions import RunSummary


class RecordsController(QObject):
    """Controls the records and detail windows; refreshed by the window's controller.

    Main thread only.

    Signals:
        settings_changed: A setting changed and must be saved.
        run_requested: Id of a run to select.
        diagnose_requested: A diagnosis of the selected run is requested.
    """

    settings_changed = Signal()
    run_requested = Signal(str)
    diagnose_requested = Signal()

    def __init__(
        self, window: MainWindow, workspace: Workspace, theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._theme = theme
        self._record: RecordWindow | None = None
        self._opened: tuple[str, int] | None = None
        self._diagnosis: DiagnosisWindow | None = None
        self._shown: int | None = None
        self._shown_of = ""
        self._end: RunEndWindow | None = None
        self._end_of = ""
        records = window.records
        records.tab_chosen.connect(self.settings_changed)
        records.log.filter_chosen.connect(self._on_log_filter_chosen)
        records.log.row_opened.connect(self._on_log_row_opened)
        records.table.record_opened.connect(self._on_table_record_opened)
        window.header.state_opened.connect(self._on_header_state_opened)
        for name, slot in (
            ("events", self._on_events_key),
            ("reclaims", self._on_reclaims_key),
        ):
            window.charts_shortcut(name).activated.connect(slot)

    def refresh(self) -> None:
        workspace = self._workspace
        records = self._window.records
        run = workspace.run_store.current()
        records.log.show_rows(workspace.log.rows(), workspace.log.empty_text())
        rows = workspace.reclaims.rows(run.run if run is not None else "")
        records.table.show_rows(
            rows, reclaims.no_reclaims_text(run.actions if run is not None else ())
        )
        records.show_count(len(rows))
        self._refresh_diagnosis()
        self._refresh_end()

    def choose(self, row: int) -> None:
        """Show the selected run's record with this hub row id in the table."""
        self._window.records.show_tab("reclaims")
        self._window.records.table.choose(row)
        self.settings_changed.emit()

    def open_diagnosis(self, row: int | None = None) -> None:
        """Show the window of the selected run's diagnoses.

        Args:
            row: The hub's row id of a diagnosis; None: always the newest.
        """
        if self._diagnosis is None:
            self._diagnosis = DiagnosisWindow(self._theme, self._window)
            self._diagnosis.diagnose_requested.connect(self._on_diagnosis_diagnose_requested)
            self._diagnosis.step_requested.connect(self._on_diagnosis_step_requested)
        run = self._workspace.run_store.current()
        self._shown = row
        self._shown_of = run.run if run is not None else ""
        self._diagnosis.bring_to_front()
        self._refresh_diagnosis()

    def open_end(self, run: str) -> None:
        """Show the end of a run, with its memory before."""
        if self._end is None:
            self._end = RunEndWindow(self._theme, self._window)
        self._end_of = run
        self._end.bring_to_front()
        self._refresh_end()

    def _refresh_end(self) -> None:
        window = self._end
        run = self._workspace.run_store.get(self._end_of)
        if window is None or not window.isVisible() or run is None:
            return
        self._workspace.ends.want(run)
        minute = self._workspace.ends.get(run.run)
        now_wall_s = self._workspace.now_wall_s()
        window.show_state(run_end_state(run, minute, now_wall_s=now_wall_s))

    def refresh_texts(self) -> None:
        """Format the open record again in the current units; `refresh` updates everything else."""
        self._show_record()

    def _show_record(self) -> None:
        """Show the opened record in its window; the content stays when the run is gone."""
        if self._record is None or self._opened is None:
            return
        run, row = self._opened
        summary = self._workspace.run_store.get(run)
        if summary is None:
            return
        state = self._workspace.reclaims.full(run, row, run_name=summary.name)
        if state is not None:
            self._record.show_state(state)

    def _refresh_diagnosis(self) -> None:
        window = self._diagnosis
        run = self._workspace.run_store.current()
        if window is None or not window.isVisible() or run is None:
            return
        if run.run != self._shown_of:
            self._shown = None
            self._shown_of = run.run
        workspace = self._workspace
        command = workspace.commands.newest(run.run, "diagnose")
        is_open = command is not None and command.is_open
        can_request = workspace.is_reached(run.run) and not workspace.why_no_command(run.run)
        can_request = can_request and not has_ended(run) and "diagnose" in run.actions
        if self._shown is not None:
            # The follow-up of an epoch later completes the diagnosis, under another row.
            self._shown = workspace.diagnoses.row_of(run.run, self._shown)
        state = workspace.diagnoses.state(run.run, self._shown, run_name=run.name)
        window.show_state(state, title=run.name, empty=diagnosis.no_diagnosis_text())
        progress = command_status_text(run, workspace.commands, "diagnose")
        window.show_progress(progress, is_open=is_open, can_request=can_request)
        before, after = self._neighbours(run)
        window.show_steps(has_before=before is not None, has_after=after is not None)

    def _neighbours(self, run: RunSummary) -> tuple[int | None, int | None]:
        """Row ids of the diagnoses before and after the shown one; None: there is none."""
        rows = self._workspace.diagnoses.rows(run.run)
        known = self._shown if self._shown in rows else None
        shown = rows[-1:] if known is None else [known]
        if not shown or shown[0] not in rows:
            return None, None
        at = rows.index(shown[0])
        return rows[at - 1] if at else None, rows[at + 1] if at + 1 < len(rows) else None

    @Slot()
    def _on_events_key(self) -> None:
        self._window.records.show_tab("events")
        self.settings_changed.emit()

    @Slot()
    def _on_reclaims_key(self) -> None:
        self._window.records.show_tab("reclaims")
        self.settings_changed.emit()

    @Slot(str)
    def _on_log_filter_chosen(self, key: str) -> None:
        log = self._workspace.log
        log.filter = "warnings" if key == "warnings" else "actions" if key == "actions" else "all"
        self._window.records.log.show_rows(log.rows(), log.empty_text())
        self.settings_changed.emit()

    @Slot(str, int)
    def _on_log_row_opened(self, run: str, row: int) -> None:
        if self._workspace.log.is_end(run, row):
            self.open_end(run)
            return
        found = self._workspace.diagnoses.row_of(run, row)
        if found is None and all(row != each.row for each in self._workspace.reclaims.rows(run)):
            return
        if run != self._workspace.run_store.selected:
            self.run_requested.emit(run)
        if found is not None:
            self.open_diagnosis(found)
        else:
            self.choose(row)

    @Slot()
    def _on_header_state_opened(self) -> None:
        run = self._workspace.run_store.current()
        if run is not None:
            self.open_end(run.run)

    @Slot(int)
    def _on_table_record_opened(self, row: int) -> None:
        run = self._workspace.run_store.current()
        if run is None or self._workspace.reclaims.full(run.run, row, run_name=run.name) is None:
            return
        if self._record is None:
            self._record = RecordWindow(self._theme, self._window)
        self._opened = run.run, row
        self._show_record()
        self._record.bring_to_front()

    @Slot()
    def _on_diagnosis_diagnose_requested(self) -> None:
        self._shown = None
        self.diagnose_requested.emit()

    @Slot(int)
    def _on_diagnosis_step_requested(self, by: int) -> None:
        run = self._workspace.run_store.current()
        if run is not None:
            before, after = self._neighbours(run)
            self._shown = before if by < 0 else after
            self._refresh_diagnosis()
