"""Export, report and pictures of charts: asks for a file, writes it on a thread, reports back."""

import importlib
import logging
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QStandardPaths, Qt, Signal, Slot

from kmonitor.base.errors import UserError
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.widgets.dialogs import SaveDialog, message_box
from kmonitor.ui.workspace.workspace import Workspace

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartsController
    from kmonitor.ui.hosts.qt.hosts_controller import HostsController
    from kmonitor.ui.report.qt.export_writer import ExportWriter, RunAt

_log = logging.getLogger(__name__)
_JOIN_S: Final = 10.0
_MODULE: Final = "kmonitor.ui.report.qt.export_writer"
"""Imported by name when it is needed: it loads numpy and ZeroMQ, after the first paint."""


class ExportController(QObject):
    """Writes one file at a time on the thread `kmonitor-export`; all else on the main thread.

    Signals (from that thread, so connect to methods of QObjects only):
        written: A file was written.
        refused: The file was not written; with the reason and the remedy.
    """

    written = Signal(str)
    refused = Signal(str, str)

    def __init__(
        self, window: MainWindow, workspace: Workspace, theme: Theme, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._theme = theme
        self._hosts: HostsController | None = None
        self._charts_controller: ChartsController | None = None
        self._export_writer: ExportWriter | None = None
        self.writer_thread: threading.Thread | None = None
        self._is_leaving = threading.Event()
        documents = QStandardPaths.StandardLocation.DocumentsLocation
        self._folder = Path(QStandardPaths.writableLocation(documents))
        self.written.connect(self._on_self_written, Qt.ConnectionType.QueuedConnection)
        self.refused.connect(self._on_self_refused, Qt.ConnectionType.QueuedConnection)
        window.header.export_requested.connect(self.choose_export_file)
        window.header.report_requested.connect(self.choose_report_file)
        window.header.export_all_requested.connect(self.choose_export_all_file)
        window.charts_shortcut("export").activated.connect(self.choose_export_file)
        window.charts_shortcut("export_all").activated.connect(self.choose_export_all_file)
        window.charts_shortcut("report").activated.connect(self.choose_report_file)
        window.charts.picture_requested.connect(self.choose_picture_file)

    def attach(self, hosts: "HostsController | None", controller: "ChartsController") -> None:
        """Use the loaded hubs and charts."""
        self._hosts = hosts
        self._charts_controller = controller

    def stop(self) -> None:
        """Cancel the current file, and wait for the thread."""
        self._is_leaving.set()
        if self.writer_thread is not None:
            self.writer_thread.join(_JOIN_S)

    @Slot()
    def choose_export_file(self) -> None:
        """Let the user choose the file and format for the selected run's data."""
        is_part = self.held_span_s() is not None

        def title() -> str:
            return (
                self.tr("Export the visible range of {run}")
                if is_part
                else self.tr("Export {run}")
            )

        kinds = {"csv": self.tr("CSV"), "json": self.tr("JSON"), "parquet": self.tr("Parquet")}
        self._choose_file(title, kinds, self.export_to)

    @Slot()
    def choose_export_all_file(self) -> None:
        """Let the user choose the file and format for the data of all displayed runs."""
        n = len(self._workspace.run_store.shown())

        def title() -> str:
            if n == 1:
                return self.tr("Export {run}")
            return self.tr("Export all {n} runs on the charts").replace("{n}", str(n))

        kinds = {"csv": self.tr("CSV"), "json": self.tr("JSON"), "parquet": self.tr("Parquet")}
        self._choose_file(title, kinds, self.export_all_to, of="and-others" if n > 1 else "")

    @Slot()
    def choose_report_file(self) -> None:
        """Let the user choose the file for the selected run's report."""
        self._choose_file(
            lambda: self.tr("Report on {run}"), {"html": self.tr("HTML")}, self.report_to
        )

    @Slot(str, str)
    def choose_picture_file(self, metric: str, kind: str) -> None:
        """Let the user choose the file for a picture of a chart.

        Args:
            kind: "png" or "svg".
        """

        def title() -> str:
            return self.tr("Chart image of {run}")

        self._choose_file(
            title, {kind: kind.upper()}, partial(self.save_picture, metric), of=metric
        )

    def export_to(self, file: str) -> None:
        """Write the selected run's data; while the view is paused, only those in view.

        Args:
            file: File, whose suffix determines the format.
        """
        at = self._run_at()
        span_s = self.held_span_s()
        output = Path(file)
        if at is not None:
            work = self._tools()
            is_cancelled = self._is_leaving.is_set
            self._start(
                lambda: work.export(at, output, between=span_s, is_cancelled=is_cancelled), output
            )

    def export_all_to(self, file: str) -> None:
        """Write the data of all displayed runs; while the view is paused, only those in view."""
        charts = self._charts_controller
        hosts = self._hosts
        output = Path(file)
        if charts is None or hosts is None:
            return
        run_at = importlib.import_module(_MODULE).RunAt
        runs = [
            (run_at(run, hosts.hub_of(run.run)), charts.standard_charts.held_span_s(run.run))
            for run in self._workspace.run_store.shown()
        ]
        work = self._tools()
        is_cancelled = self._is_leaving.is_set
        self._start(lambda: work.export_all(runs, output, is_cancelled=is_cancelled), output)

    def report_to(self, file: str) -> None:
        at = self._run_at()
        output = Path(file)
        if at is not None:
            work = self._tools()
            self._start(lambda: work.report(at, output), output)

    def save_picture(self, metric: str, file: str) -> None:
        """Write a picture of a chart as displayed.

        Args:
            file: SVG if the suffix says so, else PNG.
        """
        run = self._workspace.run_store.current()
        if run is None or self._charts_controller is None:
            return
        module = importlib.import_module(_MODULE)
        style = module.ChartStyle(run.name, self._theme.palette, self._window.font().family())
        work = self._tools()
        output = Path(file)
        kind = output.suffix.casefold().removeprefix(".")
        drawn = work.draw(self._charts_controller, metric, style, kind)
        self._start(lambda: work.write_picture(drawn, output), output)

    def _choose_file(
        self,
        title: Callable[[], str],
        kinds: dict[str, str],
        write: Callable[[str], None],
        *,
        of: str = "",
    ) -> None:
        run = self._workspace.run_store.current()
        if run is None:
            return
        stem = self._tools().stem(run)
        part = of.replace(":", "-")
        name = f"{stem}-{part}" if part else stem
        dialog = SaveDialog(title().format(run=run.name), self._folder / name, kinds, self._window)
        dialog.fileSelected.connect(write)
        dialog.open()

    def held_span_s(self) -> tuple[float, float] | None:
        return (
            self._charts_controller.standard_charts.held_span_s()
            if self._charts_controller is not None
            else None
        )

    def _run_at(self) -> "RunAt | None":
        run = self._workspace.run_store.current()
        if run is None or self._hosts is None:
            return None
        return importlib.import_module(_MODULE).RunAt(run, self._hosts.hub_of(run.run))

    def _tools(self) -> "ExportWriter":
        work: ExportWriter = self._export_writer or importlib.import_module(_MODULE).ExportWriter()
        self._export_writer = work
        return work

    def _start(self, write: Callable[[], None], output: Path) -> None:
        if self.writer_thread is not None and self.writer_thread.is_alive():
            what = self.tr("Another file is still being written.")
            self._on_self_refused(what, self.tr("Try again in a moment."))
            return
        self._folder = output.parent
        self.writer_thread = threading.Thread(
            target=self._main, args=(write, output), name="kmonitor-export", daemon=True
        )
        self.writer_thread.start()

    def _main(self, write: Callable[[], None], output: Path) -> None:
        try:
            write()
        except UserError as exc:
            self.refused.emit(exc.what, exc.remedy)
        except Exception as exc:  # noqa: BLE001 - thread main: logged and shown, never lost
            _log.exception("%s could not be written", output)
            self.refused.emit(f"{type(exc).__name__}: {exc}", "")
        else:
            self.written.emit(str(output))

    @Slot(str)
    def _on_self_written(self, file: str) -> None:
        self._window.status.show_note(self.tr("Saved: {file}").format(file=file), tone="mute")

    @Slot(str, str)
    def _on_self_refused(self, what: str, remedy: str) -> None:
        if not self._is_leaving.is_set():
            message_box(what, remedy, self._window).open()
