"""The theme in force, for widgets that paint themselves or need tinted icons."""

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QLabel, QWidget

from kmonitor.ui.theme.palettes import DARK, Palette, Tone
from kmonitor.ui.theme.qt.icons import icon_pixmap, tinted_icon


class Look(QObject):
    """Holds the palette; made once by the app and passed to every widget that needs it.

    Signals:
        palette_changed: After another palette came in force, main thread.
    """

    palette_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._palette = DARK

    @property
    def palette(self) -> Palette:
        """The palette in force."""
        return self._palette

    @Slot(object)
    def use(self, palette: Palette) -> None:
        """Put another palette in force."""
        if palette is not self._palette:
            self._palette = palette
            self.palette_changed.emit()

    def icon(self, name: str, tone: Tone = "plain") -> QIcon:
        """An icon for a button."""
        return tinted_icon(name, self._palette.tone(tone), self._palette.mute)

    def icon_on_accent(self, name: str) -> QIcon:
        """An icon for the primary button."""
        return tinted_icon(name, self._palette.on_accent, self._palette.mute)

    def pixmap(self, name: str, tone: Tone, size_px: int, widget: QWidget) -> QPixmap:
        """An icon for a label, sharp on the widget's screen."""
        return icon_pixmap(name, self._palette.tone(tone), size_px, widget.devicePixelRatioF())


def role_label(role: str, text: str = "", parent: QWidget | None = None) -> QLabel:
    """A label that the style sheet knows by its role; its text is never read as markup."""
    label = QLabel(text, parent)
    label.setProperty("role", role)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def set_tone(widget: QWidget, tone: str) -> None:
    """Give a widget the colour of a state; the style sheet picks it up."""
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        repolish(widget)


def repolish(widget: QWidget) -> None:
    """Let the style sheet look at a widget's properties again."""
    style = widget.style()
    for part in (widget, *widget.findChildren(QWidget)):
        style.unpolish(part)
        style.polish(part)
