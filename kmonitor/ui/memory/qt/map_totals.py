"""The memory map's answer: the peak in words, the bar of totals, and what was measured."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from kmonitor.ui.memory.qt.stacked_bar import StackedBar
from kmonitor.ui.memory.totals import TotalsPicture
from kmonitor.ui.theme.qt.theme import Look, role_label, set_tone
from kmonitor.ui.widgets.labels import ElidedLabel
from kmonitor.ui.widgets.legend_row import LegendRow


class MapTotals(QFrame):
    """Shows a `TotalsPicture`."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._peak_title = role_label("name")
        self._peak = role_label("value")
        self._tier = ElidedLabel("strong_small", at_end=True)
        self._interval = role_label("sub")
        self._interval.setWordWrap(True)
        self._measured = role_label("body")
        self._measured.setWordWrap(True)
        self._notes = role_label("sub")
        self._notes.setWordWrap(True)
        set_tone(self._notes, "warn")
        self._bar = StackedBar(look)
        self._legend = LegendRow(look)
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self._peak_title.setText(self.tr("Peak of a training step"))
        self._bar.setAccessibleName(self.tr("Memory at the peak"))

    def show_picture(self, picture: TotalsPicture) -> None:
        """Show these totals."""
        self._peak.setText(picture.peak)
        self._tier.setText(picture.tier)
        self._tier.setToolTip(picture.tier_tooltip)
        set_tone(self._tier, picture.tone)
        self._interval.setText(picture.interval)
        self._measured.setText(picture.measured)
        self._notes.setText("\n".join(picture.notes))
        self._notes.setVisible(bool(picture.notes))
        self._bar.show_parts(
            picture.parts, reach=picture.reach, marks=picture.marks, span=picture.span
        )
        self._bar.setAccessibleDescription(picture.description)
        self._legend.show_entries([(f"{p.title} {p.text}", p.hue) for p in picture.parts])

    def _build(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(10)
        head.addWidget(self._peak_title, 0, Qt.AlignmentFlag.AlignBaseline)
        head.addWidget(self._peak, 0, Qt.AlignmentFlag.AlignBaseline)
        head.addWidget(self._tier, 1, Qt.AlignmentFlag.AlignBaseline)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 9, 14, 11)
        column.setSpacing(5)
        column.addLayout(head)
        for part in (self._interval, self._bar, self._legend, self._measured, self._notes):
            column.addWidget(part)
