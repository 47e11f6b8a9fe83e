"""Puts a palette in force, and follows the system when asked to."""

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QMenu

from kmonitor.ui.settings.window_settings import ThemeName
from kmonitor.ui.theme.palettes import DARK, LIGHT, Palette
from kmonitor.ui.theme.qt.restyling import Restyling
from kmonitor.ui.theme.qt.style_sheet import both_style_sheets, dress
from kmonitor.ui.theme.qt.theme import Look


class ThemeKeeper(QObject):
    """Owns the choice between dark, light and the system's scheme; main thread only."""

    def __init__(self, app: QApplication, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._look = look
        self._choice: ThemeName = "system"
        self._applied: Palette | None = None
        self._restyling = Restyling(app, self)
        self._restyling.shown_restyled.connect(self._on_restyling_shown_restyled)
        sheet = both_style_sheets()
        if app.styleSheet() != sheet:
            app.setStyleSheet(sheet)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._on_hints_scheme_changed)

    @property
    def choice(self) -> ThemeName:
        """What the user chose."""
        return self._choice

    def choose(self, choice: ThemeName) -> None:
        """Use this theme from now on."""
        self._choice = choice
        self._apply()

    def choose_named(self, name: str) -> None:
        """The same, by the name that a menu carries; an unknown one means the system's."""
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
        palette = self._wanted()
        if palette is self._applied:
            return
        self._applied = palette
        # A menu is made for one opening, with icons in the colours of then.
        while isinstance(menu := self._app.activePopupWidget(), QMenu):
            menu.close()
        self._app.setPalette(_qt_palette(palette))
        for window in self._app.topLevelWidgets():
            if window.parent() is None:
                dress(window, palette)
        self._restyling.begin()

    @Slot()
    def _on_restyling_shown_restyled(self) -> None:
        if self._applied is not None:
            self._look.use(self._applied)

    def _wanted(self) -> Palette:
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
    """For the few things that the style sheet does not reach."""
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
