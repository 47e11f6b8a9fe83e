"""The one QApplication of the process: named, with our typeface, icon and style."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QApplication

from kmonitor.base.resource_files import resource_path
from kmonitor.ui.shell.qt.qt_guard import settle_platform
from kmonitor.ui.theme.qt.fonts import load_fonts, window_font


def make_qt_application() -> QApplication:
    """The one QApplication, named and with our typeface."""
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        qt = existing
    else:
        settle_platform(offscreen=False)
        QGuiApplication.setHighDpiScaleFactorRoundingPolicy(
            Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
        )
        qt = QApplication(["kmonitor"])
    qt.setApplicationName("kmonitor")
    qt.setApplicationDisplayName("kmonitor")
    qt.setDesktopFileName("kmonitor")
    qt.setStyle("Fusion")
    qt.setFont(window_font(load_fonts()))
    qt.setWindowIcon(QIcon(str(resource_path("icons", "kmonitor.svg"))))
    return qt
