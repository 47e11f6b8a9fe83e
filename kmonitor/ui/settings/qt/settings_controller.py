"""Controllers of the settings window, and of theme and language wherever they are chosen."""

import importlib
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal, Slot

from kmonitor.base.errors import UserError
from kmonitor.hub.options import Keep, load_keep_or_default, save_keep
from kmonitor.ui.actions.action_panel import Confirmation
from kmonitor.ui.guide.qt.help_controller import HelpController
from kmonitor.ui.hosts.hosts import host_lines
from kmonitor.ui.hosts.qt.host_menus import HostMenus
from kmonitor.ui.settings.hub_settings import HubSettingsStore, confirm_keep, confirm_revoke
from kmonitor.ui.settings.qt.language_controller import LanguageController, language_titles
from kmonitor.ui.settings.qt.settings_window import SettingsWindow
from kmonitor.ui.settings.window_settings import WindowSettings
from kmonitor.ui.shell.qt.window import MainWindow
from kmonitor.ui.text.formats import ByteUnits, use_byte_units
from kmonitor.ui.theme.qt.theme_controller import ThemeController
from kmonitor.ui.widgets.dialogs import ConfirmationBox, message_box
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.release import VERSION

if TYPE_CHECKING:
    from kmonitor.ui.hosts.qt.hub_bridge import HubBridge
    from kmonitor.ui.settings.setting_values import Pace


_POLL_MS = 1000


