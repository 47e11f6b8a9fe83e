"""Opens the guide at the page about the focused part, and the page of keys."""

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QApplication, QWidget

from kmonitor.ui.guide.pages import FIRST_PAGE
from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.guide.qt.keyboard_window import KeyboardWindow
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.theme.qt.theme import Theme


class HelpController(QObject):
    """Main thread only."""

    def __init__(self, window: MainWindow, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._theme = theme
        self._guide: GuideWindow | None = None
        self._keyboard: KeyboardWindow | None = None
        window.header.help_requested.connect(self.open_guide)
        for name, slot in (("guide", self._on_guide_key), ("keyboard", self.open_keyboard)):
            key = window.shortcut(name)
            # From every window of ours, also from the question before a stop.
            key.setContext(Qt.ShortcutContext.ApplicationShortcut)
            key.activated.connect(slot)

    @Slot()
    def open_guide(self) -> None:
        """Show the guide as it was left, or at its first page."""
        if self._guide is None:
            self._guide = GuideWindow(self._theme, self._window)
        _bring_to_front(self._guide)

    def open_page(self, name: str, heading: str = "") -> None:
        """Show one page of the guide, by its file name.

        Args:
            name: Such as "folds.md".
            heading: Fragment of a link to a section; empty: as it was left.
        """
        self.open_guide()
        if self._guide is not None and (heading or self._guide.page != name):
            self._guide.open_page(name, heading)

    @Slot()
    def open_keyboard(self) -> None:
        """Show all keys."""
        if self._keyboard is None:
            self._keyboard = KeyboardWindow(self._window)
            self._keyboard.destroyed.connect(self._on_keyboard_destroyed)
        _bring_to_front(self._keyboard)

    @Slot()
    def _on_guide_key(self) -> None:
        page = _page_about(QApplication.focusWidget() or QApplication.activeWindow())
        if page != FIRST_PAGE:
            self.open_page(page)
        else:
            self.open_guide()

    @Slot()
    def _on_keyboard_destroyed(self) -> None:
        self._keyboard = None


def _page_about(widget: QWidget | None) -> str:
    """The guide's page that a widget, or what it is in, names; else the first."""
    while widget is not None:
        page = widget.property("guide_page")
        if isinstance(page, str):
            return page
        widget = None if widget.isWindow() else widget.parentWidget()
    return FIRST_PAGE


def _bring_to_front(window: QWidget) -> None:
    window.show()
    window.raise_()
    window.activateWindow()
