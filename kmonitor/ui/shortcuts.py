"""Every key of the window: the one place from which shortcuts and the keyboard page are made."""

from dataclasses import dataclass
from typing import Final, Literal

from kmonitor.ui.text.language import tr

KeyPlace = Literal["anywhere", "charts", "history", "compare", "guide", "diagnosis", "note", "map"]
"""Where a key counts: everywhere in the main window, on one of its pages, or in a window."""

_OF_THE_MAIN_WINDOW: Final[tuple[KeyPlace, ...]] = ("charts", "history", "compare", "map")


@dataclass(frozen=True, slots=True)
class Key:
    """A shortcut.

    Attributes:
        keys: As Qt writes it.
        place: Where it counts.
    """

    keys: str
    place: KeyPlace

    def meets(self, other: "Key") -> bool:
        """Whether both are asked for by the same keys at the same place."""
        if self.keys.lower() != other.keys.lower():
            return False
        places = {self.place, other.place}
        return len(places) == 1 or (
            "anywhere" in places and not places.isdisjoint(_OF_THE_MAIN_WINDOW)
        )


KEYS: Final[dict[str, Key]] = {
    "guide": Key("F1", "anywhere"),
    "keyboard": Key("?", "anywhere"),
    "settings": Key("Ctrl+,", "anywhere"),
    "next_region": Key("F6", "anywhere"),
    "previous_region": Key("Shift+F6", "anywhere"),
    "connect": Key("Ctrl+H", "anywhere"),
    "folder": Key("Ctrl+O", "anywhere"),
    "history": Key("Ctrl+Shift+H", "anywhere"),
    "alerts": Key("Ctrl+L", "anywhere"),
    "memory_map": Key("Ctrl+M", "anywhere"),
    "model_file": Key("Ctrl+Shift+O", "anywhere"),
    "audit": Key("Ctrl+U", "anywhere"),
    "find_run": Key("Ctrl+F", "charts"),
    "next_run": Key("Alt+Down", "charts"),
    "previous_run": Key("Alt+Up", "charts"),
    "hold": Key("Space", "charts"),
    "events": Key("Ctrl+1", "charts"),
    "reclaims": Key("Ctrl+2", "charts"),
    "export": Key("Ctrl+E", "charts"),
    "export_all": Key("Ctrl+Alt+E", "charts"),
    "report": Key("Ctrl+Shift+E", "charts"),
    "add_chart": Key("Ctrl+N", "charts"),
    "save": Key("Ctrl+S", "charts"),
    "save_export": Key("Ctrl+Shift+S", "charts"),
    "reload": Key("Ctrl+R", "charts"),
    "reload_recreate": Key("Ctrl+Alt+R", "charts"),
    "collect": Key("Ctrl+Shift+C", "charts"),
    "auto": Key("Ctrl+Shift+A", "charts"),
    "restart": Key("Ctrl+Shift+R", "charts"),
    "diagnose": Key("Ctrl+D", "charts"),
    "pause": Key("Ctrl+P", "charts"),
    "stop": Key("Ctrl+.", "charts"),
    "history_find": Key("Ctrl+F", "history"),
    "history_close": Key("Esc", "history"),
    "history_compare": Key("Ctrl+K", "history"),
    "history_rename": Key("F2", "history"),
    "history_note": Key("Ctrl+E", "history"),
    "history_pin": Key("Ctrl+P", "history"),
    "history_delete": Key("Del", "history"),
    "compare_close": Key("Esc", "compare"),
    "map_close": Key("Esc", "map"),
    "guide_back": Key("Alt+Left", "guide"),
    "guide_find": Key("Ctrl+F", "guide"),
    "guide_next": Key("F3", "guide"),
    "diagnosis_before": Key("Alt+Left", "diagnosis"),
    "diagnosis_after": Key("Alt+Right", "diagnosis"),
    "note_save": Key("Ctrl+Return", "note"),
}
"""By name; what a page or a window does with keys of its own stands in `keyboard_map`."""


def key_of(name: str) -> str:
    """The keys of a shortcut, as Qt writes them.

    Raises:
        KeyError: No shortcut has this name.
    """
    return KEYS[name].keys


@dataclass(frozen=True, slots=True)
class KeyLine:
    """What some keys do.

    Attributes:
        keys: Each of them does it.
        words: What.
    """

    keys: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """Keys that belong together."""

    title: str
    lines: tuple[KeyLine, ...]


