"""Settings: the hosts that are remembered."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from kmonitor.desktop.controls.card_column import CardColumn
from kmonitor.desktop.controls.elided_label import ElidedLabel
from kmonitor.desktop.controls.look import role_label, set_tone
from kmonitor.presenters.host_settings import HostLine


class HostSettings(QWidget):
    """A row for each host, in the order in which they were added.

    Signals (main thread):
        retry_requested: Address of a host that is to be tried at once.
        rename_requested: Address of one that is to be called otherwise.
        removal_requested: Address of one that is to be forgotten.
        connect_requested: Another host is to be added.
    """

    retry_requested = Signal(str)
    rename_requested = Signal(str)
    removal_requested = Signal(str)
    connect_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: tuple[HostLine, ...] | None = None
        self._text = role_label("sub")
        self._connect = QPushButton()
        self._column = CardColumn()
        self._build()
        self.retranslate()

    def retranslate(self) -> None:
        """Say every text in the language in force."""
        self._text.setText(
            self.tr("No other machine is remembered. What works as ssh NAME works here.")
        )
        self._connect.setText(self.tr("Connect to a host\u2026"))
        self._connect.setAccessibleName(self._connect.text())
        self._connect.setToolTip(self.tr("See the runs of another machine, over ssh (Ctrl+H)"))
        self._make_rows()

    def show_lines(self, lines: Sequence[HostLine]) -> None:
        """Show these hosts."""
        if tuple(lines) == self._lines:
            return
        self._lines = tuple(lines)
        self._make_rows()

    def _make_rows(self) -> None:
        lines = self._lines or ()
        self._column.show_cards(map(self._row, lines))
        self._text.setVisible(not lines)

    def _build(self) -> None:
        self._text.setWordWrap(True)
        self._connect.setAutoDefault(False)
        self._connect.clicked.connect(self.connect_requested)
        self._column.setSpacing(8)
        last = QHBoxLayout()
        last.addWidget(self._connect)
        last.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(self._text)
        column.addLayout(self._column)
        column.addLayout(last)
        column.addStretch(1)

    def _row(self, line: HostLine) -> QWidget:
        card = QFrame()
        card.setObjectName("card")
        name, address = ElidedLabel("strong_small", line.name), ElidedLabel("sub", line.address)
        state = role_label("meta", line.state)
        state.setWordWrap(True)
        set_tone(state, line.tone)
        words = QVBoxLayout()
        words.setSpacing(1)
        for label in (name, address, state):
            words.addWidget(label)
        row = QHBoxLayout(card)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(6)
        row.addLayout(words, 1)
        kinds: tuple[tuple[str, str, Callable[[str], None], bool], ...] = (
            (
                self.tr("Connect"),
                self.tr("Try it now"),
                self.retry_requested.emit,
                line.can_retry,
            ),
            (
                self.tr("Rename\u2026"),
                self.tr("Call it otherwise here"),
                self.rename_requested.emit,
                True,
            ),
            (
                self.tr("Remove\u2026"),
                self.tr("Forget it; nothing there is touched"),
                self.removal_requested.emit,
                True,
            ),
        )
        for title, tip, wanted, is_on in kinds:
            button = QPushButton(title)
            button.setProperty("kind", "filter")
            button.setToolTip(tip)
            button.setAccessibleName(f"{title} {line.name}")
            button.setAutoDefault(False)
            button.setVisible(is_on)
            button.clicked.connect(partial(_call, wanted, line.key))
            row.addWidget(button)
        return card


def _call(wanted: Callable[[str], None], key: str, checked: object = None) -> None:
    del checked
    wanted(key)
