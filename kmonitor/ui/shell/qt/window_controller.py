"""Binds the window's panels to the workspace, and saves the user's layout."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from kmonitor.ui.actions.action_panel import action_panel_state
from kmonitor.ui.actions.qt.command_controller import CommandController
from kmonitor.ui.charts.qt.arrangement_controller import ArrangementController
from kmonitor.ui.events.qt.records_controller import RecordsController
from kmonitor.ui.guide.qt.help_controller import HelpController
from kmonitor.ui.history.qt.history_controller import HistoryController
from kmonitor.ui.hosts.qt.host_menus import HostMenus
from kmonitor.ui.memory.qt.memory_map_controller import MemoryMapController
from kmonitor.ui.run_tree.run_tree import empty_tree_text, host_rows
from kmonitor.ui.settings.qt.language_controller import LanguageController
from kmonitor.ui.settings.qt.settings_controller import AppearanceController, SettingsController
from kmonitor.ui.settings.setting_values import frame_ms
from kmonitor.ui.settings.window_settings import TableLayout, WindowSettings
from kmonitor.ui.shell.first_start import first_start_state
from kmonitor.ui.shell.header import header_state
from kmonitor.ui.shell.qt.launcher import DemoLauncher
from kmonitor.ui.shell.qt.region_keys import RegionKeys
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.studies.qt.study_controller import StudyController
from kmonitor.ui.theme.qt.theme import Theme
from kmonitor.ui.theme.qt.theme_controller import ThemeController
from kmonitor.ui.verdicts.qt.verdict_window import VerdictController
from kmonitor.ui.widgets.row_table import RowTableView
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.release import VERSION

if TYPE_CHECKING:
    from kmonitor.ui.charts.qt.charts_controller import ChartsController


XAxisKind = Literal["epochs", "seconds"]
_PANELS_EVERY_S = 0.25
_FIRST_FRAME_MS = 100
_TICK_MS = 1000


@dataclass(frozen=True, slots=True)
class WindowParts:
    """Parts that the controller binds; created and owned by the app."""

    window: MainWindow
    workspace: Workspace
    shared_theme: Theme
    theme: ThemeController
    demo: DemoLauncher
    language: LanguageController
    folders: Folders


class WindowController(QObject):
    """Refreshes changed panels from one timer; main thread only.

    Signals:
        retry_requested: The user wants to retry the connection to the hub at once.
        settings_changed: A setting that the window remembers changed.
    """

    retry_requested = Signal()
    settings_changed = Signal()

    def __init__(
        self, parts: WindowParts, settings: WindowSettings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._window = parts.window
        self._workspace = parts.workspace
        self._shared_theme = parts.shared_theme
        self._demo = parts.demo
        self._charts_controller: ChartsController | None = None
        self._regions = RegionKeys(parts.window, self)
        self.help = HelpController(parts.window, parts.shared_theme, self)
        self.records = RecordsController(parts.window, parts.workspace, parts.shared_theme, self)
        self.verdicts = VerdictController(parts.window, parts.workspace, parts.shared_theme, self)
        self.hosts = HostMenus(parts.window, parts.workspace, self)
        self.history = HistoryController(parts.window, parts.workspace, parts.shared_theme, self)
        self.memory = MemoryMapController(parts.window, parts.workspace, parts.shared_theme, self)
        self.study = StudyController(parts.window, parts.workspace, parts.shared_theme, self)
        self.preferences = SettingsController(
            parts.window,
            parts.workspace,
            self.hosts,
            parts.theme,
            parts.language,
            parts.folders,
            settings,
        )
        self.choices = AppearanceController(
            parts.window, parts.theme, parts.language, self.preferences, self.help
        )
        self.layout = LayoutController(
            parts.window,
            {"reclaims": parts.window.records.table.table, "history": self.history.panel.table},
            settings,
        )
        self.commands = CommandController(parts.window, parts.workspace, settings, self)
        self.arrangement_controller = ArrangementController(
            parts.window, parts.shared_theme, settings.charts, self
        )
        self._search = ""
        self._wanted_axis: XAxisKind = settings.x_axis
        self._panels_at_s = 0.0
        self._frames = QTimer(self, interval=_FIRST_FRAME_MS)
        self._frames.timeout.connect(self._on_frames_timeout)
        self._tick = QTimer(self, interval=_TICK_MS)
        self._tick.timeout.connect(self._on_tick_timeout)
        self._connect()
        self._show_choices(settings)

    def _show_choices(self, settings: WindowSettings) -> None:
        self._workspace.log.filter = settings.log_filter
        self._window.records.show_tab(settings.records_tab)
        self._window.event_log.show_filter(settings.log_filter)
        self._window.header.show_axis(settings.x_axis)
        self._window.header.show_live(is_live=True)

    def start(self) -> None:
        """Show the current data and keep them up to date."""
        self.refresh()
        self._frames.start()
        self._tick.start()

    def stop(self) -> None:
        self._frames.stop()
        self._tick.stop()

    def attach_controller(self, controller: "ChartsController") -> None:
        self._charts_controller = controller
        self._regions.attach_controller(controller)
        self.verdicts.attach_controller(controller)
        self.history.attach_controller(controller)
        self.arrangement_controller.attach_controller(controller)
        controller.standard_charts.count(self._wanted_axis)
        controller.view_changed.connect(self._on_charts_view_changed)
        controller.flag_chosen.connect(self._on_charts_flag_chosen)
        controller.refresh()

    def settings(self, base: WindowSettings) -> WindowSettings:
        """Return `base`, the settings as last saved, with the choices made since."""
        frame = self._window.normalGeometry()
        return msgspec.structs.replace(
            self.layout.settings(self.choices.settings(self.preferences.settings(base))),
            x_axis=self._wanted_axis,
            log_filter=self._workspace.log.filter,
            reloads=self._workspace.limits.reloads,
            limit_answer=self.commands.limit_answer,
            records_tab=self._window.records.tab,
            geometry=(frame.x(), frame.y(), frame.width(), frame.height()),
            is_maximised=self._window.isMaximized(),
            charts=self.arrangement_controller.arrangement.saved(),
        )

    def refresh(self) -> None:
        self._workspace.changed.clear()
        self._refresh_panels()
        if self._charts_controller is not None:
            self._charts_controller.refresh()

    def _connect(self) -> None:
        window = self._window
        window.header.x_axis_chosen.connect(self._on_header_x_axis_chosen)
        window.header.live_toggled.connect(self._on_header_live_toggled)
        window.header.map_requested.connect(self.memory.open)
        window.run_tree.run_chosen.connect(self._on_run_tree_run_chosen)
        window.run_tree.search_edited.connect(self._on_run_tree_search_edited)
        self.commands.settings_changed.connect(self.settings_changed)
        self.commands.changed.connect(self.refresh)
        self.commands.diagnosed.connect(self.records.open_diagnosis)
        self.records.settings_changed.connect(self.settings_changed)
        self.arrangement_controller.changed.connect(self.settings_changed)
        self.records.diagnose_requested.connect(self.commands.diagnose)
        self.verdicts.command_requested.connect(self.commands.request)
        for part in (self.records, self.history, self.study):
            part.run_requested.connect(self._on_run_tree_run_chosen)
        for part in (self.verdicts, self.study):
            part.guide_requested.connect(self.help.open_page)
        window.banner.retry_requested.connect(self._on_banner_retry_requested)
        self.hosts.changed.connect(self.refresh)
        window.banner.close_requested.connect(self._on_banner_close_requested)
        window.first_start.demo_requested.connect(self._demo.start)
        window.visibility_changed.connect(self._on_window_visibility_changed)
        self._demo.changed.connect(self.refresh)
        self._shared_theme.palette_changed.connect(self.refresh)
        for name, slot in (
            ("hold", self._on_space_activated),
            ("next_run", self._on_next_activated),
            ("previous_run", self._on_previous_activated),
        ):
            window.charts_shortcut(name).activated.connect(slot)
        self.preferences.changed.connect(self._on_preferences_changed)
        for part in (self.preferences, self.choices, self.layout):
            part.settings_changed.connect(self.settings_changed)
        self.preferences.guide_requested.connect(self.help.open_page)
        self._regions.run_stepped.connect(self._on_regions_run_stepped)

    def _refresh_panels(self) -> None:
        workspace = self._workspace
        window = self._window
        now_wall_s = time.time()
        is_live = workspace.link.is_live
        run = workspace.run_store.current()
        is_reached = workspace.is_reached(run.run) if run is not None else is_live
        hosts = [host.state(now_wall_s, version=VERSION) for host in workspace.hosts.all()]
        window.show_charts(is_first_start=workspace.is_first_start, has_hosts=bool(hosts))
        window.header.show_state(
            header_state(run, workspace.verdicts, now_wall_s=now_wall_s, is_connected=is_reached)
        )
        window.banner.show_state(workspace.banner(now_wall_s))
        window.status.show_state(workspace.status(version=VERSION))
        if workspace.is_first_start or run is None:
            state = first_start_state(
                is_live=is_live,
                is_demo_starting=self._demo.is_starting,
                demo_error=self._demo.error,
            )
            window.first_start.show_state(state)
        else:
            self._demo.mark_running()
        rows = host_rows(
            workspace.run_store,
            search=self._search,
            now_wall_s=now_wall_s,
            is_connected=is_live,
            hosts=hosts,
            is_reached=workspace.is_reached,
        )
        window.run_tree.show_rows(rows, workspace.run_store.selected, self._empty_text())
        self.records.refresh()
        self.verdicts.refresh()
        self.history.refresh()
        self.memory.refresh()
        self.study.refresh()
        window.actions_panel.show_blank(is_blank=run is None)
        if run is not None:
            window.actions_panel.show_state(
                action_panel_state(
                    run,
                    commands=workspace.commands,
                    limits=workspace.limits,
                    now_wall_s=now_wall_s,
                    is_connected=is_reached,
                    no_right=workspace.why_no_command(run.run),
                )
            )
            window.actions_panel.show_readings(workspace.readings(run.run).groups())

    def _empty_text(self) -> str:
        run_store = self._workspace.run_store
        link = self._workspace.link
        return empty_tree_text(
            run_store, self._search, is_connected=link.is_live, has_trouble=link.has_trouble
        )

    @Slot()
    def _on_frames_timeout(self) -> None:
        if self._window.isMinimized() or not self._workspace.changed:
            return
        changed = set(self._workspace.changed)
        self._workspace.changed.clear()
        now_s = time.monotonic()
        if changed - {"series", "readings"} or now_s - self._panels_at_s >= _PANELS_EVERY_S:
            self._panels_at_s = now_s
            self._refresh_panels()
        if self._charts_controller is not None and changed & {
            "series",
            "runs",
            "commands",
            "link",
        }:
            self._charts_controller.refresh()
        busy = self._window.underMouse()
        is_busy = busy and "series" in changed
        self._frames.setInterval(frame_ms(self.preferences.pace, is_busy=is_busy))

    @Slot()
    def _on_tick_timeout(self) -> None:
        self._workspace.link.tick(time.time())
        self._workspace.changed.add("link")

    @Slot()
    def _on_charts_view_changed(self) -> None:
        if self._charts_controller is not None:
            is_live = self._charts_controller.standard_charts.is_live
            self._window.header.show_live(is_live=is_live)
            if not is_live:
                # A new run must not take the selection from a user who looks closely at this one.
                self._workspace.run_store.pin_selection()

    @Slot(str)
    def _on_header_x_axis_chosen(self, kind: str) -> None:
        self._wanted_axis = "seconds" if kind == "seconds" else "epochs"
        if self._charts_controller is not None:
            self._charts_controller.standard_charts.count(self._wanted_axis)
            self._on_charts_view_changed()
            self._charts_controller.refresh()
        self.settings_changed.emit()

    @Slot(bool)
    def _on_header_live_toggled(self, is_live: bool) -> None:
        if self._charts_controller is None:
            return
        if is_live:
            self._charts_controller.standard_charts.follow()
        else:
            self._charts_controller.standard_charts.hold_range()
        self._on_charts_view_changed()
        self._charts_controller.refresh()

    @Slot()
    def _on_space_activated(self) -> None:
        if self._charts_controller is not None:
            self._on_header_live_toggled(not self._charts_controller.standard_charts.is_live)

    @Slot(str)
    def _on_run_tree_run_chosen(self, run: str) -> None:
        if run != self._workspace.run_store.selected:
            self._workspace.select(run)
            if self._charts_controller is not None:
                self._charts_controller.standard_charts.follow()
                self._on_charts_view_changed()
            self.refresh()

    @Slot(str)
    def _on_run_tree_search_edited(self, text: str) -> None:
        self._search = text
        self._refresh_panels()

    @Slot()
    def _on_preferences_changed(self) -> None:
        # Sizes are written otherwise: also in texts that were made when the rows came.
        for part in (self._workspace.log, self._workspace.reclaims):
            part.refresh_texts()
        if self._charts_controller is not None:
            self._charts_controller.refresh_texts()
        self.refresh()
        for shown in (self.history, self.memory, self.study, self.records):
            shown.refresh_texts()

    @Slot()
    def _on_next_activated(self) -> None:
        self._step_run(1)

    @Slot()
    def _on_previous_activated(self) -> None:
        self._step_run(-1)

    @Slot(int)
    def _on_regions_run_stepped(self, by: int) -> None:
        self._step_run(by)

    def _step_run(self, by: int) -> None:
        run = self._workspace.run_store.beside_selected(by)
        if run is not None:
            self._on_run_tree_run_chosen(run)

    @Slot()
    def _on_banner_retry_requested(self) -> None:
        host = self._workspace.host_of_banner(time.time())
        if host:
            self.hosts.retry(host)
        else:
            self.retry_requested.emit()

    @Slot()
    def _on_banner_close_requested(self) -> None:
        self._workspace.dismiss_banner(time.time())
        self._refresh_panels()

    @Slot(int)
    def _on_charts_flag_chosen(self, row: int) -> None:
        self.records.refresh()
        self.records.choose(row)

    @Slot()
    def _on_window_visibility_changed(self) -> None:
        if not self._window.isMinimized():
            self.refresh()


class LayoutController(QObject):
    """Restores and saves the sizes of panels and the columns of tables; main thread only.

    Signals:
        settings_changed: The user has released an edge.
    """

    settings_changed = Signal()

    def __init__(
        self, window: MainWindow, tables: dict[str, RowTableView], settings: WindowSettings
    ) -> None:
        """Restore the saved layout.

        Args:
            tables: Tables whose columns are saved, by name.
        """
        super().__init__(window)
        self._sizes = window.panel_sizes
        self._tables = tables
        self._sizes.choose("left", settings.left_px)
        self._sizes.choose("right", settings.right_px)
        self._sizes.choose("below", settings.below_px)
        self._sizes.changed.emit()
        self._sizes.settled.connect(self.settings_changed)
        for name, table in tables.items():
            table.apply_layout(settings.tables.get(name, TableLayout()))

    def settings(self, base: WindowSettings) -> WindowSettings:
        return msgspec.structs.replace(
            base,
            left_px=self._sizes.chosen("left"),
            right_px=self._sizes.chosen("right"),
            below_px=self._sizes.chosen("below"),
            tables=base.tables | {name: t.current_layout() for name, t in self._tables.items()},
        )
