"""A wide button with an icon, a title, its shortcut, and a menu of the action's variants."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QContextMenuEvent,
    QKeyEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QPushButton, QWidget
from typing_extensions import override

from kmonitor.ui.actions.action_panel import ActionVariant, ButtonState
from kmonitor.ui.theme.qt.theme import Theme, repolish, set_tone

_AROUND_TEXT = 62
"""Icon, padding and the least gap before the shortcut, pixels."""

_HEIGHT = 36
_LOW_HEIGHT = 32
_MORE_WIDTH = 26
"""Width of the menu button with the gap before it, pixels."""


class ActionButton(QPushButton):
    """Shows one `ButtonState`. The shortcuts are only displayed here; the panel owns them.

    Signals:
        command_requested: With the command's name and the key of the variant, on click or a choice
            in the menu; main thread.
    """

    command_requested = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._button_state: ButtonState | None = None
        self._shown_variants: Sequence[ActionVariant] = ()
        self._keeps_focus = False
        self.hint = QLabel()
        self.hint.setProperty("role", "meta")
        self.hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._more = QPushButton()
        self._more.setProperty("kind", "more")
        self._more.setFixedSize(_MORE_WIDTH - 4, 24)
        self._more.setStyleSheet("text-align: center;")
        self._more.hide()
        self._more.clicked.connect(self._on_more_clicked)
        self._variant_group = QActionGroup(self)
        self._variant_group.setExclusionPolicy(QActionGroup.ExclusionPolicy.None_)
        self._variant_group.triggered.connect(self._on_variant_group_triggered)
        self._row = QHBoxLayout(self)
        self._row.setSpacing(4)
        self._row.addStretch(1)
        self._row.addWidget(self.hint)
        self._row.addWidget(self._more)
        self.setStyleSheet("text-align: left;")
        self.set_close(is_close=False)
        # The panel's width is the panel's: what has no room there must not widen it.
        self.setMinimumWidth(1)
        self.clicked.connect(self._on_self_clicked)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def show_state(self, state: ButtonState) -> None:
        if state == self._button_state:
            return
        shape = (state.kind, state.is_half)
        if (
            self._button_state is None
            or (self._button_state.kind, self._button_state.is_half) != shape
        ):
            self.setProperty("kind", state.kind)
            self.setProperty("is_half", state.is_half)
            repolish(self)
        self._button_state = state
        self.setText(f"  {state.title}")
        self.setToolTip(state.tooltip)
        self.setAccessibleName(state.title)
        self.setAccessibleDescription(state.tooltip)
        self._switch(is_on=state.is_enabled)
        self.hint.setText("" if state.is_half else state.shortcut)
        self._show_variants(state)
        self._draw()
        self._fit_hint()

    def set_close(self, *, is_close: bool) -> None:
        """Use a lower button, for windows with little height."""
        self.setFixedHeight(_LOW_HEIGHT if is_close else _HEIGHT)

    @property
    def has_variants(self) -> bool:
        return bool(self._variant_group.actions())

    def lead_to_menu(self) -> QWidget:
        """Return the last control for the Tab key: the menu button if there is one."""
        QWidget.setTabOrder(self, self._more)
        return self._more

    def variants_menu(self) -> QMenu:
        """Return a new menu of the variants; it is deleted when it is closed."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        menu.addActions(self._variant_group.actions())
        return menu

    @override
    def focusNextPrevChild(self, next: bool) -> bool:
        # Said of the switching off alone: the Tab key asks the window.
        return self._keeps_focus or super().focusNextPrevChild(next)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down and self.has_variants:
            self._open_menu()
            return
        super().keyPressEvent(event)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.has_variants and self.isEnabled():
            self._open_menu()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_hint()

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit_hint()

    def _switch(self, *, is_on: bool) -> None:
        """Enable or disable the button without moving the focus.

        Qt would move the focus from a disabled button to the next one, and the same key pressed
        again would request that button's action.
        """
        if self._more.hasFocus() and not is_on:
            self.setFocus(Qt.FocusReason.OtherFocusReason)
        self._keeps_focus = True
        self.setEnabled(is_on)
        self._keeps_focus = False
        if is_on and self.window().focusWidget() is self and self.isActiveWindow():
            # A window that was left and came back gives it to nothing that is switched off.
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fit_hint(self) -> None:
        text_width = self.fontMetrics().horizontalAdvance(self.text()) + _AROUND_TEXT
        text_width += _MORE_WIDTH if self.has_variants else 0
        hint = self.hint.fontMetrics().horizontalAdvance(self.hint.text())
        self.hint.setVisible(text_width + hint <= self.width())

    def _show_variants(self, state: ButtonState) -> None:
        if self._shown_variants != state.variants:
            self._shown_variants = state.variants
            self._make_variants(state.variants)
        self._variant_group.setEnabled(state.is_enabled)
        self._more.setVisible(self.has_variants)
        self._more.setToolTip(state.more)
        self._more.setAccessibleName(state.more)
        self._row.setContentsMargins(12, 0, 6 if self.has_variants else 12, 0)

    def _make_variants(self, variants: Sequence[ActionVariant]) -> None:
        for entry in self._variant_group.actions():
            self._variant_group.removeAction(entry)
            entry.deleteLater()
        for variant in variants:
            # The key is shown only: one of its own would be silent where the action is off.
            entry = QAction(f"{variant.title}\t{variant.shortcut}", self)
            entry.setData(variant.key)
            entry.setToolTip(variant.tooltip)
            self.addAction(entry)
            self._variant_group.addAction(entry)

    def _open_menu(self) -> None:
        self.variants_menu().popup(self.mapToGlobal(self.rect().bottomLeft()))

    @Slot()
    def _on_more_clicked(self) -> None:
        self._open_menu()

    @Slot(QAction)
    def _on_variant_group_triggered(self, entry: QAction) -> None:
        if self._button_state is not None:
            self.command_requested.emit(self._button_state.command, str(entry.data()))

    @Slot()
    def _on_self_clicked(self) -> None:
        if self._button_state is not None:
            self.command_requested.emit(self._button_state.command, "")

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._draw()

    def _draw(self) -> None:
        state = self._button_state
        if state is None:
            return
        if state.kind == "primary":
            self.setIcon(self._theme.icon_on_accent(state.icon))
            colour = self._theme.palette.on_accent if state.is_enabled else ""
            self.hint.setStyleSheet(f"color: {colour};" if colour else "")
            self._more.setIcon(self._theme.icon_on_accent("more"))
            return
        is_danger = state.kind == "danger"
        self.setIcon(self._theme.icon(state.icon, "crit" if is_danger else "plain"))
        self._more.setIcon(self._theme.icon("more"))
        set_tone(self.hint, "crit" if is_danger and state.is_enabled else "")
