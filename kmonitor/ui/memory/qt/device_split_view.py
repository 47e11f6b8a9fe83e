"""The parts of a device's memory as a bar, with notes against the usual confusion."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from kmonitor.ui.memory.device_split import DeviceSplitRow, DeviceSplitState
from kmonitor.ui.memory.qt.stacked_bar import StackedBar
from kmonitor.ui.theme.qt.theme import Theme, role_label
from kmonitor.ui.widgets.labels import LegendRow


class DeviceSplitPanel(QScrollArea):
    """Shows a `DeviceSplitState`; scrolls where there is no room."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._split_state: DeviceSplitState | None = None
        self._title = role_label("title")
        self._bar = StackedBar(theme)
        self._legend = LegendRow(theme)
        self._rows = QGridLayout()
        self._explanation = role_label("sub")
        self._explanation.setWordWrap(True)
        self._explanation.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setObjectName("keys")
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self.setAccessibleName(self.tr("Memory on the device"))

    def show_state(self, state: DeviceSplitState) -> None:
        """Show these parts."""
        if state == self._split_state:
            return
        self._split_state = state
        self._title.setText(state.title)
        self._bar.show_parts(state.parts, reach=state.reach)
        self._bar.setAccessibleName(state.title)
        self._bar.setAccessibleDescription(state.description)
        self.setAccessibleDescription(state.description)
        self._legend.show_entries([(part.title, part.hue) for part in state.parts])
        self._explanation.setText("\n\n".join(state.paragraphs))
        self._show_rows(state.rows)

    def _show_rows(self, rows: tuple[DeviceSplitRow, ...]) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for at, row in enumerate(rows):
            title = _wrapped(role_label("body", row.title))
            size = role_label("number", row.text or self.tr("not read"))
            if not row.text:
                size.setProperty("role", "meta")
            source = _wrapped(role_label("meta", row.source))
            top = Qt.AlignmentFlag.AlignTop
            self._rows.addWidget(title, at, 0, top)
            self._rows.addWidget(size, at, 1, top | Qt.AlignmentFlag.AlignRight)
            self._rows.addWidget(source, at, 2, top)

    def _build(self) -> None:
        inside = QWidget()
        inside.setObjectName("scrolled")
        card = QFrame()
        card.setObjectName("card")
        self._rows.setHorizontalSpacing(18)
        self._rows.setVerticalSpacing(7)
        self._rows.setColumnStretch(0, 3)
        self._rows.setColumnStretch(2, 4)
        column = QVBoxLayout(card)
        column.setContentsMargins(16, 13, 16, 14)
        column.setSpacing(10)
        for part in (self._title, self._bar, self._legend):
            column.addWidget(part)
        column.addLayout(self._rows)
        line = QFrame()
        line.setObjectName("line")
        line.setFixedHeight(1)
        column.addWidget(line)
        column.addWidget(self._explanation)
        outer = QVBoxLayout(inside)
        outer.setContentsMargins(1, 1, 1, 1)
        outer.addWidget(card)
        outer.addStretch(1)
        self.setWidget(inside)


def _wrapped(label: QLabel) -> QLabel:
    label.setWordWrap(True)
    return label
