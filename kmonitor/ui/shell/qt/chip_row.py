"""A row of chips in which the least important give way when there is no room."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from kmonitor.ui.shell.header import ChipPicture
from kmonitor.ui.shell.qt.chip import Chip
from kmonitor.ui.theme.qt.theme import Look

_GAP = 8


class ChipRow(QWidget):
    """Chips from left to right, each at its own width, as many as fit.

    Signals:
        chip_clicked: With the key of a chip that opens something.
    """

    chip_clicked = Signal(str)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._chips: dict[str, Chip] = {}
        self._pictures: tuple[ChipPicture, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_chips(self, pictures: Sequence[ChipPicture]) -> None:
        """Show these; a chip with the same key stays the same widget."""
        pictures = tuple(pictures)
        if pictures == self._pictures:
            return
        self._pictures = pictures
        keys = {picture.key for picture in pictures}
        for key in [key for key in self._chips if key not in keys]:
            chip = self._chips.pop(key)
            chip.hide()
            chip.deleteLater()
        for picture in pictures:
            if picture.key not in self._chips:
                chip = self._chips[picture.key] = Chip(self._look, self)
                chip.clicked.connect(self.chip_clicked)
            self._chips[picture.key].show_picture(picture)
        self._place()

    def width_within(self, room: int) -> int:
        """Width of the chips that would be shown in this room, pixels."""
        kept = self._fitting(room).items()
        widths = (self._chips[key].width_of(is_brief=is_brief) + _GAP for key, is_brief in kept)
        return max(0, sum(widths) - _GAP)

    @override
    def sizeHint(self) -> QSize:
        heights = [chip.sizeHint().height() for chip in self._chips.values()]
        widths = [chip.sizeHint().width() + _GAP for chip in self._chips.values()]
        return QSize(sum(widths), max(heights, default=30))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        kept = self._fitting(self.width())
        left = 0
        for picture in self._pictures:
            chip = self._chips[picture.key]
            chip.setVisible(picture.key in kept)
            if picture.key in kept:
                chip.be_brief(is_brief=kept[picture.key])
                size = chip.sizeHint()
                chip.setGeometry(
                    left, (self.height() - size.height()) // 2, size.width(), size.height()
                )
                left += size.width() + _GAP

    def _fitting(self, room: int) -> dict[str, bool]:
        """Keys of those that fit, and whether each is said in brief."""
        kept: dict[str, bool] = {}
        for picture in sorted(self._pictures, key=_rank):
            for is_brief in (False, True) if picture.brief else (False,):
                width = self._chips[picture.key].width_of(is_brief=is_brief)
                if width <= room:  # else a long one gives way to shorter ones of less weight
                    kept[picture.key] = is_brief
                    room -= width + _GAP
                    break
        return kept


def _rank(picture: ChipPicture) -> int:
    return picture.rank
