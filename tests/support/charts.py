"""Pictures, a chart on the screen, and mouse events with the button held, for chart tests."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from kmonitor.ui.plots.chart_state import ChartState, CurveState, FlagState, LimitLineState
from kmonitor.ui.plots.qt.live_chart import LiveChart
from kmonitor.ui.text.formats import Unit

GIB = 2.0**30
SIZE = (480, 280)


def curve(
    run: str = "a",
    ys: Sequence[float] = (10.0, 20.0, 30.0, 40.0, 50.0),
    *,
    selected: bool = True,
    stale: bool = False,
    hue: int = 0,
) -> CurveState:
    """A run with these values, GiB, at epochs 0, 10, 20, ..."""
    x = np.arange(0.0, 10.0 * len(ys), 10.0)
    y = np.array([y * GIB for y in ys])
    return CurveState(run, f"run-{run}", hue, x, y, selected=selected, stale=stale)


def picture(
    *curves: CurveState,
    limit: LimitLineState | None = None,
    flags: tuple[FlagState, ...] = (),
    x_range: tuple[float, float] = (0.0, 40.0),
    unit: Unit = "bytes",
) -> ChartState:
    """A RAM chart of these runs."""
    marks = np.arange(0.0, 40.0)
    return ChartState(
        unit,
        "epochs",
        x_range,
        curves or (curve(),),
        limit=limit,
        flags=flags,
        epoch_marks=marks,
        title="RAM",
    )


def shown_chart(qtbot: QtBot, first: ChartState | None = None) -> LiveChart:
    """A chart on the (offscreen) screen with this picture."""
    chart = LiveChart()
    qtbot.addWidget(chart)
    chart.resize(*SIZE)
    if first is not None:
        chart.set_state(first)
    chart.show()
    QApplication.processEvents()
    return chart


def image_of(chart: QWidget) -> QImage:
    """Its present picture."""
    QApplication.processEvents()
    return chart.grab().toImage()


def has_colour(image: QImage, colour: str, x: int, ys: range, *, within: int = 60) -> bool:
    """True if a column of the image has a colour like this."""
    wanted = QColor(colour)
    return any(_distance(image.pixelColor(x, y), wanted) <= within for y in ys)


def has_line(image: QImage, card: str, x: int, ys: range) -> bool:
    """True if something brighter than grid lines crosses a column of the image."""
    back = QColor(card)
    return any(_distance(image.pixelColor(x, y), back) > 75 for y in ys)


def _distance(one: QColor, other: QColor) -> int:
    return (
        abs(one.red() - other.red())
        + abs(one.green() - other.green())
        + abs(one.blue() - other.blue())
    )


class Mouse:
    """A pointer over one widget; QTest.mouseMove carries no held button, this does."""

    def __init__(self, widget: QWidget) -> None:
        self._widget = widget
        self._held = Qt.MouseButton.NoButton

    def press(self, x: float, y: float) -> None:
        """Press the left button there."""
        self._held = Qt.MouseButton.LeftButton
        self._send(QEvent.Type.MouseButtonPress, x, y, Qt.MouseButton.LeftButton)

    def move(self, x: float, y: float) -> None:
        """Move there, with the button as it is."""
        self._send(QEvent.Type.MouseMove, x, y, Qt.MouseButton.NoButton)

    def release(self, x: float, y: float) -> None:
        """Let the left button go there."""
        self._held = Qt.MouseButton.NoButton
        self._send(QEvent.Type.MouseButtonRelease, x, y, Qt.MouseButton.LeftButton)

    def double_click(self, x: float, y: float) -> None:
        """Click twice there."""
        self._send(QEvent.Type.MouseButtonDblClick, x, y, Qt.MouseButton.LeftButton)

    def _send(self, kind: QEvent.Type, x: float, y: float, button: Qt.MouseButton) -> None:
        at = QPointF(x, y)
        event = QMouseEvent(
            kind,
            at,
            QPointF(self._widget.mapToGlobal(at)),
            button,
            self._held,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(self._widget, event)
