"""Offers crash reports of an earlier start: to read, copy, save or discard."""

import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from kmonitor.ui.shell.crash_reports import CrashNotice, CrashReport, crash_notice
from kmonitor.ui.shell.qt.crash_views import CrashReportWindow
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.widgets.dialogs import SaveDialog
from kmonitor_agent.wire.local.folders import expand_user


class CrashController(QObject):
    """Binds the bar and the window about crash reports; main thread only."""

    def __init__(self, window: MainWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._crashes: list[CrashReport] = []
        self._notice: CrashNotice | None = None
        self._report: CrashReportWindow | None = None
        bar = window.crash_notice
        bar.show_requested.connect(self._on_bar_show_requested)
        bar.later_requested.connect(self._on_bar_later_requested)
        bar.discard_requested.connect(self._on_discard_requested)

    def offer(self, crashes: Sequence[CrashReport]) -> None:
        """Offer these reports, newest first; shows nothing if there are none."""
        if not crashes:
            return
        self._crashes = list(crashes)
        newest = crashes[0]
        self._notice = crash_notice(
            is_fatal=newest.is_fatal,
            wall_s=newest.wall_s,
            n=len(crashes),
            now_wall_s=time.time(),
        )
        self._window.crash_notice.show_notice(self._notice)

    @Slot()
    def _on_bar_show_requested(self) -> None:
        if self._notice is None:
            return
        if self._report is None:
            text = "\n\n".join(crash.text for crash in self._crashes)
            self._report = CrashReportWindow(self._notice, text, self._window)
            self._report.save_requested.connect(self._on_report_save_requested)
            self._report.discard_requested.connect(self._on_discard_requested)
        self._report.show()
        self._report.raise_()
        self._report.activateWindow()

    @Slot()
    def _on_bar_later_requested(self) -> None:
        self._window.crash_notice.show_notice(None)

    @Slot()
    def _on_discard_requested(self) -> None:
        for crash in self._crashes:
            crash.discard()
        self._crashes = []
        self._window.crash_notice.show_notice(None)
        if self._report is not None:
            self._report.close()

    @Slot()
    def _on_report_save_requested(self) -> None:
        if self._report is None or not self._crashes:
            return
        kinds = {"txt": self.tr("Text")}
        suggested = expand_user("~") / self._crashes[0].path.stem
        dialog = SaveDialog(self.tr("Save the report"), suggested, kinds, self._report)
        dialog.fileSelected.connect(self._on_dialog_file_selected)
        dialog.open()

    @Slot(str)
    def _on_dialog_file_selected(self, chosen: str) -> None:
        if self._report is None:
            return
        text = "\n\n".join(crash.text for crash in self._crashes)
        try:
            Path(chosen).write_text(text, encoding="utf-8")
        except OSError as exc:
            why = exc.strerror or str(exc)
            self._report.show_outcome(self.tr("Not saved: {why}.").format(why=why))
        else:
            self._report.show_outcome(self.tr("Saved as {file}.").format(file=chosen))
