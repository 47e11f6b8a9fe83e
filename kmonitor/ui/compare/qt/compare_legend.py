"""The legend of a comparison: a swatch, a name and a way out for each run."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from kmonitor.ui.compare.compare_state import LegendEntry
from kmonitor.ui.history.selection import MIN_COMPARED
from kmonitor.ui.theme.qt.theme import Look
from kmonitor.ui.widgets.labels import ElidedLabel

_SWATCH_PX = 11


class CompareLegend(QWidget):
    """One chip a run, all of one width.

    Signals (main thread):
        removal_requested: With the id of a run that is to be left out.
    """

    removal_requested = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._entries: tuple[LegendEntry, ...] = ()
        self._chips: list[QFrame] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(8)
        look.palette_changed.connect(self._on_look_palette_changed)

    def show_entries(self, entries: Sequence[LegendEntry]) -> None:
        """Show these runs."""
        if tuple(entries) == self._entries:
            return
        self._entries = tuple(entries)
        self._rebuild()

    def _rebuild(self) -> None:
        for chip in self._chips:
            self._row.removeWidget(chip)
            chip.hide()
            chip.deleteLater()
        self._chips = [self._chip(entry) for entry in self._entries]
        for chip in self._chips:
            self._row.addWidget(chip, 1)

    def _chip(self, entry: LegendEntry) -> QFrame:
        chip = QFrame()
        chip.setObjectName("chip")
        chip.setToolTip(entry.tooltip)
        swatch = QLabel()
        swatch.setPixmap(swatch_pixmap(self._look, entry.hue, self.devicePixelRatioF()))
        name = ElidedLabel("strong_small", entry.name)
        row = QHBoxLayout(chip)
        row.setContentsMargins(10, 4, 6, 4)
        row.setSpacing(7)
        row.addWidget(swatch, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(name, 1)
        if len(self._entries) > MIN_COMPARED:
            row.addWidget(self._way_out(entry))
        return chip

    def _way_out(self, entry: LegendEntry) -> QPushButton:
        out = QPushButton()
        out.setProperty("kind", "more")
        out.setFixedSize(20, 20)
        out.setIcon(self._look.icon("close", "mute"))
        title = self.tr("Leave out {name}").format(name=entry.name)
        out.setAccessibleName(title)
        out.setToolTip(title)
        out.clicked.connect(partial(self._leave_out, entry.run))
        return out

    def _leave_out(self, run: str, checked: object = None) -> None:
        del checked
        self.removal_requested.emit(run)

    @Slot()
    def _on_look_palette_changed(self) -> None:
        self._rebuild()


def swatch_pixmap(look: Look, hue: int, scale: float) -> QPixmap:
    """A round spot in a run's colour."""
    pixmap = QPixmap(round(_SWATCH_PX * scale), round(_SWATCH_PX * scale))
    pixmap.setDevicePixelRatio(scale)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(look.palette.series[hue % len(look.palette.series)]))
    painter.drawRoundedRect(0, 0, _SWATCH_PX, _SWATCH_PX, 3, 3)
    painter.end()
    return pixmap


def swatch_icon(look: Look, hue: int, scale: float) -> QIcon:
    """The same as an icon."""
    return QIcon(swatch_pixmap(look, hue, scale))
