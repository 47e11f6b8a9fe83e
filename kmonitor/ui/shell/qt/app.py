"""Composition root of the window: creates every part and passes its collaborators.

The hub's client and the charts are imported after the first paint, which they would delay.
"""

import gc
import getpass
import importlib
import logging
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

from kmonitor.alerts.sent_log import SentAlertLog
from kmonitor.ui.alerts.qt.alert_controller import AlertController
from kmonitor.ui.hosts.qt.audit_window import AuditController
from kmonitor.ui.memory.qt.model_file_controller import ModelFileController
from kmonitor.ui.report.qt.export_controller import ExportController
from kmonitor.ui.settings.qt.language_controller import LanguageController
from kmonitor.ui.settings.window_settings import (
    WindowOptions,
    WindowSettings,
    load_settings,
    save_settings,
)
from kmonitor.ui.shell.qt.app_log import AppLog
from kmonitor.ui.shell.qt.crash_controller import CrashController
from kmonitor.ui.shell.qt.launcher import DemoLauncher, FolderOpener
from kmonitor.ui.shell.qt.screenshot import NoScreenshot, ScreenshotTimer, save_screenshot
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.shell.qt.window_controller import WindowController, WindowParts
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.theme.qt.theme_controller import ThemeController
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartsController
    from kmonitor.ui.hosts.qt.hosts_controller import HostsController
    from kmonitor.ui.hosts.qt.hub_starter import HubStarter

INTERRUPTED = 130
"""Exit status after SIGINT."""

_log = logging.getLogger(__name__)


