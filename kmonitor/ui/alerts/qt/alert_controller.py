"""Sends alerts to the tray, the user's command and web address; opens the dialog of rules."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget
from typing_extensions import override

from kmonitor.alerts.delivery import AlertSender, Delivery
from kmonitor.alerts.evaluator import Alert
from kmonitor.alerts.retries import Retry, due_retries
from kmonitor.alerts.rules import AlertSettings, load_alert_settings, save_alert_settings
from kmonitor.alerts.sent_log import SentAlertLog
from kmonitor.ui.alerts.alert_text import alert_facts, alert_level, alert_text
from kmonitor.ui.alerts.qt.alerts_dialog import AlertsDialog, AlertsText
from kmonitor.ui.events.event_text import Level
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.workspace.workspace import Workspace

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartsController


_log = logging.getLogger(__name__)
_POLL_MS = 1000


class AlertController(QObject):
    """Shows and delivers the alerts that are due; main thread only.

    Signals:
        run_requested: Id of the run of an alert.
        failed: With the reason why an alert was not delivered, and the time of its next attempt
            or None; from the sender's thread, queued.
    """

    run_requested = Signal(str)
    failed = Signal(str, object)

    def __init__(
        self,
        window: MainWindow,
        workspace: Workspace,
        folder: Path,
        sent_log: SentAlertLog,
        parent: QObject | None = None,
    ) -> None:
        """Alerts begin with `start`.

        Args:
            folder: Folder of the settings.
            sent_log: Log of the alerts that this window sends.
        """
        super().__init__(parent)
        self._window = window
        self._workspace = workspace
        self._folder = folder
        self._charts_controller: ChartsController | None = None
        self._dialog: AlertsDialog | None = None
        self._about = ""
        self.desktop_notifications = DesktopNotifications(window, self)
        self.desktop_notifications.window_requested.connect(self._on_notices_window_requested)
        self._retries: list[Retry] = []
        self.failed.connect(self._on_self_failed, Qt.ConnectionType.QueuedConnection)
        self._alert_sender = AlertSender(self.failed.emit, sent_log)
        self.timer = QTimer(self, interval=_POLL_MS)
        self.timer.timeout.connect(self._on_timer_timeout)
        window.header.alerts_requested.connect(self.open)
        window.shortcut("alerts").activated.connect(self.open)
        window.installEventFilter(self)

    def start(self) -> None:
        """Begin to show and deliver alerts."""
        self._workspace.alerts.settings = load_alert_settings(self._folder)
        self.desktop_notifications.start()
        self.timer.start()

    def stop(self) -> None:
        self.timer.stop()
        self.desktop_notifications.stop()
        self._alert_sender.stop()

    def attach_controller(self, controller: "ChartsController") -> None:
        """Use the loaded charts to count what a limit would have done."""
        self._charts_controller = controller

    @Slot()
    def open(self) -> None:
        if self._dialog is None:
            # `kmonitor alerts` may have changed them.
            self._workspace.alerts.settings = load_alert_settings(self._folder)
            text = AlertsText(self.desktop_notifications.delivery_text, self._dry_run)
            self._dialog = dialog = AlertsDialog(
                self._workspace.alerts.settings, text, self._window
            )
            dialog.chosen.connect(self._on_dialog_chosen)
            dialog.test_requested.connect(self._on_dialog_test_requested)
            dialog.destroyed.connect(self._on_dialog_destroyed)
        self._dialog.show()
        self._dialog.raise_()
        self._dialog.activateWindow()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowActivate:
            self.desktop_notifications.clear_marks()
        return super().eventFilter(watched, event)

    def _dry_run(self) -> tuple[str, ...]:
        return (
            self._charts_controller.standard_charts.dry_run()
            if self._charts_controller is not None
            else ()
        )

    def _deliver(self, alert: Alert) -> None:
        self._about = alert.subject if alert.kind != "host" else ""
        _log.info("alert: %s: %s", alert.title, alert_text(alert))
        self.desktop_notifications.notify(alert)
        if not self._is_sent_by_hub(alert):
            settings = self._workspace.alerts.settings
            self._alert_sender.send(Delivery.of(alert_facts(alert), settings))

    def _is_sent_by_hub(self, alert: Alert) -> bool:
        """True if the hub of the alert's run delivers the alert, so this window does not."""
        if alert.kind == "host" or self._workspace.run_store.get(alert.subject) is None:
            return False
        link = self._workspace.link_of(alert.subject)
        if link.hub is None or not link.hub.alerts:
            return False  # an older hub, which knows of no alerts
        # This user's own hub reads the same settings as this window, on the same host.
        return link.hub.alerts == "on" or link is self._workspace.link

    @Slot()
    def _on_timer_timeout(self) -> None:
        workspace = self._workspace
        now_wall_s = self._workspace.now_wall_s()
        workspace.alerts.hosts(workspace.hosts.lost(), now_wall_s=now_wall_s)
        for alert in workspace.alerts.due(now_wall_s):
            self._deliver(alert)
        retries, self._retries = due_retries(self._retries, now_wall_s)
        for retry in retries:
            self._alert_sender.send(Delivery.again(retry, workspace.alerts.settings))

    @Slot()
    def _on_notices_window_requested(self) -> None:
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()
        if self._about and self._workspace.run_store.get(self._about) is not None:
            self.run_requested.emit(self._about)

    @Slot(object)
    def _on_dialog_chosen(self, settings: AlertSettings) -> None:
        self._workspace.alerts.settings = settings
        why = save_alert_settings(self._folder, settings)
        if why:
            self._on_self_failed(why, None)

    @Slot(object)
    def _on_dialog_test_requested(self, settings: AlertSettings) -> None:
        now_wall_s = self._workspace.now_wall_s()
        text = self.tr("This is a test alert; nothing is wrong.")
        host = self._workspace.link.hub.host if self._workspace.link.hub else ""
        test = Alert("ended", "test", "", "kmonitor", host, now_wall_s, why=text)
        delivery = Delivery.of(alert_facts(test), settings)
        self._alert_sender.send(replace(delivery, tries_left=0))

    @Slot()
    def _on_dialog_destroyed(self) -> None:
        self._dialog = None

    @Slot(str, object)
    def _on_self_failed(self, text: str, retry: Retry | None) -> None:
        _log.warning("%s%s", text, " It will be retried within a few minutes." if retry else "")
        if retry is not None:
            self._retries.append(retry)
        if self._dialog is not None:
            self._dialog.add_trouble(translated_text(text))
        else:
            self._window.status.show_note(translated_text(text))


