"""Card of one chart: value, rate, verdict and limit as text, and the chart below."""

from dataclasses import replace
from typing import Any, Protocol

from PySide6.QtCore import QLineF, QPoint, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QColor,
    QContextMenuEvent,
    QIcon,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.charts.cards import ChartCardState
from kmonitor.ui.limits.qt.limit_actions_view import add_choices
from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.theme import Theme, repolish, role_label, set_tone
from kmonitor.ui.verdicts.verdict_label import NO_VERDICT, VerdictLabel
from kmonitor.ui.widgets.keyboard import set_tab_order, tab_stops
from kmonitor.ui.widgets.labels import ElidedLabel


class CardChart(Protocol):
    """Signals that a card needs from its chart; `LiveChart` is one.

    The signals are typed loosely: Qt's stubs know them by another type on the class than on the
    object.
    """

    @property
    def limit_dropped(self) -> Any:
        """Emitted with the value at which the limit line was dropped."""
        ...

    @property
    def crosshair_moved(self) -> Any:
        """Emitted with the position on the horizontal axis."""
        ...

    @property
    def crosshair_left(self) -> Any:
        """Emitted when the pointer has left the chart."""
        ...

    @property
    def range_zoomed(self) -> Any:
        """Emitted with the requested horizontal range."""
        ...

    @property
    def zoom_reset(self) -> Any:
        """Emitted when the whole range is requested."""
        ...


_TOP_HEIGHT = 22
_NARROW_BELOW = 280
"""Width of a card, pixels, below which titles and rates need the room of the button's text."""

_TIGHT_BELOW = 220
"""Width, pixels, below which rate and forecast go below the number and the verdict."""

_LEAST_TITLE = 76
_BESIDE_LIMIT = 84
"""Margins of a card's top row, its gaps, and the padding of the limit, pixels."""


