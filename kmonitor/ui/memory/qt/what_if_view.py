"""Right side of the memory map: sliders and menus, the batch curve, and advice on the peak."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.memory.batch_curve import BatchCurve, PeakReductionRow
from kmonitor.ui.memory.what_if import WhatIfControlsState
from kmonitor.ui.theme.palettes import SIZES, Palette
from kmonitor.ui.theme.qt.theme import Theme, role_label, set_tone
from kmonitor.ui.widgets.buttons import MenuButton

_SIDEBAR_PX = 316


class WhatIfSidebar(QScrollArea):
    """The whole side; scrolls if there is too little room.

    Attributes:
        controls: Sliders and menus.
        fit: The largest batches that fit.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.controls = WhatIfControls(theme)
        self._curve = BatchCurveView(theme)
        self._curve_title = role_label("name")
        self.fit = role_label("body")
        self._advice_title = role_label("name")
        self._advice_note = role_label("sub")
        self._advice = QGridLayout()
        self._advised: tuple[PeakReductionRow, ...] | None = None
        self._chart_card = QFrame()
        self._advice_card = QFrame()
        self.setWidgetResizable(True)
        self.setFixedWidth(_SIDEBAR_PX)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self._curve_title.setText(self.tr("Peak by batch size"))
        self._advice_title.setText(self.tr("Ways to lower the peak"))
        self._advised = None

    def show_curve(self, curve: BatchCurve) -> None:
        """Show this curve and the largest batches that fit."""
        self._curve.show_curve(curve)
        self._curve.setVisible(bool(curve.line))
        self.fit.setText(curve.text)
        self.fit.setVisible(bool(curve.text))
        set_tone(self.fit, curve.tone)
        self._chart_card.setVisible(bool(curve.line or curve.text))

    def show_advice(self, advised: Sequence[PeakReductionRow], *, is_whole: bool) -> None:
        """Show changes that lower the peak, or that none is known."""
        self._advice_card.setVisible(bool(advised) or is_whole)
        self._advice_note.setVisible(not advised)
        self._advice_note.setText(self.tr("No single known change would save even 1 MiB."))
        if tuple(advised) == self._advised:
            return
        self._advised = tuple(advised)
        while (item := self._advice.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for at, line in enumerate(advised):
            saved = role_label("number", line.saved)
            advice = role_label("sub", line.text)
            advice.setWordWrap(True)
            for label in (saved, advice):
                label.setToolTip(line.tooltip)
            top = Qt.AlignmentFlag.AlignTop
            self._advice.addWidget(saved, at, 0, top | Qt.AlignmentFlag.AlignRight)
            self._advice.addWidget(advice, at, 1, top)

    def _build(self) -> None:
        inside = QWidget()
        inside.setObjectName("scrolled")
        for label in (self.fit, self._advice_note):
            label.setWordWrap(True)
        self._advice.setHorizontalSpacing(10)
        self._advice.setVerticalSpacing(5)
        self._advice.setColumnStretch(1, 1)
        column = QVBoxLayout(inside)
        column.setContentsMargins(1, 0, 1, 0)
        column.setSpacing(10)
        column.addWidget(self.controls)
        for card, parts in (
            (self._chart_card, (self._curve_title, self._curve, self.fit)),
            (self._advice_card, (self._advice_title, self._advice_note)),
        ):
            card.setObjectName("card")
            box = QVBoxLayout(card)
            box.setContentsMargins(12, 9, 12, 11)
            box.setSpacing(6)
            for part in parts:
                box.addWidget(part)
            column.addWidget(card)
        advice = self._advice_card.layout()
        if isinstance(advice, QVBoxLayout):
            advice.addLayout(self._advice)
        column.addStretch(1)
        self.setWidget(inside)


_MENUS: Final = ("optimizer", "precision", "backend", "limit")


class WhatIfControls(QFrame):
    """Shows a `WhatIfControlsState`: sliders and menus.

    Signals (main thread):
        batch_moved: With the index of the batch slider's step.
        size_moved: With the index of an input size.
        menu_chosen: With "optimizer", "precision", "backend" or "limit", and the chosen key.
        reset_requested: The question should be reset to the training as it is.
    """

    batch_moved = Signal(int)
    size_moved = Signal(int)
    menu_chosen = Signal(str, str)
    reset_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._title = role_label("name")
        self.reset = QPushButton()
        self.reset.setProperty("kind", "small")
        self.batch = NamedSlider()
        self.input_size = NamedSlider()
        self._size_why = role_label("meta")
        self._size_why.setWordWrap(True)
        self.menus = {key: MenuButton(theme, "", {"": ""}) for key in _MENUS}
        self._build()
        self._set_texts()

    def _set_texts(self) -> None:
        self._title.setText(self.tr("What if"))
        self.reset.setText(self.tr("Reset"))
        self.reset.setAccessibleName(self.reset.text())
        self.reset.setToolTip(self.tr("Restore the original values"))
        self.batch.call(self.tr("Batch size"), self.tr("Examples per step"))
        for key, title in self._titles().items():
            menu = self.menus[key]
            menu.rename(title, {})

    def show_state(self, state: WhatIfControlsState | None) -> None:
        """Show these controls; None: there is no model to ask about."""
        self.setVisible(state is not None)
        if state is None:
            return
        self.batch.show_step(state.batches, state.batch)
        has_sizes = len(state.sizes) > 1
        self.input_size.setVisible(has_sizes)
        self.input_size.call(state.size_title, state.size_title)
        self.input_size.show_step(state.sizes, state.size)
        self._size_why.setVisible(bool(state.size_why) and not has_sizes)
        self._size_why.setText(f"{state.size_title}: {state.size_why}")
        self.reset.setVisible(state.can_reset)
        for key, title in self._titles().items():
            menu = self.menus[key]
            menu.show_choices(title, state.menus[key], state.chosen[key])

    def _titles(self) -> dict[str, str]:
        return {
            "optimizer": self.tr("Optimizer"),
            "precision": self.tr("Precision"),
            "backend": self.tr("Backend"),
            "limit": self.tr("Device"),
        }

    def _build(self) -> None:
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(self.reset)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 9, 12, 11)
        column.setSpacing(8)
        column.addLayout(head)
        for part in (self.batch, self.input_size, self._size_why):
            column.addWidget(part)
        for key, menu in self.menus.items():
            menu.setProperty("for", key)
            menu.chosen.connect(self._on_menu_chosen)
            column.addWidget(menu)
        self.batch.moved.connect(self.batch_moved)
        self.input_size.moved.connect(self.size_moved)
        self.reset.clicked.connect(self._on_reset_clicked)

    @Slot(str)
    def _on_menu_chosen(self, key: str) -> None:
        self.menu_chosen.emit(str(self.sender().property("for")), key)

    @Slot()
    def _on_reset_clicked(self) -> None:
        self.reset_requested.emit()
        self.batch.slider.setFocus()


