"""Switching between themes: the user's choice, the system's scheme, and restyling in slices."""

import time
from typing import Final

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from kmonitor.ui.settings.window_settings import ThemeName
from kmonitor.ui.theme.palettes import DARK, LIGHT, Palette
from kmonitor.ui.theme.qt.style_sheet import both_style_sheets, set_window_theme
from kmonitor.ui.theme.qt.theme import Theme


class ThemeController(QObject):
    """Owns the choice between dark, light and the system's scheme; main thread only."""

    def __init__(self, app: QApplication, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._theme = theme
        self._choice: ThemeName = "system"
        self._applied: Palette | None = None
        self._style_refresher = StyleRefresher(app, self)
        self._style_refresher.shown_restyled.connect(self._on_refresher_shown_restyled)
        style_sheet = both_style_sheets()
        if app.styleSheet() != style_sheet:
            app.setStyleSheet(style_sheet)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_hints_scheme_changed)

    @property
    def choice(self) -> ThemeName:
        """Theme that the user chose."""
        return self._choice

    def choose(self, choice: ThemeName) -> None:
        self._choice = choice
        self._apply()

    def choose_named(self, name: str) -> None:
        """Set the theme by the name that a menu carries; an unknown one means the system's."""
        match name:
            case "dark" | "light":
                self.choose(name)
            case _:
                self.choose("system")

    @Slot(Qt.ColorScheme)
    def _on_hints_scheme_changed(self, scheme: Qt.ColorScheme) -> None:
        del scheme
        self._apply()

    def _apply(self) -> None:
        palette = self._wanted_palette()
        if palette is self._applied:
            return
        self._applied = palette
        # A menu is made for one opening, with icons in the colours of then.
        while isinstance(menu := self._app.activePopupWidget(), QMenu):
            menu.close()
        self._app.setPalette(_qt_palette(palette))
        for window in self._app.topLevelWidgets():
            if window.parent() is None:
                set_window_theme(window, palette)
        self._style_refresher.begin()

    @Slot()
    def _on_refresher_shown_restyled(self) -> None:
        if self._applied is not None:
            self._theme.use(self._applied)

    def _wanted_palette(self) -> Palette:
        match self._choice:
            case "dark":
                return DARK
            case "light":
                return LIGHT
            case "system":
                # Unknown on plain X11 and offscreen, and late on GNOME: dark until it is said.
                scheme = QGuiApplication.styleHints().colorScheme()
                return LIGHT if scheme == Qt.ColorScheme.Light else DARK


def _qt_palette(palette: Palette) -> QPalette:
    """Qt palette for the few elements that the style sheet does not reach."""
    result = QPalette()
    roles = {
        QPalette.ColorRole.Window: palette.bg,
        QPalette.ColorRole.WindowText: palette.text,
        QPalette.ColorRole.Base: palette.card,
        QPalette.ColorRole.AlternateBase: palette.raised,
        QPalette.ColorRole.Text: palette.text,
        QPalette.ColorRole.Button: palette.raised,
        QPalette.ColorRole.ButtonText: palette.text,
        QPalette.ColorRole.Highlight: palette.accent,
        QPalette.ColorRole.HighlightedText: palette.on_accent,
        QPalette.ColorRole.Link: palette.accent,
        QPalette.ColorRole.LinkVisited: palette.accent,
        QPalette.ColorRole.PlaceholderText: palette.mute,
        QPalette.ColorRole.ToolTipBase: palette.raised,
        QPalette.ColorRole.ToolTipText: palette.text,
        QPalette.ColorRole.Mid: palette.border,
    }
    for role, colour in roles.items():
        result.setColor(role, QColor(colour))
    return result


_SLICE_S: Final = 0.010
"""Time per slice, seconds. A widget takes 0.06 ms, so 160 fit: those that a usual window shows."""

_HIDDEN_SLICE_S: Final = 0.004
"""Time per slice for hidden widgets, seconds; painting continues in between."""


class StyleRefresher(QObject):
    """Restyles widgets: visible ones first, painted when all are done; main thread only.

    Signals (main thread):
        shown_restyled: Visible widgets are restyled and about to be painted. Emitted within
            `begin` if there is little to do.
    """

    shown_restyled = Signal()

    def __init__(self, app: QApplication, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._shown: list[QWidget] = []
        self._hidden: list[QWidget] = []
        self._held: list[QWidget] = []
        self._is_emitted = True
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._on_timer_timeout)

    def begin(self) -> None:
        """Restyle all widgets; a pass in progress starts over."""
        # Those that were never polished are when they are first shown.
        polished = Qt.WidgetAttribute.WA_WState_Polished
        found = [each for each in self._app.allWidgets() if each.testAttribute(polished)]
        self._shown = [each for each in found if each.isVisible()]
        self._hidden = [each for each in found if not each.isVisible()]
        self._is_emitted = False
        _restyle(self._shown, _SLICE_S)
        if self._shown:
            self._hold_updates()
        else:
            self._emit_restyled()
        self._timer.start()

    def _emit_restyled(self) -> None:
        self._is_emitted = True
        self.shown_restyled.emit()
        for window in self._held:
            if shiboken6.isValid(window):
                window.setUpdatesEnabled(True)
        self._held = []
        for window in self._app.topLevelWidgets():
            window.update()

    def _hold_updates(self) -> None:
        # Nobody is shown a window that is half dark and half light.
        if not self._held:
            windows = self._app.topLevelWidgets()
            self._held = [each for each in windows if each.isVisible() and each.updatesEnabled()]
            for window in self._held:
                window.setUpdatesEnabled(False)

    @Slot()
    def _on_timer_timeout(self) -> None:
        if self._shown:
            _restyle(self._shown, _SLICE_S)
        elif not self._is_emitted:
            self._emit_restyled()
        elif self._hidden:
            _restyle(self._hidden, _HIDDEN_SLICE_S)
        else:
            self._timer.stop()


def _restyle(widgets: list[QWidget], slice_s: float) -> None:
    """Restyle widgets from the list until it is empty or the time is over."""
    # By what this thread worked: on a busy machine no more passes are needed.
    end_s = time.thread_time() + slice_s
    while widgets and time.thread_time() < end_s:
        widget = widgets.pop()
        if shiboken6.isValid(widget):
            widget.style().polish(widget)