class SettingsController(QObject):
    """Opens the settings and applies the user's choices; main thread only.

    Signals:
        changed: Every panel has to be refreshed, because the units of sizes changed.
        settings_changed: A setting that the window remembers changed.
        theme_chosen: "system", "dark" or "light".
        language_chosen: Name of the language in the settings.
        alerts_requested: The dialog of alert rules should open.
        guide_requested: With the file name of a page.

    Attributes:
        pace: Refresh rate of the charts.
    """

    changed = Signal()
    settings_changed = Signal()
    theme_chosen = Signal(str)
    language_chosen = Signal(str)
    guide_requested = Signal(str)

    def __init__(  # noqa: PLR0913, PLR0917 - one for each part that it works with
        self,
        window: MainWindow,
        workspace: Workspace,
        hosts: HostMenus,
        theme: ThemeController,
        language: LanguageController,
        folders: Folders,
        settings: WindowSettings,
    ) -> None:
        """The window becomes the parent, and the saved settings are applied at once."""
        super().__init__(window)
        self._window = window
        self._workspace = workspace
        self._hosts = hosts
        self._theme = theme
        self._folders = folders
        self._units: ByteUnits = settings.byte_units
        self._seen_wall_s = dict(settings.hosts_seen)
        self.pace: Pace = settings.pace
        self._language_controller = language
        self._hub: HubSettingsStore | None = None
        self._page: SettingsWindow | None = None
        self._timer = QTimer(self, interval=_POLL_MS)
        self._timer.timeout.connect(self._on_timer_timeout)
        use_byte_units(self._units)
        hosts.changed.connect(self.refresh)
        window.header.settings_requested.connect(self.open)
        window.shortcut("settings").activated.connect(self.open)

    def attach(self, bridge: "HubBridge") -> None:
        """Use the loaded bridge to this machine's hub."""
        self._hub = HubSettingsStore(bridge.send_request)
        bridge.takers.append(self._hub.apply_reply)
        bridge.drained.connect(self.refresh)
        bridge.link_changed.connect(self._on_bridge_link_changed)

    def settings(self, base: WindowSettings) -> WindowSettings:
        """Return `base`, the settings as last saved, with the choices made since."""
        now_wall_s = self._workspace.now_wall_s()
        hosts = self._workspace.hosts.all()
        seen = {host.address: now_wall_s for host in hosts if host.link.is_live}
        known = {host.address for host in hosts}
        # A window on a folder knows no hosts, and must not forget them for the others.
        still_known = {at: s for at, s in self._seen_wall_s.items() if not known or at in known}
        return msgspec.structs.replace(
            base, byte_units=self._units, pace=self.pace, hosts_seen=still_known | seen
        )

    @Slot()
    def open(self) -> None:
        if self._page is None:
            self._page = page = SettingsWindow(language_titles(), self._window)
            self._connect(page)
            keep = load_keep_or_default(self._folders)
            page.history.show_keep(keep.days, keep.n_bytes)
        self._page.show()
        self._page.raise_()
        self._page.activateWindow()
        self._timer.start()
        self._on_timer_timeout()

    @Slot()
    def refresh(self) -> None:
        """Update the settings window if it is open."""
        page = self._page
        if page is None or not page.isVisible():
            return
        page.general.show_choices(
            theme=self._theme.choice,
            language=self._language_name(),
            units=self._units,
            pace=self.pace,
        )
        now_wall_s = self._workspace.now_wall_s()
        page.hosts.show_lines(
            host_lines(
                self._workspace.hosts, self._seen_wall_s, now_wall_s=now_wall_s, version=VERSION
            )
        )
        if self._hub is None:
            return
        page.history.show_stored(self._hub.stored())
        page.keys.show_state(self._hub.keys(now_wall_s))
        if self._hub.hub is not None:
            page.history.show_keep(self._hub.hub.retention_days, self._hub.hub.retention_bytes)

    def _connect(self, page: SettingsWindow) -> None:
        page.general.theme_chosen.connect(self.theme_chosen)
        page.general.language_chosen.connect(self.language_chosen)
        page.general.units_chosen.connect(self._on_general_units_chosen)
        page.general.pace_chosen.connect(self._on_general_pace_chosen)
        page.general.alerts_requested.connect(self._window.header.alerts_requested)
        page.history.keep_requested.connect(self._on_history_keep_requested)
        page.hosts.retry_requested.connect(self._hosts.retry)
        page.hosts.rename_requested.connect(self._hosts.open_rename_dialog)
        page.hosts.removal_requested.connect(self._hosts.confirm_removal)
        page.hosts.connect_requested.connect(self._hosts.open_dialog)
        page.keys.own_key_requested.connect(self._on_keys_own_key_requested)
        page.keys.revoke_requested.connect(self._on_keys_revoke_requested)
        page.guide_requested.connect(self._on_page_guide_requested)
        page.finished.connect(self._timer.stop)
        page.destroyed.connect(self._on_page_destroyed)

    def _language_name(self) -> str:
        return self._language_controller.language

    def _save_keep(self, keep: Keep) -> None:
        page = self._page
        if page is None:
            return
        try:
            save_keep(self._folders, keep)
        except OSError as exc:
            why = self.tr("The settings could not be saved: {why}.")
            page.history.refuse(why.format(why=exc.strerror or exc))
            return
        page.history.refuse("")
        self._on_timer_timeout()

    @Slot()
    def _on_timer_timeout(self) -> None:
        now_wall_s = self._workspace.now_wall_s()
        for host in self._workspace.hosts.all():
            if host.link.is_live:
                self._seen_wall_s[host.address] = now_wall_s
        if self._hub is not None and self._workspace.link.is_live:
            self._hub.refresh()
        self.refresh()

    @Slot(bool)
    def _on_bridge_link_changed(self, is_reached: bool) -> None:
        if not is_reached and self._hub is not None:
            self._hub.lost()
        self.refresh()

    @Slot(str)
    def _on_general_units_chosen(self, units: str) -> None:
        self._units = "decimal" if units == "decimal" else "binary"
        use_byte_units(self._units)
        self.refresh()
        self.changed.emit()
        self.settings_changed.emit()

    @Slot(str)
    def _on_general_pace_chosen(self, pace: str) -> None:
        match pace:
            case "calm" | "sparing":
                self.pace = pace
            case _:
                self.pace = "lively"
        self.refresh()
        self.settings_changed.emit()

    @Slot(float, float)
    def _on_history_keep_requested(self, days: float, n_bytes: float) -> None:
        before = load_keep_or_default(self._folders)
        keep = Keep(days, int(n_bytes))
        is_tighter = _is_tighter(keep.days, before.days) or _is_tighter(
            keep.n_bytes, before.n_bytes
        )
        if not is_tighter or self._page is None:
            self._save_keep(keep)
            return
        box = ConfirmationBox(confirm_keep(keep.days, keep.n_bytes), self._page)
        box.accepted.connect(partial(self._save_keep, keep))
        box.rejected.connect(self._page.history.revert)
        box.open()

    @Slot()
    def _on_keys_own_key_requested(self) -> None:
        if self._page is None:
            return
        # Imported late: ZeroMQ would hold up the first paint.
        direct = importlib.import_module("kmonitor.connect.hub_socket")
        try:
            self._page.keys.show_own(str(direct.device_keys(self._folders).public_text))
        except UserError as exc:
            self._page.keys.show_own("", str(exc))

    @Slot(str, str)
    def _on_keys_revoke_requested(self, key: str, name: str) -> None:
        if self._page is None or self._hub is None:
            return
        box = ConfirmationBox(confirm_revoke(name), self._page)
        box.accepted.connect(partial(self._hub.revoke, key))
        box.open()

    @Slot()
    def _on_page_guide_requested(self) -> None:
        self.guide_requested.emit("settings.md")

    @Slot()
    def _on_page_destroyed(self) -> None:
        self._page = None
        self._timer.stop()


