"""Actions on the runs selected in the history, and why an action is not possible."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kmonitor.ui.shortcuts import shortcut_keys
from kmonitor.ui.text.formats import bytes_text, count_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.workspace.run_edits import delete_blocked_reason, edit_blocked_reason
from kmonitor.ui.workspace.workspace import Workspace
from kmonitor_agent.wire.messages.unions import RunSummary

HistoryActionKey = Literal["open", "compare", "rename", "note", "pin", "delete"]
MIN_COMPARED: Final = 2
MAX_COMPARED: Final = 6
"""Maximum number of compared runs: more hues are hard to distinguish."""

_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class HistoryAction:
    """One action on the selected runs.

    Attributes:
        key: Identifies the action.
        icon: Name of an icon.
        title: Text on the button and in the menu.
        shortcut: Key sequence in Qt's notation.
        tooltip: Effect of the action, or the reason why it is not possible now.
        is_enabled: True if the action is possible now.
        is_danger: True if the action loses data.
    """

    key: HistoryActionKey
    icon: str
    title: str
    shortcut: str
    tooltip: str
    is_enabled: bool
    is_danger: bool = False


@dataclass(frozen=True, slots=True)
class HistorySelectionState:
    """State of the bar below the table.

    Attributes:
        title: Name of the run, or the number of selected runs.
        text: Note of the run, or the size of all selected runs.
        why_not: Reason why the runs cannot be changed; empty if they can.
        trouble: Reason why the last change was refused; empty if it was not.
        actions: Actions from left to right.
    """

    title: str
    text: str
    why_not: str
    trouble: str
    actions: tuple[HistoryAction, ...]


def history_selection_state(
    workspace: Workspace, runs: Sequence[RunSummary]
) -> HistorySelectionState:
    """Return the bar for these runs.

    Args:
        workspace: Provides which runs may be changed.
        runs: Selected runs; may be empty.
    """
    why_not = first_edit_blocked_reason(workspace, runs)
    return HistorySelectionState(
        title=_title(runs),
        text=_text(runs),
        why_not=why_not,
        trouble=workspace.edits.trouble,
        actions=_actions(runs, why_not),
    )


def first_edit_blocked_reason(workspace: Workspace, runs: Sequence[RunSummary]) -> str:
    """Return why one of these runs cannot be changed from here; empty if all can."""
    one_a_hub = {workspace.run_store.at(run.run): run.run for run in runs}.values()
    reasons = (
        edit_blocked_reason(workspace.link_of(run), workspace.hub_name(run)) for run in one_a_hub
    )
    return next((why for why in reasons if why), "")


def _title(runs: Sequence[RunSummary]) -> str:
    if not runs:
        return tr("No run selected")
    if len(runs) == 1:
        return runs[0].name
    return tr("{n} runs selected").format(n=count_text(len(runs)))


def _text(runs: Sequence[RunSummary]) -> str:
    if not runs:
        return tr(
            "Select one run to open or rename it, or several with Shift or Ctrl to compare them."
        )
    if len(runs) == 1:
        return " ".join(runs[0].note.split())[:_LONGEST] or tr("No note")
    size = bytes_text(sum(run.stored_bytes for run in runs))
    return tr("About {size} of history in total").format(size=size)


def _actions(runs: Sequence[RunSummary], why_not: str) -> tuple[HistoryAction, ...]:
    one = "" if len(runs) == 1 else tr("Select one run.")
    some = "" if runs else tr("Select a run.")
    is_few = MIN_COMPARED <= len(runs) <= MAX_COMPARED
    few = "" if is_few else tr("Select two to six runs (Shift or Ctrl).")
    living = next((why for run in runs if (why := delete_blocked_reason(run))), "")
    is_pinned = bool(runs) and all(run.pinned for run in runs)
    return (
        _action("open", "play", tr("Open"), "Return", one, tr("Show this run on the charts")),
        _action(
            *("compare", "compare", tr("Compare"), shortcut_keys("history_compare")),
            *(few, tr("Show the runs on one chart, with their differences")),
        ),
        _action(
            "rename",
            "rename",
            tr("Rename\u2026"),
            shortcut_keys("history_rename"),
            one or why_not,
            tr("Rename this run"),
        ),
        _action(
            *("note", "note", tr("Note\u2026"), shortcut_keys("history_note")),
            *(one or why_not, tr("Write a note about the purpose or result of this run")),
        ),
        _action(
            *("pin", "pin", tr("Unpin") if is_pinned else tr("Pin"), shortcut_keys("history_pin")),
            some or why_not,
            tr("Allow this run to be removed when space is needed")
            if is_pinned
            else tr("Keep this run when old runs are removed to save space"),
        ),
        _action(
            *("delete", "trash", tr("Remove\u2026"), shortcut_keys("history_delete")),
            *(some or why_not or living, tr("Remove this run from the history")),
        ),
    )


def _action(
    key: HistoryActionKey, icon: str, title: str, shortcut: str, why_not: str, tooltip: str
) -> HistoryAction:
    return HistoryAction(
        key=key,
        icon=icon,
        title=title,
        shortcut=shortcut,
        tooltip=why_not or f"{tooltip} ({shortcut})",
        is_enabled=not why_not,
        is_danger=key == "delete",
    )
