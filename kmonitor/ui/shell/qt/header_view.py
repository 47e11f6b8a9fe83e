"""Header of the window: title and chips of the selected run, chart switches, and a menu."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from kmonitor.ui.settings.qt.language_controller import language_titles
from kmonitor.ui.shell.header import ChipState, HeaderState
from kmonitor.ui.theme.palettes import SIZES
from kmonitor.ui.theme.qt.theme import Theme, repolish, role_label, set_tone
from kmonitor.ui.widgets.buttons import SegmentedControl
from kmonitor.ui.widgets.keyboard import key_sequence
from kmonitor.ui.widgets.labels import ElidedLabel

_CHIP_GAP = 8
_NARROW_BELOW = 960
"""Width below which the title takes the space of the brand and the live button's text, pixels."""

_LIVE_WIDTH = 82
_TITLE_GAP = 16
_TITLE_SHARE = 0.3
_THEME_ICONS = {"system": "system", "dark": "moon", "light": "sun"}
_AUDIT = "audit"
_ALERTS = "alerts"
_EXPORT = "export"
_REPORT = "report"
_EXPORT_ALL = "export_all"
_LANGUAGE = "language:"
_SETTINGS = "settings"
_MAP = "map"
_MODEL_FILE = "model_file"


class Chip(QFrame):
    """A short text in a rounded box: shows one `ChipState`.

    Signals:
        clicked: With the chip's key, if a click opens something.
    """

    clicked = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chip")
        self._theme = theme
        self._chip_state: ChipState | None = None
        self._icon = QLabel()
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(6)
        row.addWidget(self._icon)
        row.addWidget(self._text)
        theme.palette_changed.connect(self._on_theme_palette_changed)

    def show_state(self, state: ChipState) -> None:
        if state == self._chip_state:
            return
        self._chip_state = state
        self._text.setText(state.text)
        tooltip = f"{state.text}\n{state.tooltip}" if state.brief else state.tooltip
        self.setToolTip(tooltip)
        self.setAccessibleName(state.text)
        self.setAccessibleDescription(state.tooltip)
        set_tone(self, state.tone)
        opens = state.opens
        self.setCursor(Qt.CursorShape.PointingHandCursor if opens else Qt.CursorShape.ArrowCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if opens else Qt.FocusPolicy.NoFocus)
        self._draw_icon()

    def set_brief(self, *, is_brief: bool) -> None:
        """Show the brief or the full text; the accessible name stays the full text."""
        if self._chip_state is not None:
            self._text.setText(self._chip_state.brief if is_brief else self._chip_state.text)

    def width_of(self, *, is_brief: bool) -> int:
        """Return the width with the brief or full text, pixels."""
        if self._chip_state is None:
            return 0
        text = self._chip_state.brief if is_brief else self._chip_state.text
        metrics = self._text.fontMetrics()
        shown = metrics.horizontalAdvance(self._text.text())
        return self.sizeHint().width() - shown + metrics.horizontalAdvance(text)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._open()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}:
            self._open()
        else:
            super().keyPressEvent(event)

    def _open(self) -> None:
        if self._chip_state is not None and self._chip_state.opens:
            self.clicked.emit(self._chip_state.key)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._draw_icon()

    def _draw_icon(self) -> None:
        state = self._chip_state
        self._icon.setVisible(bool(state and state.icon))
        if state and state.icon:
            self._icon.setPixmap(self._theme.pixmap(state.icon, state.tone, 13, self))


