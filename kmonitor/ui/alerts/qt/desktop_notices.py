"""How this desktop shows an alert: a notification of its tray, or a call for the window."""

from PySide6.QtCore import QObject, QRectF, Qt, Signal, Slot
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget

from kmonitor.ui.alerts.alert_evaluator import Alert, Gravity

_SHOWN_MS = 10_000
_ICON_PX = 64
_DOT: dict[Gravity, str] = {"info": "#3fb950", "warning": "#d29922", "error": "#f85149"}


class DesktopNotices(QObject):
    """The tray's icon, where there is a tray; main thread only.

    Signals:
        wanted: The user wants to see what the last alert was about.
    """

    wanted = Signal()

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
        menu.addAction(self.tr("Show kmonitor")).triggered.connect(self.wanted)
        menu.addAction(self.tr("Quit")).triggered.connect(self._window.close)
        tray.setContextMenu(menu)
        tray.setToolTip("kmonitor")
        tray.activated.connect(self._on_tray_activated)
        tray.messageClicked.connect(self.wanted)
        tray.show()

    def stop(self) -> None:
        """Take the icon away."""
        if self._tray is not None:
            self._tray.hide()
            self._tray = None

    def way(self) -> str:
        """How alerts are shown here, in a sentence."""
        if self._tray is not None and QSystemTrayIcon.supportsMessages():
            return self.tr("Alerts are shown as notifications while kmonitor runs.")
        return self.tr(
            "Your desktop has no tray: an alert marks kmonitor's entry in the task bar and stands "
            "in the event log."
        )

    def tell(self, alert: Alert) -> None:
        """Show an alert."""
        QApplication.alert(self._window)
        if self._tray is None:
            return
        self._tray.setIcon(marked(self._window.windowIcon(), alert.gravity))
        self._tray.setToolTip(f"kmonitor\n{alert.title}: {alert.sentence}"[:200])
        icons = QSystemTrayIcon.MessageIcon
        icon = {"info": icons.Information, "warning": icons.Warning, "error": icons.Critical}
        self._tray.showMessage(alert.title, alert.sentence, icon[alert.gravity], _SHOWN_MS)

    def seen(self) -> None:
        """The user looks at the window: nothing is marked any more."""
        if self._tray is not None:
            self._tray.setIcon(self._window.windowIcon())
            self._tray.setToolTip("kmonitor")

    @Slot(QSystemTrayIcon.ActivationReason)
    def _on_tray_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason != QSystemTrayIcon.ActivationReason.Context:
            self.wanted.emit()


def marked(icon: QIcon, gravity: Gravity) -> QIcon:
    """An icon with a dot that says how bad it is."""
    pixmap = QPixmap(icon.pixmap(_ICON_PX, _ICON_PX))
    if pixmap.isNull():
        return icon
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(_DOT[gravity]))
    size = pixmap.deviceIndependentSize().width() * 0.42
    painter.drawEllipse(QRectF(pixmap.deviceIndependentSize().width() - size, 0.0, size, size))
    painter.end()
    return QIcon(pixmap)
