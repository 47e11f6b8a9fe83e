"""The strip below the table of all runs: what is selected, and what can be done with it."""

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.history.selection import HistoryAction, SelectionPicture
from kmonitor.ui.theme.qt.theme import Look, set_tone
from kmonitor.ui.widgets.labels import ElidedLabel


class HistoryStrip(QFrame):
    """Shows a `SelectionPicture`.

    Signals (main thread):
        wanted: With the key of what the user wants done.
    """

    wanted = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._look = look
        self._picture: SelectionPicture | None = None
        self._title = ElidedLabel("strong")
        self._text = ElidedLabel("sub", at_end=True)
        self._why = ElidedLabel("sub", at_end=True)
        self._buttons: dict[str, QPushButton] = {}
        self._row = QHBoxLayout()
        self._build()
        look.palette_changed.connect(self._on_look_palette_changed)

    def show_picture(self, picture: SelectionPicture) -> None:
        """Show this selection."""
        if picture == self._picture:
            return
        self._picture = picture
        self._title.setText(picture.title)
        self._text.setText(picture.text)
        self._why.setText(picture.trouble or picture.why_not)
        self._why.setVisible(bool(picture.trouble or picture.why_not))
        set_tone(self._why, "crit" if picture.trouble else "warn")
        for action in picture.actions:
            self._show_action(action)

    def do(self, key: str) -> bool:
        """Want this done, if it can be; whether it can."""
        action = self._action(key)
        if action is None or not action.is_enabled:
            return False
        self.wanted.emit(key)
        return True

    def pop_up_menu(self, at: QPoint) -> None:
        """The same actions as a menu, at a place of the screen."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        menu.setAccessibleName(self._title.text())
        for action in self._picture.actions if self._picture is not None else ():
            entry = menu.addAction(self._look.icon(action.icon), action.title)
            entry.setShortcut(action.shortcut)
            entry.setToolTip(action.tooltip)
            entry.setEnabled(action.is_enabled)
            entry.setData(action.key)
        menu.triggered.connect(self._on_menu_triggered)
        menu.popup(at)

    def _action(self, key: str) -> HistoryAction | None:
        known = self._picture.actions if self._picture is not None else ()
        return next((action for action in known if action.key == key), None)

    def _show_action(self, action: HistoryAction) -> None:
        button = self._buttons.get(action.key)
        if button is None:
            button = QPushButton()
            button.setObjectName(action.key)
            button.clicked.connect(self._on_button_clicked)
            self._buttons[action.key] = button
            self._row.addWidget(button)
        button.setText(action.title)
        button.setAccessibleName(action.title)
        button.setAccessibleDescription(action.tooltip)
        button.setToolTip(action.tooltip)
        button.setEnabled(action.is_enabled)
        button.setProperty("kind", "danger" if action.is_danger else "")
        tone = "crit" if action.is_danger else "plain"
        button.setIcon(self._look.icon(action.icon, tone))

    def _build(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(1)
        for label in (self._title, self._text, self._why):
            words.addWidget(label)
        self._why.hide()
        self._row.setContentsMargins(14, 9, 10, 9)
        self._row.setSpacing(8)
        self._row.addLayout(words, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._row)

    @Slot()
    def _on_button_clicked(self) -> None:
        self.do(self.sender().objectName())

    @Slot(QAction)
    def _on_menu_triggered(self, entry: QAction) -> None:
        self.do(str(entry.data()))

    @Slot()
    def _on_look_palette_changed(self) -> None:
        for action in self._picture.actions if self._picture is not None else ():
            self._show_action(action)