class NamedSlider(QWidget):
    """A slider over named steps, with its title and the current step above it.

    Signals (main thread):
        moved: With the index of the step that the user chose.
    """

    moved = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._steps: tuple[str, ...] = ()
        self._title = role_label("sub")
        self._value = role_label("strong_small")
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setPageStep(3)
        self._is_showing = False
        head = QHBoxLayout()
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(self._value)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self.slider)
        self.slider.valueChanged.connect(self._on_slider_value_changed)

    def call(self, title: str, tooltip: str) -> None:
        """Set the title of the slider, and the tooltip about its effect."""
        self._title.setText(title)
        self.slider.setAccessibleName(title)
        self.setToolTip(tooltip)

    def show_step(self, steps: Sequence[str], at: int) -> None:
        """Set the steps and the current one; emits nothing."""
        self._is_showing = True
        self._steps = tuple(steps)
        self.slider.setRange(0, max(0, len(self._steps) - 1))
        self.slider.setValue(at)
        self._is_showing = False
        self._show_value()

    def _show_value(self) -> None:
        at = self.slider.value()
        text = self._steps[at] if at < len(self._steps) else ""
        self._value.setText(text)
        self.slider.setAccessibleDescription(text)

    @Slot(int)
    def _on_slider_value_changed(self, at: int) -> None:
        if not self._is_showing:
            self._show_value()
            self.moved.emit(at)