def keyboard_map() -> tuple[KeyGroup, ...]:
    """Every key there is, by group, in the order of the keyboard page."""
    return (
        KeyGroup(tr("Everywhere"), _everywhere()),
        KeyGroup(tr("Runs and charts"), _runs_and_charts()),
        KeyGroup(tr("The selected run"), _selected_run()),
        KeyGroup(tr("A limit's grip"), _grip()),
        KeyGroup(tr("Tables and lists"), _tables()),
        KeyGroup(tr("History and comparison"), _history()),
        KeyGroup(tr("Guide and other windows"), _windows()),
    )


def _line(names: str, words: str, *others: str) -> KeyLine:
    return KeyLine((*(key_of(name) for name in names.split()), *others), words)


def _everywhere() -> tuple[KeyLine, ...]:
    return (
        _line("guide", tr("Guide, at the page about what is looked at")),
        _line("keyboard", tr("This page")),
        _line("settings", tr("Settings")),
        _line("next_region previous_region", tr("Next, previous part of the window")),
        KeyLine(("Tab", "Shift+Tab"), tr("Next, previous control")),
        KeyLine(("Space", "Return"), tr("Press the button that has the focus")),
        KeyLine(("Esc",), tr("Close a page, a menu, a window; empty a search")),
        _line("history", tr("History of all runs")),
        _line("connect", tr("Connect to a host")),
        _line("folder", tr("Open a folder")),
        _line("alerts", tr("Alerts")),
        _line("memory_map", tr("Memory map of the selected run")),
        _line("model_file", tr("Memory map of a model file")),
        _line("audit", tr("Audit")),
    )


def _runs_and_charts() -> tuple[KeyLine, ...]:
    return (
        _line("find_run", tr("Find a run or host")),
        KeyLine(("Up", "Down"), tr("Previous, next run, where no list has the focus")),
        _line("previous_run next_run", tr("Previous, next run, wherever the focus is")),
        KeyLine(("Left", "Right"), tr("Move the crosshair of all charts")),
        KeyLine(("+", "-"), tr("Zoom in, out")),
        KeyLine(("0",), tr("All of the run, and follow it")),
        _line("hold", tr("Hold the charts; follow again")),
        _line("add_chart", tr("Add a chart, or take one away")),
        _line("events", tr("Events below the charts")),
        _line("reclaims", tr("Reclaims below the charts")),
    )


def _selected_run() -> tuple[KeyLine, ...]:
    return (
        _line("save", tr("Save a checkpoint")),
        _line("save_export", tr("Save a checkpoint and a .keras file")),
        _line("reload", tr("Save, clear and reload")),
        _line("reload_recreate", tr("The same, making the variables anew")),
        _line("collect", tr("Collect")),
        _line("auto", tr("Reclaim: collect, then reload if it did not help")),
        _line("restart", tr("Restart the process")),
        _line("diagnose", tr("Diagnose")),
        _line("pause", tr("Pause, resume")),
        _line("stop", tr("Stop the training (asked first)")),
        _line("export", tr("Export its data")),
        _line("export_all", tr("Export the data of all runs drawn")),
        _line("report", tr("Report as one HTML file")),
        KeyLine(("Down",), tr("Other ways to save or reload, on its button")),
    )


def _grip() -> tuple[KeyLine, ...]:
    return (
        KeyLine(("Up", "Down"), tr("Higher, lower")),
        KeyLine(("PgUp", "PgDown"), tr("Much higher, much lower")),
        KeyLine(("Return", "Space"), tr("Set the limit")),
        KeyLine(("Esc",), tr("Leave it as it was")),
    )


def _tables() -> tuple[KeyLine, ...]:
    return (
        KeyLine(("Up", "Down"), tr("Next, previous row")),
        KeyLine(("Home", "End"), tr("First, last row")),
        KeyLine(("Return",), tr("Open the row in full")),
        KeyLine(("Ctrl+C",), tr("Copy the selected rows as text")),
        KeyLine(("Ctrl+A",), tr("Select all rows")),
        KeyLine(("Menu",), tr("What can be done with it")),
    )


def _history() -> tuple[KeyLine, ...]:
    return (
        _line("history_find", tr("Find runs")),
        KeyLine(("Return",), tr("Open the run on the charts")),
        _line("history_compare", tr("Compare the selected runs")),
        _line("history_rename", tr("Rename")),
        _line("history_note", tr("Note")),
        _line("history_pin", tr("Pin, unpin")),
        _line("history_delete", tr("Delete (asked first)")),
        KeyLine((key_of("history_close"),), tr("Back")),
    )


def _windows() -> tuple[KeyLine, ...]:
    return (
        _line("guide_find", tr("Find in the guide")),
        _line("guide_next", tr("Next place that was found")),
        _line("guide_back", tr("Back in the guide")),
        _line("diagnosis_before diagnosis_after", tr("Diagnosis before, after")),
        _line("note_save", tr("Save a note")),
    )
