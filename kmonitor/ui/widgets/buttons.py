"""Buttons: menu, segments, switch, open folder."""

from collections.abc import Mapping

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSizePolicy,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.text.formats import shortened
from kmonitor.ui.theme.qt.theme import Theme, repolish

_MAX_LETTERS = 22


class MenuButton(QPushButton):
    """A choice among several values that need no space of their own.

    Signals (main thread):
        chosen: With the key of the user's choice.

    Attributes:
        key: Key of the current choice.
    """

    chosen = Signal(str)

    def __init__(
        self,
        theme: Theme,
        name: str,
        choices: Mapping[str, str],
        parent: QWidget | None = None,
        *,
        is_prominent: bool = True,
    ) -> None:
        """Create a button with the first choice selected.

        Args:
            choices: Titles by key.
            is_prominent: True if any choice but the first highlights the button.
        """
        super().__init__(parent)
        self._theme = theme
        self._name = name
        self._choices = dict(choices)
        self._is_prominent = is_prominent
        self.key = next(iter(self._choices))
        self._shown: tuple[str, ...] = ()
        self.setProperty("kind", "filter")
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.clicked.connect(self._on_self_clicked)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._show()

    def offer(self, choices: Mapping[str, str]) -> None:
        """Set the choices; the current one stays in any case."""
        if dict(choices) == self._choices:
            return
        current = {} if self.key in choices else {self.key: self._choices[self.key]}
        self._choices = {**choices, **current}

    def rename(self, name: str, choices: Mapping[str, str]) -> None:
        """Change the titles of the same choices."""
        self._name = name
        self._choices = {key: choices.get(key, title) for key, title in self._choices.items()}
        self._show()

    def show_choices(self, name: str, choices: Mapping[str, str], key: str) -> None:
        """Set the choices and the current one, without emitting `chosen`."""
        self._name = name
        self._choices = dict(choices)
        self.key = key
        self._show()

    def choose(self, key: str) -> None:
        """Set the choice without emitting `chosen`."""
        self.key = key
        self._show()

    def menu_of_choices(self) -> QMenu:
        """Return a new menu of the choices; it is deleted when it is closed."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        # The button itself reads from right to left, for its icon's sake.
        menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        menu.setAccessibleName(self._name)
        for key, title in self._choices.items():
            entry = menu.addAction(title.replace("&", "&&"))
            entry.setCheckable(True)
            entry.setChecked(key == self.key)
            entry.setData(key)
        menu.triggered.connect(self._on_menu_triggered)
        return menu

    def _show(self) -> None:
        state = (self._name, self.key, self._choices[self.key], next(iter(self._choices)))
        if state == self._shown:
            return
        self._shown = state
        is_usual = self.key == next(iter(self._choices))
        title = self._choices[self.key]
        self.setText(f"{self._name}: {shortened(title, _MAX_LETTERS)}".replace("&", "&&"))
        self.setAccessibleName(f"{self._name}: {title}")
        self.setToolTip(f"{self._name}: {title}")
        self.setProperty("is_set", self._is_prominent and not is_usual)
        repolish(self)
        self._on_theme_palette_changed()

    @Slot()
    def _on_self_clicked(self) -> None:
        self.menu_of_choices().popup(self.mapToGlobal(self.rect().bottomLeft()))

    @Slot(QAction)
    def _on_menu_triggered(self, entry: QAction) -> None:
        self.choose(str(entry.data()))
        self.chosen.emit(self.key)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.setIcon(self._theme.icon("more", "mute"))


class SegmentedControl(QFrame):
    """Shows its choices as buttons, one of which is pressed.

    Signals:
        chosen: With the key of the user's choice; main thread.
    """

    chosen = Signal(str)

    def __init__(
        self, choices: Mapping[str, str], name: str, parent: QWidget | None = None
    ) -> None:
        """Create the control with the first choice at the left and none pressed.

        Args:
            choices: Titles by key.
        """
        super().__init__(parent)
        self.setObjectName("segments")
        # If there is too little room, its neighbours shrink: here letters would be cut off.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._buttons: dict[str, QPushButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(2)
        for key in choices:
            button = QPushButton()
            button.setCheckable(True)
            # A click leaves the focus where it is, and with it what the Space key does.
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setProperty("key", key)
            self._group.addButton(button)
            self._buttons[key] = button
            row.addWidget(button)
        self._group.buttonClicked.connect(self._on_group_button_clicked)
        self.rename(choices, name)

    def rename(self, choices: Mapping[str, str], name: str) -> None:
        """Change the titles of the same choices."""
        self.setAccessibleName(name)
        for key, text in choices.items():
            self._buttons[key].setText(text)
            self._buttons[key].setAccessibleName(f"{name}: {text}")

    def choose(self, key: str) -> None:
        """Set the choice without emitting `chosen`."""
        self._buttons[key].setChecked(True)

    def explain(self, key: str, tooltip: str) -> None:
        self._buttons[key].setToolTip(tooltip)

    def button(self, key: str) -> QPushButton:
        return self._buttons[key]

    @property
    def buttons(self) -> list[QPushButton]:
        return list(self._buttons.values())

    @Slot(QAbstractButton)
    def _on_group_button_clicked(self, button: QAbstractButton) -> None:
        self.chosen.emit(str(button.property("key")))


class Switch(QAbstractButton):
    """A checkable button that looks like a switch with its text beside it."""

    def __init__(self, theme: Theme, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setText(text)
        self.setCheckable(True)
        self.setAccessibleName(text)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    @override
    def sizeHint(self) -> QSize:
        return QSize(48 + self.fontMetrics().horizontalAdvance(self.text()), 26)

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        colours = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(2, self.height() / 2 - 9, 32, 18)
        is_lit = self.isChecked() and self.isEnabled()
        painter.setPen(QPen(QColor(colours.accent if is_lit else colours.mute), 1))
        painter.setBrush(QColor(colours.accent if is_lit else colours.raised))
        painter.drawRoundedRect(track, 9, 9)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.on_accent if is_lit else colours.mute))
        left = track.right() - 15.5 if self.isChecked() else track.left() + 2.5
        painter.drawEllipse(QRectF(left, track.top() + 2.5, 13, 13))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 6, 6)
        painter.setPen(QColor(colours.text if self.isEnabled() else colours.mute))
        text_area = self.rect().adjusted(43, 0, 0, 0)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(text_area, flags, self.text())

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.update()


class FolderButton(QPushButton):
    """The button *Open folder...*; its owner connects `clicked`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(self.tr("Open folder\u2026"))
        self.setAccessibleName(self.text())
        self.setToolTip(self.tr("Show the runs in a folder (Ctrl+O)"))