class ChartCard(QFrame):
    """Shows a `ChartCardState`; a grey placeholder is shown until the chart is loaded.

    Signals (main thread; `metric` is the card's):
        limit_dropped: metric, value.
        limit_requested: metric; the limit shall be near the current value.
        limit_removed: metric.
        limit_action_chosen: metric, action of its limit.
        crosshair_moved: metric, x.
        crosshair_left: metric.
        range_zoomed: from, to.
        zoom_reset: the whole range is requested.
        evidence_requested: metric whose evidence is requested.
        picture_requested: metric, "png" or "svg": its chart is requested as a file.
        menu_opening: metric and the menu; entries may be added before the menu is shown.
        dragged: metric, and position of the pointer on the screen while the card is moved.
        dropped: metric, and position of the pointer when it was released.
    """

    limit_dropped = Signal(str, float)
    limit_requested = Signal(str)
    limit_removed = Signal(str)
    limit_action_chosen = Signal(str, str)
    crosshair_moved = Signal(str, float)
    crosshair_left = Signal(str)
    range_zoomed = Signal(float, float)
    zoom_reset = Signal()
    evidence_requested = Signal(str)
    picture_requested = Signal(str, str)
    menu_opening = Signal(str, QMenu)
    dragged = Signal(str, QPoint)
    dropped = Signal(str, QPoint)

    def __init__(
        self, metric: str, title: str, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self._metric = metric
        self._theme = theme
        self._card_state: ChartCardState | None = None
        self._title = ElidedLabel("name", title, at_end=True, takes_room=False)
        self._note = ElidedLabel("meta", at_end=True)
        self._value = role_label("value")
        self._rate = ElidedLabel("strong", at_end=True, elides_parts=True)
        self._hint = ElidedLabel("meta", at_end=True, elides_parts=True)
        self._quiet_verdict = VerdictButton()
        self._verdict = VerdictRow()
        self.limit_button = QPushButton()
        self.set_limit_button = QPushButton()
        self._more = QPushButton()
        self._drag_from: QPoint | None = None
        self._is_dragged = self._is_narrow = self._is_tight = False
        self._skeleton = Skeleton(theme)
        self._chart: QWidget | None = None
        self._column = QVBoxLayout(self)
        self._text_layout = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        # Four cards of one size, whatever they say.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        self._build()
        self._fit_to_width(is_first=True)
        self._set_texts()
        self.set_limit_button.clicked.connect(self._on_set_limit_clicked)
        self._more.clicked.connect(self._on_more_clicked)
        self.limit_button.clicked.connect(self._on_limit_clicked)
        for part in (self._quiet_verdict, self._verdict):
            part.clicked.connect(self._on_verdict_clicked)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def _set_texts(self) -> None:
        tooltip = self.tr("Add a limit line just above the highest value; drag it from there")
        if self._metric == "step_time":
            of_median = self.tr(
                "Applies to the median over an epoch, so a few slow steps do not affect it"
            )
            tooltip = f"{tooltip}\n{of_median}"
        self.set_limit_button.setToolTip(tooltip)
        self.set_limit_button.setAccessibleName(
            self.tr("Set a limit on {metric}").format(metric=self._title.text())
        )
        self._more.setToolTip(
            self.tr("Limit, position and appearance of this chart; drag its title to move it")
        )
        self._more.setAccessibleName(self.tr("{metric} menu").format(metric=self._title.text()))
        self.set_limit_button.setText("" if self._is_narrow else self.tr("Set a limit"))
        self._elide_limit()

    def attach_chart(self, chart: QWidget, signals: CardChart) -> None:
        """Replace the placeholder by the chart.

        Args:
            signals: The same widget as `chart`, typed by its signals.
        """
        self._column.replaceWidget(self._skeleton, chart)
        self._column.setStretchFactor(chart, 1)
        self._skeleton.hide()
        self._skeleton.deleteLater()
        self._chart = chart
        set_tab_order(self.stops())
        signals.limit_dropped.connect(self._on_chart_limit_dropped)
        signals.crosshair_moved.connect(self._on_chart_crosshair_moved)
        signals.crosshair_left.connect(self._on_chart_crosshair_left)
        signals.range_zoomed.connect(self.range_zoomed)
        signals.zoom_reset.connect(self.zoom_reset)

    def stops(self) -> list[QWidget]:
        """Widgets that Tab stops at, in order: text, chart, grip."""
        widgets = (
            self.limit_button,
            self.set_limit_button,
            self._more,
            self._quiet_verdict,
            self._verdict,
        )
        return tab_stops(widgets if self._chart is None else (*widgets, self._chart))

    def show_state(self, state: ChartCardState) -> None:
        if state == self._card_state:
            return
        self._card_state = state
        self._title.setText(state.title)
        self._note.setText(state.note)
        self._hint.setText(state.hint)
        self._hint.setVisible(bool(state.hint))
        self._value.setText(state.value)
        set_tone(self._value, "mute" if state.absent else "")
        self._show_rate()
        set_tone(self._rate, "warn" if state.rate.direction > 0 else "mute")
        self._rate.setToolTip(state.rate.tooltip)
        self._show_verdict()
        self._elide_limit()
        self.limit_button.setVisible(bool(state.limit))
        self.limit_button.setEnabled(bool(state.choices))
        self.limit_button.setAccessibleName(f"{state.title}: {state.limit}")
        set_tone(self.limit_button, state.limit_tone)
        self.set_limit_button.setVisible(state.can_limit and not state.limit)
        for label in (self._title, self._note, self._value, self._hint):
            label.setToolTip(state.tooltip)
        self.setAccessibleName(state.title)
        self.setAccessibleDescription(state.description)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_to_width()
        self._elide_limit()

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.open_menu(event.globalPos())

    def mark_target(self, *, is_target: bool) -> None:
        """Mark this card as the position where a moved card would be dropped."""
        self.setProperty("is_target", is_target)
        repolish(self)

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        is_left = event.button() == Qt.MouseButton.LeftButton
        self._drag_from = event.globalPosition().toPoint() if is_left else None

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.globalPosition().toPoint()
        start = self._drag_from
        if start is None:
            return
        if not self._is_dragged:
            self._is_dragged = (at - start).manhattanLength() >= QApplication.startDragDistance()
        if self._is_dragged:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.dragged.emit(self._metric, at)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_dragged, self._drag_from, self._is_dragged = self._is_dragged, None, False
        if was_dragged:
            self.unsetCursor()
            self.dropped.emit(self._metric, event.globalPosition().toPoint())

    def _build(self) -> None:
        self.set_limit_button.setProperty("kind", "small")
        self.set_limit_button.hide()
        self.limit_button.setProperty("kind", "limit")
        self.limit_button.hide()
        # The first to give way, down to nothing.
        self._note.setMinimumWidth(1)
        top = QHBoxLayout()
        top.setSpacing(7)
        top.addWidget(self._title)
        top.addWidget(self._note, 1)
        top.addWidget(self.limit_button)
        top.addWidget(self.set_limit_button)
        top.addWidget(self._more)
        self._more.setProperty("kind", "tiny")
        # The same height with and without the button, so that four cards line up.
        self._title.setMinimumHeight(_TOP_HEIGHT)
        self._build_texts(top)

    def _build_texts(self, top: QHBoxLayout) -> None:
        layout = self._text_layout
        layout.setSpacing(8)
        layout.addWidget(self._value, 0, Qt.AlignmentFlag.AlignBottom)
        layout.addWidget(self._rate, 1, Qt.AlignmentFlag.AlignBottom)
        layout.addWidget(self._quiet_verdict, 0, Qt.AlignmentFlag.AlignBottom)
        self._rate.setContentsMargins(0, 0, 0, 3)
        self._column.setContentsMargins(SIZES.padding, 11, 10, 8)
        self._column.setSpacing(2)
        self._column.addLayout(top)
        # Not wrapped: a height that follows from the width would give its row more than the other.
        self._hint.hide()
        self._column.addLayout(layout)
        self._column.addWidget(self._verdict)
        self._column.addWidget(self._hint)
        self._column.addSpacing(2)
        self._column.addWidget(self._skeleton, 1)

    def _show_rate(self) -> None:
        if self._card_state is None:
            return
        text = self._card_state.rate.with_arrow
        self._rate.setText(text)
        # Below the number it takes a line, which is for what there is to say.
        self._rate.setVisible(bool(text) or not self._is_tight)

    def _show_verdict(self) -> None:
        if self._card_state is None:
            return
        title = self._card_state.title
        verdict = self._card_state.verdict
        if self._is_tight:
            # Beside it the number would be cut off.
            verdict = replace(verdict, is_quiet=not verdict.text)
        self._quiet_verdict.show_label(verdict if verdict.is_quiet else NO_VERDICT, title)
        self._verdict.show_label(verdict, title)

    def _elide_limit(self) -> None:
        # A long title gives way to it, but never wholly.
        whole = self._card_state.limit if self._card_state is not None else ""
        title = min(self._title.sizeHint().width(), _LEAST_TITLE)
        room = self.width() - title - _BESIDE_LIMIT
        metrics = self.limit_button.fontMetrics()
        shown = metrics.elidedText(whole, Qt.TextElideMode.ElideRight, max(0, room))
        self.limit_button.setText(shown)
        what = self.tr("Choose what happens when this limit is exceeded")
        self.limit_button.setToolTip(what if shown == whole else f"{whole}\n{what}")

    def _fit_to_width(self, *, is_first: bool = False) -> None:
        is_tight = self.width() < _TIGHT_BELOW
        if is_tight != self._is_tight:
            self._is_tight = is_tight
            directions = QBoxLayout.Direction
            self._text_layout.setDirection(
                directions.TopToBottom if is_tight else directions.LeftToRight
            )
            self._text_layout.setSpacing(0 if is_tight else 8)
            self._verdict.set_tight(is_tight=is_tight)
            self._show_verdict()
            self._show_rate()
        is_narrow = self.width() < _NARROW_BELOW
        if is_narrow == self._is_narrow and not is_first:
            return
        self._is_narrow = is_narrow
        # The same menu opens with a right click and with the Menu key.
        self._more.setVisible(not is_narrow)
        self.set_limit_button.setText("" if is_narrow else self.tr("Set a limit"))
        self.set_limit_button.setProperty("is_narrow", is_narrow)
        repolish(self.set_limit_button)
        self._rate.setProperty("role", "strong_small" if is_narrow else "strong")
        repolish(self._rate)
        self._draw_icon()

    def _draw_icon(self) -> None:
        icon = self._theme.icon("limit") if self._is_narrow else QIcon()
        self.set_limit_button.setIcon(icon)
        self._more.setIcon(self._theme.icon("more", "mute"))

    def open_menu(self, at: QPoint) -> None:
        state = self._card_state
        if state is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if state.has_limit:
            self._add_choices(menu, state)
            remove = menu.addAction(self._theme.icon("close"), self.tr("Remove the limit"))
            remove.triggered.connect(self._on_remove_triggered)
        elif state.can_limit:
            limit_action = menu.addAction(self._theme.icon("limit"), self.tr("Set a limit"))
            limit_action.triggered.connect(self._on_set_limit_clicked)
        whole = menu.addAction(self.tr("Show full range"))
        whole.triggered.connect(self.zoom_reset)
        menu.addSeparator()
        for kind in ("png", "svg"):
            save = menu.addAction(self.tr("Save as {kind}\u2026").format(kind=kind.upper()))
            save.setData(kind)
            save.triggered.connect(self._on_save_triggered)
        self.menu_opening.emit(self._metric, menu)
        menu.popup(at)

    def _add_choices(self, menu: QMenu, state: ChartCardState) -> None:
        if not state.choices:
            return
        add_choices(menu, state.choices).triggered.connect(self._on_choices_triggered)
        menu.addSeparator()

    @Slot()
    def _on_limit_clicked(self) -> None:
        self.open_menu(self.limit_button.mapToGlobal(self.limit_button.rect().bottomLeft()))

    @Slot()
    def _on_more_clicked(self) -> None:
        self.open_menu(self._more.mapToGlobal(self._more.rect().bottomLeft()))

    @Slot(QAction)
    def _on_choices_triggered(self, entry: QAction) -> None:
        self.limit_action_chosen.emit(self._metric, str(entry.data()))

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._draw_icon()

    @Slot()
    def _on_verdict_clicked(self) -> None:
        self.evidence_requested.emit(self._metric)

    @Slot()
    def _on_set_limit_clicked(self) -> None:
        self.limit_requested.emit(self._metric)

    @Slot()
    def _on_save_triggered(self) -> None:
        entry = self.sender()
        if isinstance(entry, QAction):
            self.picture_requested.emit(self._metric, str(entry.data()))

    @Slot()
    def _on_remove_triggered(self) -> None:
        self.limit_removed.emit(self._metric)

    @Slot(float)
    def _on_chart_limit_dropped(self, value: float) -> None:
        self.limit_dropped.emit(self._metric, value)

    @Slot(float)
    def _on_chart_crosshair_moved(self, x: float) -> None:
        self.crosshair_moved.emit(self._metric, x)

    @Slot()
    def _on_chart_crosshair_left(self) -> None:
        self.crosshair_left.emit(self._metric)


class VerdictRow(QWidget):
    """A separate line for a verdict that is not quiet.

    Signals:
        clicked: The evidence is requested.
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
        # Without a forecast the verdict stays at the left.
        self._row.addStretch()
        self._button.clicked.connect(self.clicked)
        self.hide()

    def set_tight(self, *, is_tight: bool) -> None:
        """Put the forecast below the verdict where there is no room beside it."""
        directions = QBoxLayout.Direction
        self._row.setDirection(directions.TopToBottom if is_tight else directions.LeftToRight)
        self._row.setSpacing(1 if is_tight else 8)

    def show_label(self, label: VerdictLabel, title: str) -> None:
        """Show a verdict; a quiet one takes no line."""
        self._button.show_label(NO_VERDICT if label.is_quiet else label, title)
        self._forecast.set_brief(label.forecast_brief)
        self._forecast.setText(label.forecast)
        self._forecast.setVisible(bool(label.forecast))
        self._forecast.setToolTip(label.forecast_tooltip)
        self.setVisible(not label.is_quiet and bool(label.text))


class VerdictButton(QPushButton):
    """Short verdict; a click opens the evidence."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("kind", "verdict")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_label(self, label: VerdictLabel, title: str) -> None:
        """Show a verdict.

        Args:
            label: The verdict; nothing is shown without one.
            title: Title of the card.
        """
        self.setText(label.text)
        self.setToolTip(label.tooltip)
        self.setAccessibleName(f"{title}: {label.text}")
        self.setAccessibleDescription(label.tooltip)
        set_tone(self, label.tone)
        self.setVisible(bool(label.text))


_SKELETON_LINES = 5


class Skeleton(QWidget):
    """Placeholder of the chart: faint grid lines."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(110, 100)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(QColor(self._theme.palette.border), 1))
        step = (self.height() - 30) / (_SKELETON_LINES - 1)
        for line in range(_SKELETON_LINES):
            y = round(8 + line * step) + 0.5
            painter.drawLine(QLineF(42, y, self.width() - 4, y))

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self.update()