_LEFT_PX = 56
_BELOW_PX = 18
_ABOVE_PX = 8
_BESIDE_PX = 10


class BatchCurveView(QWidget):
    """Paints a `BatchCurve` with the device's limit."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._curve = BatchCurve()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.palette_changed.connect(self._on_theme_palette_changed)
        self._set_texts()

    def _set_texts(self) -> None:
        self.setAccessibleName(self.tr("Peak by batch size"))

    def show_curve(self, curve: BatchCurve) -> None:
        if curve != self._curve:
            self._curve = curve
            self.setAccessibleDescription(curve.description)
            self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(220, 142)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        curve = self._curve
        colours = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        font = self.font()
        font.setPixelSize(SIZES.meta_px)
        painter.setFont(font)
        area = QRectF(
            _LEFT_PX,
            _ABOVE_PX,
            self.width() - _LEFT_PX - _BESIDE_PX,
            self.height() - _ABOVE_PX - _BELOW_PX,
        )
        self._paint_axes(painter, area, colours)
        if curve.band:
            upper = [_point_in(area, x, high) for x, _, high in curve.band]
            lower = [_point_in(area, x, low) for x, low, _ in reversed(curve.band)]
            tint = QColor(colours.accent)
            tint.setAlphaF(colours.tint_alpha)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(tint)
            painter.drawPolygon(QPolygonF([*upper, *lower]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(colours.accent), 1.6))
        painter.drawPolyline(QPolygonF([_point_in(area, x, y) for x, y in curve.line]))
        self._paint_limit(painter, area, colours)
        _spots(
            painter, [_point_in(area, x, y) for x, y in curve.measured], colours.ok, colours.card
        )
        batch = [_point_in(area, *curve.batch)] if curve.batch is not None else []
        _spots(painter, batch, colours.text, colours.card)
        painter.end()

    def _paint_axes(self, painter: QPainter, area: QRectF, colours: Palette) -> None:
        painter.setPen(QColor(colours.border))
        painter.drawLine(area.bottomLeft(), area.bottomRight())
        metrics = painter.fontMetrics()
        for tick in self._curve.y_ticks:
            y = area.bottom() - tick.at * area.height()
            painter.setPen(QColor(colours.border))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(colours.mute))
            room = QRectF(0, y - 8, _LEFT_PX - 6, 16)
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(room, side, tick.text)
        painter.setPen(QColor(colours.mute))
        for tick in self._curve.x_ticks:
            width = metrics.horizontalAdvance(tick.text)
            x = area.left() + tick.at * area.width() - width / 2
            left = min(max(x, area.left() - 4), self.width() - width - 1.0)
            painter.drawText(QPointF(left, self.height() - 4.0), tick.text)

    def _paint_limit(self, painter: QPainter, area: QRectF, colours: Palette) -> None:
        limit = self._curve.limit
        if limit is None:
            return
        y = area.bottom() - limit * area.height()
        painter.setPen(QPen(QColor(colours.crit), 1.4, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.update()


def _point_in(area: QRectF, x: float, y: float) -> QPointF:
    return QPointF(area.left() + x * area.width(), area.bottom() - y * area.height())


def _spots(painter: QPainter, points: Sequence[QPointF], colour: str, rim: str) -> None:
    painter.setPen(QPen(QColor(rim), 1.5))
    painter.setBrush(QColor(colour))
    for point in points:
        painter.drawEllipse(point, 4.5, 4.5)
