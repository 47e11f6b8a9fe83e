"""A button that says what is chosen, and opens a menu of what can be."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from kmonitor.ui.theme.qt.theme import Look, repolish

_MOST_LETTERS = 22


class MenuButton(QPushButton):
    """One choice among several that need no room of their own.

    Signals (main thread):
        chosen: With the key of a choice that the user made.

    Attributes:
        key: What is chosen.
    """

    chosen = Signal(str)

    def __init__(
        self,
        look: Look,
        name: str,
        choices: Mapping[str, str],
        parent: QWidget | None = None,
        *,
        stands_out: bool = True,
    ) -> None:
        """A button on which the first choice is chosen.

        Args:
            look: The theme.
            name: What is chosen.
            choices: Titles by key.
            parent: Its parent.
            stands_out: Whether it looks set with any choice but the first.
        """
        super().__init__(parent)
        self._look = look
        self._name = name
        self._choices = dict(choices)
        self._stands_out = stands_out
        self.key = next(iter(self._choices))
        self._shown: tuple[str, ...] = ()
        self.setProperty("kind", "filter")
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.clicked.connect(self._on_self_clicked)
        look.palette_changed.connect(self._on_look_palette_changed)
        self._show()

    def offer(self, choices: Mapping[str, str]) -> None:
        """Offer these from now on; what is chosen stays in any case."""
        if dict(choices) == self._choices:
            return
        kept = {} if self.key in choices else {self.key: self._choices[self.key]}
        self._choices = {**choices, **kept}

    def rename(self, name: str, choices: Mapping[str, str]) -> None:
        """Call the same choices, and what is chosen, by other words."""
        self._name = name
        self._choices = {key: choices.get(key, title) for key, title in self._choices.items()}
        self._show()

    def show_choices(self, name: str, choices: Mapping[str, str], key: str) -> None:
        """Offer exactly these, with this one chosen, without telling anyone."""
        self._name, self._choices, self.key = name, dict(choices), key
        self._show()

    def choose(self, key: str) -> None:
        """Set the choice without telling anyone."""
        self.key = key
        self._show()

    def menu_of_choices(self) -> QMenu:
        """The menu, made anew; it is gone when it is closed."""
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
        now = (self._name, self.key, self._choices[self.key], next(iter(self._choices)))
        if now == self._shown:
            return
        self._shown = now
        is_usual = self.key == next(iter(self._choices))
        title = self._choices[self.key]
        short = title if len(title) <= _MOST_LETTERS else title[: _MOST_LETTERS - 1] + "\u2026"
        self.setText(f"{self._name}: {short}".replace("&", "&&"))
        self.setAccessibleName(f"{self._name}: {title}")
        self.setToolTip(f"{self._name}: {title}")
        self.setProperty("is_set", self._stands_out and not is_usual)
        repolish(self)
        self._on_look_palette_changed()

    @Slot()
    def _on_self_clicked(self) -> None:
        self.menu_of_choices().popup(self.mapToGlobal(self.rect().bottomLeft()))

    @Slot(QAction)
    def _on_menu_triggered(self, entry: QAction) -> None:
        self.choose(str(entry.data()))
        self.chosen.emit(self.key)

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self.setIcon(self._look.icon("more", "mute"))