def _is_tighter(wanted: float, before: float) -> bool:
    """True if a bound, 0 for none, keeps less than the previous one."""
    return bool(wanted) and (not before or wanted < before)


class AppearanceController(QObject):
    """Binds the header's menu, the page before the first run, and the settings; main thread only.

    Signals:
        settings_changed: A setting that the window remembers changed.
        reopening_requested: The window should be closed and opened again.
    """

    settings_changed = Signal()
    reopening_requested = Signal()

    def __init__(
        self,
        window: MainWindow,
        theme: ThemeController,
        language: LanguageController,
        preferences: SettingsController,
        guide: HelpController,
    ) -> None:
        """The window becomes the parent, and shows the current choices from now on."""
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._language = language
        self._guide = guide
        self._preferences = preferences
        header = window.header
        page = window.first_start.choices
        for part in (header, page, preferences):
            part.theme_chosen.connect(self.choose_theme)
            part.language_chosen.connect(self.choose_language)
        page.guide_requested.connect(self._on_page_guide_requested)
        page.keyboard_requested.connect(guide.open_keyboard)
        language.refused.connect(self._on_language_refused)
        self._show()

    def settings(self, base: WindowSettings) -> WindowSettings:
        """Return `base`, the settings as last saved, with the choices made since."""
        return msgspec.structs.replace(
            base, theme=self._theme.choice, language=self._language.language
        )

    @Slot(str)
    def choose_theme(self, theme: str) -> None:
        """Use this theme from now on: "system", "dark" or "light"."""
        self._theme.choose_named(theme)
        self._show()
        self.settings_changed.emit()

    @Slot(str)
    def choose_language(self, language: str) -> None:
        """Use this language, by its name in the settings, once the window is opened again."""
        next_spoken = self._language.choose(language)
        self._show()
        self.settings_changed.emit()
        if next_spoken != self._language.current_language:
            box = ConfirmationBox(self._offer(), self._window, is_dangerous=False)
            box.accepted.connect(self.reopening_requested)
            box.open()

    def _offer(self) -> Confirmation:
        return Confirmation(
            self.tr("The language will change when the window is restarted."),
            self.tr("This takes a second and does not affect any run. Restart the window now?"),
            self.tr("Restart"),
            self.tr("Later"),
        )

    def _show(self) -> None:
        theme = self._theme.choice
        language = self._language.language
        self._window.header.show_theme(theme)
        self._window.header.show_language(language)
        self._window.first_start.choices.show_theme(theme)
        self._window.first_start.choices.show_languages(language_titles(), language)
        self._preferences.refresh()

    @Slot()
    def _on_page_guide_requested(self) -> None:
        self._guide.open_page("getting-started.md")

    @Slot(str, str)
    def _on_language_refused(self, what: str, remedy: str) -> None:
        message_box(what, remedy, self._window).open()
