"""Opens the guide at the page about the focused part, and the page of keys."""

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from kmonitor.ui.guide.pages import FIRST_PAGE
from kmonitor.ui.guide.qt.guide_window import GuideWindow
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.shortcuts import ShortcutGroup, ShortcutRow, shortcut_groups
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.keyboard import native_shortcut_text

_SIZE = (860, 640)
_LEAST_WIDTH = 700
_LEFT_GROUPS = 3


class KeyboardWindow(QDialog):
    """Groups of keys in two columns; not modal."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("guide_page", "keyboard.md")
        self.setMinimumWidth(_LEAST_WIDTH)
        self.resize(*_SIZE)
        self._title = role_label("title")
        self._title.setContentsMargins(10, 0, 0, 0)
        self._scroll = scroll = QScrollArea()
        scroll.setObjectName("keys")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 16, 8, 14)
        column.setSpacing(10)
        column.addWidget(self._title)
        column.addWidget(scroll, 1)
        self._set_texts()
        scroll.setFocus(Qt.FocusReason.OtherFocusReason)

    def _set_texts(self) -> None:
        self.setWindowTitle(self.tr("Keyboard"))
        self._title.setText(self.tr("Keyboard"))
        self._scroll.setAccessibleName(self.tr("Keyboard"))
        self._scroll.setWidget(_page(shortcut_groups()))


def _page(groups: tuple[ShortcutGroup, ...]) -> QWidget:
    inside = QWidget()
    inside.setObjectName("scrolled")
    row = QHBoxLayout(inside)
    # Off the ring of the focus.
    row.setContentsMargins(9, 6, 10, 6)
    row.setSpacing(28)
    for part in (groups[:_LEFT_GROUPS], groups[_LEFT_GROUPS:]):
        column = QVBoxLayout()
        column.setSpacing(14)
        for group in part:
            column.addWidget(_group(group))
        column.addStretch(1)
        row.addLayout(column, 1)
    return inside


def _group(group: ShortcutGroup) -> QWidget:
    box = QWidget()
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(5)
    grid.setColumnStretch(1, 1)
    grid.addWidget(role_label("section", group.title.upper()), 0, 0, 1, 2)
    for at, line in enumerate(group.lines, 1):
        grid.addWidget(_keys(line), at, 0, Qt.AlignmentFlag.AlignTop)
        label = role_label("body", line.text)
        label.setWordWrap(True)
        label.setAccessibleName(f"{', '.join(line.keys)}: {line.text}")
        grid.addWidget(label, at, 1)
    return box


def _keys(shortcut_row: ShortcutRow) -> QWidget:
    box = QWidget()
    box.setFixedWidth(172)
    row = QHBoxLayout(box)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(5)
    for keys in shortcut_row.keys:
        key = QLabel(native_shortcut_text(keys))
        key.setProperty("role", "key")
        key.setTextFormat(Qt.TextFormat.PlainText)
        row.addWidget(key)
    row.addStretch(1)
    return box


class HelpController(QObject):
    """Opens the guide and the page of keys; main thread only."""

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
        """Show the guide at the page shown last, or at its first page."""
        if self._guide is None:
            self._guide = GuideWindow(self._theme, self._window)
        _bring_to_front(self._guide)

    def open_page(self, name: str, heading: str = "") -> None:
        """Show one page of the guide, by its file name.

        Args:
            name: File name, for example "folds.md".
            heading: Fragment of a link to a section; empty: the position shown last.
        """
        self.open_guide()
        if self._guide is not None and (heading or self._guide.page != name):
            self._guide.open_page(name, heading)

    @Slot()
    def open_keyboard(self) -> None:
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
    """Guide page named by a widget or the nearest parent that names one; else the first page."""
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
