"""All keys of the window: the single source of shortcuts and the keyboard page."""

from dataclasses import dataclass
from typing import Final, Literal

from kmonitor.ui.text.language import tr

KeyPlace = Literal["anywhere", "charts", "history", "compare", "guide", "diagnosis", "note", "map"]
"""Scope of a key: the whole main window, one of its pages, or another window."""

_OF_THE_MAIN_WINDOW: Final[tuple[KeyPlace, ...]] = ("charts", "history", "compare", "map")


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A shortcut.

    Attributes:
        keys: Key sequence in Qt's notation.
    """

    keys: str
    scope: KeyPlace

    def meets(self, other: "Shortcut") -> bool:
        """True if the same keys trigger both shortcuts in the same place."""
        if self.keys.lower() != other.keys.lower():
            return False
        scopes = {self.scope, other.scope}
        return len(scopes) == 1 or (
            "anywhere" in scopes and not scopes.isdisjoint(_OF_THE_MAIN_WINDOW)
        )


KEYS: Final[dict[str, Shortcut]] = {
    "guide": Shortcut("F1", "anywhere"),
    "keyboard": Shortcut("?", "anywhere"),
    "settings": Shortcut("Ctrl+,", "anywhere"),
    "next_region": Shortcut("F6", "anywhere"),
    "previous_region": Shortcut("Shift+F6", "anywhere"),
    "connect": Shortcut("Ctrl+H", "anywhere"),
    "folder": Shortcut("Ctrl+O", "anywhere"),
    "history": Shortcut("Ctrl+Shift+H", "anywhere"),
    "alerts": Shortcut("Ctrl+L", "anywhere"),
    "memory_map": Shortcut("Ctrl+M", "anywhere"),
    "model_file": Shortcut("Ctrl+Shift+O", "anywhere"),
    "audit": Shortcut("Ctrl+U", "anywhere"),
    "find_run": Shortcut("Ctrl+F", "charts"),
    "next_run": Shortcut("Alt+Down", "charts"),
    "previous_run": Shortcut("Alt+Up", "charts"),
    "hold": Shortcut("Space", "charts"),
    "events": Shortcut("Ctrl+1", "charts"),
    "reclaims": Shortcut("Ctrl+2", "charts"),
    "export": Shortcut("Ctrl+E", "charts"),
    "export_all": Shortcut("Ctrl+Alt+E", "charts"),
    "report": Shortcut("Ctrl+Shift+E", "charts"),
    "add_chart": Shortcut("Ctrl+N", "charts"),
    "save": Shortcut("Ctrl+S", "charts"),
    "save_export": Shortcut("Ctrl+Shift+S", "charts"),
    "reload": Shortcut("Ctrl+R", "charts"),
    "reload_recreate": Shortcut("Ctrl+Alt+R", "charts"),
    "collect": Shortcut("Ctrl+Shift+C", "charts"),
    "auto": Shortcut("Ctrl+Shift+A", "charts"),
    "restart": Shortcut("Ctrl+Shift+R", "charts"),
    "diagnose": Shortcut("Ctrl+D", "charts"),
    "pause": Shortcut("Ctrl+P", "charts"),
    "stop": Shortcut("Ctrl+.", "charts"),
    "history_find": Shortcut("Ctrl+F", "history"),
    "history_close": Shortcut("Esc", "history"),
    "history_compare": Shortcut("Ctrl+K", "history"),
    "history_rename": Shortcut("F2", "history"),
    "history_note": Shortcut("Ctrl+E", "history"),
    "history_pin": Shortcut("Ctrl+P", "history"),
    "history_delete": Shortcut("Del", "history"),
    "compare_close": Shortcut("Esc", "compare"),
    "map_close": Shortcut("Esc", "map"),
    "guide_back": Shortcut("Alt+Left", "guide"),
    "guide_find": Shortcut("Ctrl+F", "guide"),
    "guide_next": Shortcut("F3", "guide"),
    "diagnosis_before": Shortcut("Alt+Left", "diagnosis"),
    "diagnosis_after": Shortcut("Alt+Right", "diagnosis"),
    "note_save": Shortcut("Ctrl+Return", "note"),
}
"""Shortcuts by name; other keys of pages and windows are in `guide.qt.help_controller`."""


def shortcut_keys(name: str) -> str:
    """Return the keys of a shortcut, in Qt's notation.

    Raises:
        KeyError: No shortcut has this name.
    """
    return KEYS[name].keys


@dataclass(frozen=True, slots=True)
class ShortcutRow:
    """Keys with the same effect.

    Attributes:
        keys: Alternative keys; each has the effect.
        text: Effect of the keys.
    """

    keys: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class ShortcutGroup:
    title: str
    lines: tuple[ShortcutRow, ...]


def shortcut_groups() -> tuple[ShortcutGroup, ...]:
    """Return every key by group, in the order of the keyboard page."""
    return (
        ShortcutGroup(tr("Everywhere"), _global_shortcuts()),
        ShortcutGroup(tr("Runs and charts"), _runs_and_charts()),
        ShortcutGroup(tr("The selected run"), _selected_run()),
        ShortcutGroup(tr("Limit handle"), _grip()),
        ShortcutGroup(tr("Tables and lists"), _tables()),
        ShortcutGroup(tr("History and comparison"), _history()),
        ShortcutGroup(tr("Guide and other windows"), _windows()),
    )


def _line(names: str, text: str, *others: str) -> ShortcutRow:
    return ShortcutRow((*(shortcut_keys(name) for name in names.split()), *others), text)


def _global_shortcuts() -> tuple[ShortcutRow, ...]:
    return (
        _line("guide", tr("Guide page for the current view")),
        _line("keyboard", tr("This page")),
        _line("settings", tr("Settings")),
        _line("next_region previous_region", tr("Next or previous part of the window")),
        ShortcutRow(("Tab", "Shift+Tab"), tr("Next or previous control")),
        ShortcutRow(("Space", "Return"), tr("Press the focused button")),
        ShortcutRow(("Esc",), tr("Close a page, menu or window; clear a search")),
        _line("history", tr("History of all runs")),
        _line("connect", tr("Connect to a host")),
        _line("folder", tr("Open a folder")),
        _line("alerts", tr("Alerts")),
        _line("memory_map", tr("Memory map of the selected run")),
        _line("model_file", tr("Memory map of a model file")),
        _line("audit", tr("Audit log")),
    )


def _runs_and_charts() -> tuple[ShortcutRow, ...]:
    return (
        _line("find_run", tr("Find a run or host")),
        ShortcutRow(("Up", "Down"), tr("Previous or next run, when no list has focus")),
        _line("previous_run next_run", tr("Previous or next run, wherever the focus is")),
        ShortcutRow(("Left", "Right"), tr("Move the crosshair in all charts")),
        ShortcutRow(("+", "-"), tr("Zoom in or out")),
        ShortcutRow(("0",), tr("Show the whole run and follow it")),
        _line("hold", tr("Freeze the charts or follow the newest data")),
        _line("add_chart", tr("Add or remove a chart")),
        _line("events", tr("Show or hide events below the charts")),
        _line("reclaims", tr("Show or hide reclaims below the charts")),
    )


def _selected_run() -> tuple[ShortcutRow, ...]:
    return (
        _line("save", tr("Save a checkpoint")),
        _line("save_export", tr("Save a checkpoint and a .keras file")),
        _line("reload", tr("Save, clear and reload")),
        _line("reload_recreate", tr("The same, recreating the variables")),
        _line("collect", tr("Collect")),
        _line("auto", tr("Auto: collect, then reload if needed")),
        _line("restart", tr("Restart the process")),
        _line("diagnose", tr("Diagnose")),
        _line("pause", tr("Pause or resume")),
        _line("stop", tr("Stop training (with confirmation)")),
        _line("export", tr("Export its data")),
        _line("export_all", tr("Export the data of all runs on the charts")),
        _line("report", tr("Report as a single HTML file")),
        ShortcutRow(("Down",), tr("More save and reload options (in the menus of their buttons)")),
    )


def _grip() -> tuple[ShortcutRow, ...]:
    return (
        ShortcutRow(("Up", "Down"), tr("Raise or lower")),
        ShortcutRow(("PgUp", "PgDown"), tr("Raise or lower in large steps")),
        ShortcutRow(("Return", "Space"), tr("Set the limit")),
        ShortcutRow(("Esc",), tr("Cancel")),
    )


def _tables() -> tuple[ShortcutRow, ...]:
    return (
        ShortcutRow(("Up", "Down"), tr("Next or previous row")),
        ShortcutRow(("Home", "End"), tr("First or last row")),
        ShortcutRow(("Return",), tr("Show the full text of the row")),
        ShortcutRow(("Ctrl+C",), tr("Copy the selected rows as text")),
        ShortcutRow(("Ctrl+A",), tr("Select all rows")),
        ShortcutRow(("Menu",), tr("Context menu")),
    )


def _history() -> tuple[ShortcutRow, ...]:
    return (
        _line("history_find", tr("Find runs")),
        ShortcutRow(("Return",), tr("Open the run on the charts")),
        _line("history_compare", tr("Compare the selected runs")),
        _line("history_rename", tr("Rename")),
        _line("history_note", tr("Note")),
        _line("history_pin", tr("Pin or unpin")),
        _line("history_delete", tr("Remove (with confirmation)")),
        ShortcutRow((shortcut_keys("history_close"),), tr("Back")),
    )


def _windows() -> tuple[ShortcutRow, ...]:
    return (
        _line("guide_find", tr("Find in the guide")),
        _line("guide_next", tr("Next match")),
        _line("guide_back", tr("Go back in the guide")),
        _line("diagnosis_before diagnosis_after", tr("Previous or next diagnosis")),
        _line("note_save", tr("Save a note")),
    )