class ChipRow(QWidget):
    """Chips from left to right, each at its own width; the least important ones are hidden first.

    Signals:
        chip_clicked: With the key of a chip whose click opens something.
    """

    chip_clicked = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._chips: dict[str, Chip] = {}
        self._chip_states: tuple[ChipState, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_chips(self, states: Sequence[ChipState]) -> None:
        """Set the chips; a chip with the same key keeps its widget."""
        states = tuple(states)
        if states == self._chip_states:
            return
        self._chip_states = states
        keys = {state.key for state in states}
        for key in [key for key in self._chips if key not in keys]:
            chip = self._chips.pop(key)
            chip.hide()
            chip.deleteLater()
        for state in states:
            if state.key not in self._chips:
                chip = self._chips[state.key] = Chip(self._theme, self)
                chip.clicked.connect(self.chip_clicked)
            self._chips[state.key].show_state(state)
        self._lay_out_chips()

    def width_within(self, room: int) -> int:
        """Return the width of the chips that fit into `room`, pixels."""
        fitting = self._fitting(room).items()
        widths = (
            self._chips[key].width_of(is_brief=is_brief) + _CHIP_GAP for key, is_brief in fitting
        )
        return max(0, sum(widths) - _CHIP_GAP)

    @override
    def sizeHint(self) -> QSize:
        heights = [chip.sizeHint().height() for chip in self._chips.values()]
        widths = [chip.sizeHint().width() + _CHIP_GAP for chip in self._chips.values()]
        return QSize(sum(widths), max(heights, default=30))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out_chips()

    def _lay_out_chips(self) -> None:
        fitting = self._fitting(self.width())
        left = 0
        for state in self._chip_states:
            chip = self._chips[state.key]
            chip.setVisible(state.key in fitting)
            if state.key in fitting:
                chip.set_brief(is_brief=fitting[state.key])
                size = chip.sizeHint()
                chip.setGeometry(
                    left, (self.height() - size.height()) // 2, size.width(), size.height()
                )
                left += size.width() + _CHIP_GAP

    def _fitting(self, room: int) -> dict[str, bool]:
        """Keys of the chips that fit, with True for a brief text."""
        fitting: dict[str, bool] = {}
        for state in sorted(self._chip_states, key=_rank):
            for is_brief in (False, True) if state.brief else (False,):
                width = self._chips[state.key].width_of(is_brief=is_brief)
                if width <= room:  # else a long one gives way to shorter ones of less weight
                    fitting[state.key] = is_brief
                    room -= width + _CHIP_GAP
                    break
        return fitting


def _rank(state: ChipState) -> int:
    return state.rank


class HeaderPanel(QFrame):
    """Brand, title, chips and the view's switches.

    Signals (main thread):
        x_axis_chosen: "epochs" or "seconds".
        live_toggled: True: the charts follow the newest data.
        theme_chosen: "system", "dark" or "light".
        language_chosen: "system", or the name of a language.
        help_requested: The guide should open.
        audit_requested: The audit list should open.
        alerts_requested: The dialog of alert rules should open.
        export_requested: The selected run's data should be exported to a file.
        report_requested: The selected run's report should be written.
        settings_requested: The settings should open.
        export_all_requested: The data of all displayed runs should be exported to one file.
        add_chart_requested: The list of charts that can be added should open.
        map_requested: The memory map of the selected run should open.
        model_file_requested: The user wants to choose a model file.
        state_opened: The end of the selected run should be explained.
    """

    x_axis_chosen = Signal(str)
    live_toggled = Signal(bool)
    theme_chosen = Signal(str)
    language_chosen = Signal(str)
    help_requested = Signal()
    audit_requested = Signal()
    alerts_requested = Signal()
    export_requested = Signal()
    report_requested = Signal()
    settings_requested = Signal()
    add_chart_requested = Signal()
    export_all_requested = Signal()
    map_requested = Signal()
    model_file_requested = Signal()
    state_opened = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("header")
        self.setFixedHeight(SIZES.header)
        self._shared_theme = theme
        self._theme = self._language = "system"
        self._is_live = True
        self._is_narrow = False
        self._left_px = 0
        self._is_other_page = self._has_run = False
        self._has_charts = True
        self._mark = QLabel()
        self._name = role_label("brand", "kmonitor")
        self._brand = QFrame()
        self.title = ElidedLabel("title")
        self.subtitle = ElidedLabel("meta", at_end=True)
        self.chips = ChipRow(theme)
        self._middle = _TitleAndChips(self.title, self.subtitle, self.chips)
        self._axis = SegmentedControl(self._axis_titles(), "")
        self._live = QPushButton()
        self.theme_button = QPushButton()
        self._help = QPushButton()
        self.add_chart = QPushButton()
        self._view_parts: tuple[QWidget, ...] = (self._axis, self.add_chart, self._live)
        self._build()
        self._connect()
        self._draw_icons()
        self._set_texts()

    def _set_texts(self) -> None:
        self._axis.rename(self._axis_titles(), self.tr("Horizontal axis"))
        self._axis.explain("epochs", self.tr("Horizontal axis: epochs, counted across all fits"))
        self._axis.explain("seconds", self.tr("Horizontal axis: run time in seconds"))
        self.add_chart.setToolTip(self.tr("Add a chart (Ctrl+N)"))
        self.add_chart.setAccessibleName(self.tr("Add a chart"))
        self._help.setToolTip(self.tr("Guide (F1)"))
        self._help.setAccessibleName(self.tr("Guide"))
        self.theme_button.setAccessibleName(self.tr("Theme and language"))
        tooltip = self.tr("Theme and language; settings, alerts, export, report and audit")
        self.theme_button.setToolTip(tooltip)
        self.show_live(is_live=self._is_live)

    def set_left_width(self, width_px: int) -> None:
        """Align the title with the charts' left edge."""
        self._left_px = width_px
        self._fit()

    def show_state(self, state: HeaderState) -> None:
        """Show this run; an empty state leaves only brand, theme and help."""
        self.title.setText(state.title)
        self.subtitle.setText(state.subtitle)
        self.chips.show_chips(state.chips)
        self._middle.lay_out()
        self._has_run = bool(state.title)
        self._show_parts()

    def show_other_page(self, *, is_other_page: bool, has_charts: bool = True) -> None:
        """Hide the parts about the selected run while another page is shown.

        Args:
            is_other_page: True if a page is shown that is not about the selected run.
            has_charts: True if the selected run has charts, which need the axis switch and the
                live button.
        """
        self._is_other_page = is_other_page
        self._has_charts = has_charts
        self._show_parts()

    def show_axis(self, kind: str) -> None:
        self._axis.choose(kind)

    def show_live(self, *, is_live: bool) -> None:
        self._is_live = is_live
        text = self._live_text()
        self._live.setProperty("kind", "" if is_live else "held")
        tooltip = (
            self.tr("Charts follow the newest data. Click to freeze the view (Space)")
            if is_live
            else self.tr(
                "The view is frozen; data is still arriving. Click to follow again (Space)"
            )
        )
        self._live.setToolTip(tooltip)
        self._live.setAccessibleName(text)
        self._live.setAccessibleDescription(tooltip)
        repolish(self._live)
        self._draw_icons()

    def show_theme(self, theme: str) -> None:
        self._theme = theme
        self._draw_icons()

    def show_language(self, language: str) -> None:
        self._language = language

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """In a narrow header, use the space of the brand's name for the title."""
        is_narrow = self.width() < _NARROW_BELOW
        mark = SIZES.padding + self._mark.sizeHint().width() + _TITLE_GAP
        self._brand.setFixedWidth(mark if is_narrow else self._left_px)
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self._name.setVisible(not is_narrow)
            self._live.setMinimumWidth(0 if is_narrow else _LIVE_WIDTH)
            self._live_text()

    def _live_text(self) -> str:
        """Set the live button's text if there is room; returns the text in any case."""
        text = self.tr("Live") if self._is_live else self.tr("Frozen")
        self._live.setText("" if self._is_narrow else text)
        return text

    def _build(self) -> None:
        brand = QHBoxLayout(self._brand)
        brand.setContentsMargins(SIZES.padding, 0, 0, 0)
        brand.setSpacing(10)
        brand.addWidget(self._mark)
        brand.addWidget(self._name)
        brand.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 14, 0)
        row.setSpacing(8)
        row.addWidget(self._brand)
        row.addWidget(self._middle, 1)
        for part in (*self._view_parts, self.theme_button, self._help):
            row.addWidget(part, 0, Qt.AlignmentFlag.AlignVCenter)

    def _connect(self) -> None:
        self.theme_button.setProperty("kind", "icon")
        self._help.setProperty("kind", "icon")
        self.add_chart.setProperty("kind", "icon")
        self.add_chart.clicked.connect(self.add_chart_requested)
        self._live.setMinimumWidth(_LIVE_WIDTH)
        self._axis.chosen.connect(self.x_axis_chosen)
        self.chips.chip_clicked.connect(self.state_opened)
        self._live.clicked.connect(self._on_live_clicked)
        self.theme_button.clicked.connect(self._on_theme_button_clicked)
        self._help.clicked.connect(self.help_requested)
        self._shared_theme.palette_changed.connect(self._on_theme_palette_changed)

    def _axis_titles(self) -> dict[str, str]:
        return {"epochs": self.tr("Epochs"), "seconds": self.tr("Seconds")}

    def _show_parts(self) -> None:
        for part in self._view_parts:
            part.setVisible(self._has_run and self._has_charts and not self._is_other_page)
        for part in (self.title, self.subtitle, self.chips):
            part.setVisible(not self._is_other_page)

    @Slot()
    def _on_live_clicked(self) -> None:
        self.live_toggled.emit(not self._is_live)

    @Slot()
    def _on_theme_button_clicked(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        titles = {
            "system": self.tr("System"),
            "dark": self.tr("Dark"),
            "light": self.tr("Light"),
        }
        for key, title in titles.items():
            action = menu.addAction(self._shared_theme.icon(_THEME_ICONS[key]), title)
            action.setCheckable(True)
            action.setChecked(key == self._theme)
            action.setData(key)
        self._add_languages(menu)
        menu.addSeparator()
        settings = menu.addAction(self.tr("Settings\u2026"), key_sequence("settings"))
        settings.setToolTip(self.tr("Theme, language, units, history, hosts and keys (Ctrl+,)"))
        settings.setData(_SETTINGS)
        alerts = menu.addAction(self.tr("Alerts\u2026"), key_sequence("alerts"))
        alerts.setToolTip(self.tr("Configure alerts (Ctrl+L)"))
        alerts.setData(_ALERTS)
        if self.title.text():
            self._add_files(menu)
        model = menu.addAction(self.tr("Open model file\u2026"), key_sequence("model_file"))
        model.setToolTip(self.tr("Memory map and contents of a model file (Ctrl+Shift+O)"))
        model.setData(_MODEL_FILE)
        audit = menu.addAction(self.tr("Audit log\u2026"), key_sequence("audit"))
        audit.setToolTip(self.tr("Audit log of the hub (Ctrl+U)"))
        audit.setData(_AUDIT)
        menu.triggered.connect(self._on_menu_triggered)
        menu.popup(self.theme_button.mapToGlobal(self.theme_button.rect().bottomLeft()))

    def _add_languages(self, menu: QMenu) -> None:
        languages = menu.addMenu(self.tr("Language"))
        for key, title in {"system": self.tr("System"), **language_titles()}.items():
            action = languages.addAction(title)
            action.setCheckable(True)
            action.setChecked(key == self._language)
            action.setData(_LANGUAGE + key)

    def _add_files(self, menu: QMenu) -> None:
        memory = menu.addAction(self.tr("Memory map"), key_sequence("memory_map"))
        memory.setToolTip(self.tr("Memory of the selected run by layer (Ctrl+M)"))
        memory.setData(_MAP)
        export = menu.addAction(self.tr("Export\u2026"), key_sequence("export"))
        export.setToolTip(self.tr("The selected run's data as CSV, JSON or Parquet (Ctrl+E)"))
        export.setData(_EXPORT)
        every = menu.addAction(self.tr("Export all runs\u2026"), key_sequence("export_all"))
        every.setToolTip(self.tr("All runs on the charts in one file (Ctrl+Alt+E)"))
        every.setData(_EXPORT_ALL)
        report = menu.addAction(self.tr("Report\u2026"), key_sequence("report"))
        report.setToolTip(self.tr("The selected run as a single HTML file (Ctrl+Shift+E)"))
        report.setData(_REPORT)

    @Slot(QAction)
    def _on_menu_triggered(self, action: QAction) -> None:
        chosen = str(action.data())
        opened = {
            _AUDIT: self.audit_requested,
            _ALERTS: self.alerts_requested,
            _EXPORT: self.export_requested,
            _EXPORT_ALL: self.export_all_requested,
            _REPORT: self.report_requested,
            _SETTINGS: self.settings_requested,
            _MAP: self.map_requested,
            _MODEL_FILE: self.model_file_requested,
        }
        if chosen in opened:
            opened[chosen].emit()
        elif chosen.startswith(_LANGUAGE):
            self.language_chosen.emit(chosen.removeprefix(_LANGUAGE))
        else:
            self.theme_chosen.emit(chosen)

    @Slot()
    def _on_theme_palette_changed(self) -> None:
        self._draw_icons()

    def _draw_icons(self) -> None:
        self._mark.setPixmap(self._shared_theme.pixmap("logo", "accent", 20, self))
        self._live.setIcon(
            self._shared_theme.icon("pause")
            if self._is_live
            else self._shared_theme.icon("play", "warn")
        )
        self.theme_button.setIcon(self._shared_theme.icon(_THEME_ICONS[self._theme], "mute"))
        self._help.setIcon(self._shared_theme.icon("help", "mute"))
        self.add_chart.setIcon(self._shared_theme.icon("plus", "mute"))


class _TitleAndChips(QWidget):
    """Gives the title the space that the chips leave, and always a minimum share."""

    def __init__(self, title: ElidedLabel, subtitle: ElidedLabel, chips: ChipRow) -> None:
        super().__init__()
        self._labels = (title, subtitle)
        self._titles = QWidget(self)
        self._chips = chips
        chips.setParent(self)
        column = QVBoxLayout(self._titles)
        column.setSpacing(1)
        column.setContentsMargins(0, 9, 0, 9)
        for label in self._labels:
            column.addWidget(label)

    def lay_out(self) -> None:
        width = max(0, self.width() - _TITLE_GAP)
        # A share that does not follow the text, so that chips rest while numbers change.
        share = int(width * _TITLE_SHARE)
        wanted = max(label.sizeHint().width() for label in self._labels)
        title = max(share, min(wanted, width - self._chips.width_within(width - share)))
        self._titles.setGeometry(0, 0, title, self.height())
        self._chips.setGeometry(title + _TITLE_GAP, 0, width - title, self.height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.lay_out()
