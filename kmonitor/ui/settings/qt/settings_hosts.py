"""Settings: the hosts that are remembered."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from kmonitor.ui.hosts.host_settings import HostLine
from kmonitor.ui.settings.qt.setting_rows import CardButton, CardColumn, word_card
from kmonitor.ui.theme.qt.theme import role_label, set_tone
from kmonitor.ui.widgets.labels import ElidedLabel


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
        self._set_texts()

    def _set_texts(self) -> None:
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
        state = role_label("meta", line.state)
        state.setWordWrap(True)
        set_tone(state, line.tone)
        labels = (ElidedLabel("strong_small", line.name), ElidedLabel("sub", line.address), state)
        retry = (self.tr("Connect"), self.tr("Try it now"), self.retry_requested)
        kinds = (
            *([retry] if line.can_retry else []),
            (
                self.tr("Rename\u2026"),
                self.tr("Call it otherwise here"),
                self.rename_requested,
            ),
            (
                self.tr("Remove\u2026"),
                self.tr("Forget it; nothing there is touched"),
                self.removal_requested,
            ),
        )
        return word_card(
            labels,
            [
                CardButton(title, tip, f"{title} {line.name}", partial(wanted.emit, line.key))
                for title, tip, wanted in kinds
            ],
        )
