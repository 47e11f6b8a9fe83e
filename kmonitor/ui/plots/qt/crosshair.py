"""The crosshair: a line, a dot per run and one card, over the chart."""

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from kmonitor.ui.plots.chart_state import CrosshairCard, CrosshairRow
from kmonitor.ui.plots.qt.scene import Scene

_PADDING_PX = 10.0
_ROW_PX = 19.0
_SWATCH_PX = 8.0
_LONGEST_NAME_PX = 150.0
_SHORTEST_NAME_PX = 24.0
_NAME_TO_VALUE_PX = 20.0
_FROM_LINE_PX = 10.0


class CrosshairLayer(QWidget):
    """A transparent widget over the view, so that moving the crosshair does not repaint curves."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._scene: Scene | None = None
        self._x: float | None = None
        self.card = CrosshairCard("")
        self._has_ring = False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def show_scene(self, scene: Scene) -> None:
        """Follow the chart's scale; the chart's own repaint includes this layer."""
        self._scene = scene

    def show_crosshair(self, x: float | None, card: CrosshairCard) -> None:
        """Show the crosshair at x with this card; None hides the crosshair."""
        before = self._damage()
        self._x = x
        self.card = card
        for rect in (before, self._damage()):
            if not rect.isEmpty():
                self.update(rect.toAlignedRect())

    def show_ring(self, *, is_shown: bool) -> None:
        """Show or hide the focus ring around the chart."""
        self._has_ring = is_shown
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        scene = self._scene
        px = self._px()
        if scene is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._has_ring:
            painter.setPen(QPen(scene.colours.colour("accent"), 2.0))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1.0, 1.0, -1.0, -1.0), 6.0, 6.0)
        if px is not None:
            self._paint_crosshair(painter, scene, px)

    def _paint_crosshair(self, painter: QPainter, scene: Scene, px: float) -> None:
        frame = scene.frame
        colours = scene.colours
        painter.setPen(QPen(colours.colour("sub"), 1.0))
        line_x = round(px) + 0.5
        painter.drawLine(QLineF(line_x, frame.top, line_x, frame.bottom))
        for row in self.card.lines:
            if row.value is not None and frame.y_lo <= row.value <= frame.y_hi:
                painter.setPen(QPen(colours.colour("card"), 1.5))
                painter.setBrush(colours.series(row.hue))
                painter.drawEllipse(QPointF(line_x, frame.y_px(row.value)), 4.0, 4.0)
        if self.card.is_shown and (self.card.title or self.card.lines):
            self._paint_card(painter, scene, self.card_box(scene, px))

    def _px(self) -> float | None:
        scene = self._scene
        if scene is None or self._x is None:
            return None
        px = scene.frame.x_px(self._x)
        return px if scene.frame.left - 0.5 <= px <= scene.frame.right + 0.5 else None

    def _damage(self) -> QRectF:
        """Area that the crosshair covers now; empty if it is hidden."""
        scene = self._scene
        px = self._px()
        if scene is None or px is None:
            return QRectF()
        line = QRectF(px - 6.0, 0.0, 12.0, self.height())
        return line.united(self.card_box(scene, px).adjusted(-2.0, -2.0, 2.0, 2.0))

    def card_box(self, scene: Scene, px: float) -> QRectF:
        names, values = self._columns(scene)
        metrics = QFontMetricsF(self._bold(scene))
        width = max(
            metrics.horizontalAdvance(self.card.title),
            _SWATCH_PX + 8.0 + names + _NAME_TO_VALUE_PX + values,
        )
        box = QRectF(0.0, 0.0, width + 2.0 * _PADDING_PX, self._card_height())
        right = px + _FROM_LINE_PX
        fits = right + box.width() <= self.width()
        left = right if fits else px - _FROM_LINE_PX - box.width()
        box.moveTopLeft(QPointF(max(0.0, left), self._card_top(scene, box.height())))
        return box

    def _card_top(self, scene: Scene, height: float) -> float:
        """Top of the card: low in the plot, away from the lines of a growing metric."""
        return max(0.0, min(scene.frame.bottom - 8.0, self.height() - 2.0) - height)

    def _card_height(self) -> float:
        rows, rest = self._rows()
        return 2.0 * _PADDING_PX - 4.0 + _ROW_PX * (1 + len(rows) + bool(rest))

    def _rows(self) -> tuple[tuple[CrosshairRow, ...], int]:
        """Rows that fit, and the number of those that do not; that number takes a row too."""
        lines = self.card.lines
        fit = int((self.height() - 2.0 * _PADDING_PX + 2.0) // _ROW_PX) - 1
        if len(lines) <= fit:
            return lines, 0
        shown = lines[: max(1, fit - 1)]
        return shown, len(lines) - len(shown)

    def _columns(self, scene: Scene) -> tuple[float, float]:
        """Widths of names and values, pixels."""
        plain = QFontMetricsF(scene.colours.font(scene.colours.body_px))
        bold = QFontMetricsF(self._bold(scene))
        names = max((plain.horizontalAdvance(row.label) for row in self.card.lines), default=0.0)
        values = max((bold.horizontalAdvance(row.text) for row in self.card.lines), default=0.0)
        room = self.width() - 2.0 * _PADDING_PX - _SWATCH_PX - 8.0 - _NAME_TO_VALUE_PX - values
        return min(names, _LONGEST_NAME_PX, max(room, _SHORTEST_NAME_PX)), values

    def _bold(self, scene: Scene) -> QFont:
        return scene.colours.font(scene.colours.body_px, weight=QFont.Weight.DemiBold)

    def _paint_card(self, painter: QPainter, scene: Scene, box: QRectF) -> None:
        colours = scene.colours
        painter.setPen(QPen(colours.colour("border"), 1.0))
        painter.setBrush(colours.colour("raised"))
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 8.0, 8.0)
        row_box = QRectF(
            box.left() + _PADDING_PX,
            box.top() + _PADDING_PX - 2.0,
            box.width() - 2.0 * _PADDING_PX,
            _ROW_PX,
        )
        painter.setFont(self._bold(scene))
        painter.setPen(colours.colour("sub"))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(row_box, Qt.AlignmentFlag.AlignLeft | middle, self.card.title)
        rows, rest = self._rows()
        for row in rows:
            row_box.translate(0.0, _ROW_PX)
            self._paint_row(painter, scene, row, row_box)
        if rest:
            row_box.translate(0.0, _ROW_PX)
            painter.setFont(colours.font(colours.meta_px))
            painter.setPen(colours.colour("mute"))
            text = self.tr("and {n} more").format(n=rest)
            painter.drawText(row_box, Qt.AlignmentFlag.AlignLeft | middle, text)

    def _paint_row(
        self, painter: QPainter, scene: Scene, row: CrosshairRow, row_box: QRectF
    ) -> None:
        colours = scene.colours
        middle = Qt.AlignmentFlag.AlignVCenter
        plain = colours.font(colours.body_px)
        swatch = QRectF(
            row_box.left(), row_box.center().y() - _SWATCH_PX / 2, _SWATCH_PX, _SWATCH_PX
        )
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours.series(row.hue))
        painter.drawRoundedRect(swatch, 2.0, 2.0)
        painter.setFont(plain)
        painter.setPen(colours.colour("sub"))
        name = QFontMetricsF(plain).elidedText(
            row.label, Qt.TextElideMode.ElideMiddle, self._columns(scene)[0] + 1.0
        )
        name_box = row_box.adjusted(_SWATCH_PX + 8.0, 0.0, 0.0, 0.0)
        painter.drawText(name_box, Qt.AlignmentFlag.AlignLeft | middle, name)
        painter.setFont(self._bold(scene))
        painter.setPen(colours.colour("text"))
        painter.drawText(row_box, Qt.AlignmentFlag.AlignRight | middle, row.text)