class KmonitorApp(QObject):
    """Owns all parts of one window; created on the main thread.

    Signals:
        _failed: A part failed; from any thread, queued to the main thread.

    Attributes:
        workspace: State of the window.
        charts_controller: Controller of the charts, None until they are loaded.
        hosts: Controller of the hubs, None until it is loaded.
        audit: Controller of the audit log's window.
        alerts: Controller of the alerts.
        status: Exit status so far.
        has_left: True once the window should end, possibly before it runs.
        opens_again: True if a new window should open then, for example after a change of the
            language.
        failure: Reason why a requested screenshot is missing.
        shell_s: Seconds from construction until the window was shown.
        charts_s: Seconds from construction until the charts were loaded; 0 before.
    """

    has_left = False
    opens_again = False
    _failed = Signal(str)

    def __init__(self, qt: QApplication, folders: Folders, options: WindowOptions) -> None:
        super().__init__()
        self._started_s = time.monotonic()
        self._qt = qt
        self._folders = folders
        self._options = options
        self._log = AppLog(folders.logs, self._failed.emit)
        self._failed.connect(self._on_self_failed, Qt.ConnectionType.QueuedConnection)
        self._settings: WindowSettings = load_settings(folders.settings)
        self.status = 0
        self.failure: NoScreenshot | None = None
        self.shell_s = self.charts_s = 0.0
        self.charts_controller: ChartsController | None = None
        self._garbage = GarbageTimer(self)
        self._language = LanguageController(qt, self)
        self._shared_theme = Theme(self)
        self._theme = ThemeController(qt, self._shared_theme, self)
        self._apply_settings()
        self.hosts: HostsController | None = None
        self._hub_starter: HubStarter | None = None
        self.workspace = Workspace(clock=SystemClock(), user=_user())
        self.window = MainWindow(self._shared_theme)
        self.folder_opener = FolderOpener(self.window, self)
        parts = WindowParts(
            *(self.window, self.workspace, self._shared_theme, self._theme),
            *(DemoLauncher(folders, self), self._language, folders),
        )
        self.controller = WindowController(parts, self._settings, self)
        self.audit = AuditController(self.window, self.workspace, self._shared_theme, self)
        self.alerts = AlertController(
            self.window,
            self.workspace,
            folders.settings,
            SentAlertLog(folders.database),
            self,
        )
        self.export = ExportController(self.window, self.workspace, self._shared_theme, self)
        self.model_file = ModelFileController(
            self.window, self.controller.memory, self._shared_theme, self
        )
        self._screenshot_timer = ScreenshotTimer(self._is_settled, self)
        self._connect()

    def _apply_settings(self) -> None:
        self._language.use_language(self._settings.language)
        self._theme.choose(self._options.theme or self._settings.theme)

    def start(self) -> None:
        """Show the window, then load the hub's client and the charts."""
        self._place_window()
        self.window.show()
        self.window.leave_focus_alone()
        # The shell is painted before the half second that numpy and pyqtgraph take.
        self._qt.processEvents()
        if self.has_left:
            return
        self.shell_s = time.monotonic() - self._started_s
        self._follow_hub()
        self.controller.start()
        if self._language.why_not is not None:
            self.window.status.show_note(" ".join(self._language.why_not))
        # Nothing is to disturb a screenshot.
        if self._options.screenshot is None and self._options.shown is None:
            self.alerts.start()
            CrashController(self.window, self).offer(self._log.crashes)
        QTimer.singleShot(0, self._on_shell_shown)
        if self._options.quit_after_s is not None:
            QTimer.singleShot(int(self._options.quit_after_s * 1000), self._on_quit_due)
        elif self._options.screenshot is not None:
            self._screenshot_timer.start()

    def stop(self) -> None:
        """Save the settings and stop all threads; the hub and the trainings continue."""
        self._save_settings()
        self.controller.stop()
        self.alerts.stop()
        self.folder_opener.stop()
        self.export.stop()
        self.model_file.stop()
        self._screenshot_timer.stop()
        if self.hosts is not None:
            self.hosts.stop()
        if self._hub_starter is not None:
            self._hub_starter.stop()
        self._garbage.stop()
        self.window.close()
        self._language.stop()
        self._log.close()

    @Slot()
    def _leave(self) -> None:
        self.has_left = True
        self._qt.quit()  # unheard before the loop runs

    def interrupt(self) -> None:
        """Leave on SIGINT; a second SIGINT ends the process at once."""
        # Python's handler runs within 0.1 s: the timers call Python that often.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.status = INTERRUPTED
        self._leave()

    def _connect(self) -> None:
        if self._options.select:
            self.workspace.run_store.want(self._options.select)
        self.window.closed.connect(self._leave)
        self.controller.retry_requested.connect(self._on_controller_retry_requested)
        self.controller.settings_changed.connect(self._on_controller_settings_changed)
        self.alerts.run_requested.connect(self.workspace.select)
        self.controller.choices.reopening_requested.connect(self._on_choices_reopening_requested)
        self._screenshot_timer.due.connect(self._on_screenshot_timer_due)

    def _follow_hub(self) -> None:
        # Imported after the first paint, which ZeroMQ would hold up.
        hosts_module = importlib.import_module("kmonitor.ui.hosts.qt.hosts_controller")
        hosts: HostsController = hosts_module.HostsController(self._folders, self.workspace, self)
        hosts.local_bridge.link_changed.connect(self._on_bridge_link_changed)
        self.audit.attach(hosts)
        self.hosts = hosts
        self.controller.hosts.attach(hosts)
        self.controller.preferences.attach(hosts.local_bridge)
        hosts.start(with_hosts=self._options.shown is None, also=self._options.also)
        if self._options.with_hub:
            hub_starter_module = importlib.import_module("kmonitor.ui.hosts.qt.hub_starter")
            hub_starter: HubStarter = hub_starter_module.HubStarter(self._folders, self)
            hub_starter.hub_failed.connect(self._on_hub_starter_hub_failed)
            hub_starter.hub_found.connect(self._on_hub_starter_hub_found)
            self._hub_starter = hub_starter
            hub_starter.start()

    def _place_window(self) -> None:
        shown = self._options.shown
        if shown is not None:
            self.window.setWindowTitle(self.tr("{folder} - kmonitor").format(folder=shown))
        if self._options.size is not None:
            self.window.resize(*self._options.size)
        else:
            saved = self._settings.geometry
            self.window.place(QRect(*saved) if saved is not None else None)
        if self._settings.is_maximised and self._options.size is None:
            self.window.setWindowState(Qt.WindowState.WindowMaximized)

    @Slot()
    def _on_shell_shown(self) -> None:
        # Imported late and by name: this is what loads numpy and pyqtgraph.
        charts_module = importlib.import_module("kmonitor.ui.charts.qt.charts_controller")
        charts: ChartsController = charts_module.ChartsController(
            self.window.charts, self.workspace, self._shared_theme, self
        )
        self.charts_controller = charts
        self.controller.attach_controller(charts)
        self.alerts.attach_controller(charts)
        self.export.attach(self.hosts, charts)
        self.charts_s = time.monotonic() - self._started_s
        _log.info("window after %.2f s, charts after %.2f s", self.shell_s, self.charts_s)

    @Slot(bool)
    def _on_bridge_link_changed(self, is_reached: bool) -> None:
        if not is_reached and self._hub_starter is not None:
            self._hub_starter.check_now()

    @Slot()
    def _on_controller_retry_requested(self) -> None:
        if self._hub_starter is not None:
            self._hub_starter.check_now()
        if self.hosts is not None:
            self.hosts.local_bridge.retry_now()

    @Slot()
    def _on_controller_settings_changed(self) -> None:
        self._save_settings()

    @Slot(str)
    def _on_hub_starter_hub_failed(self, text: str) -> None:
        self.workspace.link.trouble(text)
        self.workspace.changed.add("link")

    @Slot()
    def _on_hub_starter_hub_found(self) -> None:
        self.workspace.link.trouble("")
        self.workspace.changed.add("link")
        if self.hosts is not None:
            self.hosts.local_bridge.retry_now()

    @Slot(str)
    def _on_self_failed(self, text: str) -> None:
        log = str(self._folders.logs / "app.log")
        self.workspace.link.fail(text, log)
        self.workspace.changed.add("link")
        if self._options.screenshot is not None:
            # Nobody sees a banner here, and half a screenshot is none.
            what = f"Part of the window failed: {text.rstrip('.')}. No screenshot was saved."
            self._end_with_failure(what, f"Details are in {log}.")

    @Slot()
    def _on_quit_due(self) -> None:
        if self._options.screenshot is None:
            self._leave()
            return
        self.controller.refresh()
        self._qt.processEvents()
        if self.failure is not None:
            return
        # Errors while the window paints are raised in there, and reported by `_on_self_failed`.
        try:
            save_screenshot(self.window, self._options.screenshot)
        except OSError as exc:
            what = f"{self._options.screenshot} cannot be written: {exc.strerror or exc}."
            self._end_with_failure(what, "Choose another file.")
            return
        if not (self._screenshot_timer.has_settled or self._is_settled()):
            self._end_without_data(self._options.screenshot)
        self._leave()

    def _end_without_data(self, screenshot: Path) -> None:
        trouble = self.workspace.link.status(version="").tooltip
        why = f" ({trouble.rstrip('.')})" if trouble and not self.workspace.link.is_live else ""
        what = f"{screenshot} shows no data: none arrived in time{why}."
        self._end_with_failure(what, "For details, run: kmonitor doctor")

    def _end_with_failure(self, what: str, remedy: str) -> None:
        # The first is the cause of those that follow.
        self.failure = self.failure or NoScreenshot(what, remedy)
        self._leave()

    def _is_settled(self) -> bool:
        if self.charts_controller is None or not self.workspace.link.is_live:
            return False
        if self.workspace.run_store.is_waiting and self._options.shown is None:
            return False  # the run to select is on a host that has not sent its runs yet
        return self.workspace.is_first_start or self.charts_controller.is_loaded

    @Slot()
    def _on_choices_reopening_requested(self) -> None:
        self.opens_again = True
        self._leave()

    @Slot()
    def _on_screenshot_timer_due(self) -> None:
        self._on_quit_due()

    def _save_settings(self) -> None:
        if self._options.size is not None or self._options.theme is not None:
            # Opened for a screenshot: the user's choices stay.
            return
        settings = self.controller.settings(self._settings)
        if settings != self._settings:
            self._settings = settings
            save_settings(self._folders.settings, settings)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "window"


_COLLECT_EVERY_MS = 1000
_ROUNDS_PER_FULL = 30


class GarbageTimer(QObject):
    """Collects garbage from a timer of the main thread while automatic collection is off.

    A collection on another thread that finds a dropped plot ends the process: Qt objects must be
    deleted on the thread where they live.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rounds = 0
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_COLLECT_EVERY_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        self._timer.start()

    def stop(self) -> None:
        """Re-enable automatic garbage collection."""
        self._timer.stop()
        gc.enable()

    @Slot()
    def _on_timer_timeout(self) -> None:
        self._rounds += 1
        young, _, _ = gc.get_count()
        if self._rounds % _ROUNDS_PER_FULL == 0:
            gc.collect(1)
        elif young > gc.get_threshold()[0]:
            gc.collect(0)
