"""The verdict on a card: a button of few words, and when a limit is met beside it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QBoxLayout, QPushButton, QSizePolicy, QWidget

from kmonitor.ui.theme.qt.theme import set_tone
from kmonitor.ui.verdicts.verdict_text import NO_VERDICT, VerdictPicture
from kmonitor.ui.widgets.labels import ElidedLabel


class VerdictButton(QPushButton):
    """Says the verdict in few words; a click opens the evidence."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "verdict")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_picture(self, picture: VerdictPicture, title: str) -> None:
        """Show this.

        Args:
            picture: The verdict; nothing is shown without one.
            title: The card's.
        """
        self.setText(picture.text)
        self.setToolTip(picture.tooltip)
        self.setAccessibleName(f"{title}: {picture.text}")
        self.setAccessibleDescription(picture.tooltip)
        set_tone(self, picture.tone)
        self.setVisible(bool(picture.text))


class VerdictRow(QWidget):
    """A line of its own for a verdict that is not quiet.

    Signals:
        clicked: The evidence is wanted.
    """

    clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._button = VerdictButton()
        self._forecast = ElidedLabel("meta", at_end=True)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(8)
        self._row.addWidget(self._button)
        self._row.addWidget(self._forecast, 1)
        self._button.clicked.connect(self.clicked)
        self.hide()

    def set_tight(self, *, is_tight: bool) -> None:
        """Put the forecast below the verdict, where beside it there is no room."""
        ways = QBoxLayout.Direction
        self._row.setDirection(ways.TopToBottom if is_tight else ways.LeftToRight)
        self._row.setSpacing(1 if is_tight else 8)

    def show_picture(self, picture: VerdictPicture, title: str) -> None:
        """Show this; a quiet verdict takes no line."""
        self._button.show_picture(NO_VERDICT if picture.is_quiet else picture, title)
        self._forecast.set_brief(picture.forecast_brief)
        self._forecast.setText(picture.forecast)
        self._forecast.setVisible(bool(picture.forecast))
        self._forecast.setToolTip(picture.forecast_tooltip)
        self.setVisible(not picture.is_quiet and bool(picture.text))