_SHOWN_MS = 10_000
_ICON_PX = 64
_DOT: dict[Level, str] = {"info": "#3fb950", "warning": "#d29922", "error": "#f85149"}


class DesktopNotifications(QObject):
    """The tray icon, if the desktop has a tray; main thread only.

    Signals:
        window_requested: The user wants to see the subject of the last alert.
    """

    window_requested = Signal()

    def __init__(self, window: QWidget, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._tray: QSystemTrayIcon | None = None
        self._menu: QMenu | None = None

    def start(self) -> None:
        """Show the icon; without a tray there is none."""
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        self._tray = tray = QSystemTrayIcon(self._window.windowIcon(), self)
        self._menu = menu = QMenu()
        menu.addAction(self.tr("Show kmonitor")).triggered.connect(self.window_requested)
        menu.addAction(self.tr("Quit")).triggered.connect(self._window.close)
        tray.setContextMenu(menu)
        tray.setToolTip("kmonitor")
        tray.activated.connect(self._on_tray_activated)
        tray.messageClicked.connect(self.window_requested)
        tray.show()

    def stop(self) -> None:
        if self._tray is not None:
            self._tray.hide()
            self._tray = None

    def delivery_text(self) -> str:
        """Describe in one sentence how this desktop shows alerts."""
        if self._tray is not None and QSystemTrayIcon.supportsMessages():
            return self.tr("Alerts are shown as notifications while kmonitor is running.")
        return self.tr(
            "Your desktop has no system tray: alerts highlight kmonitor's entry in the taskbar"
            " and appear in the event log."
        )

    def notify(self, alert: Alert) -> None:
        QApplication.alert(self._window)
        if self._tray is None:
            return
        self._tray.setIcon(icon_with_dot(self._window.windowIcon(), alert_level(alert)))
        self._tray.setToolTip(f"kmonitor\n{alert.title}: {alert_text(alert)}"[:200])
        icons = QSystemTrayIcon.MessageIcon
        icon = {"info": icons.Information, "warning": icons.Warning, "error": icons.Critical}
        self._tray.showMessage(alert.title, alert_text(alert), icon[alert_level(alert)], _SHOWN_MS)

    def clear_marks(self) -> None:
        """Clear the dot on the icon, as the user now sees the window."""
        if self._tray is not None:
            self._tray.setIcon(self._window.windowIcon())
            self._tray.setToolTip("kmonitor")

    @Slot(QSystemTrayIcon.ActivationReason)
    def _on_tray_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason != QSystemTrayIcon.ActivationReason.Context:
            self.window_requested.emit()


def icon_with_dot(icon: QIcon, level: Level) -> QIcon:
    """An icon with a dot in the colour of the alert's severity."""
    pixmap = QPixmap(icon.pixmap(_ICON_PX, _ICON_PX))
    if pixmap.isNull():
        return icon
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(_DOT[level]))
    size = pixmap.deviceIndependentSize().width() * 0.42
    painter.drawEllipse(QRectF(pixmap.deviceIndependentSize().width() - size, 0.0, size, size))
    painter.end()
    return QIcon(pixmap)
